//! `tapeline exchange cme`: market data of CME Group to a hub.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tapeline_api::Server;
use tapeline_ending::Verdict;
use tapeline_exchange::{
    CmeConfig, CmeCounts, CmeHandler, CmeLines, CmeOrigin, CmeSockets, ExchangeError, Feeding,
    Line, Speed,
};
use tapeline_feed::{CmeSettings, Depth};
use tapeline_inspect::capture::{CaptureError, read_datagrams};
use tapeline_mdp::ChannelLimits;
use toml::Spanned;

use super::Common;
use super::failure::Failure;
use super::feed;
use super::reading::{self, Shell, WAIT};
use super::ready::Ready;
use super::run::{Counts, Named};

/// A and B.
const MOST_LINES: usize = 2;

/// Publish market data of CME Group at a hub
///
/// Reads a channel of MDP 3.0: two lines of changes, of which the second one fills the
/// holes of the first, and loops of snapshots and definitions. Publishes each instrument
/// as market by price and market price under its symbol, and with --depth orders as
/// market by order too, as a non-interactive provider. While a book may lack something
/// its items are suspect, until a snapshot has come for it. Hub and service are those of
/// [feed] in the configuration.
///
/// With --capture, a pcap or pcapng file is played instead, at any speed; which of its
/// addresses are lines and loops it tells itself, unless --line says which lines to read.
/// It stays at the hub when it is over.
///
/// What [cme] in the configuration says goes where there is no option for it.
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

    /// A line of changes: a multicast group, or an address of this host; once or twice
    #[arg(long = "line", value_name = "GROUP:PORT")]
    lines: Vec<SocketAddrV4>,

    /// A loop of snapshots; repeatable
    #[arg(long, value_name = "GROUP:PORT", conflicts_with = "capture")]
    snapshots: Vec<SocketAddrV4>,

    /// A loop of definitions; repeatable. Without, items are named by numbers
    #[arg(long, value_name = "GROUP:PORT", conflicts_with = "capture")]
    definitions: Vec<SocketAddrV4>,

    /// The address of the interface for multicast
    #[arg(long, value_name = "ADDRESS")]
    interface: Option<Ipv4Addr>,

    /// Play this capture
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,

    /// How fast: 1 as it was, 10 ten times as fast, max
    #[arg(long, value_name = "N", default_value = "1", requires = "capture")]
    speed: Speed,

    /// Which books are kept
    #[arg(long, value_enum)]
    depth: Option<DepthWord>,

    /// What follows the symbol in the names of items
    #[arg(long, value_name = "TEXT")]
    suffix: Option<String>,
}

/// Which books are kept, as the file and the command line say it.
#[derive(Clone, Copy, Debug, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DepthWord {
    /// The best levels of each side
    #[default]
    Levels,
    /// All orders
    Orders,
}

/// What the file says of CME Group.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct CmeSection {
    /// Groups, or addresses of this host: line A, and line B.
    lines: Spanned<Vec<SocketAddrV4>>,
    /// Loops of snapshots, and of definitions.
    snapshots: Vec<SocketAddrV4>,
    definitions: Vec<SocketAddrV4>,
    interface: Ipv4Addr,
    depth: DepthWord,
    /// What follows the symbol in the names of items.
    suffix: String,
    /// How long the other line has to fill a hole.
    hold_ms: u64,
    /// There is a sign of life each half minute; after so long without a packet nothing
    /// is known any more.
    silence_ms: u64,
}

impl Default for CmeSection {
    fn default() -> Self {
        Self {
            lines: Spanned::new(0..0, Vec::new()),
            snapshots: Vec::new(),
            definitions: Vec::new(),
            interface: Ipv4Addr::UNSPECIFIED,
            depth: DepthWord::default(),
            suffix: String::new(),
            hold_ms: ChannelLimits::default().hold.as_millis() as u64,
            silence_ms: 75_000,
        }
    }
}

impl CmeSection {
    /// What is wrong with it, and where in the text.
    pub(crate) fn fault(&self) -> Option<(usize, String)> {
        let lines = self.lines.get_ref().len();
        let what = || format!("{lines} lines are given; the same comes by two at most, A and B");
        (lines > MOST_LINES).then(|| (self.lines.span().start, what()))
    }

