//! Requesting what was opened: one by one as the open window lets them, or a
//! whole batch.

use tapeline_channel::Sent;
use tapeline_omm::batch::BATCH_DONE;
use tapeline_omm::login::BatchSupport;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_omm::qos::QosWish;
use tapeline_omm::state::{is_final, usual};
use tapeline_omm::stream::{ConsumerStream, Deliver, ToProvider};
use tapeline_rwf::{
    CloseMsg, DataState, EncodeError, Qos, State, StateCode, StatusMsg, StreamState,
};

use super::core::{ConsumerCore, ConsumerOutputs, Fresh, Phase, Run, SentBatch, ms};
use super::items::{Item, OnWire, PartsToCome, Wish};
use super::requests::fitting;
use super::session::has_window;
use super::spec::Handle;
use crate::Protocol;

/// What keeps an item from being requested.
enum Obstacle {
    /// It is in the way of all items of the service.
    Service(State<'static>),
    /// It is in the way of this one only.
    Item(State<'static>),
    /// There is no room in the open window now.
    Window,
}

const TOO_LONG: State<'static> = State::new(
    StreamState::CLOSED,
    DataState::SUSPECT,
    StateCode::USAGE_ERROR,
    "The request is longer than the connection takes",
);

impl ConsumerCore {
    /// The service and the quality to request an item with.
    fn admit(
        &self,
        queue: usize,
        wish: &Wish,
        in_window: u64,
    ) -> Result<(u16, Option<Qos>), Obstacle> {
        let service_id = self.queues.get(queue).service_id(&self.directory);
        let service_id = service_id.ok_or(Obstacle::Service(usual::SERVICE_NOT_AVAILABLE))?;
        let qos = match self.directory.admit(&wish.request(0, service_id)) {
            Ok(qos) => qos,
            Err(usual::SERVICE_NOT_UP) => return Err(Obstacle::Service(usual::SERVICE_NOT_UP)),
            Err(why) => return Err(Obstacle::Item(why)),
        };
        let is_limited = self.config.obey_open_window && has_window(wish.domain);
        match is_limited && in_window >= self.open_window(service_id) {
            true => Err(Obstacle::Window),
            false => Ok((service_id, qos)),
        }
    }

    /// How many images of a service may be on their way.
    fn open_window(&self, service_id: u16) -> u64 {
        let load = self.directory.service(service_id).and_then(|service| service.load.as_ref());
        load.and_then(|load| load.open_window).unwrap_or(u64::MAX)
    }
}

impl Run<'_> {
    /// Requests what can be requested now, until the connection is slow.
    #[inline]
    pub(super) fn pump(&mut self) {
        if self.core.phase != Phase::Ready || self.core.held.is_slow {
            return;
        }
        if !self.core.held.is_empty() {
            self.core.send_held(self.out);
        }
        while !self.core.held.is_slow
            && let Some(fresh) = self.core.fresh.pop_front()
        {
            match fresh {
                Fresh::One(handle) => self.core.sync(self.now, handle),
                Fresh::Batch(handles) => self.open_batch(handles),
            }
        }
        while !self.core.held.is_slow
            && let Some(queue) = self.core.queues.next_dirty()
        {
            self.pump_queue(queue);
            if self.core.held.is_slow {
                self.core.queues.touch(queue);
            }
        }
    }

    fn pump_queue(&mut self, queue: usize) {
        while self.core.phase == Phase::Ready && !self.core.held.is_slow {
            if self.request_lost(queue) {
                continue;
            }
            let next = self.core.queues.get(queue).waiting.first_key_value();
            let Some((order, handle)) = next.map(|(order, handle)| (*order, *handle)) else {
                return;
            };
            let Some(item) = self.core.items.get(handle) else {
                self.core.queues.remove(queue, order);
                continue;
            };
            let in_window = self.core.queues.get(queue).in_window;
            match self.core.admit(queue, &item.wish, in_window) {
                Ok((service_id, qos)) => {
                    self.core.queues.remove(queue, order);
                    self.request(handle, service_id, qos);
                }
                Err(Obstacle::Item(why)) => {
                    self.core.queues.set_aside(queue, order);
                    self.tell_unavailable(handle, why);
                }
                Err(Obstacle::Service(why)) => {
                    let waiting = &self.core.queues.get(queue).waiting;
                    let handles: Vec<_> = waiting.values().copied().collect();
                    for handle in handles {
                        self.tell_unavailable(handle, why);
                    }
                    return;
                }
                Err(Obstacle::Window) => return,
            }
        }
    }

