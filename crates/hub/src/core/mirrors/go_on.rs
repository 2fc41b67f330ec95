//! An item goes on at a source that stands by with it.

use std::cmp::Ordering;

use tapeline_cache::Image;
use tapeline_planted::planted;
use tapeline_rwf::{DataState, Encoded, RefreshFlags, RefreshMsg, StreamState};
use tapeline_time::Time;

use super::super::Core;
use super::super::item::{Binding, Stage};
use super::super::source::Source;
use super::super::timers::ms;
use super::is_for_mirrors;
use crate::Outputs;

/// Content of one part of an image that takes the place of another, in bytes.
const PART_BYTES: usize = 48 << 10;

impl Core {
    /// The source of an item is lost: it goes on with what the first standby has
    /// that has it all. Whether there was one.
    pub(in crate::core) fn go_on_with_mirror(
        &mut self,
        now: Time,
        id: u32,
        out: &mut impl Outputs,
    ) -> bool {
        let Some(item) = self.items.get(id) else { return false };
        if !self.has_mirrors(item.service) || !is_for_mirrors(item) || planted!(LostMirror) {
            return false;
        }
        let Some(from) = item.binding.map(|binding| binding.source) else { return false };
        let service = item.service;
        let active = if self.is_mirrored(service) { self.active_of(service) } else { None };
        let Some(item) = self.items.get(id) else { return false };
        let is_whole = |source: &Source, service_id: u16| {
            let mirrors = &source.offers.get(&service_id)?.mirrors;
            let mirror = mirrors.by_stream.get(mirrors.by_item.get(&id)?)?;
            let image = mirror.image.as_ref()?;
            let is_ok = image.state().data == DataState::OK;
            (image.is_complete() && is_ok).then_some(())
        };
        let place = self
            .sources
            .offering(item.service)
            .filter(|(index, service_id, source)| {
                *index != from
                    && source.is_usable(*service_id)
                    && is_whole(source, *service_id).is_some()
            })
            .min_by_key(|(index, _, source)| {
                (active != Some(*index), source.preference.order, *index)
            })
            .map(|(index, service_id, _)| (index, service_id));
        let Some((index, service_id)) = place else { return false };
        self.switch(now, (index, service_id), id, out);
        true
    }

    fn switch(
        &mut self,
        now: Time,
        (index, service_id): (u32, u16),
        id: u32,
        out: &mut impl Outputs,
    ) {
        let Some(source) = self.sources.get_mut(index) else { return };
        let Some(offer) = source.offers.get_mut(&service_id) else { return };
        let generation = offer.generation;
        let Some((stream_id, mirror)) = offer.mirrors.take(id) else { return };
        let Some(image) = mirror.image else {
            debug_assert!(false, "an item goes on with an image that is whole");
            return;
        };
        let standing = self.standing(id, &image);
        let is_same = self.has_same(id, &image, standing);
        // Nobody need hear that a source leaves. Of those that are there to stay one may be
        // a little behind the other.
        let is_failover = !is_same && (self.is_balanced(id) || !self.is_to_move(id));
        // A source that is still there has to know.
        if !(planted!(KeptMove) && self.is_balanced(id)) {
            self.send_close(id, out);
        }
        if let Some(item) = self.items.get_mut(id) {
            let _ = item.stream.channel_down();
        }
        self.unbind(id);
        self.enter(
            id,
            Binding { source: index, service_id, generation, stream_id: Some(stream_id) },
        );
        if let Some(source) = self.sources.get_mut(index) {
            source.streams.insert(stream_id, id);
        }
        self.renew_stream(id);
        if let Some(item) = self.items.get_mut(id) {
            let _ = item.stream.request(ms(now));
            item.told_priority = item.priority();
            (item.recovering, item.failing_over) = (!is_same, is_failover);
        }
        self.counters.mirror_switches += 1;
        if is_same && standing == Some(Ordering::Less) {
            self.drop_repeats(id);
        }
        match is_same {
            true => self.go_on_unseen(now, id, &image),
            false => self.go_on_with(now, id, &image, out),
        }
    }

    /// Whether servers have of an item what an image is, or will be, and nobody waits. By
    /// the numbers of both, where they have a common origin.
    pub(in crate::core) fn has_same(
        &self,
        id: u32,
        image: &Image,
        standing: Option<Ordering>,
    ) -> bool {
        let Some(item) = self.items.get(id) else { return false };
        let all_have_it = item.interests.iter().all(|it| it.accepted && it.stage == Stage::Live);
        let Some(known) = &item.image else { return false };
        if !all_have_it
            || !item.has_good_image()
            || known.container_type() != image.container_type()
        {
            return false;
        }
        if known.perm_data() != image.perm_data() {
            return false;
        }
        if let Some(standing) = standing {
            return standing.is_le();
        }
        let (mut one, mut other) = (Vec::new(), Vec::new());
        let is_read = known.payload(&mut one).is_ok() && image.payload(&mut other).is_ok();
        is_read && one == other
    }

    /// Servers are told nothing: they have what the standby has.
    fn go_on_unseen(&mut self, now: Time, id: u32, image: &Image) {
        self.counters.mirror_switches_unseen += 1;
        let payload = Encoded::new(image.container_type(), &[]);
        let Some(item) = self.items.get_mut(id) else { return };
        let refresh = RefreshMsg {
            flags: RefreshFlags::REFRESH_COMPLETE | RefreshFlags::SOLICITED,
            state: item.state.as_state(),
            payload,
            ..RefreshMsg::new(item.key.as_ref().domain, 0)
        };
        let _ = item.stream.message(ms(now), &refresh.into());
        item.live = true;
        let group = image.group_id().try_into().unwrap_or_default();
        self.set_group(id, group);
        self.account(id);
        self.arm(id);
    }

    /// Servers get the image of the standby.
    pub(in crate::core) fn go_on_with(
        &mut self,
        now: Time,
        id: u32,
        image: &Image,
        out: &mut impl Outputs,
    ) {
        self.all_wait(id, out);
        let Some(item) = self.items.get(id) else { return };
        let (domain, is_published) = (item.key.as_ref().domain, item.published);
        let mut parts = image.parts(PART_BYTES);
        let mut payload = Vec::new();
        while let Some(part) = parts.next_part(&mut payload) {
            let mut flags = RefreshFlags::empty();
            flags.set(RefreshFlags::SOLICITED, !is_published);
            flags.set(RefreshFlags::CLEAR_CACHE, part.number == 0);
            flags.set(RefreshFlags::REFRESH_COMPLETE, part.is_last);
            let is_only = part.number == 0 && part.is_last;
            let mut state = image.state().as_state();
            state.stream = StreamState::OPEN;
            let refresh = RefreshMsg {
                flags,
                seq_num: image.seq_num(),
                state,
                group_id: image.group_id(),
                perm_data: image.perm_data(),
                qos: image.qos(),
                post_user_info: image.post_user_info(),
                part_num: (!is_only).then_some(part.number),
                payload: Encoded::new(image.container_type(), &payload),
                ..RefreshMsg::new(domain, 0)
            };
            match is_published {
                true => self.published_refresh(now, id, &refresh, out),
                false => self.refresh(now, id, &refresh, out),
            }
            payload.clear();
        }
    }
}
