//! The streams of peers as they come over several paths: the first copy of each
//! frame is used.
//!
//! ```text
//!   path 1: 5 6 7 8 9 10 ──┐
//!                          ├──▶ 5 6 7 8 9 10
//!   path 2:   5 6 ✗ ✗ 9 ───┘        └ 9 of path 2 waits if it comes before 7, until
//!                                     path 1 has brought 7 and 8, or will not
//! ```
//!
//! A frame that is ahead of what was read waits while another path may bring what is
//! missing before it: as long as that one is heard, and is not past it itself, but not
//! longer than [`PATIENCE`] and not more than [`MAX_HELD_BYTES`]. Then it is read, and
//! whoever reads sees that something is missing.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use tapeline_time::Time;

use crate::frame::{FrameFlags, FrameHeader, Incarnation, Kind};

/// How long a frame waits for those before it.
const PATIENCE: Duration = Duration::from_millis(50);

/// What waits of one peer, in bytes.
const MAX_HELD_BYTES: usize = 4 << 20;

/// A path on which nothing of a peer came for so long brings nothing soon. Presence
/// comes each 100 ms.
const ALIVE: Duration = Duration::from_millis(350);

/// A path on which nothing came for so long, while something came on others of its
/// channel, is silent.
const SILENCE: Duration = Duration::from_secs(1);

/// A peer of which nothing came for so long is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(10);

/// Peers that are kept apart; frames of others go straight through.
const MAX_SENDERS: usize = 1_024;

/// What paths did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Frames that came again over another path.
    pub duplicates: u64,
    /// Frames that waited for others.
    pub held: u64,
    /// Paths that are silent now, while others are not.
    pub silent: usize,
    /// How often one became silent.
    pub losses: u64,
}

/// Makes one stream of each peer out of those that come over the paths.
#[derive(Debug)]
pub(crate) struct Merge {
    senders: Vec<Sender>,
    /// The channel of each path. Hubs of other channels are not heard on it.
    channels: Vec<usize>,
    /// When something was last heard, by path.
    heard: Vec<Time>,
    is_silent: Vec<bool>,
    looked: Time,
    counts: PathCounts,
}

#[derive(Debug)]
struct Sender {
    name: Incarnation,
    /// The number of the frame that is read next.
    next: u32,
    /// By path: when something of it came, and the number behind it.
    at: Vec<(Time, u32)>,
    /// Frames that wait, by how far they are ahead of `base`.
    held: BTreeMap<u32, Vec<u8>>,
    base: u32,
    held_bytes: usize,
    /// When the first of them came.
    held_since: Time,
    /// It said goodbye.
    is_gone: bool,
}

impl Sender {
    fn new(name: Incarnation, next: u32, paths: usize) -> Self {
        Self {
            name,
            next,
            at: vec![(Time::ZERO, next); paths],
            held: BTreeMap::new(),
            base: next,
            held_bytes: 0,
            held_since: Time::ZERO,
            is_gone: false,
        }
    }

    /// Whether a path is heard that may yet bring the frame that is next.
    fn may_come(&self, now: Time) -> bool {
        self.at.iter().any(|(heard, behind)| {
            let is_past = behind.wrapping_sub(self.next).cast_signed() > 0;
            !is_past && *heard > Time::ZERO && now.since(*heard) < ALIVE
        })
    }

    /// Reads those that wait for nothing any more. `anyway`: all of them.
    fn read_held(&mut self, now: Time, anyway: bool, on_frame: &mut impl FnMut(&[u8])) {
        while let Some(key) = self.held.keys().next() {
            let number = self.base.wrapping_add(*key);
            let ahead = number.wrapping_sub(self.next).cast_signed();
            if ahead > 0 && !anyway && self.may_come(now) {
                return;
            }
            let Some((_, frame)) = self.held.pop_first() else { return };
            self.held_bytes -= frame.len();
            if ahead >= 0 {
                self.next = number.wrapping_add(1);
                on_frame(&frame);
            }
        }
    }

