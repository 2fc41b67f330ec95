//! Mounts whose updates were held back, and are not any more: every item gets a
//! new image, which nobody asked for.
//!
//! There may be as many as a mount has items, so they are put down for it a
//! slice at a time. An update that comes in between for a stream whose turn has
//! not come does not go out: it would meet what the client knew before the
//! pause. The stream is put down for its image at once, in which the update is.

use tapeline_channel::SessionId;

use super::Core;
use super::backlog::Job;
use super::mount::gate;
use super::watchers::Watcher;
use crate::Outputs;

impl Core {
    /// Has all items of a mount get a new image. They may be more than what the
    /// mount may have in its output.
    ///
    /// The first mount of a turn gets its first images at once: what changes
    /// next comes as an update then.
    pub(super) fn refresh_all<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        let Some(mount) = self.mounts.known_mut(session) else { return };
        let is_under_way = mount.outdated_from.replace(i32::MIN).is_some();
        self.mounts.set_gate(session, gate::OUTDATED, true);
        if !is_under_way {
            self.backlog.add(Job::Refresh(session));
        }
        if self.refreshed_at != Some(self.now) {
            self.refreshed_at = Some(self.now);
            self.begin_jobs_of_mounts(out);
        }
    }

    /// Puts the next stream of a mount down for an image.
    pub(super) fn refresh_step<O: Outputs>(
        &mut self,
        session: SessionId,
        out: &mut O,
    ) -> Option<usize> {
        let mount = self.mounts.get_mut(session)?;
        let from = mount.outdated_from?;
        let stream_id = mount.streams.item_from(from);
        mount.outdated_from = stream_id.and_then(|stream_id| stream_id.checked_add(1));
        let is_over = mount.outdated_from.is_none();
        if let Some(stream_id) = stream_id {
            self.refresh_later(session, stream_id);
        }
        if is_over {
            self.mounts.set_gate(session, gate::OUTDATED, false);
            self.begin_draining(session, out);
            return None;
        }
        Some(1)
    }

    fn refresh_later(&mut self, session: SessionId, stream_id: i32) {
        let item = self.mounts.get(session).and_then(|mount| mount.streams.item(stream_id));
        if item.is_some_and(|item| item.state.takes_updates())
            && let Some((slot, cell)) = self.item_on(session, stream_id)
        {
            self.put_image_off(slot, cell);
        }
    }

    /// Whether a watcher needs an image before it gets an update.
    pub(super) fn is_outdated(&self, watcher: &Watcher) -> bool {
        let mount = self.mounts.get(watcher.session);
        let from = mount.and_then(|mount| mount.outdated_from);
        from.is_some_and(|from| watcher.stream_id >= from)
    }
}
