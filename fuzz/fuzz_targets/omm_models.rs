//! Messages, each behind its length in two bytes, as every model there is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::omm::{models, stream};
use tapeline_omm::directory::Directory;
use tapeline_rwf::Msg;

fuzz_target!(|data: &[u8]| {
    let mut messages = Vec::new();
    let mut rest = data;
    while let Some((len, tail)) = rest.split_first_chunk::<2>() {
        let len = usize::from(u16::from_be_bytes(*len)).min(tail.len());
        messages.extend(Msg::decode(&tail[..len]));
        rest = &tail[len..];
    }
    let mut directory = Directory::default();
    for msg in &messages {
        models(msg, &mut directory);
    }
    stream(&messages);
});