    /// The user is told once for each reason.
    fn tell_unavailable(&mut self, handle: Handle, why: State<'static>) {
        let Some(item) = self.core.items.get_mut(handle) else { return };
        if item.told != Some(why) {
            item.told = Some(why);
            let reaction = item.stream.unavailable(&why);
            // It stays in its queue or aside; nothing of it is to be synced,
            // unless it is over.
            let is_over = item.stream.is_over();
            if let Deliver::Status(state) = reaction.deliver {
                self.tell_status(handle, state);
            }
            if is_over {
                self.core.forget(self.now, handle);
            }
        }
    }

    fn request(&mut self, handle: Handle, service_id: u16, qos: Option<Qos>) {
        let (stream_id, request) = self.core.items.streams.take(ms(self.now), handle);
        let on_wire = OnWire::new(stream_id, service_id, request);
        let Some(to_provider) = self.core.start(ms(self.now), handle, on_wire, qos) else { return };
        match self.core.try_send_item(self.out, handle, to_provider) {
            // It was not sent: it waits for its turn as before.
            Ok(Sent::Full) => self.core.take_back(ms(self.now), handle),
            Ok(Sent::TooLarge) => return self.refuse(handle, stream_id),
            Ok(sent) => self.core.note_sent(sent),
            Err(error) => self.core.note_error(&error),
        }
        self.core.sync(self.now, handle);
    }

    /// A request is too long for the connection: it is over as if the server had
    /// refused it, and nothing else is.
    #[cold]
    fn refuse(&mut self, handle: Handle, stream_id: i32) {
        let Some(item) = self.core.items.get(handle) else { return };
        let domain = item.wish.domain;
        tracing::warn!(stream_id, ?domain, "a request is longer than the connection takes");
        let status = StatusMsg { state: Some(TOO_LONG), ..StatusMsg::new(domain, stream_id) };
        self.item_message(handle, &status.into());
    }

    /// Requests a batch as one, if the server takes batches and all of it can
    /// be requested now; otherwise one by one.
    fn open_batch(&mut self, mut handles: Vec<Handle>) {
        handles.retain(|handle| self.core.items.get(*handle).is_some());
        let admitted = self.core.admit_batch(&handles);
        if let Some((service_id, qos)) = admitted
            && self.request_batch(&handles, service_id, qos)
        {
            return;
        }
        if admitted.is_some() && self.core.held.is_slow {
            return self.core.fresh.push_front(Fresh::Batch(handles));
        }
        for handle in handles {
            self.core.sync(self.now, handle);
        }
    }

    /// Requests again, as one batch, what was lost with the last connection and
    /// is alike but for the names. Whether there was any.
    ///
    /// One by one they would be a multiple of what the server has to read.
    fn request_lost(&mut self, queue: usize) -> bool {
        let Some((handles, service_id, qos)) = self.core.lost_batch(queue) else { return false };
        if !self.request_batch(&handles, service_id, qos) {
            // Next time, or one by one.
            return false;
        }
        for handle in handles {
            if let Some(item) = self.core.items.get(handle) {
                self.core.queues.remove(queue, item.order);
            }
        }
        true
    }

    /// Requests items as one batch; false if the connection does not take it
    /// now, or takes none that is so long.
    fn request_batch(&mut self, handles: &[Handle], service_id: u16, qos: Option<Qos>) -> bool {
        let now_ms = ms(self.now);
        let base = self.core.items.streams.take_run(now_ms, handles.len() as u32);
        match self.core.send_batch(self.out, base, handles, service_id, qos) {
            Ok(refused @ (Sent::Full | Sent::TooLarge)) => {
                self.core.is_batch_too_large |= refused == Sent::TooLarge;
                for stream_id in (base..).take(handles.len() + 1) {
                    self.core.items.streams.give_back(now_ms, stream_id, false);
                }
                return false;
            }
            Ok(sent) => self.core.note_sent(sent),
            Err(error) => self.core.note_error(&error),
        }
        for (stream_id, handle) in (base + 1..).zip(handles) {
            let (stream_id, request) = self.core.items.streams.assign(stream_id, *handle);
            let on_wire = OnWire::new(stream_id, service_id, request);
            // The batch is the request.
            let _ = self.core.start(now_ms, *handle, on_wire, qos);
            self.core.sync(self.now, *handle);
        }
        self.core.batches.push(SentBatch { stream_id: base, items: handles.to_vec() });
        true
    }

