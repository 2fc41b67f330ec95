//! Bare Aeron: one stream in shared memory, and as many subscriptions as an
//! update has clients. There is no server in between: a floor, not a peer.
//!
//! ```text
//!  other cores                 first core
//!  ┌───────────┐   log in      ┌──────────────────┐
//!  │ publisher │ ────────────▶ │ 50 subscriptions │
//!  │ driver    │ shared memory └──────────────────┘
//!  └───────────┘
//! ```

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::JoinHandle;
use std::time::Instant;

use rusteron_media_driver::{
    Aeron, AeronCError, AeronDriver, AeronExclusivePublication, AeronFragmentClosureAssembler,
    AeronHeader, AeronOfferError, AeronSubscription, Handlers,
};

use tapeline_measure::clock::now_ns;
use tapeline_measure::processor;

use super::error::PeerError;
use super::process::PATIENCE;
use super::tally::Tally;
use super::way::{Order, Way};
use super::workload::Workload;
use crate::aeron;
use crate::stamp::{Stamp, UPDATE_BYTES};

const STREAM: i32 = 1001;
const TERM_BYTES: usize = 4 << 20;
/// Updates that are taken from a subscription at once.
const FRAGMENTS: usize = 64;
/// Driver and client are worked once in so many turns.
const TURNS_PER_WORK: u32 = 64;

static DRIVERS: AtomicU32 = AtomicU32::new(0);

impl From<AeronCError> for PeerError {
    fn from(error: AeronCError) -> Self {
        Self::Aeron(error.get_last_err_message().trim().to_owned())
    }
}

/// Subscriptions here, and a publisher on a thread of its own.
pub(super) struct Bare {
    subscriptions: Vec<AeronSubscription>,
    assembler: AeronFragmentClosureAssembler,
    client: Aeron,
    turn: u32,
    publisher: Publisher,
}

impl Bare {
    /// Every client watches every item.
    pub(super) fn start(workload: Workload, cores: Option<&[usize]>) -> Result<Self, PeerError> {
        let serial = DRIVERS.fetch_add(1, Ordering::Relaxed);
        let directory = format!("/dev/shm/tapeline-peers-{}-{serial}", std::process::id());
        let publisher = Publisher::start(&directory, cores)?;
        let client = aeron::client(&directory)?;
        let mut subscriptions = Vec::new();
        for _ in 0..workload.clients {
            let channel = aeron::channel();
            let adding =
                client.async_add_subscription(&channel, STREAM, Handlers::NONE, Handlers::NONE)?;
            let added = wait(|| {
                client.main_do_work()?;
                adding.poll()
            })?;
            subscriptions.push(added);
        }
        let assembler = AeronFragmentClosureAssembler::new()?;
        let is_met = || {
            client.main_do_work()?;
            let met = |one: &AeronSubscription| Ok(one.image_count()? > 0);
            let met = subscriptions.iter().map(met).collect::<Result<Vec<_>, AeronCError>>()?;
            Ok(met.into_iter().all(|met| met).then_some(()))
        };
        wait(is_met)?;
        Ok(Self { subscriptions, assembler, client, turn: 0, publisher })
    }
}

fn pass_on<F: FnMut(&[u8])>(on_update: &mut F, update: &[u8], _: AeronHeader) {
    on_update(update);
}

impl Way for Bare {
    fn poll(&mut self, tally: &mut Tally) -> Result<usize, PeerError> {
        self.turn = self.turn.wrapping_add(1);
        if self.turn.is_multiple_of(TURNS_PER_WORK) {
            self.client.main_do_work()?;
        }
        let mut work = 0;
        for (client, subscription) in self.subscriptions.iter().enumerate() {
            let mut on_update = |update: &[u8]| tally.update(client, Stamp::read_plain(update));
            let read = self.assembler.poll(subscription, &mut on_update, pass_on, FRAGMENTS);
            work += usize::try_from(read?).unwrap_or(0);
        }
        Ok(work)
    }

