//! What non-interactive providers may publish: without a policy nobody
//! asks who they are, so they get no service that an interactive provider has, and no more than their
//! share of the items.

use tapeline_omm::Text;
use tapeline_omm::state::usual;
use tapeline_planted::planted;
use tapeline_rwf::{DataState, Domain, State, StateCode, StatusMsg, StreamState};
use tapeline_time::Time;

use super::Core;
use super::backlog::Work;
use super::downstream::SERVICE_LOST;
use super::source::is_wanted;
use crate::{Outputs, Route, ServiceKind};

const NOT_YOURS: State<'static> = State::new(
    StreamState::CLOSED,
    DataState::SUSPECT,
    StateCode::NOT_ENTITLED,
    "Service is not open to non-interactive providers.",
);

const TOO_MANY_ITEMS: State<'static> =
    State { stream: StreamState::CLOSED, ..usual::TOO_MANY_ITEMS };

/// How many items are looked at for one that can make room.
const MAX_TRIES: usize = 64;

impl Core {
    /// Whether a non-interactive provider may publish into a service: if the
    /// policy gives it, and the service is one for such providers.
    pub(super) fn may_publish(&self, index: u32, name: &Text) -> bool {
        let source = self.sources.get(index);
        source.is_some_and(|source| self.publishers.may_publish(&source.publisher, name))
            && self.is_for_publishers(name)
    }

    fn is_for_publishers(&self, name: &Text) -> bool {
        if let Some(kind) = self.services.kind(name) {
            return kind == ServiceKind::NonInteractive;
        }
        if let Some(services) = &self.config.ni_services {
            return is_wanted(Some(services), name) || planted!(ForgedService);
        }
        // Routes name what sources offer, which may be a member of the group.
        let is_it = |own: &String| self.services.member(&own.as_str().into()).known_as == *name;
        let names = |route: &Route| route.services.iter().flatten().any(is_it);
        let is_interactive = self.services.named(name).is_some_and(|one| one.is_interactive);
        !is_interactive && !self.config.routes.iter().any(names)
    }

    /// A non-interactive provider may not publish into a service.
    pub(super) fn refuse_service(
        &mut self,
        index: u32,
        service_id: u16,
        name: &Text,
        out: &mut impl Outputs,
    ) {
        let is_given = {
            let source = self.sources.get(index);
            source.is_some_and(|source| self.publishers.may_publish(&source.publisher, name))
        };
        let Some(source) = self.sources.known_mut(index) else { return };
        if source.refused.insert(service_id)
            && let Some(session) = source.session
        {
            let why = match self.config.ni_services {
                _ if !is_given => "the policy does not give it to this user",
                Some(_) if self.services.kind(name).is_none() => {
                    "it is not among those for non-interactive providers"
                }
                _ => "it is an interactive provider's",
            };
            out.warn(session, &format!("service {name}: {why}"));
        }
    }

    /// A service turns out to be an interactive provider's: nobody else
    /// publishes into it any longer, unless the configuration says so.
    pub(super) fn claim_service(&mut self, service: u16, out: &mut impl Outputs) {
        let Some(claimed) = self.services.get_mut(service) else { return };
        let was_claimed = std::mem::replace(&mut claimed.is_interactive, true);
        if was_claimed || self.config.ni_services.is_some() {
            return;
        }
        let name = claimed.name.clone();
        let publishers: Vec<_> = self
            .sources
            .offering(service)
            .filter(|(_, _, source)| !source.is_interactive())
            .map(|(index, service_id, _)| (index, service_id))
            .collect();
        for (index, service_id) in publishers {
            self.refuse_service(index, service_id, &name, out);
            self.offer_claimed(index, service_id);
        }
        self.backlog.add(Work::Claimed { service, after: None });
    }

    /// The next item of a service that was claimed, of those that nobody
    /// publishes any more. Whether there may be more.
    pub(super) fn reclaim_next(
        &mut self,
        now: Time,
        service: u16,
        after: &mut Option<(u64, u32)>,
        out: &mut impl Outputs,
    ) -> bool {
        let Some(next) = self.expiries.next_of(service, *after) else { return false };
        *after = Some(next);
        self.reclaim(now, next.1, out);
        true
    }

