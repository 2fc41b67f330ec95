//! `tapeline backbone` beside a running process, with a media driver and without.

use super::eyes::{consumer, site};
use super::support::{Run, Running, await_state, run};

fn backbone(node: &Running, args: &[&str]) -> Run {
    let address = node.address("admin").to_string();
    run(&[&["backbone", "--admin", &address], args].concat())
}

/// The words of the first line that begins so.
fn words<'a>(text: &'a str, beginning: &str) -> Vec<&'a str> {
    let line = text.lines().find(|line| line.trim_start().starts_with(beginning));
    line.unwrap_or_default().split_whitespace().collect()
}

#[test]
fn what_the_media_driver_counts_is_told_with_the_names_of_peers() {
    let (_source, node) = site("[backbone]\nchannel = \"aeron:ipc\"\n");
    let _consumer = consumer(&node);
    let mut loss = String::new();
    // A peer's session is known from its first presence on.
    await_state("streams with the names of their peers", || {
        loss = backbone(&node, &["loss", "--interval-ms", "0"]).out;
        let is_of =
            |peer: &str| loss.lines().any(|line| line.split_whitespace().take(2).eq(["in", peer]));
        is_of("server") && is_of("hub")
    });
    assert_eq!(words(&loss, "naksSent"), ["naksSent", "0"], "{loss}");
    assert_eq!(words(&loss, "lossGapFills"), ["lossGapFills", "0"], "{loss}");
    let done = backbone(&node, &["peers", "--interval-ms", "20"]);
    assert_eq!((done.status, done.err.as_str()), (Some(0), ""), "{}", done.out);
    let heads = words(&done.out, "at");
    for column in ["sessions", "position", "naksSent", "naksPerS", "lostBytes", "framesPerS"] {
        assert!(heads.contains(&column), "{column}: {}", done.out);
    }
}

#[test]
fn where_there_is_no_media_driver_it_is_said() {
    let (_source, node) = site("");
    for command in ["loss", "peers"] {
        let done = backbone(&node, &[command, "--interval-ms", "0"]);
        assert_eq!(done.status, Some(0), "{}{}", done.out, done.err);
        assert!(done.out.contains("no media driver: "), "{command}: {}", done.out);
        assert!(done.out.contains("server"), "{command}: {}", done.out);
    }
}
