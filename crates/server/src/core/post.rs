//! Posts to providers, and acks back to those who posted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;

use tapeline_backbone::{FrameFlags, FrameHeader, Kind, MAX_BODY_BYTES, Published};
use tapeline_channel::SessionId;
use tapeline_omm::directory::Service;
use tapeline_omm::post::{AckForm, Post, PostRefusal, PostStream, nak};
use tapeline_rwf::{AckFlags, AckMsg, Domain, Msg, MsgKey, PostFlags, PostMsg, PostUserInfo};
use tapeline_time::Time;

use super::item::{HubIndex, Upstream};
use super::map::Map;
use super::stream::{Entry, Stream};
use super::{Core, DUE_PER_TURN, millis};
use crate::siblings::SharedCount;
use crate::{Outputs, StandbyPosts};

/// The reference of a post that is not on the stream of an item.
const OFF_STREAM: u32 = u32::MAX;

/// A post that waits for its ack.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    session: SessionId,
    stream_id: i32,
    domain: Domain,
    post_id: u32,
    seq_num: Option<u32>,
    is_private: bool,
    hub: HubIndex,
}

/// The posts that wait for their acks, by the number that hubs know them by.
#[derive(Debug, Default)]
pub(super) struct Posts {
    waiting: Map<u32, Waiting>,
    /// As many as wait here, and at siblings.
    pub(super) count: SharedCount,
    of_mounts: BTreeMap<SessionId, BTreeSet<u32>>,
    at_hubs: BTreeMap<HubIndex, BTreeSet<u32>>,
    /// In the order of their deadlines; those that are not waiting any more are
    /// passed over.
    deadlines: VecDeque<(Time, u32)>,
    next: u32,
}

impl Posts {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.deadlines.front().map(|(at, _)| *at)
    }

    /// A number that no waiting post has.
    fn number(&mut self) -> u32 {
        loop {
            self.next = self.next.wrapping_add(1);
            if !self.waiting.contains_key(&self.next) {
                return self.next;
            }
        }
    }

    fn insert(&mut self, number: u32, post: Waiting) {
        self.of_mounts.entry(post.session).or_default().insert(number);
        self.at_hubs.entry(post.hub).or_default().insert(number);
        self.waiting.insert(number, post);
        self.count.set(self.waiting.len());
    }

    fn take(&mut self, number: u32) -> Option<Waiting> {
        let post = self.waiting.remove(&number)?;
        self.count.set(self.waiting.len());
        remove(&mut self.of_mounts, &post.session, number);
        remove(&mut self.at_hubs, &post.hub, number);
        self.forget_answered();
        Some(post)
    }

    /// Posts that wait: number, mount and hub.
    pub(super) fn ends(&self) -> impl Iterator<Item = (u32, SessionId, HubIndex)> {
        self.waiting.iter().map(|(number, post)| (*number, post.session, post.hub))
    }

    /// Panics where the posts and their lists contradict each other.
    pub(super) fn check(&self) {
        for (number, post) in &self.waiting {
            let of_mount = self.of_mounts.get(&post.session);
            assert!(of_mount.is_some_and(|of| of.contains(number)), "{number} of its mount");
            let at_hub = self.at_hubs.get(&post.hub);
            assert!(at_hub.is_some_and(|at| at.contains(number)), "{number} at its hub");
            let is_due = self.deadlines.iter().any(|(_, due)| due == number);
            assert!(is_due, "post {number} has no deadline");
        }
        let of_mounts: usize = self.of_mounts.values().map(BTreeSet::len).sum();
        let at_hubs: usize = self.at_hubs.values().map(BTreeSet::len).sum();
        assert_eq!((of_mounts, at_hubs), (self.len(), self.len()), "posts of mounts, at hubs");
        assert!(self.deadlines.iter().is_sorted_by_key(|(at, _)| at), "deadlines in order");
    }

    /// How many posts of a mount wait.
    fn count_of(&self, session: SessionId) -> usize {
        self.of_mounts.get(&session).map_or(0, BTreeSet::len)
    }

    /// Forgets a post of a mount that is gone. Whether there was one.
    pub(super) fn forget_one_of(&mut self, session: SessionId) -> bool {
        let number = self.of_mounts.get(&session).and_then(BTreeSet::first).copied();
        number.and_then(|number| self.take(number)).is_some()
    }

    /// Passes over posts at the front that do not wait any more: some, as each
    /// brings one at the most.
    fn forget_answered(&mut self) {
        let Self { waiting, deadlines, .. } = self;
        for _ in 0..PASSED_OVER {
            match deadlines.front() {
                Some((_, number)) if !waiting.contains_key(number) => _ = deadlines.pop_front(),
                _ => return,
            }
        }
    }
}

