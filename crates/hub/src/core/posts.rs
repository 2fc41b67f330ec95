//! Posts: to the source of the item, and the acks back to the server that
//! posted.

use std::collections::{BTreeMap, BTreeSet};

use tapeline_backbone::{FrameFlags, FrameHeader, Kind};
use tapeline_omm::ItemKeyRef;
use tapeline_omm::post::{Post, PostRefusal, PostStream};
use tapeline_rwf::{AckFlags, AckMsg, Msg, NakCode, PostFlags, PostMsg, PostUserInfo};
use tapeline_time::Time;

use super::Core;
use super::item::Binding;
use super::relay::at_service;
use super::streams::LOGIN_STREAM;
use super::timers::DUE_PER_TURN;
use super::timers::ms;
use crate::Outputs;

/// The request number of a post that is on no item's stream.
const NO_REQUEST: u32 = u32::MAX;

/// What a post waits for.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    server: u32,
    incarnation: tapeline_backbone::Incarnation,
    /// The server's number for the post.
    post: u32,
    /// The id that the client gave it.
    post_id: u32,
    domain: tapeline_rwf::Domain,
    flags: AckFlags,
    deadline_ms: u64,
}

/// What the parts of one post have in common: clients number their posts as
/// they like, and several clients may post on one request of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Unfinished {
    server: u32,
    request: u32,
    /// Address and id of the poster.
    user: (u32, u32),
    post_id: u32,
}

impl Unfinished {
    /// Which post a message is a part of. One without an id is of one part.
    fn of(server: u32, request: u32, post: &PostMsg<'_>) -> Option<Self> {
        let PostUserInfo { address, user_id } = post.post_user_info;
        let post_id = post.post_id?;
        Some(Self { server, request, user: (address, user_id), post_id })
    }
}

/// A part of a post as its source knows it: the source, the id of the post, the
/// number of the part.
type Part = (u32, u32, Option<u32>);

/// A post that is still to be completed.
#[derive(Debug, Clone, Copy)]
struct Begun {
    source: u32,
    /// The id that its source knows it by.
    id: u32,
    /// By when its next part is due.
    due_ms: u64,
}

/// Posts on their way.
#[derive(Debug, Default)]
pub(crate) struct Posts {
    last_id: u32,
    waiting: BTreeMap<Part, Outstanding>,
    /// The same in the order of their deadlines.
    deadlines: BTreeSet<(u64, Part)>,
    in_parts: BTreeMap<Unfinished, Begun>,
    /// The sources and ids of posts in parts.
    begun: BTreeSet<(u32, u32)>,
    /// The same in the order of time. The next part renews the time, so they
    /// are not in the order in which they came.
    parts_due: BTreeSet<(u64, Unfinished)>,
}

impl Posts {
    pub(crate) fn next_ms(&self) -> Option<u64> {
        let ack = self.deadlines.first().map(|(at, _)| *at);
        let part = self.parts_due.first().map(|(at, _)| *at);
        ack.into_iter().chain(part).min()
    }

    /// The id that a source gets for a part of a post: the same for all parts of
    /// one. The next part is due by the given time.
    fn id_for(&mut self, place: Unfinished, source: u32, is_complete: bool, due_ms: u64) -> u32 {
        let known = self.forget_parts(place).filter(|begun| begun.source == source);
        let id = known.map_or_else(|| self.free_id(source, place.post_id), |begun| begun.id);
        if !is_complete {
            self.in_parts.insert(place, Begun { source, id, due_ms });
            self.begun.insert((source, id));
            self.parts_due.insert((due_ms, place));
        }
        id
    }

    /// An id that no other post has at a source: the poster's own, if it is
    /// free. Posters number their posts as they like.
    fn free_id(&mut self, source: u32, wanted: u32) -> u32 {
        let mut id = wanted;
        while self.has_id(source, id) {
            self.last_id = self.last_id.wrapping_add(1);
            id = self.last_id;
        }
        id
    }

    fn has_id(&self, source: u32, id: u32) -> bool {
        let waits = self.waiting.range((source, id, None)..=(source, id, Some(u32::MAX)));
        waits.take(1).count() > 0 || self.begun.contains(&(source, id))
    }

    fn forget_parts(&mut self, place: Unfinished) -> Option<Begun> {
        let begun = self.in_parts.remove(&place)?;
        self.parts_due.remove(&(begun.due_ms, place));
        self.begun.remove(&(begun.source, begun.id));
        Some(begun)
    }

    /// Forgets posts whose next part did not come in time, at most so many. A
    /// part that comes all the same is that of another post.
    fn expire_parts(&mut self, now_ms: u64, most: usize) {
        for _ in 0..most {
            let first = self.parts_due.first().filter(|(due_ms, _)| *due_ms <= now_ms);
            let Some((_, place)) = first.copied() else { return };
            self.forget_parts(place);
        }
    }

    /// The next post of a source that waits for its ack.
    fn next_of(&self, source: u32) -> Option<Part> {
        let of_source = (source, 0, None)..=(source, u32::MAX, Some(u32::MAX));
        self.waiting.range(of_source).next().map(|(part, _)| *part)
    }

