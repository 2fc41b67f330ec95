//! What a feed handler of Nasdaq decides.

use std::time::Duration;

use tapeline_counters::counts;
use tapeline_feed::{FeedError, NasdaqFeed, Update, new_york_midnight_ns};
use tapeline_itch::{
    Limits, Message, Outputs, PacketHead, Progress, Reader, ReaderCounts, Requester, SessionName,
    State,
};
use tapeline_rwf::{DataType, Domain};
use tapeline_time::Time;

use super::handler::{FeedOutputs, Link};
use super::items::{Handler, Published};
use super::links::Calling;

/// What a feed handler of Nasdaq reads.
#[derive(Clone, Debug)]
pub struct NasdaqConfig {
    /// What follows the symbol in the name of an item, as `.O`.
    pub suffix: String,
    /// How it goes about what is missing.
    pub limits: Limits,
    /// After so long without a packet, nothing is known any more.
    pub silence: Duration,
    /// Who asks for snapshots, with which password; nobody where there are none.
    pub snapshot: Option<(String, String)>,
}

counts! {
    /// What a feed handler of Nasdaq counts.
    pub struct NasdaqCounts = "nasdaq" {
        /// Packets of line A.
        packets_a: u64 = total;
        /// Packets of line B.
        packets_b: u64 = total;
        /// Packets that were answers to requests.
        packets_again: u64 = total;
        /// Packets that were for nobody: damaged, or of other sessions.
        packets_ignored: u64 = total;
        /// Messages that were read, in order.
        messages: u64 = total;
        /// Messages of types that are not known, or of a wrong length.
        messages_unreadable: u64 = total;
        /// Messages about orders or trades that are not known.
        messages_unknown: u64 = total;
        /// Holes that the other line did not fill in time.
        holes: u64 = total;
        /// Requests for what was missing, the repeated ones too.
        requests: u64 = total;
        /// Holes that nobody filled.
        losses: u64 = total;
        /// Times that all orders were asked for.
        snapshots: u64 = total;
        /// Snapshots that did not come to their end; they are asked for again.
        snapshots_failed: u64 = total;
        /// Times that items became suspect.
        stales: u64 = total;
        /// Whether items are suspect: 1, or 0.
        stale: u64 = now;
        /// Items.
        items: usize = now;
        /// Images sent to the hub.
        images: u64 = total;
        /// Updates sent to the hub.
        updates: u64 = total;
    }
}

/// Where a packet came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The first line.
    LineA,
    /// The second line.
    LineB,
    /// Whoever has messages again.
    Again,
}

/// What the reader delivers to.
#[derive(Debug)]
struct Desk {
    feed: NasdaqFeed,
    requests: Vec<PacketHead>,
    is_stale: bool,
    unreadable: u64,
    /// What a clock on the wall says, in nanoseconds since 1970 UTC.
    wall_ns: u64,
}

impl Desk {
    fn say(&mut self, bytes: &[u8]) {
        match Message::read(bytes) {
            Ok(message) => self.feed.message(&message),
            Err(_) => self.unreadable += 1,
        }
    }
}

impl Outputs for Desk {
    fn message(&mut self, _: u64, bytes: &[u8]) {
        self.say(bytes);
    }

    fn request(&mut self, request: &PacketHead) {
        tracing::warn!(first = request.first, count = request.count, "messages are asked for");
        self.requests.push(*request);
    }

    fn set_stale(&mut self, is_stale: bool) {
        self.is_stale = is_stale;
    }

    fn begin(&mut self, session: SessionName) {
        tracing::info!(session = session.as_str(), "a session begins");
        self.feed.begin_day(new_york_midnight_ns(self.wall_ns));
    }

    fn lose(&mut self, until: u64) {
        tracing::warn!(until, "messages are lost");
        self.feed.restart();
    }

    fn end(&mut self) {
        tracing::info!("the session has ended");
    }
}

