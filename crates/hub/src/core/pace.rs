//! What goes to a provider, as fast as it takes it: requests and images within
//! its window, closes, changes of what is wanted.
//!
//! While a provider does not read, nothing is sent to it that a consumer has
//! caused. Closes wait and go first; requests and images wait for their turn,
//! changes are said as they are then; posts are refused and generic messages
//! dropped. Of much that waits one slice is sent in a turn.

use tapeline_channel::Sent;
use tapeline_omm::is_administrative;
use tapeline_omm::stream::{Reissue, ToProvider};
use tapeline_rssl::Time;
use tapeline_rwf::{CloseMsg, Domain, EncodeError, Encoder, RequestFlags, RequestMsg};

use super::Core;
use super::item::{Binding, Item, Stage, Void};
use super::source::Wish;
use super::wire::ms;
use crate::Outputs;

/// How many messages go to one source in one turn, when many wait.
const SLICE: usize = 256;

impl Core {
    /// Writes a message of the connection itself and sends it to a source.
    pub(super) fn send_written(
        &mut self,
        index: u32,
        write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
        out: &mut impl Outputs,
    ) {
        let mut scratch = std::mem::take(&mut self.scratch);
        if let Some(bytes) = scratch.write(write) {
            self.send(index, bytes, out);
        }
        self.scratch = scratch;
    }

    /// Sends what a consumer caused to a source, unless that does not fit now.
    /// Whether it went.
    pub(super) fn offer(&mut self, index: u32, bytes: &[u8], out: &mut impl Outputs) -> bool {
        let Some(source) = self.sources.get_mut(index) else { return false };
        let Some(session) = source.session else { return false };
        let sent = out.send(session, bytes);
        source.is_slow |= matches!(sent, Sent::Slow | Sent::Full);
        matches!(sent, Sent::Queued | Sent::Slow)
    }

    /// Writes what a consumer caused and sends it to a source, unless it does
    /// not fit now. Whether it went.
    pub(super) fn offer_written(
        &mut self,
        index: u32,
        write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
        out: &mut impl Outputs,
    ) -> bool {
        let mut scratch = std::mem::take(&mut self.scratch);
        let is_sent = scratch.write(write).is_some_and(|bytes| self.offer(index, bytes, out));
        self.scratch = scratch;
        is_sent
    }

    /// Whether a source has been sent more than it has read.
    pub(super) fn is_slow(&self, index: u32) -> bool {
        self.sources.get(index).is_some_and(|source| source.is_slow)
    }

    /// A source has room for requests again.
    pub(super) fn drained(&mut self, now: Time, index: u32, out: &mut impl Outputs) {
        if let Some(source) = self.sources.get_mut(index) {
            source.is_slow = false;
            self.catch_up(now, index, out);
        }
    }

    /// Sends one slice of what waits for a source that takes it.
    pub(super) fn catch_up(&mut self, now: Time, index: u32, out: &mut impl Outputs) {
        self.behind.remove(&index);
        for _ in 0..SLICE {
            let Some(source) = self.sources.get_mut(index).filter(|source| !source.is_slow) else {
                return;
            };
            if let Some((domain, stream_id)) = source.unclosed.pop_front() {
                self.write_close(index, domain, stream_id, out);
            } else if let Some(id) = source.untold.pop_first() {
                if let Some(reissue) = self.items.get_mut(id).and_then(|item| item.untold.take()) {
                    self.send_reissue(index, id, reissue, out);
                }
            } else {
                let services: Vec<_> = source.offers.keys().copied().collect();
                for service_id in services {
                    self.pump(now, index, service_id, out);
                }
                return;
            }
        }
        self.behind.insert(index);
    }

