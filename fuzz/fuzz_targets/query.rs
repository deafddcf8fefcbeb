#![no_main]

// jq runs in its own process, which is this program again.
libfuzzer_sys::fuzz_target!(
    init: tidegate_fuzzing::query::init(),
    |data: &[u8]| tidegate_fuzzing::query::target(data)
);