/// Reads two lines of Nasdaq, asks for what both lack, and knows whether its books are
/// good.
#[derive(Debug)]
pub struct NasdaqHandler {
    reader: Reader,
    desk: Desk,
    snapshot: Option<Requester>,
    silence: Duration,
    heard: Option<Time>,
    counts: NasdaqCounts,
}

impl NasdaqHandler {
    /// Nothing has come yet.
    pub fn new(config: &NasdaqConfig) -> Self {
        let feed = NasdaqFeed::new(&config.suffix);
        let requests = Vec::new();
        Self {
            reader: Reader::new(config.limits),
            desk: Desk { feed, requests, is_stale: false, unreadable: 0, wall_ns: 0 },
            snapshot: config
                .snapshot
                .as_ref()
                .map(|(user, password)| Requester::new(user, password)),
            silence: config.silence,
            heard: None,
            counts: NasdaqCounts::default(),
        }
    }

    /// A packet has come, at `wall_ns` by a clock on the wall.
    pub fn packet(
        &mut self,
        (now, wall_ns): (Time, u64),
        origin: Origin,
        bytes: &[u8],
        out: &mut impl FeedOutputs,
    ) {
        match origin {
            Origin::LineA => self.counts.packets_a += 1,
            Origin::LineB => self.counts.packets_b += 1,
            Origin::Again => self.counts.packets_again += 1,
        }
        self.heard = Some(now);
        self.desk.wall_ns = wall_ns;
        // What is damaged is counted.
        let _ = self.reader.packet(now, bytes, &mut self.desk);
        self.follow(now, out);
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time, out: &mut impl FeedOutputs) {
        self.reader.timeout(now, &mut self.desk);
        let mut send = |bytes: &[u8]| out.send(Link::Snapshot, bytes);
        let progress = self.snapshot.as_mut().map(|snapshot| snapshot.timeout(now, &mut send));
        self.progress(now, progress.unwrap_or(Progress::Going), out);
    }

    /// When [`timeout`](Self::timeout) is to be called, if nothing comes before.
    pub fn deadline(&self) -> Option<Time> {
        let snapshot = self.snapshot.as_ref().and_then(Requester::deadline);
        self.reader.deadline().into_iter().chain(snapshot).min()
    }

    /// What goes to whoever has messages again, since the last call.
    pub fn requests(&mut self) -> impl Iterator<Item = [u8; PacketHead::LEN]> {
        self.desk.requests.drain(..).map(PacketHead::to_bytes)
    }

    /// What came of a snapshot.
    fn progress(&mut self, now: Time, progress: Progress, out: &mut impl FeedOutputs) {
        match progress {
            Progress::Going => {}
            Progress::Done(next) => {
                tracing::info!(next, "all orders have come");
                out.disconnect(Link::Snapshot);
                self.reader.resume(now, next, &mut self.desk);
            }
            Progress::Failed => {
                let why = self.snapshot.as_ref().and_then(Requester::why);
                let why = why.map_or("the connection has ended".to_owned(), |why| why.to_string());
                tracing::warn!(%why, "a snapshot has failed: it is asked for again");
                self.counts.snapshots_failed += 1;
                out.disconnect(Link::Snapshot);
                self.desk.feed.restart();
            }
        }
        self.follow(now, out);
    }

    /// Does what the reader needs.
    fn follow(&mut self, now: Time, out: &mut impl FeedOutputs) {
        let is_lost = self.reader.state() == State::Lost;
        match &mut self.snapshot {
            Some(snapshot) if is_lost => {
                if !snapshot.is_asking() {
                    tracing::warn!("all orders are asked for");
                    self.counts.snapshots += 1;
                    snapshot.ask(now);
                }
                if snapshot.connects(now) {
                    out.connect(Link::Snapshot);
                }
            }
            Some(snapshot) => {
                // Another session has begun meanwhile, perhaps.
                let was_connected = snapshot.forget();
                if was_connected {
                    out.disconnect(Link::Snapshot);
                }
            }
            None if is_lost => {
                tracing::warn!("there are no snapshots: items stay suspect until another session");
                while self.reader.state() == State::Lost {
                    self.reader.go_on(now, &mut self.desk);
                }
            }
            None => {}
        }
    }

