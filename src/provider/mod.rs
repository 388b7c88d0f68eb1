//! The models: implementations of [`crate::run::Model`], chosen by a short text such as `openai:gpt-4o-mini`.

pub mod builtin;
pub mod chaos;
mod keyless;
pub mod openai;
#[expect(clippy::disallowed_methods, reason = "a script is read from its file here, at the edge")]
pub mod script;
#[expect(clippy::disallowed_methods, reason = "a key is read from the environment here, at the edge")]
mod secret;
pub mod spec;

pub use builtin::Builtin;
pub use chaos::Chaos;
pub use keyless::Keyless;
pub use openai::OpenAi;
pub use script::Scripted;
pub use secret::Secret;
#[cfg(feature = "cli")]
pub(crate) use spec::near;
pub use spec::{Options, Spec, SpecError, build};
