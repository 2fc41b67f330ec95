//! What a feed handler decides.

use std::collections::VecDeque;
use std::time::Duration;

use tapeline_counters::counts;
use tapeline_feed::{ExchangeFeed, FeedError, Update};
use tapeline_mitch::{Message, Outputs, Progress, Reader, Requester, State};
use tapeline_rwf::{DataType, Domain};
use tapeline_time::Time;

use super::items::{Handler, Published};
use super::links::Calling;

/// What a feed handler reads.
#[derive(Clone, Debug)]
pub struct FeedConfig {
    /// The market data group.
    pub group: u8,
    /// The segment whose snapshot it asks for.
    pub segment: String,
    /// Its name at the replay and snapshot ports.
    pub user: String,
    /// Its password there.
    pub password: String,
    /// Instruments and their items' names.
    pub names: Vec<(u32, String)>,
    /// Messages that wait for others at most.
    pub max_buffered: usize,
    /// After so long without a unit on any line, nothing is known any more.
    pub silence: Duration,
    /// Midnight of the exchange's day, in nanoseconds since 1970 UTC.
    pub midnight_ns: u64,
}

counts! {
    /// What a feed handler counts.
    pub struct FeedCounts = "feed" {
        /// Units of line A.
        units_a: u64 = total;
        /// Units of line B.
        units_b: u64 = total;
        /// Units that were for nobody: of other groups, or damaged.
        units_ignored: u64 = total;
        /// Messages that were read, in order.
        messages: u64 = total;
        /// Holes that were asked for by replay.
        replays: u64 = total;
        /// Replays that brought nothing.
        replays_failed: u64 = total;
        /// Snapshots that were asked for.
        snapshots: u64 = total;
        /// Snapshots that broke off.
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

/// A connection for what was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Messages again.
    Replay,
    /// All orders.
    Snapshot,
}

/// What a feed handler does.
pub trait FeedOutputs {
    /// A connection is to be made.
    fn connect(&mut self, link: Link);

    /// Bytes go to it.
    fn send(&mut self, link: Link, bytes: &[u8]);

    /// It is to be closed, if it is there.
    fn disconnect(&mut self, link: Link);
}

/// What the reader asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    Replay(u32, u16),
    Snapshot,
}

/// What the reader delivers to.
#[derive(Debug)]
struct Desk {
    feed: ExchangeFeed,
    asks: VecDeque<Ask>,
    is_stale: bool,
    messages: u64,
}

impl Outputs for Desk {
    fn message(&mut self, _: u32, message: &Message) {
        self.messages += 1;
        self.feed.message(message);
    }

    fn ask_replay(&mut self, first: u32, count: u16) {
        self.asks.push_back(Ask::Replay(first, count));
    }

    fn ask_snapshot(&mut self) {
        self.asks.push_back(Ask::Snapshot);
    }

    fn set_stale(&mut self, is_stale: bool) {
        self.is_stale = is_stale;
    }

    fn restart(&mut self) {
        self.feed.restart();
    }
}

/// Reads two lines, has what is missing sent again, and knows whether its books are
/// good.
#[derive(Debug)]
pub struct FeedHandler {
    reader: Reader,
    desk: Desk,
    replay: Requester,
    snapshot: Requester,
    segment: String,
    silence: Duration,
    heard: Option<Time>,
    counts: FeedCounts,
}

impl FeedHandler {
    /// Nothing has come yet.
    pub fn new(config: &FeedConfig) -> Self {
        let mut feed = ExchangeFeed::new(config.midnight_ns);
        for (instrument, name) in &config.names {
            feed.name(*instrument, name);
        }
        let requester = || Requester::new(config.group, &config.user, &config.password);
        Self {
            reader: Reader::new(config.group, config.max_buffered),
            desk: Desk { feed, asks: VecDeque::new(), is_stale: false, messages: 0 },
            replay: requester(),
            snapshot: requester(),
            segment: config.segment.clone(),
            silence: config.silence,
            heard: None,
            counts: FeedCounts::default(),
        }
    }