    /// Posts that wait for an ack.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether there is room for a post. Parts of one that has begun have
    /// theirs.
    fn has_room(&self, place: Option<Unfinished>, is_complete: bool, max: usize) -> bool {
        let begins = place.is_some_and(|place| !is_complete && !self.in_parts.contains_key(&place));
        self.waiting.len() < max && !(begins && self.in_parts.len() >= max)
    }

    fn wait(&mut self, part: Part, outstanding: Outstanding) {
        self.take(part);
        self.deadlines.insert((outstanding.deadline_ms, part));
        self.waiting.insert(part, outstanding);
    }

    /// A server is gone, and the rest of its posts will not come.
    pub(crate) fn forget_server(&mut self, server: u32) {
        let of_server = self.in_parts.keys().filter(|place| place.server == server);
        for place in of_server.copied().collect::<Vec<_>>() {
            self.forget_parts(place);
        }
    }

    fn take(&mut self, part: Part) -> Option<Outstanding> {
        let found = self.waiting.remove(&part)?;
        self.deadlines.remove(&(found.deadline_ms, part));
        Some(found)
    }
}

impl Core {
    /// A server posts.
    ///
    /// ```text
    /// | u32 request, all ones for none | RWF post |    little endian
    /// ```
    pub(super) fn post(
        &mut self,
        now: Time,
        server: u32,
        header: &FrameHeader,
        body: &[u8],
        out: &mut impl Outputs,
    ) {
        let parts = body.split_first_chunk();
        let Some((request, Ok(Msg::Post(post)))) =
            parts.map(|(request, rest)| (u32::from_le_bytes(*request), Msg::decode(rest)))
        else {
            self.counters.bad_frames += 1;
            return;
        };
        let is_off_stream = header.flags.contains(FrameFlags::OFF_STREAM) || request == NO_REQUEST;
        let stream = if is_off_stream { PostStream::Login } else { PostStream::Item };
        let way = Post::check(&post, stream).and_then(|_| match is_off_stream {
            true => self.way_by_key(&post),
            false => self.way_by_request(server, request),
        });
        let request = if is_off_stream { NO_REQUEST } else { request };
        let place = Unfinished::of(server, request, &post);
        let is_complete = post.flags.contains(PostFlags::POST_COMPLETE);
        let max = self.config.limits.max_posts;
        let way = way.and_then(|way| match self.posts.has_room(place, is_complete, max) {
            true => Ok(way),
            false => Err(PostRefusal::NoResources),
        });
        match way {
            Ok(way) => {
                self.pass_post(now, (server, request, header.item), way, &post, out);
            }
            Err(refusal) => self.nak(server, header.item, &post, &refusal, out),
        }
    }

    /// The stream of the item that a request is for.
    fn way_by_request(&self, server: u32, request: u32) -> Result<(u32, i32, u16), PostRefusal> {
        let found = self.servers.get(server).and_then(|server| server.item(request));
        let item = found.and_then(|id| self.items.get(id)).ok_or(PostRefusal::NotOpen(0))?;
        match item.binding {
            _ if item.published => Err(PostRefusal::DeniedBySource),
            Some(Binding { source, .. }) if self.is_lost(source) => {
                Err(PostRefusal::ServiceDown(item.service))
            }
            Some(Binding { source, service_id, stream_id: Some(stream_id), .. }) => {
                self.takes_posts(source).map(|()| (source, stream_id, service_id))
            }
            _ => Err(PostRefusal::ServiceDown(item.service)),
        }
    }

    /// The login stream of a source of the service that a post names.
    fn way_by_key(&self, post: &PostMsg<'_>) -> Result<(u32, i32, u16), PostRefusal> {
        let service = post.key.and_then(|key| key.service_id).ok_or(PostRefusal::NoService)?;
        if self.services.published(service).is_none() {
            return Err(PostRefusal::UnknownServiceId(service));
        }
        // An item that is open there has its source; all others, any.
        let best = self.best_quality(service, post.domain);
        let key = post.key.map(|key| ItemKeyRef::of(post.domain, &key, best));
        let item = key.and_then(|key| self.items.get(self.items.find(&key)?));
        if let Some(item) = item.filter(|item| !item.published)
            && let Some(binding) = item.binding
        {
            let way = (binding.source, LOGIN_STREAM, binding.service_id);
            return self.takes_posts(binding.source).map(|()| way);
        }
        let mut is_published = false;
        for (index, service_id, source) in self.sources.offering(service) {
            is_published |= !source.is_interactive();
            if source.is_interactive() && source.is_usable(service_id) {
                return self.takes_posts(index).map(|()| (index, LOGIN_STREAM, service_id));
            }
        }
        match is_published {
            true => Err(PostRefusal::DeniedBySource),
            false => Err(PostRefusal::ServiceDown(service)),
        }
    }

    fn takes_posts(&self, index: u32) -> Result<(), PostRefusal> {
        match self.sources.get(index) {
            Some(source) if source.takes_posts && source.is_slow => Err(PostRefusal::SourceSlow),
            Some(source) if source.takes_posts => Ok(()),
            _ => Err(PostRefusal::NotSupported),
        }
    }

