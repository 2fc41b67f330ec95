//! What changed of the services, and who has yet to be told.
//!
//! Thousands of mounts watch the directory, and each has to have its own part
//! of a change. The first are told at once, the others a slice at a time, by
//! their numbers. Each gets all changes in their order, and none that a
//! directory has in it that it was sent later.
//!
//! A mount with a full output is told when that has drained, and then how the
//! services are that changed: however often they do, it is owed no more than
//! one message for each of its streams.

use std::collections::VecDeque;

use tapeline_channel::SessionId;
use tapeline_omm::Scratch;
use tapeline_omm::directory::{DirectoryUpdate, FilterContent, FilterEntry};

use super::Core;
use super::backlog::Job;
use super::mount::Mount;
use super::stream::{Entry, Stream};
use crate::Outputs;

/// Numbers of mounts that are looked at in the event that brings a change.
const AT_ONCE: usize = 32;

/// Changes that are kept for those who have not been told. Who brings more
/// before all are has them told at once.
const MAX_CHANGES: usize = 256;

/// To send a change costs so many steps.
const STEPS_TO_SEND: usize = 4;

/// Changes of the services that not all mounts were told.
#[derive(Debug, Default)]
pub(super) struct News {
    /// In their order.
    changes: VecDeque<DirectoryUpdate>,
    /// How many there were before the first of them.
    told: u64,
    /// How many there were when the walk over the mounts began.
    of_walk: u64,
    /// The number of the mount that is the next.
    next: u32,
}

impl News {
    fn add(&mut self, change: DirectoryUpdate) {
        if self.changes.is_empty() {
            (self.of_walk, self.next) = (self.told + 1, 0);
        }
        self.changes.push_back(change);
    }

    /// How many there ever were.
    pub(super) fn count(&self) -> u64 {
        self.told + self.changes.len() as u64
    }

    /// Whether there are mounts that were not told all.
    pub(super) fn is_under_way(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Those from the n-th on.
    fn from(&self, told: u64) -> impl Iterator<Item = &DirectoryUpdate> {
        self.changes.iter().skip(told.saturating_sub(self.told) as usize)
    }

    /// All mounts have been told what there was when the walk began; another one
    /// begins if there was more since. Whether there was.
    fn end_walk(&mut self) -> bool {
        self.changes.drain(..(self.of_walk - self.told) as usize);
        self.told = self.of_walk;
        (self.of_walk, self.next) = (self.count(), 0);
        !self.changes.is_empty()
    }
}

impl Core {
    /// Has all mounts told what changed.
    pub(super) fn tell_news<O: Outputs>(&mut self, change: DirectoryUpdate, out: &mut O) {
        let is_under_way = self.news.is_under_way();
        self.news.add(change);
        if is_under_way && self.news.changes.len() <= MAX_CHANGES {
            return;
        }
        let at_once = if is_under_way { usize::MAX } else { AT_ONCE };
        for _ in 0..at_once {
            if self.news_step(out).is_none() {
                return;
            }
        }
        self.backlog.add(Job::TellNews);
    }

    /// Tells the next mount what changed.
    pub(super) fn news_step<O: Outputs>(&mut self, out: &mut O) -> Option<usize> {
        let number = self.news.next;
        if self.news.changes.is_empty() || number >= self.mounts.numbers() && !self.news.end_walk()
        {
            return None;
        }
        let number = number.min(self.news.next);
        self.news.next = number + 1;
        let session = self.mounts.session_of(number);
        let sent = session.map_or(0, |session| self.tell_mount(session, out));
        Some(1 + STEPS_TO_SEND * sent)
    }

    /// Tells a mount what changed that it does not know, or has it wait while
    /// the mount is slow. Returns how many messages it was.
    pub(super) fn tell_mount<O: Outputs>(&mut self, session: SessionId, out: &mut O) -> usize {
        let Self { mounts, news, scratch, trouble, now, .. } = self;
        let Some(mount) = mounts.get_mut(session) else { return 0 };
        let told = core::mem::replace(&mut mount.news_told, news.count());
        if mount.is_slow {
            let changed = news.from(told).flat_map(|change| &change.services);
            if !mount.directories.is_empty() {
                mount.owed.services_changed(changed.map(|entry| entry.service_id));
            }
            return 0;
        }
        let mut sent = 0;
        for change in news.from(told) {
            let count = tell_change(mount, change, scratch, |bytes| {
                trouble.note(session, out.send(session, bytes));
            });
            if count > 0 && describes(change) {
                mount.roles.described(*now);
            }
            sent += count;
        }
        self.mark_slow(out);
        sent
    }

    /// Tells a mount that has caught up how the services are that changed.
    pub(super) fn tell_owed_services<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        let Self { mounts, services, scratch, trouble, .. } = self;
        let Some(mount) = mounts.get_mut(session) else { return };
        let changed = mount.owed.take_services();
        let entries = changed.into_iter().map(|id| services.as_told(id)).collect();
        let change = DirectoryUpdate::new(0, entries);
        tell_change(mount, &change, scratch, |bytes| {
            trouble.note(session, out.send(session, bytes));
        });
        self.mark_slow(out);
    }
}

/// Whether a change says how a service is described, and not its state alone.
fn describes(change: &DirectoryUpdate) -> bool {
    let is_info = |filter: &FilterEntry| {
        matches!(filter, FilterEntry::Content { content: FilterContent::Info(_), .. })
    };
    change.services.iter().any(|entry| entry.filters.iter().any(is_info))
}

/// Tells a change on all streams on which a mount watches the directory.
/// Returns how many messages it was.
fn tell_change(
    mount: &Mount,
    change: &DirectoryUpdate,
    scratch: &mut Scratch,
    mut send: impl FnMut(&[u8]),
) -> usize {
    let mut sent = 0;
    for stream_id in &mount.directories {
        let Some(Entry::Other(Stream::Directory(request))) = mount.streams.get(*stream_id) else {
            continue;
        };
        let Some(change) = change.restricted(request) else { continue };
        if let Ok(bytes) = scratch.encode(|encoder| change.encode(encoder)) {
            send(bytes);
            sent += 1;
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(number: i32) -> DirectoryUpdate {
        DirectoryUpdate::new(number, Vec::new())
    }

    #[test]
    fn a_change_is_kept_until_a_walk_that_began_behind_it_is_over() {
        let mut news = News::default();
        news.add(change(1));
        news.add(change(2));
        assert_eq!((news.count(), news.from(0).count(), news.from(1).count()), (2, 2, 1));
        // The first mounts have had the first one only.
        assert!(news.end_walk());
        assert_eq!((news.from(0).count(), news.from(2).count()), (1, 0));
        news.add(change(3));
        assert!(news.end_walk());
        assert!(!news.end_walk());
        assert_eq!((news.count(), news.changes.len()), (3, 0));
    }
}
