//! Requests to interactive providers: finding a source, asking, asking again.

use tapeline_omm::directory::Service;
use tapeline_omm::state::usual;
use tapeline_omm::stream::{ConsumerStream, Reaction, RecoveryPolicy, StreamOptions, ToProvider};
use tapeline_rwf::{DataState, State, StateCode, StreamState};
use tapeline_time::Time;

use super::Core;
use super::downstream::kept_open;
use super::item::{Avoided, Binding};
use super::services::HubService;
use super::timers::ms;
use crate::Outputs;

/// The service of an item is down.
const NOT_UP: State<'static> = kept_open(usual::SERVICE_NOT_UP);
/// The service of an item is up, and no source takes a request for it now.
const NO_ROOM: State<'static> = State::new(
    StreamState::OPEN,
    DataState::SUSPECT,
    StateCode::NO_RESOURCES,
    "No source takes the request now.",
);
/// An item gave way to one that is wanted more.
const PREEMPTED: State<'static> = State::new(
    StreamState::OPEN,
    DataState::SUSPECT,
    StateCode::PREEMPTED,
    "Gave way to an item of higher priority.",
);
/// The service of an item has non-interactive providers only, and none of them
/// has published it.
const NOT_PUBLISHED: State<'static> = State::new(
    StreamState::OPEN,
    DataState::SUSPECT,
    StateCode::NONE,
    "Item is not published yet.",
);

/// How many items that wait are tried for one place that is free.
const MAX_TRIES: usize = 64;

/// How many items that wait are tried behind one event, give or take those of
/// one place.
const TRIES_PER_EVENT: usize = 256;

impl Core {
    /// How the stream of an item at an interactive provider is to be.
    pub(super) fn stream_options(&self, streaming: bool, private: bool) -> StreamOptions {
        StreamOptions {
            streaming,
            private,
            recover_complete: true,
            provider_obeys_pause: false,
            recovery: RecoveryPolicy { single_open: true, allow_suspect_data: true },
            request_timeout_ms: self.config.request_timeout_ms,
            retry_delay_ms: self.config.retry_delay_ms,
        }
    }

    /// Begins the stream of an item anew, for another source or connection.
    pub(super) fn renew_stream(&mut self, id: u32) {
        self.begin_stream(id, |_, options| ConsumerStream::new(options));
    }

    fn begin_stream(
        &mut self,
        id: u32,
        begin: fn(&ConsumerStream, StreamOptions) -> ConsumerStream,
    ) {
        let Some(item) = self.items.known(id) else { return };
        let mut options = self.stream_options(item.streaming, item.private);
        options.provider_obeys_pause = self.config.pause_upstream
            && item
                .binding
                .and_then(|binding| self.sources.get(binding.source))
                .is_some_and(|source| source.obeys_pause);
        if let Some(item) = self.items.get_mut(id) {
            item.stream = begin(&item.stream, options);
            let is_paused = item.interests.iter().all(|interest| interest.paused);
            if options.provider_obeys_pause && is_paused {
                // The request will say so: there is nothing to send yet.
                let _ = item.stream.pause(0);
            }
        }
    }

    /// Finds a source for an item that has none. Without one, the item waits
    /// until its service changes, and servers are told so.
    pub(super) fn seek(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.known(id) else { return };
        if item.binding.is_some() || item.published || item.stream.is_over() {
            return;
        }
        if !item.stream.wants_request() {
            // It waits for the time to ask again.
            self.arm(id);
            return;
        }
        let mut choice = self.choose(id);
        if choice.is_none()
            && let Some(victim) = self.least_wanted(id)
        {
            self.preempt(victim, out);
            choice = self.choose(id);
        }
        let Some((source, service_id)) = choice else {
            self.wait_for_service(id, out);
            return;
        };
        self.close_mirror_at((source, service_id), id);
        let offer = self.sources.get_mut(source).and_then(|s| s.offers.get_mut(&service_id));
        let Some(offer) = offer else { return };
        let (ticket, generation) = (offer.queue.add(id), offer.generation);
        if let Some(item) = self.items.get_mut(id) {
            item.ticket = ticket;
        }
        self.enter(id, Binding { source, service_id, generation, stream_id: None });
        let service = self.items.get(id).and_then(|it| self.services.get_mut(it.service));
        if let Some(service) = service {
            service.waiting.remove(&id);
        }
        self.begin_stream(id, ConsumerStream::again);
        self.pump(now, source, service_id, out);
    }

    /// An item gives way to one that is wanted more, and waits for room.
    fn preempt(&mut self, id: u32, out: &mut impl Outputs) {
        self.counters.preempted += 1;
        self.send_close(id, out);
        self.unbind(id);
        self.renew_stream(id);
        if let Some(item) = self.items.get_mut(id) {
            item.recovering = true;
            if let Some(service) = self.services.get_mut(item.service) {
                service.waiting.insert(id);
            }
        }
        self.all_wait(id, out);
        self.tell_all(id, &PREEMPTED, out);
    }

