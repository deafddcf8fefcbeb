#![no_main]

// jq runs in a process of its own, which is this program again.
libfuzzer_sys::fuzz_target!(
    init: tidegate_fuzzing::query::begin(),
    |data: &[u8]| tidegate_fuzzing::query::target(data)
);
