//! The same bytes, cut differently, give the same events and the same answers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::rssl::run;

fuzz_target!(|data: &[u8]| {
    let [choice, seed, bytes @ ..] = data else { return };
    let whole = run(*choice, bytes, || usize::MAX);
    let mut state = u32::from(*seed) + 1;
    let cut = run(*choice, bytes, || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        1 + (state >> 26) as usize
    });
    assert_eq!(whole, cut);
    if bytes.len() < 4000 {
        assert_eq!(whole, run(*choice, bytes, || 1));
    }
});
