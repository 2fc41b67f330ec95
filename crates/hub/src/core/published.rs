//! Items of non-interactive providers: published unasked, kept, given to
//! whoever asks.

use tapeline_omm::state::{is_final, usual};
use tapeline_omm::{ItemKeyRef, KeyHash};
use tapeline_planted::planted;
use tapeline_rwf::{DataState, Domain, Qos, RefreshMsg, State, StatusMsg, StreamState};
use tapeline_time::Time;

use super::Core;
use super::claims::Claim;
use super::downstream::CHANNEL_DOWN;
use super::image::keep_status;
use super::item::{Binding, Item};
use super::timers::ms;
use crate::Outputs;

impl Core {
    /// A provider publishes an item on a stream that it has not used yet: the
    /// key says which.
    pub(super) fn item_published(
        &mut self,
        now: Time,
        index: u32,
        refresh: &RefreshMsg<'_>,
        out: &mut impl Outputs,
    ) {
        let Some(source) = self.sources.known(index) else { return };
        let service_id = refresh.key.and_then(|key| key.service_id);
        let offer = service_id.and_then(|id| source.offers.get(&id));
        let stream = (refresh.domain, refresh.stream_id);
        let (Some(key), Some(offer), Some(service_id)) = (refresh.key, offer, service_id) else {
            self.not_offered(index, service_id, stream, out);
            return;
        };
        if refresh.part_num.is_some_and(|number| number > 0) {
            // The rest of an image that began when another source had the item:
            // it is no use to anybody. This one waits for the next.
            self.counters.stray += 1;
            return;
        }
        let (service, generation) = (offer.service, offer.generation);
        let qos = refresh.qos.unwrap_or(Qos::REALTIME_TICK_BY_TICK);
        let qos = (refresh.domain != Domain::DICTIONARY).then_some(qos);
        let key =
            ItemKeyRef { service_id: Some(service), ..ItemKeyRef::of(refresh.domain, &key, qos) };
        let hash = KeyHash::of(&key);
        let found = self.items.find_hashed(hash, &key);
        if let Some(id) = found {
            self.see_to_lost(now, id, out);
        }
        if let Some((id, item)) = found.and_then(|id| Some((id, self.items.get(id)?)))
            && let Some(binding) = item.binding
        {
            let (owner, stream_id) = (binding.source, refresh.stream_id);
            if item.published && owner == index && binding.stream_id == Some(stream_id) {
                // It went on here just now, as it was found to be lost.
                return self.published_refresh(now, id, refresh, out);
            }
            // Another source has it. This one takes over when that is lost.
            self.counters.stray += 1;
            let stands_by = item.published && owner != index && !is_over(&refresh.state);
            let claim = Claim { item: id, source: index, service_id, generation, stream_id };
            match stands_by {
                true => {
                    self.stand_by(now, claim, refresh.domain, out);
                    self.keep_standby_image(&claim, refresh);
                }
                false => _ = self.stand_down(now, index, stream_id, out),
            }
            return;
        }
        self.stand_down(now, index, refresh.stream_id, out);
        if !self.admits_item(index, found.is_none().then_some(service), stream, out) {
            return;
        }
        let options = self.stream_options(true, false);
        let id = found.unwrap_or_else(|| {
            self.items.insert(hash, Item::new(key.to_owned(), service, options))
        });
        let Some(item) = self.items.known_mut(id) else { return };
        item.published = true;
        // Also if it was asked for as a snapshot before.
        item.streaming = true;
        self.keep_alive(id);
        if let Some(service) = self.services.get_mut(service) {
            service.waiting.remove(&id);
        }
        let stream_id = refresh.stream_id;
        let stream_id = Some(stream_id);
        self.enter(id, Binding { source: index, service_id, generation, stream_id });
        if let Some(source) = self.sources.get_mut(index) {
            source.streams.insert(refresh.stream_id, id);
        }
        self.all_wait(id, out);
        self.published_refresh(now, id, refresh, out);
    }

    pub(super) fn published_refresh(
        &mut self,
        now: Time,
        id: u32,
        refresh: &RefreshMsg<'_>,
        out: &mut impl Outputs,
    ) {
        if is_over(&refresh.state) {
            self.end_with(id, &refresh.state, out);
            return;
        }
        // An item that does not update is kept and given out like any other.
        let state = State { stream: StreamState::OPEN, ..refresh.state };
        let refresh = RefreshMsg { state, ..*refresh };
        self.image_part(now, id, &refresh, out);
    }

    pub(super) fn published_status(
        &mut self,
        id: u32,
        status: &StatusMsg<'_>,
        out: &mut impl Outputs,
    ) {
        let told = StatusMsg { stream_id: 0, key: None, ..*status };
        if status.state.is_some_and(|state| is_final(state.stream)) {
            self.end_with_status(id, &told, out);
            return;
        }
        if let Some(image) = self.items.get_mut(id).and_then(|item| item.image.as_mut()) {
            keep_status(image, &told, true);
        }
        if let Some(group) = status.group_id {
            self.set_group(id, group.try_into().unwrap_or_default());
        }
        self.tell_status(id, &told, out);
    }

    /// The provider of an item is gone. It goes on with what another one has that
    /// stands by. Else it stays for a while, suspect; for as long as there is one
    /// that stands by and has no good image of it.
    pub(super) fn published_lost(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        if self.go_on_with_standby(now, id, out) {
            return;
        }
        let stale_at = ms(now).saturating_add(self.config.ni_stale_ms);
        self.unbind(id);
        let Some(item) = self.items.known_mut(id) else { return };
        item.recovering = true;
        if !self.is_stood_by(id) || planted!(IdleStandby) {
            self.expire_at(id, stale_at);
        }
        self.tell_all(id, &CHANNEL_DOWN, out);
    }

    /// The provider of an item did not come back in time.
    pub(super) fn published_expired(&mut self, id: u32, out: &mut impl Outputs) {
        let state = State {
            stream: StreamState::CLOSED_RECOVER,
            data: DataState::SUSPECT,
            ..usual::CHANNEL_DOWN
        };
        self.end_with(id, &state, out);
    }
}

/// Whether an image ends its stream. One that does not update does not.
fn is_over(state: &State<'_>) -> bool {
    is_final(state.stream) && state.stream != StreamState::NON_STREAMING
}
