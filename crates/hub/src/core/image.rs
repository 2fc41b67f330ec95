//! Kept images: applying to them, and giving them out.

use tapeline_backbone::FrameFlags;
use tapeline_cache::{Applied, FieldRules, Image, Limits};
use tapeline_entitle::join;
use tapeline_rwf::{Encoded, RefreshFlags, RefreshMsg, StatusMsg, StreamState, UpdateMsg};

use super::Core;
use super::item::{Interest, Item, Stage};
use crate::Outputs;

/// Content of one part of an image that is given out, in bytes: several of
/// the usual frames of a client, and far below what the backbone carries.
const PART_BYTES: usize = 48 << 10;

impl Item {
    pub(super) fn interest_mut(&mut self, server: u32, request: u32) -> Option<&mut Interest> {
        self.interests.iter_mut().find(|one| (one.server, one.request) == (server, request))
    }

    pub(super) fn interest(&self, server: u32, request: u32) -> Option<&Interest> {
        self.interests.iter().find(|one| (one.server, one.request) == (server, request))
    }

    /// Whether whoever asks can be given the kept image. That of a
    /// non-interactive provider is all there is, also while it is suspect.
    pub(super) fn can_serve(&self) -> bool {
        let is_complete = self.image.as_ref().is_some_and(|image| image.is_complete());
        self.has_good_image() || (self.published && is_complete && !self.in_parts)
    }

    /// Applies an update to the kept image, if there is one. Whether it could be.
    pub(super) fn keep_update(
        &mut self,
        update: &UpdateMsg<'_>,
        rules: Option<&dyn FieldRules>,
    ) -> bool {
        let Some(image) = &mut self.image else { return true };
        let applied = image.update(update, rules);
        if let (Ok(Applied::Content), Some(lock)) = (&applied, update.perm_data)
            && !lock.is_empty()
        {
            guard_content(image, lock, self.published);
        }
        applied.is_ok()
    }

    /// The item's lock, where an image says nothing of it that ends a restriction:
    /// servers had the stricter one.
    pub(super) fn lock_to_say(&self, part: &RefreshMsg<'_>) -> Option<Box<[u8]>> {
        let is_anew = part.flags.contains(RefreshFlags::CLEAR_CACHE)
            && part.perm_data.is_none_or(<[u8]>::is_empty);
        let image = self.image.as_ref().filter(|image| is_anew && image.is_restricted())?;
        image.perm_data().map(Into::into)
    }
}

/// Applies a status to a kept image. Content that demands more than the item demands
/// what that demands from now on as well.
pub(super) fn keep_status(image: &mut Image, status: &StatusMsg<'_>, is_all_there_is: bool) {
    image.status(status);
    let lock = status.perm_data.filter(|lock| !lock.is_empty() && image.is_restricted());
    if let Some(lock) = lock {
        guard_content(image, lock, is_all_there_is);
    }
}

/// An image has the content of an update with a lock of its own. Whoever is
/// given it needs what both demand. Where that cannot be said, or where the source
/// can be asked for an image as this user may see it, the content is dropped.
fn guard_content(image: &mut Image, lock: &[u8], is_all_there_is: bool) {
    if image.content_perm_data() == Some(lock) {
        // The item may get another lock, and the content keeps its own.
        if !image.is_restricted() {
            image.restrict(lock);
        }
        return;
    }
    let held = image.content_perm_data().filter(|_| is_all_there_is);
    match held.and_then(|held| join(held, lock)) {
        Some(joined) => image.restrict(&joined),
        None => image.clear(),
    }
}

impl Core {
    /// Applies a part of an image to the kept one, if one is to be kept.
    pub(super) fn keep_image(&mut self, id: u32, part: &RefreshMsg<'_>) {
        let Some(service) = self.items.known(id).map(|item| item.service) else { return };
        let own = self.services.get(service).and_then(|known| known.is_cached);
        // What is mirrored is compared with what the other has.
        let is_cached =
            own.unwrap_or(self.config.cache_interactive) || self.keeps_mirrored_images(service);
        let Some(item) = self.items.known_mut(id) else { return };
        let is_kept = item.published || (is_cached && item.streaming && !item.private);
        if !is_kept {
            return;
        }
        let max_bytes = u32::try_from(self.config.limits.max_image_bytes).unwrap_or(u32::MAX);
        let limits = Limits { max_bytes, ..Limits::default() };
        let image = item.image.get_or_insert_with(|| Box::new(Image::new(limits)));
        if image.refresh(part).is_err() {
            self.counters.uncached += 1;
        }
    }

    /// Gives the kept image to one request.
    pub(super) fn serve_image(
        &mut self,
        id: u32,
        server: u32,
        request: u32,
        out: &mut impl Outputs,
    ) {
        let Some(item) = self.items.known_mut(id) else { return };
        let Some(interest) = item.interest_mut(server, request) else { return };
        interest.stage = Stage::Live;
        let is_snapshot = interest.snapshot;
        let Some(target) = self.servers.target(server) else { return };
        // The image has it: who gets that is not to get it again.
        item.flush_merges(id, out);
        let Some(image) = &item.image else { return };
        let mut flags = FrameFlags::IMAGE;
        flags.set(FrameFlags::SNAPSHOT, is_snapshot);
        let mut parts = image.parts(PART_BYTES);
        self.payload.clear();
        while let Some(part) = parts.next_part(&mut self.payload) {
            let mut head = RefreshFlags::SOLICITED;
            head.set(RefreshFlags::CLEAR_CACHE, part.number == 0);
            head.set(RefreshFlags::REFRESH_COMPLETE, part.is_last);
            let is_only = part.number == 0 && part.is_last;
            let mut state = item.state.as_state();
            if is_snapshot {
                state.stream = StreamState::NON_STREAMING;
            }
            let msg = RefreshMsg {
                flags: head,
                seq_num: image.seq_num(),
                state,
                group_id: image.group_id(),
                perm_data: image.content_perm_data(),
                qos: image.qos(),
                post_user_info: image.post_user_info(),
                part_num: (!is_only).then_some(part.number),
                payload: Encoded::new(image.container_type(), &self.payload),
                ..RefreshMsg::new(item.key.as_ref().domain, 0)
            };
            if let Ok(bytes) = self.scratch.message(&msg.into()) {
                self.counters.refreshes += 1;
                item.publish_to(id, target, flags, bytes, out);
            }
            self.payload.clear();
        }
        if is_snapshot {
            self.drop_interest(id, server, request);
        }
    }
}
