//! Mirrored services of which streams alone are kept: a source that stands by has all items
//! open, and costs the hub no memory for what is in them.
//!
//! ```text
//!  the source is lost    item ── request for an image ──▶ standby, on the stream that is open
//!  it is still there     item stays; standby is asked for an image, and has the item with it
//! ```
//!
//! Images are asked for within the standby's window, as requests are.

use tapeline_cache::{Image, Limits};
use tapeline_time::Time;

use super::super::Core;
use crate::{Outputs, StandbyKeeps};

impl Core {
    /// Whether of a mirrored service nothing but streams is kept.
    pub(super) fn keeps_streams(&self, service: u16) -> bool {
        self.services.get(service).is_some_and(|known| {
            known.is_mirrored() && known.mirroring.keeps == StandbyKeeps::Stream
        })
    }

    /// Whether images are kept of a mirrored service.
    pub(in crate::core) fn keeps_mirrored_images(&self, service: u16) -> bool {
        self.is_mirrored(service) && !self.keeps_streams(service)
    }

    pub(super) fn new_image(&self) -> Image {
        let max_bytes = u32::try_from(self.config.limits.max_image_bytes).unwrap_or(u32::MAX);
        Image::new(Limits { max_bytes, ..Limits::default() })
    }

    /// Whether a source stands by with nothing but the stream of an item, has answered, and
    /// is not in the middle of an image, the rest of which would be taken for a whole one.
    pub(super) fn is_bare(&self, (index, service_id): (u32, u16), id: u32) -> bool {
        let source = self.sources.get(index);
        source.and_then(|source| source.offers.get(&service_id)).is_some_and(|offer| {
            let stream_id = offer.mirrors.by_item.get(&id);
            let mirror = stream_id.and_then(|stream_id| offer.mirrors.by_stream.get(stream_id));
            mirror.is_some_and(|it| it.image.is_none() && !it.is_asked && !it.in_parts)
        })
    }

    /// The stream on which a source that is asked for an item stood by with it, if it did.
    pub(in crate::core) fn adopt_mirror(&mut self, place: (u32, u16), id: u32) -> Option<i32> {
        if !self.is_bare(place, id) {
            return None;
        }
        let source = self.sources.get_mut(place.0)?;
        let (stream_id, _) = source.offers.get_mut(&place.1)?.mirrors.take(id)?;
        self.counters.mirror_switches += 1;
        self.counters.mirror_images += 1;
        Some(stream_id)
    }

    /// An item is at a source that is there, and not the active one any more: whether it
    /// goes on at another one now.
    pub(super) fn come_away(&mut self, now: Time, id: u32, out: &mut impl Outputs) -> bool {
        let Some(from) = self.items.get(id).and_then(|item| item.binding) else { return false };
        if !self.go_on_with_mirror(now, id, out) {
            return false;
        }
        self.counters.failovers += 1;
        self.mirror(now, id, out);
        self.left(from.source, out);
        true
    }

    /// The same, and nothing but streams is kept: the active source is asked for an image.
    pub(super) fn want_image_to_come_over(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(service) = self.items.get(id).map(|item| item.service) else { return };
        let active = self.active_of(service).filter(|_| self.keeps_streams(service));
        let place = self
            .sources
            .offering(service)
            .map(|(index, service_id, _)| (index, service_id))
            .find(|place| active == Some(place.0) && self.is_bare(*place, id));
        let Some((index, service_id)) = place else { return };
        let source = self.sources.get_mut(index);
        if let Some(offer) = source.and_then(|source| source.offers.get_mut(&service_id)) {
            offer.mirrors.queue.push_back(id);
            self.pump(now, index, service_id, out);
        }
    }

    /// It is the turn of an item that is to come over. Whether its image was asked for.
    pub(super) fn ask_mirror_image(
        &mut self,
        index: u32,
        service_id: u16,
        id: u32,
        out: &mut impl Outputs,
    ) -> bool {
        let Some(service) = self.items.get(id).map(|item| item.service) else { return false };
        let is_wanted = self.keeps_streams(service)
            && self.active_of(service) == Some(index)
            && self.is_bare((index, service_id), id);
        if !is_wanted {
            return false;
        }
        let image = Box::new(self.new_image());
        let source = self.sources.get_mut(index);
        let Some(offer) = source.and_then(|source| source.offers.get_mut(&service_id)) else {
            return false;
        };
        let Some(stream_id) = offer.mirrors.by_item.get(&id).copied() else { return false };
        let Some(mirror) = offer.mirrors.by_stream.get_mut(&stream_id) else { return false };
        (mirror.image, mirror.is_asked) = (Some(image), true);
        offer.mirrors.asked += 1;
        self.counters.mirror_images += 1;
        self.send_mirror_request(index, (service_id, stream_id), id, out);
        true
    }

    /// A source that stands by has answered: if that was with an image of an item that is to
    /// come over, it does. One that is not good is of no use, and the item stays.
    pub(super) fn come_over(
        &mut self,
        now: Time,
        (index, service_id): (u32, u16),
        id: u32,
        out: &mut impl Outputs,
    ) {
        let Some(service) = self.items.get(id).map(|item| item.service) else { return };
        if !self.keeps_streams(service) {
            return;
        }
        if self.active_of(service) == Some(index) && self.come_away(now, id, out) {
            return;
        }
        let source = self.sources.get_mut(index);
        if let Some(offer) = source.and_then(|source| source.offers.get_mut(&service_id))
            && let Some(stream_id) = offer.mirrors.by_item.get(&id)
            && let Some(mirror) = offer.mirrors.by_stream.get_mut(stream_id)
        {
            mirror.image = None;
        }
    }
}