    /// Sends what waits at a source, as far as its window has room.
    pub(super) fn pump(&mut self, now: Time, index: u32, service_id: u16, out: &mut impl Outputs) {
        let max_window = self.config.limits.max_window;
        for _ in 0..SLICE {
            let Some(source) = self.sources.get_mut(index) else { return };
            match source.next_wish(service_id, max_window) {
                Some(Wish::Item(id)) => {
                    let binding = self.items.get(id).and_then(|item| item.binding);
                    if binding.is_some_and(|it| it.waits_at(index, service_id)) {
                        self.ask(now, id, out);
                    }
                }
                Some(Wish::Image(id)) => self.ask_image_now(now, (index, service_id), id, out),
                None => return,
            }
        }
        self.behind.insert(index);
    }

    /// Asks the provider of an item for another image, when its window has
    /// room. One that is on its way is for all who wait.
    pub(super) fn ask_image(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.get_mut(id) else { return };
        let Some(Binding { source: index, service_id, .. }) = item.binding else { return };
        let is_coming = item.stream.awaits_image() && item.void != Some(Void::Answer);
        if is_coming || std::mem::replace(&mut item.wants_image, true) {
            return;
        }
        let source = self.sources.get_mut(index);
        if let Some(offer) = source.and_then(|source| source.offers.get_mut(&service_id)) {
            offer.images.push_back(id);
        }
        self.pump(now, index, service_id, out);
    }

    fn ask_image_now(&mut self, now: Time, place: (u32, u16), id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.get_mut(id) else { return };
        let is_here =
            item.binding.is_some_and(|binding| (binding.source, binding.service_id) == place);
        if !is_here || !std::mem::take(&mut item.wants_image) {
            return;
        }
        // Who wanted it may be gone, or have it by now.
        if item.interests.iter().any(|interest| interest.stage == Stage::Waiting) {
            let reaction = item.stream.reissue(ms(now), true);
            self.act(id, reaction.send, out);
        } else {
            self.priority_changed(now, id, out);
        }
    }

    /// Does what the stream of an item wants done at the provider.
    pub(super) fn act(&mut self, id: u32, send: Option<ToProvider>, out: &mut impl Outputs) {
        self.account(id);
        self.arm(id);
        let Some(binding) = self.items.get(id).and_then(|item| item.binding) else { return };
        match send {
            Some(ToProvider::Reissue(reissue)) => {
                self.send_reissue(binding.source, id, reissue, out);
            }
            Some(ToProvider::Close) => self.send_close(id, out),
            Some(ToProvider::Request { .. }) | None => {}
        }
    }

    /// Sends a request on the stream of an item. One that does not fit is made
    /// again when it has had no answer in time.
    pub(super) fn send_request(
        &mut self,
        index: u32,
        id: u32,
        (pause, refresh): (bool, bool),
        out: &mut impl Outputs,
    ) {
        let mut scratch = std::mem::take(&mut self.scratch);
        if let Some(item) = self.items.get(id)
            && let Some(bytes) =
                scratch.write(|encoder| write_request(item, pause, refresh, encoder))
            && !self.offer(index, bytes, out)
        {
            self.counters.requests_dropped += 1;
        }
        self.scratch = scratch;
    }

    /// Tells a provider of a change, now or when it has read.
    fn send_reissue(&mut self, index: u32, id: u32, reissue: Reissue, out: &mut impl Outputs) {
        let Some(item) = self.items.get_mut(id) else { return };
        let Some(source) = self.sources.get_mut(index) else { return };
        if source.is_slow {
            let wants_image = item.untold.is_some_and(|untold| untold.refresh);
            let refresh = !reissue.pause && (reissue.refresh || wants_image);
            item.untold = Some(Reissue { refresh, ..reissue });
            source.untold.insert(id);
            return;
        }
        self.counters.reissues_upstream += 1;
        item.told_priority = item.priority();
        self.send_request(index, id, (reissue.pause, reissue.refresh), out);
    }

