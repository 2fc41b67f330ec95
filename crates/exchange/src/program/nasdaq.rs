//! `tapeline exchange nasdaq`: market data of Nasdaq to a hub.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tapeline_api::{Publisher, Server};
use tapeline_ending::{Stop, Verdict};
use tapeline_exchange::{
    ExchangeError, Feeding, Line, NasdaqConfig, NasdaqCounts, NasdaqHandler, NasdaqSockets,
    NoLinks, Origin, Playing, Speed,
};
use tapeline_inspect::capture::{CaptureError, Datagram, read_datagrams};
use tapeline_itch::Limits;
use tapeline_time::{MonotonicClock, Time};
use toml::Spanned;

use super::Common;
use super::failure::Failure;
use super::feed;
use super::ready::Ready;
use super::run::{Counts, Named, now_ns};

/// How long a turn waits: the hub is looked after in between.
const WAIT: Duration = Duration::from_millis(5);

/// A and B.
const MOST_LINES: usize = 2;

/// Packets of a capture between two turns.
const PACKETS_OF_A_TURN: u32 = 64;

/// Publish market data of Nasdaq at a hub
///
/// Reads ITCH 5.0 from two lines of datagrams, asks for what both lack, and publishes
/// each instrument as market by order, market by price and market price under its
/// symbol, as a non-interactive provider. While something is missing its items are
/// suspect; what nobody has any more takes a snapshot, or makes them so until the next
/// session where there are none. Hub and service are those of [feed] in the
/// configuration.
///
/// With --capture, a pcap or pcapng file is played instead, at any speed; it stays at
/// the hub when it is over.
///
/// What [nasdaq] in the configuration says goes where there is no option for it.
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
    #[arg(long = "line", value_name = "GROUP:PORT")]
    lines: Vec<SocketAddrV4>,

    /// The address of the interface for multicast
    #[arg(long, value_name = "ADDRESS")]
    interface: Option<Ipv4Addr>,

    /// Where messages can be had again
    #[arg(long, value_name = "HOST:PORT")]
    again: Option<String>,

    /// Where all that there is can be had; who asks is said in the file
    #[arg(long, value_name = "HOST:PORT")]
    snapshot: Option<String>,

    /// Play this capture
    #[arg(long, value_name = "FILE", conflicts_with_all = ["lines", "again", "snapshot"])]
    capture: Option<PathBuf>,

    /// How fast: 1 as it was, 10 ten times as fast, max
    #[arg(long, value_name = "N", default_value = "1", requires = "capture")]
    speed: Speed,

    /// What follows the symbol in the names of items
    #[arg(long, value_name = "TEXT")]
    suffix: Option<String>,
}

/// What the file says of Nasdaq.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct NasdaqSection {
    /// Groups, or addresses of this host: line A, and line B.
    lines: Spanned<Vec<SocketAddrV4>>,
    interface: Ipv4Addr,
    /// Where messages can be had again.
    again: Option<String>,
    /// Where all that there is can be had, and who asks for it.
    snapshot: Option<String>,
    user: String,
    password: String,
    /// What follows the symbol in the names of items.
    suffix: String,
    /// How long the other line has to fill a hole.
    hold_ms: u64,
    /// How long an answer may take before the request is sent again, and how often.
    patience_ms: u64,
    attempts: u32,
    /// Heartbeats come each second; after so long without one nothing is known any more.
    silence_ms: u64,
}

impl Default for NasdaqSection {
    fn default() -> Self {
        let Limits { hold, patience, attempts, .. } = Limits::default();
        Self {
            lines: Spanned::new(0..0, Vec::new()),
            interface: Ipv4Addr::UNSPECIFIED,
            again: None,
            snapshot: None,
            user: "FEED".to_owned(),
            password: "FEED".to_owned(),
            suffix: String::new(),
            hold_ms: hold.as_millis() as u64,
            patience_ms: patience.as_millis() as u64,
            attempts,
            silence_ms: 5_000,
        }
    }
}

impl NasdaqSection {
    /// What is wrong with it, and where in the text.
    pub(crate) fn fault(&self) -> Option<(usize, String)> {
        let lines = self.lines.get_ref().len();
        let what = || format!("{lines} lines are given; the same comes by two at most, A and B");
        (lines > MOST_LINES).then(|| (self.lines.span().start, what()))
    }

    /// With what the command line says instead.
    fn with(mut self, args: &Args) -> Result<Self, Failure> {
        if !args.lines.is_empty() {
            self.lines = Spanned::new(0..0, args.lines.clone());
        }
        if let Some((_, what)) = self.fault() {
            return Err(ExchangeError::Config(what).into());
        }
        self.interface = args.interface.unwrap_or(self.interface);
        self.again = args.again.clone().or(self.again);
        self.snapshot = args.snapshot.clone().or(self.snapshot);
        self.suffix = args.suffix.clone().unwrap_or(self.suffix);
        if args.capture.is_some() {
            self.lines = Spanned::new(0..0, Vec::new());
            (self.again, self.snapshot) = (None, None);
        } else if self.lines.get_ref().is_empty() {
            let what = "no line to read; give --line GROUP:PORT, lines of [nasdaq] in the file, or \
                        --capture FILE";
            return Err(ExchangeError::Config(what.to_owned()).into());
        }
        Ok(self)
    }

    fn handler(&self) -> NasdaqHandler {
        NasdaqHandler::new(&NasdaqConfig {
            suffix: self.suffix.clone(),
            limits: Limits {
                hold: Duration::from_millis(self.hold_ms),
                patience: Duration::from_millis(self.patience_ms),
                attempts: self.attempts,
                ..Limits::default()
            },
            silence: Duration::from_millis(self.silence_ms),
            snapshot: self.snapshot.as_ref().map(|_| (self.user.clone(), self.password.clone())),
        })
    }

    fn sockets(&self) -> Result<NasdaqSockets, Failure> {
        let line = |to: &SocketAddrV4| Line { to: *to, interface: self.interface, ttl: 1 };
        let lines: Vec<Line> = self.lines.get_ref().iter().map(line).collect();
        let at = |given: &Option<String>| given.as_deref().map(feed::address).transpose();
        Ok(NasdaqSockets::new(&lines, at(&self.again)?, at(&self.snapshot)?)?)
    }
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
            let handler = &mut self.feeding.handler;
            handler.packet(times, origin, datagram.payload, &mut NoLinks);
            // Nobody answers.
            drop(handler.requests());
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
    let section = config.nasdaq.clone().unwrap_or_default().with(args)?;
    let publisher = feed::publisher(&config, feed::hubs(&config, &args.hub)?)?;
    let sockets = section.sockets()?;
    let mut ready = Ready::default();
    for (address, name) in sockets.addresses().zip(["line-a", "line-b"]) {
        ready.add(name, address);
    }
    watch.announce(&mut ready);
    ready.write(args.common.ready_file.as_deref())?;
    let mut shell = Shell {
        feeding: Feeding::new(section.handler(), &config.feed.service),
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
