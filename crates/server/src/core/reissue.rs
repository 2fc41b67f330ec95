//! Requests on streams that are open.

use tapeline_channel::SessionId;
use tapeline_omm::Scratch;
use tapeline_omm::market::ItemRequest;
use tapeline_omm::stream::{ReissueEffect, Reject};
use tapeline_omm::view::ViewChange;
use tapeline_planted::planted;
use tapeline_rwf::{
    DataState, Domain, Msg, RequestFlags, RequestMsg, State, StateCode, StreamState,
};

use super::Core;
use super::forms::Form;
use super::item::Item;
use super::mount::Mount;
use super::rows::Cell;
use super::stream::{Entry, Stream};
use super::subscription::mode;
use crate::Outputs;

impl Core {
    pub(super) fn on_reissue<O: Outputs>(
        &mut self,
        session: SessionId,
        msg: &RequestMsg<'_>,
        bytes: &[u8],
        out: &mut O,
    ) {
        let Some(mount) = self.mounts.known(session) else { return };
        match mount.streams.get(msg.stream_id) {
            None => {}
            Some(Entry::Other(Stream::Login)) => {
                // The login goes on: it is the request that is wrong.
                self.refuse(session, msg, &ON_LOGIN_STREAM, out);
            }
            Some(Entry::Other(Stream::Directory(known))) if msg.domain == Domain::SOURCE => {
                let known = **known;
                self.reissue_directory(session, known, msg, out);
            }
            Some(Entry::Other(Stream::Dictionary(known))) if msg.domain == Domain::DICTIONARY => {
                let known = *known;
                self.reissue_dictionary(session, known, msg, out);
            }
            Some(Entry::Other(Stream::Directory(_) | Stream::Dictionary(_))) => {
                self.reject(session, msg, &Reject::Changed("domain"), out);
            }
            Some(Entry::Other(Stream::Pending(_) | Stream::Unplaced(_) | Stream::Paced(_))) => {
                // It may ask for something else now that can be served.
                self.remove_stream(session, msg.stream_id, out);
                self.open_item(session, msg, bytes, out);
            }
            Some(Entry::Item(_)) => self.reissue_item(session, msg, bytes, out),
        }
    }

    fn reissue_item<O: Outputs>(
        &mut self,
        session: SessionId,
        msg: &RequestMsg<'_>,
        bytes: &[u8],
        out: &mut O,
    ) {
        let Ok(request) = ItemRequest::decode(msg) else {
            return self.reject(session, msg, &Reject::Changed("quality of service"), out);
        };
        let view = match ViewChange::of(msg, true) {
            Ok(view) => view,
            Err(error) => {
                return self.refuse(session, msg, &error.state(true).as_state(), out);
            }
        };
        let Some((slot, cell)) = self.item_on(session, msg.stream_id) else { return };
        let priority = self.priority_of(session, request.priority);
        let Self { mounts, items, scratch, .. } = self;
        let (Some(mount), Some(item)) = (mounts.get_mut(session), items.known_mut(slot)) else {
            return;
        };
        let is_private = item.is_private;
        let changed = mount.streams.change(msg.stream_id, |state| {
            let effect = state.reissue(&item.key.as_ref(), &request);
            // The updates of the pause are missing in an image that has begun.
            let is_torn = effect.as_ref().is_ok_and(ReissueEffect::resumes) && !is_private;
            if is_torn {
                state.abandon_image();
            }
            (effect, state.takes_updates(), state.owes_image(), is_torn)
        });
        let Some((effect, is_live, owes_image, is_torn)) = changed else { return };
        let effect = match effect {
            Ok(effect) => effect,
            Err(reject) => return self.reject(session, msg, &reject, out),
        };
        let wants = effect.image && owes_image;
        if is_private {
            let whole = with_view(msg, item.request(), scratch);
            item.set_request(whole.as_deref().unwrap_or(bytes));
        }
        if let Some(subscription) = item.watchers.subscription_mut(cell).filter(|_| is_torn) {
            subscription.set(mode::IN_IMAGE, false);
        }
        change_watcher((mount, item), cell, &request, view, is_live);
        let is_more = item.raise_priority(priority);
        if priority.is_some() {
            mount.priorities.set(msg.stream_id, priority);
        }
        if effect.flow_changed && request.pause {
            // The image that comes with the resumption has it all.
            self.forget_updates(slot, cell);
        }
        if is_private {
            return self.reissue_upstream(slot, effect.image, out);
        }
        if is_more {
            self.reissue_upstream(slot, false, out);
        } else if priority.is_some() {
            self.lower_priority(slot, out);
        }
        if wants {
            self.owe_image(slot, cell, out);
        }
    }

    /// A watcher is to get an image: from the cache, or from the hub.
    pub(super) fn owe_image<O: Outputs>(&mut self, slot: u32, cell: Cell, out: &mut O) {
        let Some(item) = self.items.known_mut(slot) else { return };
        let Some(subscription) = item.watchers.subscription_mut(cell) else { return };
        subscription.set(mode::WANTS, true);
        let has_image = item.has_image && !item.in_parts;
        match item.is_servable() {
            true => self.serve_from_cache(slot, cell, out),
            false if has_image && self.is_answered_blank(slot, cell) => {
                self.tell_state(slot, cell, out);
            }
            false => self.ask_image(slot, out),
        }
    }
}

const ON_LOGIN_STREAM: State<'static> = State::new(
    StreamState::OPEN,
    DataState::NO_CHANGE,
    StateCode::USAGE_ERROR,
    "Request Message rejected - the stream is that of the login.",
);

/// The request of a private stream that has the view of the one before, and so does not
/// say which that is, with this view: the one before may be lost on its way, and only
/// the last one is sent again. `None` for any other.
fn with_view(
    msg: &RequestMsg<'_>,
    before: Option<&[u8]>,
    scratch: &mut Scratch,
) -> Option<Box<[u8]>> {
    let keeps_view = msg.flags.contains(RequestFlags::HAS_VIEW) && msg.payload.is_empty();
    let Ok(Msg::Request(before)) = Msg::decode(before.filter(|_| keeps_view)?) else { return None };
    if !before.flags.contains(RequestFlags::HAS_VIEW) {
        return None;
    }
    let whole = RequestMsg { payload: before.payload, ..*msg };
    scratch.message(&whole.into()).ok().map(Box::from)
}

/// What a reissue changes of the hot half of a stream.
fn change_watcher(
    (mount, item): (&mut Mount, &mut Item),
    cell: Cell,
    request: &ItemRequest<'_>,
    view: ViewChange,
    is_live: bool,
) {
    let known = item.watchers.form_at(cell).cloned().unwrap_or(Form::PLAIN);
    let (view, is_full_view) = match view {
        _ if item.is_private => (None, false),
        ViewChange::Replace(_) if planted!(KeptView) => (known.view, known.is_full_view),
        ViewChange::Keep => (known.view, known.is_full_view),
        ViewChange::Replace(view) => (Some(view), false),
        ViewChange::Drop => (None, false),
    };
    let form = Form { view, is_full_view, with_key: request.key_in_updates, ..known };
    mount.set_form(&mut item.watchers, cell, form);
    if let Some(subscription) = item.watchers.subscription_mut(cell) {
        subscription.set(mode::LIVE, is_live);
        subscription.set(mode::CONFLATION_INFO, request.conflation_info);
    }
}