    /// The books, for whoever compares them.
    pub const fn feed(&self) -> &NasdaqFeed {
        &self.desk.feed
    }
}

impl Calling for NasdaqHandler {
    fn connected(&mut self, now: Time, link: Link, out: &mut impl FeedOutputs) {
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.connected(now, &mut |bytes| out.send(link, bytes));
        }
    }

    fn received(&mut self, now: Time, link: Link, bytes: &[u8], out: &mut impl FeedOutputs) {
        let Self { desk, snapshot: Some(snapshot), .. } = self else { return };
        let mut send = |bytes: &[u8]| out.send(link, bytes);
        let progress = snapshot.received(now, bytes, &mut send, |message| desk.say(message));
        self.progress(now, progress, out);
    }

    fn closed(&mut self, now: Time, _: Link, out: &mut impl FeedOutputs) {
        let progress = self.snapshot.as_mut().map(|snapshot| snapshot.closed(now));
        self.progress(now, progress.unwrap_or(Progress::Going), out);
    }
}

impl Handler for NasdaqHandler {
    type Counts = NasdaqCounts;

    fn is_stale(&self, now: Time) -> bool {
        let is_silent = self.heard.is_none_or(|heard| now.since(heard) > self.silence);
        let is_over = self.reader.state() == State::Ended;
        self.desk.is_stale || is_silent && !is_over
    }

    fn counts(&self, now: Time, published: &Published) -> NasdaqCounts {
        let ReaderCounts { messages, ignored, holes, requests, losses } = self.reader.counts();
        let Published { items, stales, images, updates, .. } = *published;
        NasdaqCounts {
            packets_ignored: ignored,
            messages,
            messages_unreadable: self.desk.unreadable,
            messages_unknown: self.desk.feed.unknown(),
            holes,
            requests,
            losses,
            stales,
            stale: u64::from(self.is_stale(now)),
            items,
            images,
            updates,
            ..self.counts
        }
    }

    /// Nothing while a snapshot is under way, whose half nobody should see.
    fn publish(&mut self, each: impl FnMut(&str, &Update<'_>)) -> Result<(), FeedError> {
        match self.reader.state() {
            State::Lost => Ok(()),
            _ => self.desk.feed.publish(each),
        }
    }

    fn image(
        &self,
        domain: Domain,
        name: &str,
        out: &mut Vec<u8>,
    ) -> Result<Option<DataType>, FeedError> {
        self.desk.feed.image(domain, name, out)
    }
}

#[cfg(test)]
mod tests {
    use tapeline_itch::{AddOrder, Alpha, Asked, EndOfSnapshot, Packer, Price4, Server};

    use super::super::links::NoLinks;
    use super::*;

    const WALL_NS: u64 = 1_795_962_600_000_000_000;

    fn add(order: u64) -> Vec<u8> {
        let (stock, price) = (Alpha::new("AAPL"), Price4(1_895_000));
        let add = AddOrder { order, side: b'B', shares: 1, stock, price };
        let mut bytes = Vec::new();
        Message::new(7, 34_200_000_000_000, add).append(&mut bytes);
        bytes
    }

    /// A packet whose messages are orders of their own numbers.
    fn packet(first: u64, orders: u64) -> Vec<u8> {
        packet_of("DAY", first, orders)
    }

    fn packet_of(session: &str, first: u64, orders: u64) -> Vec<u8> {
        let (mut packer, mut sent) = (Packer::new(session, first), Vec::new());
        let mut send = |packet: &[u8]| sent = packet.to_vec();
        for order in first..first + orders {
            packer.push(&add(order), &mut send);
        }
        packer.flush(&mut send);
        sent
    }

    fn orders(handler: &NasdaqHandler) -> Vec<u64> {
        let book = handler.feed().book("AAPL.O").expect("a book");
        book.orders().map(|(id, _)| id).collect()
    }

    fn handler() -> NasdaqHandler {
        handler_with(None)
    }

