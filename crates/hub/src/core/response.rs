//! Messages on the streams of items.

use tapeline_backbone::FrameFlags;
use tapeline_cache::Image;
use tapeline_omm::ItemKey;
use tapeline_omm::state::is_final;
use tapeline_omm::stream::Deliver;
use tapeline_planted::planted;
use tapeline_rwf::{
    DataType, GenericMsg, Msg, MsgClass, MsgHeader, MsgKey, RefreshFlags, RefreshMsg, StatusMsg,
    StreamState, UpdateMsg, check,
};
use tapeline_time::Time;

use super::Core;
use super::image::keep_status;
use super::relay::{at_service, has_key, on_stream_zero, status};
use super::timers::ms;
use crate::Outputs;

impl Core {
    /// A message on the stream of an item.
    #[inline]
    pub(super) fn item_message(
        &mut self,
        now: Time,
        id: u32,
        header: &MsgHeader,
        bytes: &[u8],
        out: &mut impl Outputs,
    ) {
        if header.class == MsgClass::Update {
            self.update(now, id, header, bytes, out);
        } else {
            self.other_item_message(now, id, bytes, out);
        }
    }

    /// The tick path: from the header of an update to its frame.
    #[inline]
    fn update(
        &mut self,
        now: Time,
        id: u32,
        header: &MsgHeader,
        bytes: &[u8],
        out: &mut impl Outputs,
    ) {
        if !has_key(header)
            && !self.pressure.is_on()
            && let Some(header) = self.items.plain_header(id)
        {
            self.counters.updates += 1;
            if planted!(LostFrame) {
                return;
            }
            out.publish(header, &on_stream_zero(bytes));
            return;
        }
        self.update_with_care(now, id, bytes, out);
    }

    /// An update that is applied to a kept image, that has a key to lose, that
    /// nobody wants, that comes too early, or that may be merged.
    fn update_with_care(&mut self, now: Time, id: u32, bytes: &[u8], out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        if !item.live {
            self.counters.stray += 1;
            return;
        }
        let Ok(Msg::Update(update)) = Msg::decode(bytes) else {
            self.counters.updates += 1;
            self.counters.malformed += 1;
            return;
        };
        if self.repeats(id, &update) {
            return;
        }
        self.counters.updates += 1;
        let Some(item) = self.items.known_mut(id) else { return };
        if item.published && item.image.as_ref().is_some_and(|image| !suits(image, &update)) {
            self.counters.uncached += 1;
            return;
        }
        let rules = self.rules.as_deref().map(|rules| rules as &dyn tapeline_cache::FieldRules);
        if !item.keep_update(&update, rules) {
            self.counters.uncached += 1;
        }
        let bare = UpdateMsg { key: None, ..update };
        if self.pressure.is_on() && self.merge(now, id, &bare, out) {
            return;
        }
        let Some(item) = self.items.known_mut(id) else { return };
        if update.key.is_none() {
            item.publish_all(id, FrameFlags::empty(), bytes, out);
            return;
        }
        if let Ok(bytes) = self.scratch.message(&bare.into()) {
            item.publish_all(id, FrameFlags::empty(), bytes, out);
        }
    }

    fn other_item_message(&mut self, now: Time, id: u32, bytes: &[u8], out: &mut impl Outputs) {
        let Ok(msg) = Msg::decode(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        if self.backlog.has_sayings() {
            let stream_id = |core: &Self| core.items.get(id)?.binding?.stream_id;
            let before = stream_id(self);
            self.hear_first(now, id, out);
            if stream_id(self) != before {
                // It was closed with what was said before.
                self.counters.stray += 1;
                return;
            }
        }
        let Some(item) = self.items.known(id) else { return };
        match &msg {
            Msg::Refresh(refresh) if is_of_another(&item.key, refresh.key.as_ref()) => {
                self.counters.stray += 1;
            }
            Msg::Refresh(refresh) if item.published => {
                self.published_refresh(now, id, refresh, out);
            }
            Msg::Refresh(refresh) => self.refresh(now, id, refresh, out),
            Msg::Status(status) if item.published => self.published_status(id, status, out),
            Msg::Status(status) => self.status(now, id, status, out),
            Msg::Generic(generic) => self.generic_down(id, generic, out),
            Msg::Ack(ack) => {
                if let Some(binding) = item.binding {
                    self.ack(binding.source, ack, out);
                }
            }
            Msg::Update(_) | Msg::Request(_) | Msg::Close(_) | Msg::Post(_) => {
                self.counters.stray += 1;
            }
        }
    }

    pub(super) fn refresh(
        &mut self,
        now: Time,
        id: u32,
        refresh: &RefreshMsg<'_>,
        out: &mut impl Outputs,
    ) {
        if self.outlives_close(now, id, &refresh.state, out) {
            return;
        }
        let Some(item) = self.items.known_mut(id) else { return };
        let mut refresh = *refresh;
        let is_aside = item.is_aside(&refresh);
        if !refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE) {
            item.is_answer = refresh.flags.contains(RefreshFlags::SOLICITED);
        }
        // The first image on a stream answers the request, whether the
        // provider says so or not.
        if !item.live {
            refresh.flags |= RefreshFlags::SOLICITED;
        }
        let reaction = item.stream.message(ms(now), &refresh.into());
        let state = match reaction.deliver {
            Deliver::Nothing => return,
            Deliver::Message => refresh.state,
            Deliver::MessageAs(state) => state,
            Deliver::Status(state) => {
                self.act(id, reaction.send, out);
                self.end_with(id, &state, out);
                return;
            }
        };
        let is_image = matches!(
            refresh.state.stream,
            StreamState::OPEN | StreamState::NON_STREAMING | StreamState::UNSPECIFIED
        );
        let binding = item.binding;
        if is_image {
            self.no_repeats(id);
            refresh.state = state;
            self.act(id, None, out);
            if is_aside {
                self.supersede_image(id, out);
            }
            self.image_part(now, id, &refresh, out);
            self.act(id, reaction.send, out);
        } else {
            let msg = status(refresh.domain, state);
            let msg = with_redirection(msg, refresh.key.as_ref(), item.service);
            self.act(id, reaction.send, out);
            self.close_reopened(id, out);
            self.state_changed(now, id, &msg, out);
        }
        if let Some(binding) = binding {
            self.pump(now, binding.source, binding.service_id, out);
        }
    }