    /// The answer to a batch, if it is one. The items of a batch that was
    /// refused are asked for again, one by one.
    pub(super) fn batch_status(&mut self, status: &StatusMsg<'_>) {
        let is_it = |batch: &SentBatch| batch.stream_id == status.stream_id;
        let Some(at) = self.core.batches.iter().position(is_it) else { return };
        let Some(state) = status.state.filter(|state| is_final(state.stream)) else { return };
        let batch = self.core.batches.swap_remove(at);
        self.core.items.streams.give_back(ms(self.now), batch.stream_id, true);
        if state.data == BATCH_DONE.data && state.code == BATCH_DONE.code {
            return;
        }
        for handle in batch.items {
            let Some(item) = self.core.items.get(handle) else { continue };
            let (streaming, private) = (item.wish.streaming, item.wish.private);
            let options = self.core.stream_options(streaming, private);
            if let Some(item) = self.core.items.get_mut(handle)
                && item.stream.awaits_image()
            {
                item.stream = ConsumerStream::new(options);
                self.core.sync(self.now, handle);
            }
        }
    }
}

impl ConsumerCore {
    /// An item goes on the wire.
    fn start(
        &mut self,
        now_ms: u64,
        handle: Handle,
        on_wire: OnWire,
        qos: Option<Qos>,
    ) -> Option<ToProvider> {
        let item = self.items.get(handle)?;
        // What the provider obeys is known since the login only.
        let mut options = self.stream_options(item.wish.streaming, item.wish.private);
        let item = self.items.get_mut(handle)?;
        if item.attempts == 0 {
            options.retry_delay_ms = 0;
        }
        item.attempts += 1;
        let is_paused = item.stream.is_paused();
        item.stream = ConsumerStream::new(options);
        if is_paused {
            let _ = item.stream.pause(now_ms);
        }
        item.on_wire = Some(on_wire);
        item.matched = qos;
        item.is_lost = false;
        (item.misses_updates, item.parts) = (false, PartsToCome::None);
        item.told = None;
        item.stream.request(now_ms).send
    }

    /// The request that put an item on the wire was not sent.
    fn take_back(&mut self, now_ms: u64, handle: Handle) {
        self.items.leave_wire(now_ms, handle, false);
        let Some(item) = self.items.get(handle) else { return };
        let options = self.stream_options(item.wish.streaming, item.wish.private);
        let Some(item) = self.items.get_mut(handle) else { return };
        let is_paused = item.stream.is_paused();
        item.stream = ConsumerStream::new(options);
        if is_paused {
            let _ = item.stream.pause(now_ms);
        }
        item.is_view_new = item.wish.view.is_some();
        item.attempts = item.attempts.saturating_sub(1);
    }

    /// Sends what the stream of an item wants to be sent, now or when the
    /// server has read more; nothing for an item that is not on the wire.
    pub(super) fn send_item(
        &mut self,
        out: &mut dyn ConsumerOutputs,
        handle: Handle,
        to_provider: ToProvider,
    ) {
        if self.held.is_slow {
            return self.hold(handle, to_provider);
        }
        match self.try_send_item(out, handle, to_provider) {
            Ok(Sent::Full) => self.hold(handle, to_provider),
            Ok(Sent::TooLarge) => {
                // The stream goes on as it was.
                let slot = handle.index();
                tracing::warn!(slot, "a change of an item is longer than the connection takes");
            }
            Ok(sent) => self.note_sent(sent),
            Err(error) => self.note_error(&error),
        }
    }

    fn try_send_item(
        &mut self,
        out: &mut dyn ConsumerOutputs,
        handle: Handle,
        to_provider: ToProvider,
    ) -> Result<Sent, EncodeError> {
        let honours_views = self.features.honours_views();
        let Some(item) = self.items.get_mut(handle) else { return Ok(Sent::Gone) };
        let Some(OnWire { stream_id, service_id, .. }) = item.on_wire else {
            return Ok(Sent::Gone);
        };
        let encoded = match to_provider {
            ToProvider::Close => {
                let msg = CloseMsg::new(item.wish.domain, stream_id);
                self.scratch.encode(|encoder| encoder.message(&msg.into()))
            }
            ToProvider::Request { pause } => {
                let (request, payload) = item.request(stream_id, service_id, pause, honours_views);
                self.scratch.encode(|encoder| request.encode(encoder, &payload))
            }
            ToProvider::Reissue(reissue) => {
                // JSON cannot say that a view stays: one that is not named is over.
                let names_view = item.is_view_new || self.config.protocol == Protocol::Json;
                let (request, payload) = item.request(stream_id, service_id, false, honours_views);
                let request = ItemRequest {
                    pause: reissue.pause,
                    no_refresh: !reissue.refresh,
                    qos: QosWish::Best,
                    ..request
                };
                let payload = RequestPayload {
                    view: payload.view.filter(|_| names_view),
                    keep_view: payload.view.is_some(),
                    ..payload
                };
                self.scratch.encode(|encoder| request.encode(encoder, &payload))
            }
        };
        let sent = self.held.note(out.send(encoded?));
        let is_request = matches!(to_provider, ToProvider::Request { .. });
        self.counts.requests += u64::from(is_request && is_on_its_way(sent));
        if sent != Sent::Full
            && let Some(item) = self.items.get_mut(handle)
        {
            item.is_view_new = false;
            if let Some(on_wire) = &mut item.on_wire {
                on_wire.may_open_anew = match to_provider {
                    ToProvider::Reissue(_) => true,
                    ToProvider::Request { .. } | ToProvider::Close => false,
                };
            }
        }
        Ok(sent)
    }

