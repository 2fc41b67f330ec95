//! Feed handlers that read lines, or captures of them, and publish at a hub.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use tapeline_api::Publisher;
use tapeline_ending::Stop;
use tapeline_exchange::{ExchangeError, Feeding, Handler, Playing, Speed};
use tapeline_inspect::capture::{CaptureError, Datagram, read_datagrams};
use tapeline_time::{MonotonicClock, Time};

use super::failure::Failure;
use super::run::{Counts, Named};

/// How long a turn waits: the hub is looked after in between.
pub(super) const WAIT: Duration = Duration::from_millis(5);

/// Packets of a capture between two turns.
const PACKETS_OF_A_TURN: u32 = 64;

/// Opens a capture.
pub(super) fn open(path: &Path) -> Result<File, Failure> {
    let failed = |error| ExchangeError::Io { file: path.display().to_string(), error };
    Ok(File::open(path).map_err(failed)?)
}

/// What stands between a feed handler and the hub.
pub(super) struct Shell<H: Handler> {
    feeding: Feeding<H>,
    publisher: Publisher,
    counts: Counts<H::Counts>,
    clock: MonotonicClock,
    stop: Stop,
}

impl<H: Handler<Counts: Named>> Shell<H> {
    pub(super) fn new(
        feeding: Feeding<H>,
        publisher: Publisher,
        counts: Counts<H::Counts>,
        stop: Stop,
    ) -> Self {
        Self { feeding, publisher, counts, clock: MonotonicClock::start(), stop }
    }

    /// Publishes what has changed, at a time of the handler's, and looks after the hub
    /// for as long as `wait`.
    fn turn(&mut self, now: Time, wait: Duration) -> Result<(), Failure> {
        let Self { feeding, publisher, counts, clock, .. } = self;
        publisher.with(|submissions| feeding.publish(now, submissions));
        publisher.poll(Some(wait), feeding);
        counts.publish(clock.now(), || feeding.counts(now));
        match feeding.failure() {
            Some(failure) => Err(Failure::Feed(failure.to_owned())),
            None => Ok(()),
        }
    }

    /// Reads sockets, a turn of which `turn` does, until it is stopped.
    pub(super) fn listen(
        &mut self,
        mut turn: impl FnMut(&mut H, &MonotonicClock),
    ) -> Result<(), Failure> {
        while !self.stop.is_asked() {
            turn(&mut self.feeding.handler, &self.clock);
            self.turn(self.clock.now(), Duration::ZERO)?;
        }
        self.counts.tell(&self.feeding.counts(self.clock.now()));
        Ok(())
    }

    /// Plays a capture, whose datagrams `packet` takes with the handler's time and that of
    /// the wall, and stays when it is over. The handler's time is that of the capture: how
    /// fast it is played makes no difference.
    pub(super) fn play(
        &mut self,
        path: &Path,
        speed: Speed,
        mut packet: impl FnMut(&mut H, (Time, u64), &Datagram<'_>),
    ) -> Result<(), Failure> {
        let mut playing = Playing::new(speed, self.clock.now());
        let (mut packets, mut failure) = (0, None);
        let read = read_datagrams(open(path)?, &mut |captured_ns, datagram| {
            packets += 1;
            let before = playing.now();
            let due = playing.due(captured_ns);
            if let Err(error) = self.wait(due, before, packets) {
                failure = Some(error);
            }
            if failure.is_some() || self.stop.is_asked() {
                return ControlFlow::Break(());
            }
            packet(&mut self.feeding.handler, (playing.now(), captured_ns), datagram);
            ControlFlow::Continue(())
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
        match read {
            Ok(_) => tracing::info!(packets, "the capture is over"),
            Err(error @ CaptureError::NotACapture) => {
                return Err(Failure::Capture { path: path.to_owned(), error });
            }
            Err(error) => tracing::warn!(packets, %error, "the capture is over"),
        }
        while !self.stop.is_asked() {
            self.turn(playing.now(), WAIT)?;
        }
        self.counts.tell(&self.feeding.counts(playing.now()));
        Ok(())
    }

    /// Until a packet is due; the hub is looked after also when all of them are.
    fn wait(&mut self, due: Time, now: Time, packets: u32) -> Result<(), Failure> {
        if packets.is_multiple_of(PACKETS_OF_A_TURN) {
            self.turn(now, Duration::ZERO)?;
        }
        loop {
            let wait = due.since(self.clock.now());
            if wait.is_zero() || self.stop.is_asked() {
                return Ok(());
            }
            self.turn(now, wait.min(WAIT))?;
        }
    }
}