/// Takes a number out of the set of a key, and the last one with its set.
fn remove<K: Ord>(sets: &mut BTreeMap<K, BTreeSet<u32>>, key: &K, number: u32) {
    if let Some(set) = sets.get_mut(key) {
        set.remove(&number);
        if set.is_empty() {
            sets.remove(key);
        }
    }
}

/// How many answered posts are passed over for one that is taken.
const PASSED_OVER: usize = 16;

/// Where a post goes.
struct Route {
    hub: HubIndex,
    /// The hub's number for the service.
    service_id: Option<u16>,
    reference: u32,
    is_private: bool,
}

impl Core {
    pub(super) fn on_post<O: Outputs>(
        &mut self,
        session: SessionId,
        post: &PostMsg<'_>,
        out: &mut O,
    ) {
        let done = match self.post_on_standby(session, post) {
            Some(StandbyPosts::Ack) => self.accept_post(session, post, out),
            Some(StandbyPosts::Nak) => Err(PostRefusal::NoResources),
            Some(StandbyPosts::Forward) | None => self.forward_post(session, post, out),
        };
        if let Err(refusal) = done {
            self.refuse_post(session, post, &refusal, out);
        }
    }

    /// What becomes of a post for a service with which the server stands by.
    fn post_on_standby(&self, session: SessionId, post: &PostMsg<'_>) -> Option<StandbyPosts> {
        let mount = self.mounts.get(session)?;
        let service_id = match mount.streams.get(post.stream_id)? {
            Entry::Item(stream) => {
                let item = self.items.get(stream.slot)?;
                (!item.is_private).then(|| item.service_id())
            }
            Entry::Other(Stream::Login) => post.key.and_then(|key| key.service_id),
            Entry::Other(_) => None,
        };
        mount.roles.stands_by(service_id?).then_some(self.config.standby_posts)
    }

    /// A post is acknowledged, as its source gets it from another server.
    fn accept_post<O: Outputs>(
        &mut self,
        session: SessionId,
        post: &PostMsg<'_>,
        out: &mut O,
    ) -> Result<(), PostRefusal> {
        if !self.config.accept_posts {
            return Err(PostRefusal::NotSupported);
        }
        let is_on_item = self.item_on(session, post.stream_id).is_some();
        Post::check(post, if is_on_item { PostStream::Item } else { PostStream::Login })?;
        self.entitle_post(session, post, out)?;
        self.statistics.posts_on_standby += 1;
        if let Some(post_id) = post.post_id.filter(|_| post.flags.contains(PostFlags::ACK)) {
            let ack = AckMsg {
                ack_id: post_id,
                seq_num: post.seq_num,
                ..AckMsg::new(post.domain, post.stream_id)
            };
            self.send(session, &ack.into(), out);
        }
        Ok(())
    }

    /// Tells a mount why its post went nowhere, if it wants to know.
    pub(super) fn refuse_post<O: Outputs>(
        &mut self,
        session: SessionId,
        post: &PostMsg<'_>,
        refusal: &PostRefusal,
        out: &mut O,
    ) {
        let is_private = self
            .item_on(session, post.stream_id)
            .is_some_and(|(slot, _)| self.items.get(slot).is_some_and(|item| item.is_private));
        let text = refusal.to_string();
        let form = AckForm { private: is_private, with_key: false };
        if let Some(ack) = nak(post, form, refusal, &text) {
            self.send(session, &ack.into(), out);
        }
    }