    fn handler_with(snapshot: Option<(String, String)>) -> NasdaqHandler {
        let (suffix, silence) = (".O".to_owned(), Duration::from_secs(5));
        let limits = Limits::default();
        NasdaqHandler::new(&NasdaqConfig { suffix, limits, silence, snapshot })
    }

    /// A connection for snapshots, and what was sent over it.
    #[derive(Default)]
    struct Wire {
        is_open: bool,
        connections: usize,
        sent: Vec<u8>,
    }

    impl FeedOutputs for Wire {
        fn connect(&mut self, link: Link) {
            assert_eq!((link, self.is_open), (Link::Snapshot, false));
            (self.is_open, self.sent) = (true, Vec::new());
            self.connections += 1;
        }

        fn send(&mut self, _: Link, bytes: &[u8]) {
            self.sent.extend_from_slice(bytes);
        }

        fn disconnect(&mut self, _: Link) {
            self.is_open = false;
        }
    }

    /// One that has lost message 3, by a late message 4.
    fn lost(wire: &mut Wire) -> (NasdaqHandler, Time) {
        let mut handler = handler_with(Some(("USER".to_owned(), "SECRET".to_owned())));
        let mut now = Time::ZERO;
        handler.packet((now, WALL_NS), Origin::LineA, &packet(1, 2), wire);
        handler.packet((now, WALL_NS), Origin::LineA, &packet(4, 1), wire);
        while !wire.is_open {
            now = handler.deadline().expect("it asks");
            handler.timeout(now, wire);
        }
        (handler, now)
    }

    /// A snapshot of orders, as a server sends it, without its end.
    fn snapshot(now: Time, orders: &[u64]) -> (Server, Vec<u8>) {
        let (mut server, mut said) = (Server::new(now), Vec::new());
        let mut send = |bytes: &[u8]| said.extend_from_slice(bytes);
        server.accept(now, ("GLIMPSE", 1), &mut send);
        for order in orders {
            server.message(now, &add(*order), &mut send);
        }
        (server, said)
    }

    /// The end of one.
    fn end(now: Time, server: &mut Server, next: u64) -> Vec<u8> {
        let (mut end, mut said) = (Vec::new(), Vec::new());
        EndOfSnapshot { next }.append(&mut end);
        server.message(now, &end, &mut |bytes| said.extend_from_slice(bytes));
        said
    }

    fn published(handler: &mut NasdaqHandler) -> usize {
        let mut count = 0;
        handler.publish(|_, _| count += 1).expect("it fits");
        count
    }

    #[test]
    fn what_both_lines_lack_is_asked_for_and_items_are_suspect_meanwhile() {
        let (mut handler, mut now, mut asked) = (handler(), Time::ZERO, Vec::new());
        assert!(handler.is_stale(now), "nothing has come");
        handler.packet((now, WALL_NS), Origin::LineA, &packet(1, 2), &mut NoLinks);
        handler.packet((now, WALL_NS), Origin::LineB, &packet(4, 1), &mut NoLinks);
        assert!(!handler.is_stale(now), "the other line may have it");
        now = now.after(Duration::from_millis(2));
        handler.timeout(now, &mut NoLinks);
        asked.extend(handler.requests());
        assert!(handler.is_stale(now));
        let request = PacketHead::read(&asked[0]).expect("a request");
        assert_eq!((asked.len(), request.first, request.count), (1, 3, 1));
        handler.packet((now, WALL_NS), Origin::Again, &packet(3, 1), &mut NoLinks);
        assert!(!handler.is_stale(now));
        assert_eq!(orders(&handler), [1, 2, 3, 4]);
        let counts = handler.counts(now, &Published::default());
        assert_eq!((counts.packets_a, counts.packets_b, counts.packets_again), (1, 1, 1));
        assert_eq!((counts.messages, counts.holes, counts.requests), (4, 1, 1));
        now = now.after(Duration::from_secs(6));
        assert!(handler.is_stale(now), "nothing comes any more");
    }

