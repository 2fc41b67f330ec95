//! `tapeline exchange nasdaq`: market data of Nasdaq to a hub.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tapeline_api::{Publisher, Server};
use tapeline_ending::{Stop, Verdict};
use tapeline_exchange::{
    ExchangeError, Feeding, Line, NasdaqConfig, NasdaqCounts, NasdaqHandler, NasdaqSockets, Origin,
    Playing, Speed,
};
use tapeline_inspect::capture::{CaptureError, Datagram, read_datagrams};
use tapeline_itch::Limits;
use tapeline_time::{MonotonicClock, Time};

use super::Common;
use super::failure::Failure;
use super::feed;
use super::ready::Ready;
use super::run::{Counts, Named, now_ns};

/// How long a turn waits: the hub is looked after in between.
const WAIT: Duration = Duration::from_millis(5);

/// Heartbeats come each second; after so long without one nothing is known any more.
const SILENCE: Duration = Duration::from_secs(5);

/// Packets of a capture between two turns.
const PACKETS_OF_A_TURN: u32 = 64;

/// Publish market data of Nasdaq at a hub
///
/// Reads ITCH 5.0 from two lines of datagrams, asks for what both lack, and publishes
/// each instrument as market by order, market by price and market price under its
/// symbol, as a non-interactive provider. While something is missing its items are
/// suspect; what nobody has any more makes them so until the next session. Hub and
/// service are those of [feed] in the configuration.
///
/// With --capture, a pcap or pcapng file is played instead, at any speed; it stays at
/// the hub when it is over.
///
/// Exit status: 0 after SIGTERM, SIGINT or --seconds, 2 if it could not start or
/// the hub refused its login.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    /// The hub; repeatable, the next one is tried when one fails
    #[arg(long, value_name = "HOST:PORT")]
    hub: Vec<Server>,

    /// A line: a multicast group, or an address of this host; once or twice
    #[arg(long = "line", value_name = "GROUP:PORT", required_unless_present = "capture")]
    lines: Vec<SocketAddrV4>,

    /// The address of the interface for multicast
    #[arg(long, value_name = "ADDRESS", default_value_t = Ipv4Addr::UNSPECIFIED)]
    interface: Ipv4Addr,

    /// Where messages can be had again
    #[arg(long, value_name = "HOST:PORT")]
    again: Option<String>,

    /// Play this capture
    #[arg(long, value_name = "FILE", conflicts_with_all = ["lines", "again"])]
    capture: Option<PathBuf>,

    /// How fast: 1 as it was, 10 ten times as fast, max
    #[arg(long, value_name = "N", default_value = "1", requires = "capture")]
    speed: Speed,

    /// What follows the symbol in the names of items
    #[arg(long, value_name = "TEXT", default_value = "")]
    suffix: String,
}

impl Named for NasdaqCounts {
    fn all(&self) -> Vec<(&'static str, u64)> {
        self.named().to_vec()
    }
}

/// What stands between the handler and the hub.
struct Shell {
    feeding: Feeding<NasdaqHandler>,
    publisher: Publisher,
    counts: Counts<NasdaqCounts>,
    clock: MonotonicClock,
    stop: Stop,
}

impl Shell {
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

    fn listen(&mut self, mut sockets: NasdaqSockets) -> Result<(), Failure> {
        while !self.stop.is_asked() {
            let clock = self.clock;
            sockets.turn(WAIT, (|| clock.now(), now_ns), &mut self.feeding.handler);
            self.turn(clock.now(), Duration::ZERO)?;
        }
        self.counts.tell(&self.feeding.counts(self.clock.now()));
        Ok(())
    }

    /// Plays a capture. The handler's time is that of the capture: what it asks for
    /// nobody answers, and how fast it is played makes no difference.
    fn play(&mut self, path: &Path, speed: Speed) -> Result<(), Failure> {
        let file = File::open(path).map_err(|error| {
            let file = path.display().to_string();
            ExchangeError::Io { file, error }
        })?;
        let mut playing = Playing::new(speed, self.clock.now());
        let (mut line_a, mut packets, mut failure) = (None, 0, None);
        let read = read_datagrams(file, &mut |captured_ns, datagram| {
            packets += 1;
            let before = playing.now();
            let due = playing.due(captured_ns);
            if let Err(error) = self.wait(due, before, packets) {
                failure = Some(error);
            }
            if failure.is_some() || self.stop.is_asked() {
                return ControlFlow::Break(());
            }
            let times = (playing.now(), captured_ns);
            let origin = origin(*line_a.get_or_insert(datagram.destination), datagram);
            self.feeding.handler.packet(times, origin, datagram.payload, |_| {});
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

/// The line that a captured datagram came by: the first one is that of the first one.
fn origin(line_a: SocketAddr, datagram: &Datagram<'_>) -> Origin {
    if datagram.destination == line_a { Origin::LineA } else { Origin::LineB }
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let (config, mut watch) = args.common.start()?;
    let stop = args.common.stop()?;
    let limits = Limits::default();
    let suffix = args.suffix.clone();
    let handler = NasdaqHandler::new(&NasdaqConfig { suffix, limits, silence: SILENCE });
    let publisher = feed::publisher(&config, feed::hubs(&config, &args.hub)?)?;
    let line = |to: &SocketAddrV4| Line { to: *to, interface: args.interface, ttl: 1 };
    let lines: Vec<Line> = args.lines.iter().map(line).collect();
    let again = args.again.as_deref().map(feed::address).transpose()?;
    let sockets = NasdaqSockets::new(&lines, again)?;
    let mut ready = Ready::default();
    for (address, name) in sockets.addresses().zip(["line-a", "line-b"]) {
        ready.add(name, address);
    }
    watch.announce(&mut ready);
    ready.write(args.common.ready_file.as_deref())?;
    let mut shell = Shell {
        feeding: Feeding::new(handler, &config.feed.service),
        publisher,
        counts: Counts::new(&watch, "nasdaq", &[])?,
        clock: MonotonicClock::start(),
        stop,
    };
    match &args.capture {
        Some(path) => shell.play(path, args.speed)?,
        None => shell.listen(sockets)?,
    }
    Ok(Verdict::Good)
}