    /// Sends a post on, with its poster's id where no other post has it there.
    fn pass_post(
        &mut self,
        now: Time,
        (server, request, number): (u32, u32, u32),
        (source, stream_id, service_id): (u32, i32, u16),
        post: &PostMsg<'_>,
        out: &mut impl Outputs,
    ) {
        let Some(incarnation) = self.servers.target(server) else { return };
        let is_complete = post.flags.contains(PostFlags::POST_COMPLETE);
        let deadline_ms = ms(now).saturating_add(self.config.post_timeout_ms);
        let place = Unfinished::of(server, request, post);
        let own_id = place.map(|place| self.posts.id_for(place, source, is_complete, deadline_ms));
        let key = post.key.as_ref().map(|key| at_service(key, service_id));
        let msg = PostMsg { stream_id, post_id: own_id, key, ..*post };
        if !self.offer_written(source, |encoder| encoder.message(&msg.into()), out) {
            if let Some(place) = place {
                self.posts.forget_parts(place);
            }
            self.nak(server, number, post, &PostRefusal::SourceSlow, out);
            return;
        }
        self.counters.posts += 1;
        if let (Some(own_id), Some(post_id)) = (own_id, post.post_id)
            && post.flags.contains(PostFlags::ACK)
        {
            let item = self.servers.get(server).and_then(|server| server.item(request));
            let is_private =
                item.and_then(|id| self.items.get(id)).is_some_and(|item| item.private);
            let mut flags = AckFlags::empty();
            flags.set(AckFlags::PRIVATE_STREAM, is_private);
            let outstanding = Outstanding {
                server,
                incarnation,
                post: number,
                post_id,
                domain: post.domain,
                flags,
                deadline_ms,
            };
            self.posts.wait((source, own_id, post.seq_num), outstanding);
        }
    }

    /// A provider answers a post.
    pub(super) fn ack(&mut self, index: u32, ack: &AckMsg<'_>, out: &mut impl Outputs) {
        let Some(post) = self.posts.take((index, ack.ack_id, ack.seq_num)) else {
            self.counters.stray += 1;
            return;
        };
        let answer = AckMsg { stream_id: 0, ack_id: post.post_id, key: None, ..*ack };
        self.answer(&post, &answer, out);
    }

    fn answer(&mut self, post: &Outstanding, ack: &AckMsg<'_>, out: &mut impl Outputs) {
        if self.servers.target(post.server) != Some(post.incarnation) {
            return;
        }
        if let Ok(bytes) = self.scratch.message(&(*ack).into()) {
            let header = FrameHeader::new(Kind::Ack, post.incarnation, post.post);
            out.publish(header, &[bytes]);
        }
    }

    /// A post is refused, with an ack if it asked for one.
    fn nak(
        &mut self,
        server: u32,
        number: u32,
        post: &PostMsg<'_>,
        refusal: &PostRefusal,
        out: &mut impl Outputs,
    ) {
        self.counters.naks += 1;
        let text = refusal.to_string();
        let form = tapeline_omm::post::AckForm::default();
        let Some(nak) = tapeline_omm::post::nak(post, form, refusal, &text) else { return };
        let Some(target) = self.servers.target(server) else { return };
        let nak = AckMsg { stream_id: 0, ..nak };
        if let Ok(bytes) = self.scratch.message(&nak.into()) {
            out.publish(FrameHeader::new(Kind::Ack, target, number), &[bytes]);
        }
    }

    /// Answers a post in place of its source.
    fn nak_outstanding(&mut self, part: Part, code: NakCode, text: &str, out: &mut impl Outputs) {
        let Some(post) = self.posts.take(part) else { return };
        self.counters.naks += 1;
        let nak = AckMsg {
            flags: post.flags,
            ack_id: post.post_id,
            seq_num: part.2,
            nak_code: Some(code),
            text: Some(text.as_bytes()),
            ..AckMsg::new(post.domain, 0)
        };
        self.answer(&post, &nak, out);
    }

    /// Posts whose source left them without an ack for too long: so many at a
    /// time.
    pub(super) fn post_timeouts(&mut self, now: Time, out: &mut impl Outputs) {
        self.posts.expire_parts(ms(now), DUE_PER_TURN);
        for _ in 0..DUE_PER_TURN {
            let first = self.posts.deadlines.first().filter(|(at, _)| *at <= ms(now));
            let Some((_, part)) = first.copied() else { return };
            let post_id = self.posts.waiting.get(&part).map_or(0, |post| post.post_id);
            let refusal = PostRefusal::NoResponse(post_id);
            self.nak_outstanding(part, refusal.nak_code(), &refusal.to_string(), out);
        }
    }

    /// The source of posts is gone: their acks will not come. Whether there may
    /// be another one.
    pub(super) fn next_post_lost(&mut self, index: u32, out: &mut impl Outputs) -> bool {
        let Some(part) = self.posts.next_of(index) else { return false };
        self.nak_outstanding(part, NakCode::SOURCE_DOWN, "source of the post is lost", out);
        true
    }
}