    #[test]
    fn what_nobody_has_is_lost_and_items_stay_suspect() {
        let (mut handler, mut now) = (handler(), Time::ZERO);
        handler.packet((now, WALL_NS), Origin::LineA, &packet(1, 2), &mut NoLinks);
        handler.packet((now, WALL_NS), Origin::LineA, &packet(4, 1), &mut NoLinks);
        while let Some(deadline) = handler.deadline() {
            now = deadline;
            handler.timeout(now, &mut NoLinks);
        }
        assert_eq!(orders(&handler), [4], "what was before may not be there any more");
        handler.packet((now, WALL_NS), Origin::LineA, &packet(5, 1), &mut NoLinks);
        assert!(handler.is_stale(now));
        let counts = handler.counts(now, &Published::default());
        assert_eq!((counts.losses, counts.stale, counts.messages), (1, 1, 4));
    }

    #[test]
    fn what_nobody_has_comes_with_a_snapshot() {
        let mut wire = Wire::default();
        let (mut handler, now) = lost(&mut wire);
        published(&mut handler);
        handler.connected(now, Link::Snapshot, &mut wire);
        let (mut server, said) = snapshot(now, &[1, 3]);
        let mut asked = Vec::new();
        let read = server.received(now, &wire.sent, |one| match one {
            Asked::Login(login) => asked.push((login.user, login.first())),
            other => panic!("{other:?}"),
        });
        assert_eq!((read, asked), (Ok(()), vec![(Alpha::new("USER"), Some(1))]));
        for half in said.chunks(said.len() / 2 + 1) {
            handler.received(now, Link::Snapshot, half, &mut wire);
        }
        assert!(handler.is_stale(now) && wire.is_open);
        assert_eq!(published(&mut handler), 0, "half of it is for nobody");
        // Meanwhile the lines go on.
        handler.packet((now, WALL_NS), Origin::LineB, &packet(5, 1), &mut wire);
        handler.received(now, Link::Snapshot, &end(now, &mut server, 4), &mut wire);
        assert!(!handler.is_stale(now) && !wire.is_open, "it is good again");
        assert_eq!(orders(&handler), [1, 3, 4, 5], "2 is not in the snapshot");
        assert!(published(&mut handler) > 0);
        let counts = handler.counts(now, &Published::default());
        assert_eq!((counts.losses, counts.snapshots, counts.snapshots_failed), (1, 1, 0));
    }

    #[test]
    fn a_snapshot_that_ends_early_is_void_and_asked_for_again() {
        let mut wire = Wire::default();
        let (mut handler, mut now) = lost(&mut wire);
        handler.connected(now, Link::Snapshot, &mut wire);
        handler.received(now, Link::Snapshot, &snapshot(now, &[1, 2]).1, &mut wire);
        assert_eq!(orders(&handler), [1, 2]);
        handler.closed(now, Link::Snapshot, &mut wire);
        assert!(orders(&handler).is_empty() && handler.is_stale(now));
        assert!(!wire.is_open);
        now = handler.deadline().expect("it asks again");
        handler.timeout(now, &mut wire);
        assert_eq!((wire.is_open, wire.connections), (true, 2));
        handler.connected(now, Link::Snapshot, &mut wire);
        let (mut server, said) = snapshot(now, &[3]);
        handler.received(now, Link::Snapshot, &said, &mut wire);
        handler.received(now, Link::Snapshot, &end(now, &mut server, 4), &mut wire);
        assert_eq!(orders(&handler), [3, 4]);
        let counts = handler.counts(now, &Published::default());
        assert_eq!((counts.snapshots, counts.snapshots_failed, counts.stale), (1, 1, 0));
    }

    #[test]
    fn another_session_needs_no_snapshot_of_the_one_before() {
        let mut wire = Wire::default();
        let (mut handler, now) = lost(&mut wire);
        handler.connected(now, Link::Snapshot, &mut wire);
        let later = now.after(Limits::default().session_silence);
        let packet = packet_of("NEXT DAY", 1, 1);
        handler.packet((later, WALL_NS), Origin::LineA, &packet, &mut wire);
        assert!(!wire.is_open, "nobody waits for it");
        assert_eq!(orders(&handler), [1]);
    }
}
