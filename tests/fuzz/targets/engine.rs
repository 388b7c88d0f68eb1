#![no_main]

#[path = "../../it/law.rs"]
mod law;
#[path = "../../oracles/engine.rs"]
mod oracle;

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::check(data));
