//! Bare Aeron over shared memory, set up as the backbone sets it up: a driver
//! that its owner works, and a client for each thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rusteron_media_driver::{
    Aeron, AeronCError, AeronDriver, AeronExclusivePublication, AeronFragmentClosureAssembler,
    AeronHeader, AeronOfferError, AeronSubscription, Handlers,
};
use tapeline_measure::clock::now_ns;
use tapeline_measure::histogram::latencies;
use tapeline_measure::{processor, stop};

use super::MESSAGE_BYTES;
use crate::BenchError;
use crate::aeron;

const TERM_BYTES: usize = 1 << 20;
const PING_STREAM: i32 = 1001;
const PONG_STREAM: i32 = 1002;

/// Driver and client are worked once in so many turns, as in the backbone.
const TURNS_PER_WORK: u32 = 64;

/// How long the two sides may take to meet.
const MEETING: Duration = Duration::from_secs(5);

static DRIVERS: AtomicU32 = AtomicU32::new(0);

fn failed(error: &AeronCError) -> BenchError {
    BenchError::Aeron(error.get_last_err_message().trim().to_owned())
}

/// One side: it sends on one stream and hears the other.
struct Side {
    publication: AeronExclusivePublication,
    subscription: AeronSubscription,
    assembler: AeronFragmentClosureAssembler,
    // Declared last: the client goes after what it made.
    client: Aeron,
    turn: u32,
}

impl Side {
    /// `work` turns what the side waits for.
    fn new(
        directory: &str,
        (out, back): (i32, i32),
        mut work: impl FnMut(),
    ) -> Result<Self, AeronCError> {
        let client = aeron::client(directory)?;
        let channel = aeron::channel();
        let adding = client.async_add_exclusive_publication(&channel, out)?;
        let publication = loop {
            work();
            client.main_do_work()?;
            if let Some(publication) = adding.poll()? {
                break publication;
            }
        };
        let adding =
            client.async_add_subscription(&channel, back, Handlers::NONE, Handlers::NONE)?;
        let subscription = loop {
            work();
            client.main_do_work()?;
            if let Some(subscription) = adding.poll()? {
                break subscription;
            }
        };
        let assembler = AeronFragmentClosureAssembler::new()?;
        Ok(Self { publication, subscription, assembler, client, turn: 0 })
    }

    /// False if nobody listens, or there is no room now.
    fn send(&self, message: &[u8]) -> Result<bool, BenchError> {
        match self.publication.try_claim_owned(message.len()) {
            Ok(mut claim) => {
                claim.data().copy_from_slice(message);
                claim.commit().map_err(|error| failed(&error))?;
                Ok(true)
            }
            Err(
                AeronOfferError::NotConnected
                | AeronOfferError::BackPressured
                | AeronOfferError::AdminAction,
            ) => Ok(false),
            Err(error) => Err(BenchError::Aeron(error.to_string())),
        }
    }

    /// Hands what came to `on_message`.
    fn receive(&mut self, mut on_message: impl FnMut(&[u8])) -> Result<(), BenchError> {
        fn pass_on<F: FnMut(&[u8])>(on_message: &mut F, message: &[u8], _: AeronHeader) {
            on_message(message);
        }
        self.turn = self.turn.wrapping_add(1);
        if self.turn.is_multiple_of(TURNS_PER_WORK) {
            self.client.main_do_work().map_err(|error| failed(&error))?;
        }
        self.assembler
            .poll(&self.subscription, &mut on_message, pass_on, 10)
            .map(drop)
            .map_err(|error| failed(&error))
    }
}

/// Half round trips of small messages between two spinning threads, as fast as
/// it goes, for `time`; in nanoseconds. The one that echoes is on these cores.
pub(super) fn ping_pong(
    time: Duration,
    echo_cores: Option<&[usize]>,
) -> Result<Histogram<u64>, BenchError> {
    let serial = DRIVERS.fetch_add(1, Ordering::Relaxed);
    let directory = format!("/dev/shm/tapeline-bench-floor-{}-{serial}", std::process::id());
    let driver = aeron::driver(&directory, TERM_BYTES).map_err(|error| failed(&error))?;
    let is_over = Arc::new(AtomicBool::new(false));
    let (over, place) = (Arc::clone(&is_over), directory.clone());
    let cores = echo_cores.map(<[usize]>::to_vec);
    let echo = thread::spawn(move || {
        processor::pin(cores.as_deref());
        echo(&place, &over)
    });
    let measured = ping(&driver, &directory, time, || echo.is_finished());
    is_over.store(true, Ordering::Relaxed);
    while !echo.is_finished() {
        let _ = driver.main_do_work();
    }
    match echo.join() {
        Ok(Ok(())) => measured,
        Ok(Err(error)) => Err(error),
        Err(_) => Err(BenchError::Aeron("the side that echoes panicked".to_owned())),
    }
}

fn ping(
    driver: &AeronDriver,
    directory: &str,
    time: Duration,
    is_alone: impl Fn() -> bool,
) -> Result<Histogram<u64>, BenchError> {
    let work = || {
        let _ = driver.main_do_work();
    };
    let mut side =
        Side::new(directory, (PING_STREAM, PONG_STREAM), work).map_err(|error| failed(&error))?;
    let message = [7; MESSAGE_BYTES];
    let began = Instant::now();
    while !side.send(&message)? {
        work();
        side.receive(|_| ())?;
        if is_alone() || began.elapsed() > MEETING {
            return Err(BenchError::Aeron("the two sides did not meet".to_owned()));
        }
    }
    let check = |since_ns: u64| -> Result<(), BenchError> {
        stop::check()?;
        let waited = Duration::from_nanos(now_ns().saturating_sub(since_ns));
        match is_alone() || waited > MEETING {
            true => Err(BenchError::Aeron("the side that echoes does not answer".to_owned())),
            false => Ok(()),
        }
    };
    let mut latencies = latencies();
    let (mut began, mut is_warm, mut sent) = (Instant::now(), false, now_ns());
    while began.elapsed() < time || latencies.is_empty() {
        let mut came = 0;
        while came < MESSAGE_BYTES {
            side.receive(|message| came += message.len())?;
            if side.turn.is_multiple_of(TURNS_PER_WORK) {
                work();
                check(sent)?;
            }
        }
        latencies.saturating_record((now_ns() - sent) / 2);
        if !is_warm && began.elapsed() > time / 10 {
            (is_warm, began) = (true, Instant::now());
            latencies.reset();
        }
        sent = now_ns();
        while !side.send(&message)? {
            work();
            check(sent)?;
        }
    }
    Ok(latencies)
}

fn echo(directory: &str, is_over: &AtomicBool) -> Result<(), BenchError> {
    let mut side = Side::new(directory, (PONG_STREAM, PING_STREAM), std::hint::spin_loop)
        .map_err(|error| failed(&error))?;
    let mut message = Vec::with_capacity(MESSAGE_BYTES);
    while !is_over.load(Ordering::Relaxed) {
        message.clear();
        side.receive(|bytes| message.extend_from_slice(bytes))?;
        while !message.is_empty() && !side.send(&message)? && !is_over.load(Ordering::Relaxed) {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_of_shared_memory_is_measured() {
        let halves = ping_pong(Duration::from_millis(50), None).unwrap();
        assert!(!halves.is_empty() && halves.min() > 0, "{}", halves.len());
    }
}
