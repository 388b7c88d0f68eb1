#[cfg(feature = "run")]
mod tools;
mod trace;
