//! Providers that stand by: they publish an item that another one has. What
//! they send is kept and not used while that one is there. When it is gone the
//! item goes on with what the first of them has; without a word, if that is what
//! servers have. One whose image is not whole, or not good, has the item kept for
//! it, and has it as soon as its image is.

use std::collections::BTreeSet;

use tapeline_cache::{Image, Limits};
use tapeline_planted::planted;
use tapeline_rwf::{DataState, Domain, Msg, RefreshMsg};
use tapeline_time::Time;

use super::Core;
use super::image::keep_status;
use super::item::Binding;
use super::response::{is_of_another, suits};
use super::timers::ms;
use crate::Outputs;

/// A stream on which a provider stands by for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Claim {
    pub(crate) item: u32,
    pub(crate) source: u32,
    /// The service, by the source's id.
    pub(crate) service_id: u16,
    /// Which offer of that service.
    pub(crate) generation: u32,
    pub(crate) stream_id: i32,
}

/// What a provider that stands by has of an item.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) item: u32,
    image: Box<Image>,
}

impl Kept {
    /// Whether the item can go on with it.
    fn is_good(&self) -> bool {
        self.image.is_complete() && self.image.state().data == DataState::OK
    }
}

/// Who stands by for which items. The offers have the same by stream.
#[derive(Debug, Default)]
pub(crate) struct Claims(BTreeSet<Claim>);

impl Claims {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Claim> {
        self.0.iter()
    }

    fn of_item(&self, item: u32) -> impl Iterator<Item = &Claim> {
        let at = |source, service_id, generation, stream_id| Claim {
            item,
            source,
            service_id,
            generation,
            stream_id,
        };
        self.0.range(at(0, 0, 0, i32::MIN)..=at(u32::MAX, u16::MAX, u32::MAX, i32::MAX))
    }

    /// Takes out one of those who stand by for an item.
    fn take_of(&mut self, item: u32) -> Option<Claim> {
        let claim = *self.of_item(item).next()?;
        self.0.remove(&claim);
        Some(claim)
    }
}

impl Core {
    /// A provider published an item that another one has: it stands by for it,
    /// which counts among the items that it may have.
    pub(super) fn stand_by(
        &mut self,
        now: Time,
        claim: Claim,
        domain: Domain,
        out: &mut impl Outputs,
    ) {
        if self.claims.0.contains(&claim) {
            return;
        }
        let Claim { item, source, service_id, stream_id, .. } = claim;
        self.stand_down(now, source, stream_id, out);
        if !self.admits_item(source, None, (domain, stream_id), out) {
            return;
        }
        let max_bytes = u32::try_from(self.config.limits.max_image_bytes).unwrap_or(u32::MAX);
        let image = Box::new(Image::new(Limits { max_bytes, ..Limits::default() }));
        let offer = self.sources.get_mut(source).and_then(|it| it.offers.get_mut(&service_id));
        let Some(offer) = offer else { return };
        offer.claims.insert(stream_id, Kept { item, image });
        self.claims.0.insert(claim);
    }

    fn kept_mut(&mut self, claim: &Claim) -> Option<&mut Kept> {
        let source = self.sources.get_mut(claim.source)?;
        let offer = source.offers.get_mut(&claim.service_id)?;
        // What an offer had that is gone is in the backlog, and of no use.
        let offer = (offer.generation == claim.generation).then_some(offer)?;
        offer.claims.get_mut(&claim.stream_id).filter(|kept| kept.item == claim.item)
    }

    /// A provider that stands by sent an image, or the first part of one.
    pub(super) fn keep_standby_image(&mut self, claim: &Claim, refresh: &RefreshMsg<'_>) {
        let kept = self.kept_mut(claim).map(|kept| kept.image.refresh(refresh).is_ok());
        self.counters.uncached += u64::from(kept == Some(false));
    }

    /// A message on a stream on which a provider stands by, but for one that may
    /// begin another item there, or end this one. Whether it is one.
    pub(super) fn standby_message(
        &mut self,
        now: Time,
        index: u32,
        msg: &Msg<'_>,
        out: &mut impl Outputs,
    ) -> bool {
        let is_rest = match msg {
            Msg::Refresh(refresh) => refresh.part_num.is_some_and(|number| number > 0),
            Msg::Status(status) => {
                !status.state.is_some_and(|it| tapeline_omm::state::is_final(it.stream))
            }
            Msg::Update(_) => true,
            _ => false,
        };
        if !is_rest || self.claims.0.is_empty() {
            return false;
        }
        let Self { sources, items, rules, .. } = self;
        let offers = sources.get_mut(index).map(|source| source.offers.values_mut());
        let mut all = offers.into_iter().flatten();
        let Some(kept) = all.find_map(|offer| offer.claims.get_mut(&msg.stream_id())) else {
            return false;
        };
        let id = kept.item;
        let Some(item) = items.known(id) else { return false };
        let rules = rules.as_deref().map(|rules| rules as &dyn tapeline_cache::FieldRules);
        let is_kept = match msg {
            Msg::Refresh(refresh) if is_of_another(&item.key, refresh.key.as_ref()) => false,
            Msg::Refresh(refresh) => kept.image.refresh(refresh).is_ok(),
            Msg::Update(update) => {
                suits(&kept.image, update) && kept.image.update(update, rules).is_ok()
            }
            Msg::Status(status) => {
                keep_status(&mut kept.image, status, true);
                true
            }
            _ => false,
        };
        let is_unbound = item.binding.is_none();
        self.counters.uncached += u64::from(!is_kept);
        if is_unbound {
            // Nobody has the item, and this may be what was wanting.
            self.go_on_with_standby(now, id, out);
        }
        true
    }