    /// An item that was published is asked for at an interactive provider, if
    /// somebody wants it. Nothing of what was published stays.
    pub(super) fn reclaim(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        self.unbind(id);
        let Some(item) = self.items.known_mut(id) else { return };
        if item.interests.is_empty() {
            self.forget(id);
            return;
        }
        item.published = false;
        item.image = None;
        item.recovering = true;
        self.keep_alive(id);
        self.all_wait(id, out);
        self.renew_stream(id);
        self.tell_all(id, &SERVICE_LOST, out);
        self.seek(now, id, out);
    }

    /// An image that cannot be taken is answered with a state.
    fn refuse_publication(
        &mut self,
        index: u32,
        (domain, stream_id): (Domain, i32),
        state: State<'static>,
        out: &mut impl Outputs,
    ) {
        if !self.is_slow(index) {
            let status = StatusMsg { state: Some(state), ..StatusMsg::new(domain, stream_id) };
            self.offer_written(index, |encoder| encoder.message(&status.into()), out);
        }
    }

    /// An image came for a service that its provider has not.
    pub(super) fn not_offered(
        &mut self,
        index: u32,
        service_id: Option<u16>,
        stream: (Domain, i32),
        out: &mut impl Outputs,
    ) {
        let source = self.sources.get(index);
        let is_refused = source.zip(service_id).is_some_and(|(it, id)| it.refused.contains(&id));
        match is_refused {
            true => {
                self.counters.publications_refused += 1;
                self.refuse_publication(index, stream, NOT_YOURS, out);
            }
            false => self.counters.stray += 1,
        }
    }

    /// Whether a provider may publish one more item, which is new in a service if nobody
    /// has asked for it yet. If not, it is told so.
    pub(super) fn admits_item(
        &mut self,
        index: u32,
        new_in: Option<u16>,
        stream: (Domain, i32),
        out: &mut impl Outputs,
    ) -> bool {
        let max = self.config.limits.max_items_per_provider;
        let Some(source) = self.sources.known_mut(index) else { return false };
        let is_full = source.item_count() >= max as u64;
        if is_full
            && !std::mem::replace(&mut source.is_full, true)
            && let Some(session) = source.session
        {
            out.warn(session, &format!("more than {max} items, the most of one provider"));
        }
        if is_full || new_in.is_some_and(|service| !self.has_room(service)) {
            self.counters.limited += 1;
            self.refuse_publication(index, stream, TOO_MANY_ITEMS, out);
            return false;
        }
        true
    }

    /// Whether there is room for one more item of a service, if need be in place of one
    /// that nobody publishes any more and nobody wants.
    pub(super) fn has_room(&mut self, service: u16) -> bool {
        if self.is_service_full(service) && !self.forgets_one(Some(service)) {
            return false;
        }
        self.items.len() < self.config.limits.max_items || self.forgets_one(None)
    }

    /// Whether a service has all that it may.
    pub(super) fn is_service_full(&self, service: u16) -> bool {
        let max = self.services.get(service).and_then(|service| service.max_items);
        max.is_some_and(|max| self.items.len_of(service) >= max)
    }

    /// Forgets an item, of a service or of any, that nobody publishes any more and
    /// nobody wants. Whether there was one.
    fn forgets_one(&mut self, service: Option<u16>) -> bool {
        let is_unwanted =
            |id: &u32| self.items.known(*id).is_some_and(|it| it.interests.is_empty());
        let found = match service {
            None => self.expiries.ids().take(MAX_TRIES).find(is_unwanted),
            Some(service) => self.expiries.ids_of(service).take(MAX_TRIES).find(is_unwanted),
        };
        if let Some(id) = found {
            self.forget(id);
        }
        found.is_some()
    }

    /// The provider of an item is gone, and nobody else has it: it expires.
    pub(super) fn expire_at(&mut self, id: u32, at_ms: u64) {
        self.keep_alive(id);
        let Some(item) = self.items.known_mut(id) else { return };
        item.stale_at_ms = Some(at_ms);
        self.expiries.insert(item.service, at_ms, id);
        self.arm(id);
    }

    /// An item does not expire, or does so now.
    pub(super) fn keep_alive(&mut self, id: u32) {
        let Some(item) = self.items.known_mut(id) else { return };
        if let Some(at_ms) = item.stale_at_ms.take() {
            self.expiries.remove(item.service, at_ms, id);
        }
    }
}