    /// With what the command line says instead.
    fn with(mut self, args: &Args) -> Result<Self, Failure> {
        let given = |own: &mut Vec<SocketAddrV4>, given: &[SocketAddrV4]| {
            if args.capture.is_some() || !given.is_empty() {
                *own = given.to_vec();
            }
        };
        given(&mut self.snapshots, &args.snapshots);
        given(&mut self.definitions, &args.definitions);
        if args.capture.is_some() || !args.lines.is_empty() {
            self.lines = Spanned::new(0..0, args.lines.clone());
        }
        if let Some((_, what)) = self.fault() {
            return Err(ExchangeError::Config(what).into());
        }
        if args.capture.is_none() && self.lines.get_ref().is_empty() {
            let what = "no line to read; give --line GROUP:PORT, lines of [cme] in the file, or \
                        --capture FILE";
            return Err(ExchangeError::Config(what.to_owned()).into());
        }
        self.interface = args.interface.unwrap_or(self.interface);
        self.depth = args.depth.unwrap_or(self.depth);
        self.suffix = args.suffix.clone().unwrap_or(self.suffix);
        Ok(self)
    }

    fn handler(&self, (has_snapshots, has_definitions): (bool, bool)) -> CmeHandler {
        let depth = match self.depth {
            DepthWord::Levels => Depth::Levels,
            DepthWord::Orders => Depth::Orders,
        };
        let limits =
            ChannelLimits { hold: Duration::from_millis(self.hold_ms), ..ChannelLimits::default() };
        let suffix = self.suffix.clone();
        CmeHandler::new(&CmeConfig {
            settings: CmeSettings { suffix, depth, has_definitions, has_snapshots },
            limits,
            silence: Duration::from_millis(self.silence_ms),
        })
    }

    fn sockets(&self) -> Result<CmeSockets, Failure> {
        let line = |to: &SocketAddrV4| Line { to: *to, interface: self.interface, ttl: 1 };
        let lines: Vec<Line> = self.lines.get_ref().iter().map(line).collect();
        let loops = self.snapshots.iter().chain(&self.definitions);
        Ok(CmeSockets::new(&lines, &loops.map(line).collect::<Vec<_>>())?)
    }

    /// The lines of a capture.
    fn look_at(&self, path: &Path) -> Result<CmeLines, Failure> {
        let mut found = CmeLines::new();
        let read = read_datagrams(reading::open(path)?, &mut |_, datagram| {
            found.look(datagram.destination, datagram.payload);
            ControlFlow::Continue(())
        });
        match read {
            // What is cut off is told when it is played.
            Ok(_) | Err(CaptureError::CutOff) => {}
            Err(error) => return Err(Failure::Capture { path: path.to_owned(), error }),
        }
        let given: Vec<SocketAddr> =
            self.lines.get_ref().iter().map(|line| (*line).into()).collect();
        if !given.is_empty() {
            found.keep_lines(&given);
        }
        if found.is_empty() {
            let what = format!("{} has no packets of MDP 3.0 with changes", path.display());
            return Err(ExchangeError::Config(what).into());
        }
        let lines = found.lines();
        tracing::info!(
            ?lines,
            snapshots = found.has_snapshots(),
            definitions = found.has_definitions(),
            "lines of the capture"
        );
        if let Some(other) = lines.get(MOST_LINES) {
            tracing::warn!(%other, "a line of another channel: give --line for those to be read");
        }
        Ok(found)
    }
}

impl Named for CmeCounts {
    fn all(&self) -> Vec<(&'static str, u64)> {
        self.named().to_vec()
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let (config, mut watch) = args.common.start()?;
    let stop = args.common.stop()?;
    let section = config.cme.clone().unwrap_or_default().with(args)?;
    let publisher = feed::publisher(&config, feed::hubs(&config, &args.hub)?)?;
    let captured = args.capture.as_deref().map(|path| section.look_at(path)).transpose()?;
    let mut sockets = match captured {
        Some(_) => CmeSockets::new(&[], &[])?,
        None => section.sockets()?,
    };
    let has = match &captured {
        Some(lines) => (lines.has_snapshots(), lines.has_definitions()),
        None => (!section.snapshots.is_empty(), !section.definitions.is_empty()),
    };
    let mut ready = Ready::default();
    for (origin, address) in sockets.addresses() {
        let name = match origin {
            CmeOrigin::LineA => "line-a",
            CmeOrigin::LineB => "line-b",
            CmeOrigin::Loop => "loop",
        };
        ready.add(name, address);
    }
    watch.announce(&mut ready);
    ready.write(args.common.ready_file.as_deref())?;
    let feeding = Feeding::new(section.handler(has), &config.feed.service);
    let mut shell = Shell::new(feeding, publisher, Counts::new(&watch, "cme", &[])?, stop);
    match args.capture.as_deref().zip(captured) {
        Some((path, lines)) => shell.play(path, args.speed, |handler, (now, _), datagram| {
            handler.timeout(now);
            match lines.origin(datagram.destination) {
                Some(origin) => handler.packet(now, origin, datagram.payload),
                None => handler.ignore(),
            }
        })?,
        None => shell.listen(|handler, clock| {
            sockets.turn(WAIT, || clock.now(), handler);
        })?,
    }
    Ok(Verdict::Good)
}
