//! What replicas agree on, in simulated worlds.

use std::time::Duration;

use tapeline_sequence::CommitMode;

use crate::twin::{Setting, Story, live};

fn worlds(setting: Setting, seeds: std::ops::Range<u64>) -> Story {
    let mut all = Story::default();
    for seed in seeds {
        let story = live(setting, seed).unwrap_or_else(|what| panic!("{what}"));
        all.entries += story.entries;
        all.acknowledged += story.acknowledged;
        all.leaders += story.leaders;
        all.kills += story.kills;
        all.cuts += story.cuts;
    }
    println!("{setting:?}: {all:?}");
    all
}

/// Worlds without deaths or successors would show nothing.
fn is_eventful(story: &Story, worlds: usize) -> bool {
    story.leaders > worlds && story.kills > worlds && story.cuts > 0 && story.entries > 100 * worlds
}

#[test]
fn what_memories_agree_on_outlives_any_one_death() {
    let unrest = Duration::from_secs(6);
    let setting = Setting { members: 3, mode: CommitMode::Memory, unrest };
    assert!(is_eventful(&worlds(setting, 0..100), 100));
}

#[test]
fn what_disks_agree_on_outlives_all_deaths() {
    let unrest = Duration::from_secs(6);
    let setting = Setting { members: 3, mode: CommitMode::Disk, unrest };
    assert!(is_eventful(&worlds(setting, 100..200), 100));
}

#[test]
fn five_replicas_agree_too() {
    let unrest = Duration::from_secs(4);
    let setting = Setting { members: 5, mode: CommitMode::Disk, unrest };
    assert!(is_eventful(&worlds(setting, 200..220), 20));
}

#[test]
fn one_alone_commits_what_its_disk_has() {
    let unrest = Duration::from_secs(4);
    let setting = Setting { members: 1, mode: CommitMode::Single, unrest };
    let story = worlds(setting, 220..230);
    assert!(story.kills > 10 && story.entries > 1_000, "{story:?}");
}
