//! `tapeline exchange nasdaq`: market data of Nasdaq to a hub.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tapeline_api::Server;
use tapeline_ending::Verdict;
use tapeline_exchange::{
    ExchangeError, Feeding, Line, NasdaqConfig, NasdaqCounts, NasdaqHandler, NasdaqSockets,
    NoLinks, Origin, Speed,
};
use tapeline_itch::Limits;
use toml::Spanned;

use super::Common;
use super::failure::Failure;
use super::feed;
use super::reading::{Shell, WAIT};
use super::ready::Ready;
use super::run::{Counts, Named, now_ns};

/// A and B.
const MOST_LINES: usize = 2;

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

    /// Play this capture: all that is in it, or the lines that are given
    #[arg(long, value_name = "FILE", conflicts_with_all = ["again", "snapshot"])]
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
        if args.capture.is_some() || !args.lines.is_empty() {
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

/// Plays a capture: what the handler asks for nobody answers.
fn play(
    shell: &mut Shell<NasdaqHandler>,
    (path, speed): (&Path, Speed),
    lines: &[SocketAddrV4],
) -> Result<(), Failure> {
    let mut lines = CapturedLines::new(lines);
    shell.play(path, speed, |handler, times, datagram| {
        if let Some(origin) = lines.origin(datagram.destination) {
            handler.packet(times, origin, datagram.payload, &mut NoLinks);
            drop(handler.requests());
        }
    })
}

/// The lines of a capture: those that are given, or all that is in it.
struct CapturedLines {
    given: Vec<SocketAddr>,
    /// Where the first datagram went, if none are given.
    first: Option<SocketAddr>,
}

impl CapturedLines {
    fn new(given: &[SocketAddrV4]) -> Self {
        Self { given: given.iter().map(|line| (*line).into()).collect(), first: None }
    }

    /// The line that a datagram came by, if it is one of them.
    fn origin(&mut self, to: SocketAddr) -> Option<Origin> {
        if self.given.is_empty() {
            let is_first = to == *self.first.get_or_insert(to);
            return Some(if is_first { Origin::LineA } else { Origin::LineB });
        }
        match self.given.iter().position(|line| *line == to)? {
            0 => Some(Origin::LineA),
            _ => Some(Origin::LineB),
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let (config, mut watch) = args.common.start()?;
    let stop = args.common.stop()?;
    let section = config.nasdaq.clone().unwrap_or_default().with(args)?;
    let publisher = feed::publisher(&config, feed::hubs(&config, &args.hub)?)?;
    let mut sockets = match args.capture {
        Some(_) => NasdaqSockets::new(&[], None, None)?,
        None => section.sockets()?,
    };
    let mut ready = Ready::default();
    for (address, name) in sockets.addresses().zip(["line-a", "line-b"]) {
        ready.add(name, address);
    }
    watch.announce(&mut ready);
    ready.write(args.common.ready_file.as_deref())?;
    let feeding = Feeding::new(section.handler(), &config.feed.service);
    let mut shell = Shell::new(feeding, publisher, Counts::new(&watch, "nasdaq", &[])?, stop);
    match &args.capture {
        Some(path) => play(&mut shell, (path, args.speed), section.lines.get_ref())?,
        None => shell.listen(|handler, clock| {
            sockets.turn(WAIT, (|| clock.now(), now_ns), handler);
        })?,
    }
    Ok(Verdict::Good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_capture_the_lines_that_are_given_are_read_or_all() {
        let at = |port| SocketAddrV4::new(Ipv4Addr::new(233, 54, 12, 111), port);
        let origins = |given: &[SocketAddrV4]| {
            let mut lines = CapturedLines::new(given);
            [1, 2, 1, 3].map(|port| lines.origin(at(port).into()))
        };
        let [a, b] = [Origin::LineA, Origin::LineB].map(Some);
        assert_eq!(origins(&[]), [a, b, a, b]);
        assert_eq!(origins(&[at(3)]), [None, None, None, a]);
        assert_eq!(origins(&[at(3), at(1)]), [b, None, b, a]);
    }
}