    /// Closes the stream of an item at its provider.
    pub(super) fn send_close(&mut self, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.get(id) else { return };
        let Some(Binding { source: index, stream_id: Some(stream_id), .. }) = item.binding else {
            return;
        };
        let domain = item.key.as_ref().domain;
        match self.sources.get_mut(index) {
            Some(source) if source.is_held() => source.unclosed.push_back((domain, stream_id)),
            _ => self.write_close(index, domain, stream_id, out),
        }
    }

    fn write_close(&mut self, index: u32, domain: Domain, stream_id: i32, out: &mut impl Outputs) {
        let close = CloseMsg::new(domain, stream_id);
        if self.offer_written(index, |encoder| encoder.message(&close.into()), out) {
            self.counters.closes_upstream += 1;
        } else if let Some(source) = self.sources.get_mut(index).filter(|source| source.is_slow) {
            source.unclosed.push_front((domain, stream_id));
        }
    }

    /// Keeps the count of requests without image in step with an item's
    /// stream. Dictionaries do not count.
    pub(super) fn account(&mut self, id: u32) {
        let Some(item) = self.items.get_mut(id) else { return };
        let Some(binding) = item.binding else { return };
        let is_counted = item.stream.is_in_window()
            && !item.published
            && !is_administrative(item.key.as_ref().domain);
        if is_counted == item.in_window {
            return;
        }
        item.in_window = is_counted;
        if let Some(offer) = self.sources.offer_of(&binding) {
            match is_counted {
                true => offer.in_window += 1,
                false => {
                    offer.in_window = offer.in_window.saturating_sub(1);
                    self.window_room.push((binding.source, binding.service_id));
                }
            }
        }
    }

    /// Tells the provider how much an item is wanted, if that changed.
    pub(super) fn priority_changed(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.get_mut(id) else { return };
        let is_told = item.priority() == item.told_priority;
        // With the request for an image it is told anyway.
        if item.published || item.interests.is_empty() || item.wants_image || is_told {
            return;
        }
        let reaction = item.stream.reissue(ms(now), false);
        self.act(id, reaction.send, out);
    }

    /// Pauses or resumes at the provider, when all who want the item, or not
    /// all any more, have paused it.
    pub(super) fn pause_changed(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.get_mut(id) else { return };
        if item.published || item.interests.is_empty() || !self.config.pause_upstream {
            return;
        }
        let is_paused = item.interests.iter().all(|interest| interest.paused);
        let reaction = match (is_paused, item.stream.is_paused()) {
            (true, false) => item.stream.pause(ms(now)),
            (false, true) => item.stream.resume(ms(now)),
            _ => return,
        };
        self.act(id, reaction.send, out);
    }

    /// How much waits until a source takes it.
    pub(super) fn unsent(&self) -> usize {
        self.sources.iter().map(|(_, source)| source.unsent()).sum()
    }
}

/// The request for an item on the stream that it is bound to.
fn write_request(
    item: &Item,
    pause: bool,
    refresh: bool,
    encoder: &mut Encoder<'_>,
) -> Result<(), EncodeError> {
    let Some(Binding { service_id, stream_id: Some(stream_id), .. }) = item.binding else {
        return Ok(());
    };
    let key = item.key.as_ref();
    let mut flags = item.request_flags;
    flags.set(RequestFlags::STREAMING, item.streaming);
    flags.set(RequestFlags::PRIVATE_STREAM, item.private);
    if pause {
        flags |= RequestFlags::PAUSE;
    }
    flags.set(RequestFlags::NO_REFRESH, !refresh);
    let mut msg = RequestMsg {
        flags,
        priority: Some(item.priority()),
        qos: key.qos.filter(|_| !is_administrative(key.domain)),
        key: key.msg_key(),
        ..RequestMsg::new(key.domain, stream_id)
    };
    msg.key.service_id = Some(service_id);
    if let Some(payload) = &item.payload {
        msg.payload = payload.as_encoded();
    }
    encoder.message(&msg.into())
}