    /// A unit has come on a line, 0 or 1.
    pub fn unit(&mut self, now: Time, line: usize, bytes: &[u8], out: &mut impl FeedOutputs) {
        match line {
            0 => self.counts.units_a += 1,
            _ => self.counts.units_b += 1,
        }
        self.heard = Some(now);
        // What is damaged is counted.
        let _ = self.reader.unit(bytes, &mut self.desk);
        self.ask(now, out);
    }

    fn requester(&mut self, link: Link) -> &mut Requester {
        match link {
            Link::Replay => &mut self.replay,
            Link::Snapshot => &mut self.snapshot,
        }
    }

    /// Passes on what the reader asks for.
    fn ask(&mut self, now: Time, out: &mut impl FeedOutputs) {
        while let Some(ask) = self.desk.asks.pop_front() {
            match ask {
                Ask::Replay(first, count) => {
                    tracing::warn!(first, count, "messages are missing: asked for again");
                    self.counts.replays += 1;
                    if self.replay.ask_replay(now, first, count) {
                        out.disconnect(Link::Replay);
                    }
                }
                Ask::Snapshot => {
                    tracing::warn!("all orders are asked for");
                    self.counts.snapshots += 1;
                    if self.snapshot.ask_snapshot(now, &self.segment) {
                        out.disconnect(Link::Snapshot);
                    }
                }
            }
        }
        for link in [Link::Replay, Link::Snapshot] {
            if self.requester(link).connects(now) {
                out.connect(link);
            }
        }
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Time, out: &mut impl FeedOutputs) {
        for link in [Link::Replay, Link::Snapshot] {
            let progress = self.requester(link).timeout(now);
            self.progress(now, link, progress, out);
        }
    }

    fn progress(&mut self, now: Time, link: Link, progress: Progress, out: &mut impl FeedOutputs) {
        if progress != Progress::Going {
            out.disconnect(link);
        }
        if progress == Progress::Failed {
            match link {
                Link::Replay => {
                    self.counts.replays_failed += 1;
                    self.reader.replay_failed(&mut self.desk);
                }
                Link::Snapshot => {
                    self.counts.snapshots_failed += 1;
                    self.reader.ask_again(&mut self.desk);
                }
            }
        }
        self.ask(now, out);
    }

    /// The books, for whoever compares them.
    pub const fn feed(&self) -> &ExchangeFeed {
        &self.desk.feed
    }
}

impl Calling for FeedHandler {
    fn connected(&mut self, now: Time, link: Link, out: &mut impl FeedOutputs) {
        self.requester(link).connected(now, &mut |bytes| out.send(link, bytes));
    }

    fn received(&mut self, now: Time, link: Link, bytes: &[u8], out: &mut impl FeedOutputs) {
        let Self { reader, desk, replay, snapshot, .. } = self;
        let requester = if link == Link::Replay { replay } else { snapshot };
        let mut send = |bytes: &[u8]| out.send(link, bytes);
        let progress = requester.received(now, bytes, &mut send, |unit| {
            let _ = match link {
                Link::Replay => reader.unit(unit, desk),
                Link::Snapshot => reader.snapshot_unit(unit, desk),
            };
        });
        self.progress(now, link, progress, out);
    }

    fn closed(&mut self, now: Time, link: Link, out: &mut impl FeedOutputs) {
        let progress = self.requester(link).closed(now);
        self.progress(now, link, progress, out);
    }
}

impl Handler for FeedHandler {
    type Counts = FeedCounts;

    fn is_stale(&self, now: Time) -> bool {
        let is_silent = self.heard.is_none_or(|heard| now.since(heard) > self.silence);
        self.desk.is_stale || is_silent
    }

    fn counts(&self, now: Time, published: &Published) -> FeedCounts {
        let Published { items, stales, images, updates, .. } = *published;
        FeedCounts {
            units_ignored: self.reader.ignored(),
            messages: self.desk.messages,
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
            State::Snapshot => Ok(()),
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
