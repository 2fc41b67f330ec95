//! RMTES values, one after the other applied to one cache and converted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_rwf::rmtes::{apply, chars, decode_into};

/// Small enough that an input reaches it.
const MAX_CACHE_LEN: usize = 2000;

fuzz_target!(|data: &[u8]| {
    let mut cache = Vec::new();
    for value in data.split(|byte| *byte == b'\n') {
        let before = cache.clone();
        if apply(&mut cache, value, MAX_CACHE_LEN).is_err() {
            assert_eq!(cache, before, "a failed update keeps the cache");
        }
        assert!(cache.len() <= MAX_CACHE_LEN);
        let mut text = String::new();
        let converted = decode_into(&cache, &mut text);
        let read: Result<String, _> = chars(&cache).collect();
        assert_eq!(converted.is_ok(), read.is_ok());
        if let Ok(read) = read {
            assert_eq!(read, text);
        }
    }
});
