//! Providers that stand by: they publish an item that another one has. What
//! they send is not used while that one is there; the item is kept for them
//! when it is gone, and theirs with their next image.

use std::collections::BTreeSet;

use tapeline_rwf::Domain;
use tapeline_time::Time;

use super::Core;
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
        if !self.admits_item(source, false, (domain, stream_id), out) {
            return;
        }
        let offer = self.sources.get_mut(source).and_then(|it| it.offers.get_mut(&service_id));
        let Some(offer) = offer else { return };
        offer.claims.insert(stream_id, item);
        self.claims.0.insert(claim);
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
            let item = offer.claims.remove(&stream_id)?;
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
