//! Mounts that leave, with everything that they have open.
//!
//! The mount is gone at once: nothing goes to it, it counts nowhere, and its
//! session's index may be another's. What is left are its subscriptions at the items,
//! under a number that nobody else has until the last of them is taken away.
//! Who looks at one before finds nobody behind it.

use std::sync::Arc;

use tapeline_cache::Since;
use tapeline_channel::SessionId;
use tapeline_entitle::{Kind, Usage};

use super::Core;
use super::backlog::Job;
use super::entitlements::Identity;
use super::mount::Mount;
use super::owed::Owed;
use super::preempt::Priorities;
use super::stream::{ItemStream, Taken};
use super::streams::Streams;
use crate::Outputs;

/// What a mount had.
#[derive(Debug)]
pub(super) struct Leaving {
    /// By which its subscriptions know it.
    pub(super) number: u32,
    pub(super) streams: Streams,
    /// What waited for it.
    pub(super) owed: Owed,
    /// How much it wanted them.
    priorities: Priorities,
    /// Posts that wait for their acks, if the mount is gone.
    pub(super) session: Option<SessionId>,
    /// Who was logged in.
    identity: Option<Arc<Identity>>,
}

impl Leaving {
    /// Takes everything that a mount has open.
    fn of(mount: &mut Mount, number: u32) -> Self {
        let identity = mount.login.as_ref().map(|login| Arc::clone(&login.identity));
        let streams = core::mem::take(&mut mount.streams);
        let owed = core::mem::take(&mut mount.owed);
        let priorities = core::mem::take(&mut mount.priorities);
        mount.owed.is_draining = owed.is_draining;
        mount.forget_streams();
        Self { number, streams, owed, priorities, session: None, identity }
    }
}

impl Core {
    /// Closes a mount because an operator wants it.
    pub(crate) fn end_mount<O: Outputs>(&mut self, session: SessionId, reason: &str, out: &mut O) {
        self.drop_mount(session);
        out.close(session, reason);
    }

    /// Forgets a mount. Its streams are closed one after the other.
    pub(super) fn drop_mount(&mut self, session: SessionId) {
        self.mounts.uncount_items(session);
        let Some(mut mount) = self.mounts.remove(session) else { return };
        let number = mount.number;
        let mut leaving = Leaving::of(&mut mount, number);
        if let Some(login) = mount.login.take() {
            self.mounts.standings.leave(number);
            self.mounts.users.log_out(&login, 0);
        }
        leaving.session = Some(session);
        self.backlog.add(Job::Leave(Box::new(leaving)));
    }

    /// Closes all streams of a mount that stays. It may open others with the
    /// same ids at once.
    pub(super) fn drop_streams<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        self.mounts.uncount_items(session);
        let Some(number) = self.mounts.renumber(session) else {
            return self.cut(session, "the server has all the mounts it may have", out);
        };
        let Some(mount) = self.mounts.get_mut(session) else {
            debug_assert!(false, "it has another number now");
            return;
        };
        let leaving = Leaving::of(mount, number);
        self.backlog.add(Job::Leave(Box::new(leaving)));
    }

    /// Takes away one stream of a mount that has left, or something else of it.
    pub(super) fn leave_step<O: Outputs>(
        &mut self,
        leaving: &mut Leaving,
        out: &mut O,
    ) -> Option<usize> {
        let Some((stream_id, stream)) = leaving.streams.pop() else {
            return self.leave_for_good(leaving, out);
        };
        match stream {
            Taken::Item(stream) => {
                let since = leaving.owed.take(stream_id).since;
                // All of them at the end would be long.
                leaving.owed.forget(stream_id);
                let identity = leaving.identity.as_deref();
                self.unsubscribe((leaving.number, stream_id), identity, &stream, since, out);
                if leaving.priorities.forget(stream_id) {
                    self.lower_priority(stream.slot, out);
                }
            }
            Taken::Other(stream) => {
                leaving.owed.take(stream_id);
                self.waiting.remove(leaving.number, stream_id, &stream);
            }
        }
        Some(1)
    }

    fn leave_for_good<O: Outputs>(&mut self, leaving: &mut Leaving, out: &mut O) -> Option<usize> {
        if let Some(identity) = leaving.identity.take() {
            let usage = Usage { mount: leaving.number.into(), ..Usage::of(Kind::Logout, 0) };
            self.record_of(&usage, &identity, None, out);
        }
        if leaving.session.is_some_and(|session| self.posts.forget_one_of(session)) {
            return Some(1);
        }
        debug_assert!(leaving.owed.is_flat(), "what is in pieces went with its stream");
        self.mounts.free_number(leaving.number);
        None
    }

    /// Takes a subscription away from its item, which is closed if it was the last one.
    /// `since`: where its updates begin among those that are merged.
    pub(super) fn unsubscribe<O: Outputs>(
        &mut self,
        (number, stream_id): (u32, i32),
        who: Option<&Identity>,
        stream: &ItemStream,
        since: Option<Since>,
        out: &mut O,
    ) {
        if let Some(since) = since {
            self.leave_merges(stream.slot, since);
        }
        if let Some(item) = self.items.get(stream.slot)
            && let Some(who) = who
            && item.watchers.is_recorded(stream.subscription(number, stream_id))
            && stream.state.is_streaming()
        {
            let item = Some((&item.key.as_ref(), self.items.guard(stream.slot)));
            let usage = Usage { mount: number.into(), stream_id, ..Usage::of(Kind::StopWatch, 0) };
            self.record_of(&usage, who, item, out);
        }
        let Some(item) = self.items.get_mut(stream.slot) else {
            debug_assert!(false, "a stream is of an item");
            return;
        };
        let watchers = &mut item.watchers;
        let Some(cell) = watchers.cell(stream.subscription(number, stream_id)) else {
            debug_assert!(false, "a stream has its subscription");
            return;
        };
        watchers.remove(cell);
        let is_last = watchers.is_empty();
        self.mounts.standings.sub(number, item.standing());
        if is_last {
            self.close_item(stream.slot, out);
        }
    }
}
