//! Feed handlers as programs: what they are given, and a site that shows what they
//! publish.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use tapeline_api::Consumer;
use tapeline_node::Node;
use tempfile::{TempDir, tempdir};

use crate::processes::{PATIENCE, PROGRAM, Running};
use crate::watching::{SERVICE, Watching, consumer, node};

/// A capture of raw IPv4 with times in nanoseconds: packets by the last byte of their
/// group, with how many milliseconds after the beginning they came.
pub(crate) fn capture(begin_ns: u64, packets: &[(u64, u8, &[u8])]) -> Vec<u8> {
    let mut file = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    file.extend(b"\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x65\0\0\0");
    for (ms, group, payload) in packets {
        let at_ns = begin_ns + ms * 1_000_000;
        let len = 28 + payload.len() as u32;
        for word in [(at_ns / 1_000_000_000) as u32, (at_ns % 1_000_000_000) as u32, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(b"\x45\0");
        file.extend((len as u16).to_be_bytes());
        file.extend(b"\0\0\0\0\x01\x11\0\0\x0a\0\0\x01\xe9\x36\x0c");
        file.push(*group);
        file.extend(b"\x10\x01\x67\x75");
        file.extend((len as u16 - 20).to_be_bytes());
        file.extend(b"\0\0");
        file.extend(*payload);
    }
    file
}

/// A subcommand of the program, with its file and further words.
pub(crate) fn process(command: &str, dir: &Path, words: &[&str]) -> Running {
    let log = dir.join("log");
    let child = Command::new(PROGRAM)
        .args([command, "--log", "info"])
        .args(words)
        .args([Path::new("--ready-file"), &dir.join("ready"), &dir.join(format!("{command}.toml"))])
        .stdin(Stdio::null())
        .stderr(fs::File::create(&log).expect("room"))
        .spawn()
        .expect("the program");
    Running { child, ports: BTreeMap::new(), log }
}

/// A hub, a server and a consumer of what the program publishes.
pub(crate) struct Site {
    pub(crate) dir: TempDir,
    node: Node,
    consumer: Consumer,
    pub(crate) watching: Watching,
}

impl Site {
    /// For one item, with what the file says of the subcommand.
    pub(crate) fn new(command: &str, item: &'static str, own: &str) -> Self {
        let (dir, node) = (tempdir().expect("a folder"), node());
        let hub = node.hubs().next().expect("a hub").listening()[0];
        let text = format!(
            "[feed]\nhub = [\"{hub}\"]\nservice = \"{SERVICE}\"\n\
             [{command}]\n{own}\n"
        );
        fs::write(dir.path().join(format!("{command}.toml")), text).expect("room");
        let (consumer, watching) = (consumer(&node), Watching::of(item));
        Self { dir, node, consumer, watching }
    }

    /// Works until something is so.
    pub(crate) fn until(
        &mut self,
        feed: &mut Running,
        mut is_so: impl FnMut(&Watching) -> bool,
        mut meanwhile: impl FnMut(),
    ) {
        let began = Instant::now();
        while !is_so(&self.watching) {
            self.node.turn(self.node.now());
            self.watching.turn(&mut self.consumer);
            meanwhile();
            let said = || fs::read_to_string(&feed.log).unwrap_or_default();
            let Watching { states, rows, .. } = &self.watching;
            assert!(began.elapsed() < PATIENCE, "{states:?} {rows:?} {}", said());
            assert!(!feed.has_ended(), "it ended: {}", fs::read_to_string(&feed.log).unwrap());
        }
    }
}