    fn forward_post<O: Outputs>(
        &mut self,
        session: SessionId,
        post: &PostMsg<'_>,
        out: &mut O,
    ) -> Result<(), PostRefusal> {
        let route = self.route_post(session, post)?;
        self.entitle_post(session, post, out)?;
        let wants_ack = post.flags.contains(PostFlags::ACK);
        let limits = &self.config.limits;
        let is_full = self.posts.count.total() >= limits.max_posts
            || self.posts.count_of(session) >= limits.max_posts_per_mount;
        if wants_ack && is_full {
            self.statistics.posts_refused += 1;
            return Err(PostRefusal::NoResources);
        }
        let number = self.posts.number();
        let Some(hub) = self.hubs.get(route.hub) else { return Err(PostRefusal::GatewayDown) };
        let mut header = FrameHeader::new(Kind::Post, hub.incarnation, number);
        header.flags.set(FrameFlags::OFF_STREAM, route.reference == OFF_STREAM);
        let key =
            post.key.map(|key| MsgKey { service_id: key.service_id.and(route.service_id), ..key });
        let post_user_info = self.user_info(session, post.post_user_info);
        let forwarded = PostMsg { stream_id: 0, key, post_user_info, ..*post };
        let Ok(bytes) = self.scratch.message(&forwarded.into()) else {
            return Err(PostRefusal::NoResources);
        };
        let length = bytes.len();
        let reference = route.reference.to_le_bytes();
        if out.publish(header, &[&reference, bytes]) == Published::TooLarge {
            return Err(PostRefusal::TooLong { length, max: MAX_BODY_BYTES - reference.len() });
        }
        if let Some(post_id) = post.post_id.filter(|_| wants_ack) {
            let waiting = Waiting {
                session,
                stream_id: post.stream_id,
                domain: post.domain,
                post_id,
                seq_num: post.seq_num,
                is_private: route.is_private,
                hub: route.hub,
            };
            self.posts.insert(number, waiting);
            let timeout = millis(self.config.limits.post_timeout_ms);
            self.posts.deadlines.push_back((self.now.after(timeout), number));
        }
        Ok(())
    }

    /// Where a post goes, if anywhere.
    fn route_post(&self, session: SessionId, post: &PostMsg<'_>) -> Result<Route, PostRefusal> {
        if !self.config.accept_posts {
            return Err(PostRefusal::NotSupported);
        }
        let streams = self.mounts.get(session).map(|mount| &mount.streams);
        match streams.and_then(|streams| streams.get(post.stream_id)) {
            Some(Entry::Other(Stream::Login)) => {
                let checked = Post::check(post, PostStream::Login)?;
                let item = checked.item.ok_or(PostRefusal::NoName)?;
                let id = item.service_id.ok_or(PostRefusal::NoService)?;
                let service = self.services.directory.service(id);
                let service = service.ok_or(PostRefusal::UnknownServiceId(id))?;
                let chosen = self.services.choose(&self.hubs, &item);
                match chosen.filter(|_| service.is_usable()) {
                    Some((hub, service_id)) => Ok(Route {
                        hub,
                        service_id: Some(service_id),
                        reference: OFF_STREAM,
                        is_private: false,
                    }),
                    None => Err(PostRefusal::ServiceDown(id)),
                }
            }
            Some(Entry::Item(stream)) => {
                Post::check(post, PostStream::Item)?;
                let item = self.items.get(stream.slot);
                let item = item.ok_or(PostRefusal::NotOpen(post.stream_id))?;
                let id = item.service_id();
                let Upstream::Accepted { hub, .. } = item.upstream() else {
                    return Err(PostRefusal::ServiceDown(id));
                };
                if !self.services.directory.service(id).is_some_and(Service::is_usable) {
                    return Err(PostRefusal::ServiceDown(id));
                }
                let name = self.services.name(id);
                let directory = self.hubs.directory(hub);
                let service_id = name.zip(directory).and_then(|(name, it)| it.service_id(name));
                let is_private = item.is_private;
                Ok(Route { hub, service_id, reference: stream.slot, is_private })
            }
            _ => Err(PostRefusal::NotOpen(post.stream_id)),
        }
    }

