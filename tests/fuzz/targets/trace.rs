#![no_main]

#[path = "../../oracles/trace.rs"]
mod oracle;

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::check(data));