    fn wait_for_service(&mut self, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        if item.private {
            self.end_with(id, &usual::SERVICE_NOT_UP, out);
            return;
        }
        if let Some(service) = self.services.get_mut(item.service) {
            service.waiting.insert(id);
        }
        if item.state.data == DataState::SUSPECT {
            return;
        }
        let service = item.service;
        let is_up = self.services.published(service).is_some_and(Service::is_usable);
        let why = match (is_up, self.is_only_published(service)) {
            (false, _) => NOT_UP,
            (true, true) => NOT_PUBLISHED,
            (true, false) => NO_ROOM,
        };
        self.tell_all(id, &why, out);
    }

    /// Asks the source that an item is bound to.
    pub(super) fn ask(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(place) = self.items.known(id).and_then(|item| item.binding) else { return };
        let adopted = self.adopt_mirror(place.offer(), id);
        let Some(item) = self.items.known_mut(id) else { return };
        let Some(binding) = &mut item.binding else { return };
        let Some(source) = self.sources.known_mut(binding.source) else { return };
        let index = binding.source;
        let stream_id = adopted.unwrap_or_else(|| source.ids.take());
        binding.stream_id = Some(stream_id);
        source.streams.insert(stream_id, id);
        let Reaction { send: Some(ToProvider::Request { pause }), .. } =
            item.stream.request(ms(now))
        else {
            return;
        };
        item.live = false;
        item.in_parts = false;
        item.told_priority = item.priority();
        self.counters.requests_upstream += 1;
        self.account(id);
        self.arm(id);
        self.send_request(index, id, (pause, true), out);
        self.mirror(now, id, out);
    }

    /// An item leaves its source: its stream is free, and so is its place in
    /// the window. Returns the binding that it had.
    pub(super) fn unbind(&mut self, id: u32) -> Option<Binding> {
        let item = self.items.get_mut(id)?;
        let binding = item.binding.take()?;
        let service = item.service;
        let was_in_window = std::mem::take(&mut item.in_window);
        let ticket = item.ticket;
        item.live = false;
        item.in_parts = false;
        item.part_due_ms = None;
        item.void = None;
        item.wants_image = false;
        item.untold = None;
        item.is_reissued = false;
        self.no_repeats(id);
        self.end_balance(id);
        let source = self.sources.get_mut(binding.source)?;
        let limit = source.open_limit(binding.service_id);
        if let Some(stream_id) = binding.stream_id {
            source.streams.remove(stream_id);
            if source.is_interactive() {
                source.ids.give_back(stream_id);
            }
        }
        if let Some(offer) = self.sources.offer_of(&binding) {
            let is_limited = limit < u64::MAX;
            if is_limited
                && self.services.get_mut(service).is_some_and(|known| !known.waiting.is_empty())
            {
                self.follow_ups.add_room(service);
            }
            if binding.stream_id.is_none() {
                offer.queue.remove(ticket);
            }
            if was_in_window {
                offer.in_window = offer.in_window.saturating_sub(1);
                self.follow_ups.add_window_room(binding.source, binding.service_id);
            }
        }
        self.leave(id, &binding);
        Some(binding)
    }

    /// Sources that were full have room: as many items that found none try
    /// again. The room may not be for each of them, so for each place several
    /// are tried, and next time those after them. Where there is room for many,
    /// the next turns go on.
    pub(super) fn use_room(&mut self, now: Time, out: &mut impl Outputs) {
        let mut left = TRIES_PER_EVENT;
        while left > 0
            && let Some(service) = self.follow_ups.next_room()
        {
            let waiting = self.services.get_mut(service).map_or(0, |service| service.waiting.len());
            for _ in 0..waiting.min(MAX_TRIES) {
                let waiting = self.services.get_mut(service);
                let Some(id) = waiting.and_then(HubService::next_waiting) else { break };
                left = left.saturating_sub(1);
                self.seek(now, id, out);
                if self.items.get(id).is_some_and(|item| item.binding.is_some()) {
                    break;
                }
            }
        }
    }

    /// An item lost its place at a source that may still be there: it is asked
    /// for somewhere else, or there again when its stream wants it.
    pub(super) fn seek_again(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(binding) = self.unbind(id) else { return };
        if let Some(item) = self.items.get_mut(id) {
            item.avoid = Avoided::of(&binding);
            item.recovering = true;
        }
        self.all_wait(id, out);
        let moves = self
            .items
            .get(id)
            .is_some_and(|item| !item.stream.is_over() && self.has_alternative(item, &binding));
        if moves {
            // Another source is asked at once, whatever this one said.
            self.renew_stream(id);
            self.counters.failovers += 1;
            if let Some(item) = self.items.get_mut(id) {
                item.failing_over = true;
            }
        }
        self.seek(now, id, out);
        self.pump(now, binding.source, binding.service_id, out);
    }

    /// Sets the timer of an item, if it is due before the one that is set.
    pub(super) fn arm(&mut self, id: u32) {
        let Some(item) = self.items.get_mut(id) else { return };
        let Some(deadline) = item.deadline_ms() else { return };
        if item.armed_ms > deadline {
            item.armed_ms = deadline;
            self.timers.set(deadline, id);
        }
    }
}