    /// Who posts: the mount, by its address and the number of its session,
    /// counted from 1. Where clients are trusted, it is who they say; one that
    /// does not say is known by its address.
    fn user_info(&self, session: SessionId, said: PostUserInfo) -> PostUserInfo {
        let peer = self.mounts.get(session).map(|mount| mount.peer.ip().to_canonical());
        let address = match peer {
            Some(IpAddr::V4(address)) => address.to_bits(),
            // There is no room for one of IPv6.
            _ => 0,
        };
        match self.config.trust_post_user_info {
            false => PostUserInfo { address, user_id: session.index.wrapping_add(1) },
            true if said.address == 0 => PostUserInfo { address, ..said },
            true => said,
        }
    }

    /// A hub answers a post.
    pub(super) fn on_hub_ack<O: Outputs>(&mut self, number: u32, body: &[u8], out: &mut O) -> bool {
        let Ok(Msg::Ack(ack)) = Msg::decode(body) else { return false };
        let Some(post) = self.posts.take(number) else { return false };
        let answer = AckMsg { nak_code: ack.nak_code, text: ack.text, ..answer(&post) };
        self.send_ack(&post, &answer, out);
        true
    }

    fn send_ack<O: Outputs>(&mut self, post: &Waiting, ack: &AckMsg<'_>, out: &mut O) {
        let mount = self.mounts.get(post.session);
        // The stream may be closed meanwhile.
        if mount.is_some_and(|mount| mount.streams.contains(post.stream_id)) {
            self.send(post.session, &(*ack).into(), out);
        }
    }

    fn refuse_waiting<O: Outputs>(
        &mut self,
        number: u32,
        refusal: impl Fn(&Waiting) -> PostRefusal,
        out: &mut O,
    ) {
        let Some(post) = self.posts.take(number) else { return };
        let refusal = refusal(&post);
        let text = refusal.to_string();
        let ack = AckMsg {
            nak_code: Some(refusal.nak_code()),
            text: Some(text.as_bytes()),
            ..answer(&post)
        };
        self.send_ack(&post, &ack, out);
    }

    /// Posts whose time is up are refused: some, as many as one turn can bear.
    pub(super) fn check_posts<O: Outputs>(&mut self, out: &mut O) {
        for _ in 0..DUE_PER_TURN {
            let Some((at, number)) = self.posts.deadlines.front().copied() else { return };
            if at > self.now {
                return;
            }
            self.posts.deadlines.pop_front();
            self.refuse_waiting(number, |post| PostRefusal::NoResponse(post.post_id), out);
        }
    }

    /// A hub is gone, and with it the way of a post. Whether there was one.
    pub(super) fn lose_post<O: Outputs>(&mut self, hub: HubIndex, out: &mut O) -> bool {
        let number = self.posts.at_hubs.get(&hub).and_then(BTreeSet::first).copied();
        let Some(number) = number else { return false };
        self.refuse_waiting(number, |_| PostRefusal::GatewayDown, out);
        true
    }
}

/// The ack of a post, accepting it.
fn answer(post: &Waiting) -> AckMsg<'static> {
    let mut flags = AckFlags::empty();
    flags.set(AckFlags::PRIVATE_STREAM, post.is_private);
    AckMsg {
        flags,
        ack_id: post.post_id,
        seq_num: post.seq_num,
        ..AckMsg::new(post.domain, post.stream_id)
    }
}