    /// Keeps a frame that is ahead. Whether it was not there.
    fn hold(&mut self, now: Time, number: u32, frame: &[u8]) -> bool {
        if self.held.is_empty() {
            (self.base, self.held_since) = (self.next, now);
        }
        match self.held.entry(number.wrapping_sub(self.base)) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(frame.to_vec());
                self.held_bytes += frame.len();
                true
            }
        }
    }

    /// Whether what waits has waited for long enough, or is too much.
    fn has_waited(&self, now: Time) -> bool {
        now.since(self.held_since) >= PATIENCE || self.held_bytes > MAX_HELD_BYTES
    }
}

impl Merge {
    /// Paths, by the channel of each.
    pub(crate) fn new(channels: impl IntoIterator<Item = usize>) -> Self {
        let channels = Vec::from_iter(channels);
        let paths = channels.len();
        Self {
            senders: Vec::new(),
            channels,
            heard: vec![Time::ZERO; paths],
            is_silent: vec![false; paths],
            looked: Time::ZERO,
            counts: PathCounts::default(),
        }
    }

    pub(crate) fn counts(&self) -> PathCounts {
        let silent = self.is_silent.iter().filter(|is_silent| **is_silent).count();
        PathCounts { silent, ..self.counts }
    }

    /// A frame came over a path: it is read, with what waited for it, waits, or is
    /// dropped.
    pub(crate) fn take(
        &mut self,
        now: Time,
        path: usize,
        frame: &[u8],
        on_frame: &mut impl FnMut(&[u8]),
    ) {
        let Some((header, _)) = FrameHeader::decode(frame) else { return on_frame(frame) };
        self.heard[path] = now;
        let is_counted = header.kind != Kind::Presence;
        let number = header.stream_seq;
        let Some(sender) = self.sender(header.sender, number) else { return on_frame(frame) };
        let behind = number.wrapping_add(u32::from(is_counted));
        sender.at[path] = (now, behind);
        let ahead = number.wrapping_sub(sender.next).cast_signed();
        if ahead < 0 || sender.is_gone {
            self.counts.duplicates += u64::from(is_counted);
            return;
        }
        if ahead > 0 && is_counted {
            let is_new = sender.hold(now, number, frame);
            let has_waited = sender.has_waited(now);
            sender.read_held(now, has_waited, on_frame);
            self.counts.held += u64::from(is_new);
            self.counts.duplicates += u64::from(!is_new);
            return;
        }
        if ahead > 0 && (!sender.held.is_empty() || sender.may_come(now)) {
            // The next presence says the same.
            return;
        }
        sender.next = behind;
        sender.is_gone = header.flags.contains(FrameFlags::BYE) && !is_counted;
        on_frame(frame);
        sender.read_held(now, false, on_frame);
    }

    /// Reads what has waited for long enough, and sees which paths are silent.
    pub(crate) fn release(&mut self, now: Time, on_frame: &mut impl FnMut(&[u8])) {
        for sender in self.senders.iter_mut().filter(|sender| !sender.held.is_empty()) {
            let has_waited = sender.has_waited(now);
            sender.read_held(now, has_waited, on_frame);
        }
        if now.since(self.looked) >= ALIVE {
            self.looked = now;
            self.senders.retain(|sender| {
                let heard = sender.at.iter().map(|(heard, _)| *heard).max();
                heard.is_some_and(|heard| now.since(heard) < FORGOTTEN)
            });
            self.look_at_paths();
        }
    }

    fn look_at_paths(&mut self) {
        for (path, is_silent) in self.is_silent.iter_mut().enumerate() {
            let channel = self.channels[path];
            let heard = self.heard.iter().zip(&self.channels);
            let beside = heard.filter(|(_, other)| **other == channel).map(|(heard, _)| *heard);
            let last = beside.max().unwrap_or(Time::ZERO);
            let was_silent = core::mem::replace(is_silent, last.since(self.heard[path]) >= SILENCE);
            self.counts.losses += u64::from(*is_silent && !was_silent);
        }
    }

    fn sender(&mut self, name: Incarnation, number: u32) -> Option<&mut Sender> {
        let at = self.senders.iter().position(|sender| sender.name == name);
        if at.is_none() {
            if self.senders.len() >= MAX_SENDERS {
                return None;
            }
            self.senders.push(Sender::new(name, number, self.heard.len()));
        }
        let last = self.senders.len() - 1;
        self.senders.get_mut(at.unwrap_or(last))
    }
}

#[cfg(test)]
mod tests;