    fn status(&mut self, now: Time, id: u32, status: &StatusMsg<'_>, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        let is_redirection =
            status.state.is_some_and(|state| state.stream == StreamState::REDIRECTED);
        if !is_redirection && is_of_another(&item.key, status.key.as_ref()) {
            self.counters.stray += 1;
            return;
        }
        if status.state.is_some_and(|state| self.outlives_close(now, id, &state, out)) {
            return;
        }
        let Some(item) = self.items.known_mut(id) else { return };
        let binding = item.binding;
        let reaction = item.stream.message(ms(now), &Msg::Status(*status));
        let mut told = StatusMsg { stream_id: 0, key: None, ..*status };
        match reaction.deliver {
            Deliver::Nothing => return,
            Deliver::Message => {}
            Deliver::MessageAs(state) | Deliver::Status(state) => told.state = Some(state),
        }
        if let Some(image) = &mut item.image {
            keep_status(image, &told, false);
        }
        if let Some(group) = status.group_id {
            self.set_group(id, group.try_into().unwrap_or_default());
        }
        let Some(item) = self.items.known(id) else { return };
        let told = with_redirection(told, status.key.as_ref(), item.service);
        self.act(id, reaction.send, out);
        if status.state.is_some_and(|state| is_final(state.stream)) {
            self.close_reopened(id, out);
        }
        self.state_changed(now, id, &told, out);
        if let Some(binding) = binding {
            self.pump(now, binding.source, binding.service_id, out);
        }
    }

    /// The stream of an item has heard of a state, and servers are to. What
    /// follows depends on where that left the stream.
    pub(super) fn state_changed(
        &mut self,
        now: Time,
        id: u32,
        told: &StatusMsg<'_>,
        out: &mut impl Outputs,
    ) {
        let Some(item) = self.items.known(id) else { return };
        let is_lost = item.binding.is_some_and(|binding| binding.stream_id.is_some())
            && !item.stream.is_on_wire();
        if item.stream.is_over() {
            self.end_with_status(id, told, out);
        } else {
            self.tell_status(id, told, out);
            if is_lost {
                self.seek_again(now, id, out);
            }
        }
    }

    /// A generic message goes to all who want the item, with its key, whose
    /// service is the hub's then.
    fn generic_down(&mut self, id: u32, generic: &GenericMsg<'_>, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        let key = generic.key.as_ref().map(|key| at_service(key, item.service));
        let msg = GenericMsg { key, ..*generic };
        if let Ok(bytes) = self.scratch.message(&msg.into()) {
            self.counters.generics += 1;
            item.publish_all(id, FrameFlags::empty(), bytes, out);
        }
    }
}

/// Whether an update can be applied to an image. One that cannot would take the
/// image along, and where it was published unasked there is no other.
pub(super) fn suits(image: &Image, update: &UpdateMsg<'_>) -> bool {
    let payload = &update.payload;
    let is_content = payload.data_type() != DataType::NO_DATA && image.is_complete();
    let is_same = image.container_type() == payload.data_type();
    !is_content || (is_same && check(payload, |_| DataType::UNKNOWN).is_ok())
}

/// Whether a key names another item: what comes for a stream that was closed
/// may be about the item that had it before.
pub(super) fn is_of_another(item: &ItemKey, key: Option<&MsgKey<'_>>) -> bool {
    let name = key.and_then(|key| key.name);
    name.is_some_and(|name| *name != *item.as_ref().name)
}

/// The key of a redirection is where to ask instead, so it stays.
fn with_redirection<'a>(
    msg: StatusMsg<'a>,
    key: Option<&MsgKey<'a>>,
    service: u16,
) -> StatusMsg<'a> {
    let is_redirection = msg.state.is_some_and(|state| state.stream == StreamState::REDIRECTED);
    match (is_redirection, key) {
        (true, Some(key)) => StatusMsg { key: Some(at_service(key, service)), ..msg },
        _ => msg,
    }
}
