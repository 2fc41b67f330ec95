//! Requesting what was opened: one by one as the open window lets them, or a
//! whole batch.

use tapeline_channel::Sent;
use tapeline_omm::batch::BATCH_DONE;
use tapeline_omm::directory::Directory;
use tapeline_omm::login::BatchSupport;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_omm::qos::QosWish;
use tapeline_omm::state::{is_final, usual};
use tapeline_omm::stream::{ConsumerStream, Deliver, ToProvider};
use tapeline_rwf::{CloseMsg, EncodeError, Qos, State, StatusMsg};

use super::core::{ConsumerCore, ConsumerOutputs, Fresh, Phase, Run, ms};
use super::items::{Item, Items, Wish};
use super::queues::ServiceQueue;
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
        let has_room =
            |directory: &Directory| in_window < ServiceQueue::open_window(directory, service_id);
        let is_limited = self.config.obey_open_window && has_window(wish.domain);
        match is_limited && !has_room(&self.directory) {
            true => Err(Obstacle::Window),
            false => Ok((service_id, qos)),
        }
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
                Fresh::One(handle) => self.core.sync(handle),
                Fresh::Batch { base, count } => self.open_batch(base, count),
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
                self.core.forget(self.now, handle, false);
            }
        }
    }

    fn request(&mut self, handle: Handle, service_id: u16, qos: Option<Qos>) {
        if let Some(to_provider) = self.core.start(ms(self.now), handle, service_id, qos) {
            self.core.send_item(self.out, handle, to_provider);
            self.core.sync(handle);
        }
    }

    /// Requests a batch as one, if the server takes batches and all of it can
    /// be requested now; otherwise one by one.
    fn open_batch(&mut self, base: Handle, count: u32) {
        let streams: Vec<_> = (1..=count).filter_map(|at| self.core.behind(base, at)).collect();
        let Some(admitted) = self.core.admit_batch(&streams, count) else {
            self.core.forget(self.now, base, false);
            for handle in streams {
                self.core.sync(handle);
            }
            return;
        };
        let (service_id, qos) = admitted;
        for handle in &streams {
            let _ = self.core.start(ms(self.now), *handle, service_id, qos);
        }
        self.core.batches.push((base, count));
        match self.core.send_batch(self.out, base, &streams, service_id, qos) {
            Ok(sent) => self.core.note_sent(sent),
            Err(error) => self.core.note_error(&error),
        }
        for handle in streams {
            self.core.sync(handle);
        }
    }

    /// Whether a status is the answer to a batch. One that was refused is asked
    /// for again, one by one.
    pub(super) fn batch_status(&mut self, base: Handle, status: &StatusMsg<'_>) -> bool {
        let Some(at) = self.core.batches.iter().position(|(handle, _)| *handle == base) else {
            return false;
        };
        let Some(state) = status.state.filter(|state| is_final(state.stream)) else {
            return true;
        };
        let (_, count) = self.core.batches.swap_remove(at);
        self.core.forget(self.now, base, false);
        if state.data == BATCH_DONE.data && state.code == BATCH_DONE.code {
            return true;
        }
        for at in 1..=count {
            let Some(handle) = self.core.behind(base, at) else { continue };
            let Some(item) = self.core.items.get(handle) else { continue };
            let (streaming, private) = (item.wish.streaming, item.wish.private);
            let options = self.core.stream_options(streaming, private);
            if let Some(item) = self.core.items.get_mut(handle)
                && item.stream.awaits_image()
            {
                item.stream = ConsumerStream::new(options);
                self.core.sync(handle);
            }
        }
        true
    }
}

impl ConsumerCore {
    /// An item goes on the wire.
    fn start(
        &mut self,
        now_ms: u64,
        handle: Handle,
        service_id: u16,
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
        item.service_id = Some(service_id);
        item.matched = qos;
        item.told = None;
        item.stream.request(now_ms).send
    }

    /// The item so many places behind another.
    fn behind(&self, base: Handle, at: u32) -> Option<Handle> {
        self.items.of_stream(Items::stream_of(base).checked_add(i32::try_from(at).ok()?)?)
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
        let Some(service_id) = item.service_id else { return };
        let stream_id = Items::stream_of(handle);
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
    fn admit_batch(&self, streams: &[Handle], count: u32) -> Option<(u16, Option<Qos>)> {
        let is_whole = streams.len() == count as usize;
        let takes_batches = self.features.batches().contains(BatchSupport::REQUESTS);
        let first: &Item = self.items.get(*streams.first()?)?;
        let is_paused = first.stream.is_paused();
        if !is_whole || !takes_batches || is_paused {
            return None;
        }
        let queue = first.service;
        // The last of them needs room in the window too.
        let in_window = self.queues.get(queue).in_window.saturating_add(u64::from(count) - 1);
        if !self.queues.get(queue).waiting.is_empty() {
            return None;
        }
        self.admit(queue, &first.wish, in_window).ok()
    }

    fn send_batch(
        &mut self,
        out: &mut dyn ConsumerOutputs,
        base: Handle,
        streams: &[Handle],
        service_id: u16,
        qos: Option<Qos>,
    ) -> Result<Sent, EncodeError> {
        let honours_views = self.features.honours_views();
        let names: Vec<&[u8]> = streams
            .iter()
            .filter_map(|handle| self.items.get(*handle))
            .map(|item| item.wish.name.as_bytes())
            .collect();
        let Some(item) = streams.first().and_then(|handle| self.items.get(*handle)) else {
            return Ok(Sent::Queued);
        };
        let mut request = ItemRequest {
            qos: qos.map_or(QosWish::Best, QosWish::Exact),
            ..item.wish.request(Items::stream_of(base), service_id)
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