    /// Items at the head of a queue that were lost with the last connection and
    /// can be requested as one batch: two at least.
    fn lost_batch(&self, queue: usize) -> Option<(Vec<Handle>, u16, Option<Qos>)> {
        if self.is_batch_too_large || !self.features.batches().contains(BatchSupport::REQUESTS) {
            return None;
        }
        let service = self.queues.get(queue);
        let first = self.items.get(*service.waiting.first_key_value()?.1)?;
        if !first.is_lost {
            return None;
        }
        let (service_id, qos) = self.admit(queue, &first.wish, service.in_window).ok()?;
        let room = match self.config.obey_open_window && has_window(first.wish.domain) {
            true => self.open_window(service_id).saturating_sub(service.in_window),
            false => u64::MAX,
        };
        let alike = || {
            let items = service.waiting.values().map(|handle| (*handle, self.items.get(*handle)));
            items
                .map_while(|(handle, item)| Some((handle, item?)))
                .take_while(|(_, item)| {
                    item.is_lost && !item.stream.is_paused() && item.wish.is_like(&first.wish)
                })
                .take(usize::try_from(room).unwrap_or(usize::MAX))
        };
        let count = fitting(alike().map(|(_, item)| item.wish.name.as_bytes().len()));
        let handles: Vec<_> = alike().take(count).map(|(handle, _)| handle).collect();
        (handles.len() > 1).then_some((handles, service_id, qos))
    }

    /// The service and the quality of a batch, if it can be requested as one.
    fn admit_batch(&self, handles: &[Handle]) -> Option<(u16, Option<Qos>)> {
        let takes_batches = self.features.batches().contains(BatchSupport::REQUESTS);
        let are_paused =
            |handle: &Handle| self.items.get(*handle).is_some_and(|item| item.stream.is_paused());
        if !takes_batches || handles.iter().any(are_paused) {
            return None;
        }
        let first = self.items.get(*handles.first()?)?;
        let queue = first.service;
        // The last of them needs room in the window too.
        let in_window = self.queues.get(queue).in_window.saturating_add(handles.len() as u64 - 1);
        if !self.queues.get(queue).waiting.is_empty() {
            return None;
        }
        self.admit(queue, &first.wish, in_window).ok()
    }

    fn send_batch(
        &mut self,
        out: &mut dyn ConsumerOutputs,
        base: i32,
        handles: &[Handle],
        service_id: u16,
        qos: Option<Qos>,
    ) -> Result<Sent, EncodeError> {
        let honours_views = self.features.honours_views();
        let names: Vec<&[u8]> = handles
            .iter()
            .filter_map(|handle| self.items.get(*handle))
            .map(|item| item.wish.name.as_bytes())
            .collect();
        let Some(item) = handles.first().and_then(|handle| self.items.get(*handle)) else {
            return Ok(Sent::Queued);
        };
        let mut request = ItemRequest {
            qos: qos.map_or(QosWish::Best, QosWish::Exact),
            ..item.wish.request(base, service_id)
        };
        request.key.name = None;
        request.key.name_type = None;
        let view = item.wish.view.as_ref().filter(|_| honours_views);
        let payload = RequestPayload { items: Some(&names), view, ..RequestPayload::NONE };
        let bytes = self.scratch.encode(|encoder| request.encode(encoder, &payload))?;
        let sent = self.held.note(out.send(bytes));
        self.counts.requests += if is_on_its_way(sent) { names.len() as u64 } else { 0 };
        Ok(sent)
    }
}

const fn is_on_its_way(sent: Sent) -> bool {
    matches!(sent, Sent::Queued | Sent::Slow)
}

impl Item {
    /// The request that opens the stream of the item.
    fn request(
        &self,
        stream_id: i32,
        service_id: u16,
        pause: bool,
        honours_views: bool,
    ) -> (ItemRequest<'_>, RequestPayload<'_>) {
        let qos = self.matched.map_or(QosWish::Best, QosWish::Exact);
        let request = ItemRequest { pause, qos, ..self.wish.request(stream_id, service_id) };
        let view = self.wish.view.as_ref().filter(|_| honours_views);
        (request, RequestPayload { view, ..RequestPayload::NONE })
    }
}
