//! Requesting what was opened: one by one as the open window lets them, or a
//! whole batch.

use tapeline_channel::Sent;
use tapeline_omm::batch::BATCH_DONE;
use tapeline_omm::login::BatchSupport;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_omm::qos::QosWish;
use tapeline_omm::state::{is_final, usual};
use tapeline_omm::stream::{ConsumerStream, Deliver, ToProvider};
use tapeline_rwf::{CloseMsg, EncodeError, Qos, State, StatusMsg};

use super::core::{ConsumerCore, ConsumerOutputs, Fresh, Phase, Run, SentBatch, ms};
use super::items::{Item, OnWire, Wish};
use super::session::has_window;
use super::spec::Handle;

/// What keeps an item from being requested.
enum Obstacle {
    /// It is in the way of all items of the service.
    Service(State<'static>),
    /// It is in the way of this one only.
    Item(State<'static>),
    /// There is no room in the open window now.
    Window,
}

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
    /// Requests what can be requested now.
    #[inline]
    pub(super) fn pump(&mut self) {
        if self.core.phase != Phase::Ready {
            return;
        }
        while let Some(fresh) = self.core.fresh.pop_front() {
            match fresh {
                Fresh::One(handle) => self.core.sync(self.now, handle),
                Fresh::Batch(handles) => self.open_batch(handles),
            }
        }
        while let Some(queue) = self.core.queues.next_dirty() {
            self.pump_queue(queue);
        }
    }

    fn pump_queue(&mut self, queue: usize) {
        while self.core.phase == Phase::Ready {
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
        let on_wire = OnWire { stream_id, service_id, request };
        if let Some(to_provider) = self.core.start(ms(self.now), handle, on_wire, qos) {
            self.core.send_item(self.out, handle, to_provider);
            self.core.sync(self.now, handle);
        }
    }

    /// Requests a batch as one, if the server takes batches and all of it can
    /// be requested now; otherwise one by one.
    fn open_batch(&mut self, mut handles: Vec<Handle>) {
        handles.retain(|handle| self.core.items.get(*handle).is_some());
        let Some((service_id, qos)) = self.core.admit_batch(&handles) else {
            for handle in handles {
                self.core.sync(self.now, handle);
            }
            return;
        };
        let base = self.core.items.streams.take_run(ms(self.now), handles.len() as u32);
        for (stream_id, handle) in (base + 1..).zip(&handles) {
            let (stream_id, request) = self.core.items.streams.assign(stream_id, *handle);
            let on_wire = OnWire { stream_id, service_id, request };
            // The batch is the request.
            let _ = self.core.start(ms(self.now), *handle, on_wire, qos);
        }
        match self.core.send_batch(self.out, base, &handles, service_id, qos) {
            Ok(sent) => self.core.note_sent(sent),
            Err(error) => self.core.note_error(&error),
        }
        for handle in &handles {
            self.core.sync(self.now, *handle);
        }
        self.core.batches.push(SentBatch { stream_id: base, items: handles });
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
        item.told = None;
        item.stream.request(now_ms).send
    }

    /// Sends what the stream of an item wants to be sent; nothing for an item
    /// that is not on the wire.
    pub(super) fn send_item(
        &mut self,
        out: &mut dyn ConsumerOutputs,
        handle: Handle,
        to_provider: ToProvider,
    ) {
        let honours_views = self.features.honours_views();
        let Some(item) = self.items.get_mut(handle) else { return };
        let Some(OnWire { stream_id, service_id, .. }) = item.on_wire else { return };
        let encoded = match to_provider {
            ToProvider::Close => {
                let msg = CloseMsg::new(item.wish.domain, stream_id);
                self.scratch.encode(|encoder| encoder.message(&msg.into()))
            }
            ToProvider::Request { pause } => {
                item.is_view_new = false;
                let (request, payload) = item.request(stream_id, service_id, pause, honours_views);
                self.scratch.encode(|encoder| request.encode(encoder, &payload))
            }
            ToProvider::Reissue(reissue) => {
                let is_view_new = core::mem::take(&mut item.is_view_new);
                let (request, payload) = item.request(stream_id, service_id, false, honours_views);
                let request = ItemRequest {
                    pause: reissue.pause,
                    no_refresh: !reissue.refresh,
                    qos: QosWish::Best,
                    ..request
                };
                let payload = RequestPayload {
                    view: payload.view.filter(|_| is_view_new),
                    keep_view: payload.view.is_some(),
                    ..payload
                };
                self.scratch.encode(|encoder| request.encode(encoder, &payload))
            }
        };
        let sent = match encoded {
            Ok(bytes) => out.send(bytes),
            Err(error) => return self.note_error(&error),
        };
        self.note_sent(sent);
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
        Ok(out.send(bytes))
    }
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