    /// Nobody has an item, or who has it is gone: it goes on with what the first
    /// has that stands by and has it all. Whether there is one.
    pub(super) fn go_on_with_standby(
        &mut self,
        now: Time,
        id: u32,
        out: &mut impl Outputs,
    ) -> bool {
        let is_good = |claim: &&Claim| {
            let source = self.sources.get(claim.source);
            let offer = source.and_then(|source| source.offers.get(&claim.service_id));
            let offer = offer.filter(|offer| offer.generation == claim.generation);
            let kept = offer.and_then(|offer| offer.claims.get(&claim.stream_id));
            kept.is_some_and(|kept| kept.item == claim.item && kept.is_good())
        };
        let Some(claim) = self.claims.of_item(id).find(is_good).copied() else { return false };
        if planted!(IdleStandby) {
            return false;
        }
        let Claim { source, service_id, generation, stream_id, .. } = claim;
        let offer = self.sources.get_mut(source).and_then(|it| it.offers.get_mut(&service_id));
        let Some(kept) = offer.and_then(|offer| offer.claims.remove(&stream_id)) else {
            return false;
        };
        self.claims.0.remove(&claim);
        let is_same = self.has_same(id, &kept.image, None);
        self.unbind(id);
        self.keep_alive(id);
        self.enter(id, Binding { source, service_id, generation, stream_id: Some(stream_id) });
        if let Some(source) = self.sources.get_mut(source) {
            source.streams.insert(stream_id, id);
        }
        self.counters.standby_switches += 1;
        match is_same {
            true => {
                self.counters.standby_switches_unseen += 1;
                if let Some(item) = self.items.get_mut(id) {
                    item.live = true;
                }
                let group = kept.image.group_id().try_into().unwrap_or_default();
                self.set_group(id, group);
            }
            false => {
                if let Some(item) = self.items.get_mut(id) {
                    // Who heard nothing of the loss is told that another one goes on: what
                    // that has may be of before.
                    item.failing_over |=
                        item.state.data == DataState::OK && !item.interests.is_empty();
                }
                self.go_on_with(now, id, &kept.image, out);
            }
        }
        true
    }

    /// A provider does not stand by any more with what it had on a stream.
    /// Whether it did.
    pub(super) fn stand_down(
        &mut self,
        now: Time,
        source: u32,
        stream_id: i32,
        out: &mut impl Outputs,
    ) -> bool {
        if self.claims.0.is_empty() {
            return false;
        }
        let Some(offers) = self.sources.get_mut(source).map(|it| &mut it.offers) else {
            return false;
        };
        let claim = offers.iter_mut().find_map(|(service_id, offer)| {
            let item = offer.claims.remove(&stream_id)?.item;
            let (service_id, generation) = (*service_id, offer.generation);
            Some(Claim { item, source, service_id, generation, stream_id })
        });
        if let Some(claim) = claim {
            self.release_claim(now, &claim, out);
        }
        claim.is_some()
    }

    /// Whoever stood by for an item does so no longer. Where nobody has it, and
    /// nobody else stands by, it is on its way out.
    pub(super) fn release_claim(&mut self, now: Time, claim: &Claim, out: &mut impl Outputs) {
        let id = claim.item;
        if !self.claims.0.remove(claim) || self.is_stood_by(id) {
            return;
        }
        let Some(item) = self.items.known(id) else { return };
        if !item.published || item.binding.is_some() || item.stale_at_ms.is_some() {
            return;
        }
        let is_reserved = self.config.ni_services.is_none();
        let service = self.services.get_mut(item.service).filter(|_| is_reserved);
        match service.is_some_and(|service| service.is_interactive) {
            true => self.reclaim(now, id, out),
            false => self.expire_at(id, ms(now).saturating_add(self.config.ni_stale_ms)),
        }
    }

    /// Whether a provider that is there stands by for an item.
    pub(super) fn is_stood_by(&self, id: u32) -> bool {
        self.claims.of_item(id).any(|claim| {
            let source = self.sources.get(claim.source);
            let offer = source.and_then(|source| source.offers.get(&claim.service_id));
            offer.is_some_and(|offer| offer.generation == claim.generation)
        })
    }

    /// An item is over: nobody stands by for it.
    pub(super) fn forget_claims(&mut self, id: u32) {
        while let Some(claim) = self.claims.take_of(id) {
            let source = self.sources.get_mut(claim.source);
            let offer = source.and_then(|source| source.offers.get_mut(&claim.service_id));
            // That of an offer that is gone is passed over in its turn.
            if let Some(offer) = offer.filter(|offer| offer.generation == claim.generation) {
                offer.claims.remove(&claim.stream_id);
            }
        }
    }
}
