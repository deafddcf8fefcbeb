#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tidegate_fuzzing::sse::target(data));