    fn publish(&mut self, order: &Order) -> Result<bool, PeerError> {
        self.publisher.orders.send(*order).map_err(|_| gone()).map(|()| true)
    }

    fn published(&mut self) -> Option<u64> {
        self.publisher.published.try_recv().ok()
    }
}

fn gone() -> PeerError {
    PeerError::Aeron("its publisher is gone".to_owned())
}

/// Tries until there is something.
fn wait<T>(mut attempt: impl FnMut() -> Result<Option<T>, AeronCError>) -> Result<T, PeerError> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(found) = attempt()? {
            return Ok(found);
        }
        std::thread::yield_now();
    }
    Err(PeerError::Aeron("publisher and subscriptions do not meet".to_owned()))
}

/// The thread of publisher and driver. It ends when this is dropped.
struct Publisher {
    orders: Sender<Order>,
    published: Receiver<u64>,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    fn start(directory: &str, cores: Option<&[usize]>) -> Result<Self, PeerError> {
        let (orders, taken) = mpsc::channel();
        let (tell, published) = mpsc::channel();
        let (say_ready, is_ready) = mpsc::channel();
        let (directory, cores) = (directory.to_owned(), cores.map(<[usize]>::to_vec));
        let thread = std::thread::spawn(move || {
            processor::pin(cores.as_deref());
            match Out::start(&directory) {
                Ok(mut out) => {
                    let _ = say_ready.send(Ok(()));
                    out.run(&taken, &tell);
                }
                Err(error) => {
                    let _ = say_ready.send(Err(error));
                }
            }
        });
        is_ready.recv().map_err(|_| gone())??;
        Ok(Self { orders, published, thread: Some(thread) })
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        // Nobody orders any more: the thread ends.
        self.orders = mpsc::channel().0;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is on the publisher's thread; the client goes before its driver.
struct Out {
    publication: AeronExclusivePublication,
    client: Aeron,
    driver: AeronDriver,
    turn: u32,
}

impl Out {
    fn start(directory: &str) -> Result<Self, PeerError> {
        let driver = aeron::driver(directory, TERM_BYTES)?;
        let client = aeron::client(directory)?;
        let channel = aeron::channel();
        let adding = client.async_add_exclusive_publication(&channel, STREAM)?;
        let publication = wait(|| {
            driver.main_do_work()?;
            client.main_do_work()?;
            adding.poll()
        })?;
        Ok(Self { publication, client, driver, turn: 0 })
    }

    /// Works off orders until nobody can give any.
    fn run(&mut self, orders: &Receiver<Order>, tell: &Sender<u64>) {
        let (mut order, mut sent): (Option<Order>, u64) = (None, 0);
        loop {
            let Some(now) = &order else {
                match orders.try_recv() {
                    Ok(next) => (order, sent) = (Some(next), 0),
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => return,
                }
                self.work();
                continue;
            };
            if now_ns() >= now.end_ns {
                let _ = tell.send(sent);
                order = None;
                continue;
            }
            let after_ns = u128::from(sent) * 1_000_000_000 / u128::from(now.rate);
            let due_ns = now.start_ns + after_ns as u64;
            if due_ns <= now_ns() && self.offer(Stamp { due_ns, number: now.first + sent }) {
                sent += 1;
            }
            self.work();
        }
    }

    fn work(&mut self) {
        self.turn = self.turn.wrapping_add(1);
        if self.turn.is_multiple_of(TURNS_PER_WORK) {
            let _ = self.driver.main_do_work();
            let _ = self.client.main_do_work();
        }
    }

    /// False when there is no room now.
    fn offer(&mut self, stamp: Stamp) -> bool {
        let mut update = [0; UPDATE_BYTES];
        stamp.write_plain(&mut update);
        match self.publication.try_claim_owned(UPDATE_BYTES) {
            Ok(mut claim) => {
                claim.data().copy_from_slice(&update);
                claim.commit().is_ok()
            }
            Err(error) => {
                if matches!(error, AeronOfferError::BackPressured) {
                    // The driver moves the limit.
                    let _ = self.driver.main_do_work();
                }
                false
            }
        }
    }
}
