//! What a feed handler of Nasdaq decides.

use std::time::Duration;

use tapeline_counters::counts;
use tapeline_feed::{FeedError, NasdaqFeed, Update, new_york_midnight_ns};
use tapeline_itch::{
    Limits, Message, Outputs, PacketHead, Reader, ReaderCounts, SessionName, State,
};
use tapeline_rwf::{DataType, Domain};
use tapeline_time::Time;

use super::items::{Handler, Published};

/// What a feed handler of Nasdaq reads.
#[derive(Clone, Debug)]
pub struct NasdaqConfig {
    /// What follows the symbol in the name of an item, as `.O`.
    pub suffix: String,
    /// How it goes about what is missing.
    pub limits: Limits,
    /// After so long without a packet, nothing is known any more.
    pub silence: Duration,
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

impl Outputs for Desk {
    fn message(&mut self, _: u64, bytes: &[u8]) {
        match Message::read(bytes) {
            Ok(message) => self.feed.message(&message),
            Err(_) => self.unreadable += 1,
        }
    }

    fn request(&mut self, request: &PacketHead) {
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
        tracing::warn!(until, "messages are lost: items stay suspect until another session");
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
            silence: config.silence,
            heard: None,
            counts: NasdaqCounts::default(),
        }
    }

    /// A packet has come, at `wall_ns` by a clock on the wall; `request` gets what goes
    /// to whoever has messages again.
    pub fn packet(
        &mut self,
        (now, wall_ns): (Time, u64),
        origin: Origin,
        bytes: &[u8],
        request: impl FnMut(&[u8]),
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
        self.follow(now, request);
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time, request: impl FnMut(&[u8])) {
        self.reader.timeout(now, &mut self.desk);
        self.follow(now, request);
    }

    /// When [`timeout`](Self::timeout) is to be called, if nothing comes before.
    pub fn deadline(&self) -> Option<Time> {
        self.reader.deadline()
    }

    fn follow(&mut self, now: Time, mut request: impl FnMut(&[u8])) {
        // There is no snapshot to begin anew with.
        while self.reader.state() == State::Lost {
            self.reader.go_on(now, &mut self.desk);
        }
        for head in self.desk.requests.drain(..) {
            tracing::warn!(first = head.first, count = head.count, "messages are asked for");
            request(&head.to_bytes());
        }
    }

    /// The books, for whoever compares them.
    pub const fn feed(&self) -> &NasdaqFeed {
        &self.desk.feed
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
        let Published { items, stales, images, updates } = *published;
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

    fn publish(&mut self, each: impl FnMut(&str, &Update<'_>)) -> Result<(), FeedError> {
        self.desk.feed.publish(each)
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
    use tapeline_itch::{AddOrder, Alpha, Packer, Price4};

    use super::*;

    const WALL_NS: u64 = 1_795_962_600_000_000_000;

    fn packet(first: u64, orders: u64) -> Vec<u8> {
        let (mut packer, mut sent) = (Packer::new("DAY", first), Vec::new());
        let mut send = |packet: &[u8]| sent = packet.to_vec();
        for order in first..first + orders {
            let (stock, price) = (Alpha::new("AAPL"), Price4(1_895_000));
            let add = AddOrder { order, side: b'B', shares: 1, stock, price };
            let mut bytes = Vec::new();
            Message::new(7, 34_200_000_000_000, add).append(&mut bytes);
            packer.push(&bytes, &mut send);
        }
        packer.flush(&mut send);
        sent
    }

    fn orders(handler: &NasdaqHandler) -> Vec<u64> {
        let book = handler.feed().book("AAPL.O").expect("a book");
        book.orders().map(|(id, _)| id).collect()
    }

    fn handler() -> NasdaqHandler {
        let (suffix, silence) = (".O".to_owned(), Duration::from_secs(5));
        NasdaqHandler::new(&NasdaqConfig { suffix, limits: Limits::default(), silence })
    }

    #[test]
    fn what_both_lines_lack_is_asked_for_and_items_are_suspect_meanwhile() {
        let (mut handler, mut now, mut asked) = (handler(), Time::ZERO, Vec::new());
        assert!(handler.is_stale(now), "nothing has come");
        handler.packet((now, WALL_NS), Origin::LineA, &packet(1, 2), |_| {});
        handler.packet((now, WALL_NS), Origin::LineB, &packet(4, 1), |_| {});
        assert!(!handler.is_stale(now), "the other line may have it");
        now = now.after(Duration::from_millis(2));
        handler.timeout(now, |bytes| asked.push(bytes.to_vec()));
        assert!(handler.is_stale(now));
        let request = PacketHead::read(&asked[0]).expect("a request");
        assert_eq!((asked.len(), request.first, request.count), (1, 3, 1));
        handler.packet((now, WALL_NS), Origin::Again, &packet(3, 1), |_| {});
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
        handler.packet((now, WALL_NS), Origin::LineA, &packet(1, 2), |_| {});
        handler.packet((now, WALL_NS), Origin::LineA, &packet(4, 1), |_| {});
        while let Some(deadline) = handler.deadline() {
            now = deadline;
            handler.timeout(now, |_| {});
        }
        assert_eq!(orders(&handler), [4], "what was before may not be there any more");
        handler.packet((now, WALL_NS), Origin::LineA, &packet(5, 1), |_| {});
        assert!(handler.is_stale(now));
        let counts = handler.counts(now, &Published::default());
        assert_eq!((counts.losses, counts.stale, counts.messages), (1, 1, 4));
    }
}
