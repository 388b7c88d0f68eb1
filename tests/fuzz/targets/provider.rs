#![no_main]

#[path = "../../oracles/provider.rs"]
mod oracle;

libfuzzer_sys::fuzz_target!(|data: &[u8]| oracle::check(data));
