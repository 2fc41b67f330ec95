//! A consumer at a server, and how far it is with each of its items.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, Handle, ItemSpec, Login, Requests, Server as Address,
};
use tapeline_channel::sim::{Host, Network};
use tapeline_channel::{ConnectConfig, ReactorConfig};
use tapeline_rwf::{DataState, RefreshFlags};

use super::feed::{Feed, SERVICE, name, value};

/// What is opened with one request.
const BATCH: u32 = 500;

/// Items that a consumer has asked for and has no image of; more wait.
const MOST_ASKED: usize = 10_000;

/// An item that is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    handle: Handle,
    item: u32,
    /// The last that came.
    value: u32,
    is_ok: bool,
}

/// Items that are yet to be opened.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    next: u32,
    end: u32,
    /// One in so many.
    step: u32,
}

impl Wanted {
    const fn is_none(&self) -> bool {
        self.next >= self.end
    }

    /// The next ones.
    fn take(&mut self, most: u32) -> Vec<u32> {
        let end = self.next.saturating_add(most * self.step).min(self.end);
        let taken: Vec<u32> = (self.next..end).step_by(self.step as usize).collect();
        self.next += taken.len() as u32 * self.step;
        taken
    }
}

/// A consumer.
pub(super) struct Mount {
    consumer: Consumer<Host>,
    is_ready: bool,
    /// By the place of the handle.
    open: Vec<Option<Open>>,
    wanted: Wanted,
    asked: usize,
    ok: usize,
    /// Messages of items that came.
    pub(super) heard: u64,
    /// States that were not OK.
    pub(super) suspects: u64,
}

impl Mount {
    pub(super) fn new(network: &Network, number: usize, server: SocketAddr) -> Self {
        let [_, high, low, _] = (number as u32).to_be_bytes();
        let low = [low, number as u8];
        let system = network.host([10, 3 + high, low[0], low[1]]);
        let address = Address::new(server.ip().to_string(), server.port());
        let mut config = ConsumerConfig::new([address], Login::new(format!("user{number}")));
        // What is measured is what hubs and servers do, and not what consumers do when
        // these take long.
        config.request_timeout = Duration::from_secs(3600);
        let reactor = ReactorConfig { seed: number as u64, ..ReactorConfig::default() };
        let connect = ConnectConfig::default();
        let consumer = Consumer::with_system(config, reactor, connect, system);
        Self {
            consumer: consumer.expect("a server is named"),
            is_ready: false,
            open: Vec::new(),
            wanted: Wanted::default(),
            asked: 0,
            ok: 0,
            heard: 0,
            suspects: 0,
        }
    }

    pub(super) const fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// It is to open these, one in each `step`.
    pub(super) fn want(&mut self, items: Range<u32>, step: u32) {
        debug_assert!(self.wanted.is_none(), "it opens others still");
        self.wanted = Wanted { next: items.start, end: items.end, step };
    }

    /// It closes all that is open.
    pub(super) fn close_all(&mut self) {
        for open in self.open.drain(..).flatten() {
            self.consumer.close(open.handle);
        }
        (self.asked, self.ok) = (0, 0);
    }

    /// Items that it has asked for.
    #[cfg(test)]
    pub(super) const fn asked(&self) -> usize {
        self.asked
    }

    /// Whether all that it wants is open and OK.
    pub(super) fn is_well(&self) -> bool {
        self.wanted.is_none() && self.ok == self.asked
    }

    /// Whether all that it has is what the source has.
    pub(super) fn is_current(&self, feed: &Feed) -> bool {
        self.is_well() && self.open.iter().flatten().all(|open| open.value == feed.value(open.item))
    }

    fn open_some(&mut self) -> usize {
        if self.wanted.is_none() || !self.is_ready || self.asked - self.ok >= MOST_ASKED {
            return 0;
        }
        let batch = self.wanted.take(BATCH);
        let names: Vec<String> = batch.iter().map(|item| name(*item)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let spec = ItemSpec::new(SERVICE, "");
        let handles = self.consumer.with(|requests| requests.open_batch(&spec, &names));
        for (handle, item) in handles.expect("there is room").into_iter().zip(&batch) {
            let place = handle.index();
            if self.open.len() <= place {
                self.open.resize(place + 1, None);
            }
            self.open[place] = Some(Open { handle, item: *item, value: 0, is_ok: false });
        }
        self.asked += batch.len();
        batch.len()
    }

    pub(super) fn turn(&mut self) -> usize {
        let opened = self.open_some();
        let Self { consumer, is_ready, open, ok, heard, suspects, .. } = self;
        let mut hear = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
            let (handle, is_ok, came) = match event {
                ConsumerEvent::Ready => {
                    *is_ready = true;
                    return;
                }
                ConsumerEvent::Refresh { handle, msg } => {
                    let is_last = msg.flags.contains(RefreshFlags::REFRESH_COMPLETE);
                    let is_ok = is_last && msg.state.data == DataState::OK;
                    (handle, Some(is_ok), value(&msg.payload))
                }
                ConsumerEvent::Update { handle, msg } => (handle, None, value(&msg.payload)),
                ConsumerEvent::Status { handle, msg } => {
                    let is_ok = match msg.state.map(|state| state.data) {
                        Some(DataState::OK) => Some(true),
                        Some(DataState::SUSPECT) => Some(false),
                        _ => None,
                    };
                    *suspects += u64::from(is_ok == Some(false));
                    (handle, is_ok, None)
                }
                _ => return,
            };
            *heard += 1;
            let known = open.get_mut(handle.index()).and_then(Option::as_mut);
            let Some(known) = known.filter(|open| open.handle == handle) else { return };
            known.value = came.unwrap_or(known.value);
            let was_ok = known.is_ok;
            known.is_ok = is_ok.unwrap_or(was_ok);
            match (was_ok, known.is_ok) {
                (false, true) => *ok += 1,
                (true, false) => *ok -= 1,
                _ => {}
            }
        };
        opened + consumer.poll(Some(Duration::ZERO), &mut hear)
    }
}
