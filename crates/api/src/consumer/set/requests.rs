//! Requests of an application to all servers of a set.

use core::iter;

use tapeline_omm::directory::DirectoryChange;
use tapeline_rwf::{Domain, PostMsg};

use super::super::core::{ConsumerCore, Fresh, Phase};
use super::super::queues::ServiceName;
use super::super::requests::{Requests, off_stream_post};
use super::super::spec::{Handle, ItemChange, ItemSpec, ServiceRef};
use super::in_set;
use super::state::SetState;
use crate::{ApiError, Login, Payload, PostHead};

/// The rest of the set that a core is in.
pub(in super::super) struct Peers<'c> {
    pub(in super::super) set: &'c mut SetState,
    /// The place of the core.
    pub(super) place: usize,
    /// The cores of the places before it,
    pub(super) before: &'c mut [ConsumerCore],
    /// and of those behind it.
    pub(super) after: &'c mut [ConsumerCore],
}

/// Asks all servers, or the one that is active. Without a set there is one
/// server, and nothing of this is used.
impl Requests<'_> {
    /// All cores, in the order of their places.
    pub(in super::super) fn cores(&self) -> impl Iterator<Item = &ConsumerCore> {
        let peers = self.peers.as_ref();
        let before = peers.into_iter().flat_map(|peers| peers.before.iter());
        let after = peers.into_iter().flat_map(|peers| peers.after.iter());
        before.chain(iter::once(&*self.core)).chain(after)
    }

    /// The core of a place.
    pub(super) fn core_at(&self, place: usize) -> &ConsumerCore {
        self.cores().nth(place).unwrap_or(&*self.core)
    }

    pub(super) fn places(&self) -> core::ops::Range<usize> {
        0..self.peers.as_ref().map_or(1, |peers| peers.before.len() + 1 + peers.after.len())
    }

    /// Does something at one server as if it were the only one.
    pub(in super::super) fn with_place<R>(
        &mut self,
        place: usize,
        ask: impl FnOnce(&mut Requests<'_>) -> R,
    ) -> R {
        let Self { core, now, out, peers } = self;
        let Some(Peers { place: own, before, after, .. }) = peers else {
            debug_assert!(false, "there are places in a set only");
            return ask(self);
        };
        let core = match place.checked_sub(*own) {
            None => &mut before[place],
            Some(0) => &mut **core,
            Some(behind) => &mut after[behind - 1],
        };
        out.turn_to(place);
        let result = ask(&mut Requests { core, now: *now, out: &mut **out, peers: None });
        out.turn_to(*own);
        result
    }

    pub(super) fn set(&mut self) -> &mut SetState {
        let peers = self.peers.as_mut().expect("what is of a set is done in one");
        peers.set
    }

    /// The core whose login and directory count.
    pub(in super::super) fn leading(&self) -> &ConsumerCore {
        let active = self.peers.as_ref().and_then(|peers| peers.set.lead.active());
        active.map_or(&*self.core, |active| self.core_at(active))
    }

    /// The core that an item is served by.
    pub(in super::super) fn active_core(&self, handle: Handle) -> Option<&ConsumerCore> {
        match &self.peers {
            None => Some(&*self.core),
            Some(peers) => Some(self.core_at(peers.set.items.get(handle.0)?.active?)),
        }
    }

    /// The place that an item is served by.
    pub(in super::super) fn active_place(&mut self, handle: Handle) -> Result<usize, ApiError> {
        let item = self.set().items.get(handle.0).ok_or(ApiError::Void)?;
        item.active.ok_or(ApiError::NotConnected)
    }

    /// Opens an item at a server, to be requested with the others of its kind.
    fn add_as(&mut self, handle: Handle, set: &SetState) {
        let Some(item) = set.items.get(handle.0) else { return };
        let options = self.core.stream_options(item.wish.streaming, item.wish.private);
        let service = self.core.queues.of(item.service.clone());
        self.core.items.add_at(handle, item.wish.clone(), service, options);
        if item.is_paused
            && let Some(added) = self.core.items.get_mut(handle)
        {
            let _ = added.stream.pause(super::super::core::ms(self.now));
        }
    }

    /// Opens an item of the set at one of its servers, if it is not.
    pub(super) fn open_at(&mut self, place: usize, handle: Handle) {
        if self.core_at(place).items.get(handle).is_some() {
            return;
        }
        self.with_place_and_set(place, |it, set| {
            it.add_as(handle, set);
            it.core.fresh.push_back(Fresh::One(handle));
        });
    }

    fn with_place_and_set(&mut self, place: usize, ask: impl FnOnce(&mut Requests<'_>, &SetState)) {
        let Self { core, now, out, peers } = self;
        let Some(Peers { set, place: own, before, after }) = peers else { return };
        let core = match place.checked_sub(*own) {
            None => &mut before[place],
            Some(0) => &mut **core,
            Some(behind) => &mut after[behind - 1],
        };
        ask(&mut Requests { core, now: *now, out: &mut **out, peers: None }, set);
    }

    pub(in super::super) fn open_in_set(&mut self, spec: &ItemSpec<'_>, name: &str) -> Handle {
        let handle = self.set().add(spec, name);
        for place in self.places() {
            if self.set().belongs_at(handle, place) {
                self.open_at(place, handle);
            }
        }
        handle
    }

    pub(in super::super) fn open_batch_in_set(
        &mut self,
        spec: &ItemSpec<'_>,
        names: &[&str],
    ) -> Vec<Handle> {
        let handles: Vec<_> = names.iter().map(|name| self.set().add(spec, name)).collect();
        for place in self.places() {
            let wanted: Vec<_> = handles
                .iter()
                .copied()
                .filter(|handle| self.set().belongs_at(*handle, place))
                .collect();
            if wanted.is_empty() {
                continue;
            }
            self.with_place_and_set(place, |it, set| {
                for handle in &wanted {
                    it.add_as(*handle, set);
                }
                it.core.fresh.push_back(Fresh::Batch(wanted));
            });
        }
        handles
    }

    pub(in super::super) fn close_in_set(&mut self, handle: Handle) {
        if self.set().items.remove(handle.0).is_none() {
            return;
        }
        self.close_everywhere(handle, None);
    }

    /// Closes an item at all servers but one.
    pub(super) fn close_everywhere(&mut self, handle: Handle, but_at: Option<usize>) {
        for place in self.places().filter(|place| Some(*place) != but_at) {
            if self.core_at(place).items.get(handle).is_some() {
                self.with_place(place, |it| it.close(handle));
            }
        }
    }

    pub(in super::super) fn change_in_set(
        &mut self,
        handle: Handle,
        change: &ItemChange,
    ) -> Result<(), ApiError> {
        let item = self.set().items.get_mut(handle.0).ok_or(ApiError::Void)?;
        let active = item.active;
        if let Some(view) = &change.view {
            item.wish.view.clone_from(view);
        }
        if let Some(priority) = change.priority {
            item.wish.priority = priority;
        }
        for place in self.places() {
            if self.core_at(place).items.get(handle).is_some() {
                // An image of a server that stands by is of no use.
                let refresh = change.refresh && active == Some(place);
                let change = ItemChange { refresh, ..change.clone() };
                self.with_place(place, |it| it.change(handle, change))?;
            }
        }
        Ok(())
    }

    pub(in super::super) fn pause_in_set(
        &mut self,
        handle: Handle,
        pause: bool,
    ) -> Result<(), ApiError> {
        self.set().items.get_mut(handle.0).ok_or(ApiError::Void)?.is_paused = pause;
        for place in self.places() {
            if self.core_at(place).items.get(handle).is_some() {
                self.with_place(place, |it| match pause {
                    true => it.pause(handle),
                    false => it.resume(handle),
                })?;
            }
        }
        Ok(())
    }

    pub(in super::super) fn post_in_set(
        &mut self,
        handle: Handle,
        head: &PostHead<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<u32, ApiError> {
        let active = self.active_place(handle)?;
        let post_id = self.post_at(active, |it| it.post(handle, head, payload))?;
        for place in self.places().filter(|place| *place != active) {
            self.with_place(place, |it| {
                let Some(item) = it.core.items.get(handle) else { return };
                let Some(on_wire) = item.on_wire else { return };
                let user_info = it.core.config.post_user_info;
                let msg = head.msg(item.wish.domain, on_wire.stream_id, post_id, user_info);
                it.repeat_post(&msg, payload);
            });
        }
        Ok(post_id)
    }

    pub(in super::super) fn post_off_stream_in_set(
        &mut self,
        service: ServiceRef<'_>,
        name: &str,
        domain: Domain,
        head: &PostHead<'_>,
        payload: &(impl Payload + ?Sized),
    ) -> Result<u32, ApiError> {
        let active = self.set().active_for(&ServiceName::from(service));
        let active = active.ok_or(ApiError::NotConnected)?;
        let post = |it: &mut Requests<'_>| it.post_off_stream(service, name, domain, head, payload);
        let post_id = self.post_at(active, post)?;
        for place in self.places().filter(|place| *place != active) {
            self.with_place(place, |it| {
                let directory = &it.core.directory;
                let service_id = match service {
                    ServiceRef::Id(id) => directory.service(id).map(|_| id),
                    ServiceRef::Name(name) => directory.service_id(name.as_bytes()),
                };
                let Some(service_id) = service_id else { return };
                let user_info = it.core.config.post_user_info;
                let msg = off_stream_post(head, (service_id, name), domain, post_id, user_info);
                it.repeat_post(&msg, payload);
            });
        }
        Ok(post_id)
    }

    /// Posts at the active server. Ids go on from the last post at any server.
    fn post_at(
        &mut self,
        active: usize,
        post: impl FnOnce(&mut Requests<'_>) -> Result<u32, ApiError>,
    ) -> Result<u32, ApiError> {
        let last_post_id = self.set().last_post_id;
        let (posted, last_post_id) = self.with_place(active, |it| {
            it.core.last_post_id = last_post_id;
            (post(it), it.core.last_post_id)
        });
        self.set().last_post_id = last_post_id;
        posted
    }

    /// Sends a post, whose ack nobody waits for, to a server that stands by. What
    /// it does with it is up to the server.
    fn repeat_post(&mut self, msg: &PostMsg<'_>, payload: &(impl Payload + ?Sized)) {
        if self.core.phase != Phase::Ready || !self.core.features.accepts_posts() {
            return;
        }
        let sent = self.core.send(self.out, |encoder| {
            payload.write(encoder.begin(&(*msg).into(), payload.data_type())?)
        });
        if let Err(error) = sent {
            debug_assert!(false, "the active server was sent it: {error}");
        }
    }

    pub(in super::super) fn change_login_in_set(&mut self, login: &Login) -> Result<(), ApiError> {
        let login = in_set(login);
        self.places()
            .try_for_each(|place| self.with_place(place, |it| it.change_login(login.clone())))
    }

    pub(in super::super) fn log_out_in_set(&mut self) {
        for place in self.places() {
            self.with_place(place, |it| {
                it.log_out();
            });
        }
        let set = self.set();
        let keys: Vec<_> = set.items.keys().collect();
        for key in keys {
            set.items.remove(key);
        }
        set.images_until = None;
    }

    /// Brings the directory of the application in line with those of the active
    /// servers.
    pub(super) fn adopt_services(&mut self) -> Vec<DirectoryChange> {
        let Self { core, peers, .. } = self;
        let Some(Peers { set, before, after, .. }) = peers else { return Vec::new() };
        let cores: Vec<&ConsumerCore> =
            before.iter().chain(iter::once(&**core)).chain(after.iter()).collect();
        let known = set.directory.services().map(|(id, _)| id);
        let theirs = cores.iter().flat_map(|core| core.directory.services().map(|(id, _)| id));
        let mut ids: Vec<u16> = known.chain(theirs).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut changes = Vec::new();
        for id in ids {
            if let Some(active) = set.active_for_id(id) {
                changes.extend(set.directory.adopt(id, &cores[active].directory));
            }
        }
        changes
    }
}
