//! The backbone of one thread, whichever it is.

use std::fmt;
use std::os::fd::RawFd;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use tapeline_time::Time;

use crate::engine::{AeronSink, AeronSource, Channels, Engine};
use crate::error::BackboneError;
use crate::frame::{Incarnation, Role};
use crate::local::{LocalSink, LocalSource, Network};
use crate::merge::PathCounts;
use crate::outbound::{FrameSink, Offer};
use crate::paths::{PathSink, PathSource};
use crate::port::{FrameSource, Port, PortSettings};
use crate::settings::EngineSettings;

/// A member of whichever backbone there is.
pub type BackbonePort = Port<BackboneSink, BackboneSource>;

/// The name of the backbone of one process.
const LOCAL: &str = "local";

/// How long a thread may sleep that is woken by whatever comes: presence is to
/// be said on time.
const LONGEST_WAIT: Duration = Duration::from_millis(10);

/// What carries frames between hubs and servers, as a configuration names it:
/// `local` for those of one process, or channels of Aeron.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carrier(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Local,
    Aeron(Channels),
}

impl Carrier {
    /// The rings of one process.
    pub const LOCAL: Self = Self(Kind::Local);

    /// Reads a channel of the configuration.
    pub fn parse(text: &str) -> Result<Self, BackboneError> {
        match text {
            LOCAL => Ok(Self::LOCAL),
            _ => Channels::parse(text).map(|channels| Self(Kind::Aeron(channels))),
        }
    }

    /// Whether it carries frames inside one process alone.
    pub const fn is_local(&self) -> bool {
        matches!(self.0, Kind::Local)
    }

    /// Whether frames cross a network.
    pub fn is_network(&self) -> bool {
        match &self.0 {
            Kind::Local => false,
            Kind::Aeron(channels) => channels.is_network(),
        }
    }

    /// Whether services are divided among several channels, of which a hub has the
    /// first alone.
    pub const fn has_several_channels(&self) -> bool {
        match &self.0 {
            Kind::Local => false,
            Kind::Aeron(channels) => channels.are_several(),
        }
    }
}

impl FromStr for Carrier {
    type Err = BackboneError;

    fn from_str(text: &str) -> Result<Self, BackboneError> {
        Self::parse(text)
    }
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Local => f.write_str(LOCAL),
            Kind::Aeron(channels) => channels.fmt(f),
        }
    }
}

/// The backbone of one thread: what its ports need beside themselves.
pub struct Backbone(Means);

enum Means {
    Local(Network),
    Aeron(Box<Engine>, Channels),
}

/// Rings that another thread of this process has, too.
impl From<Network> for Backbone {
    fn from(network: Network) -> Self {
        Self(Means::Local(network))
    }
}

impl Backbone {
    /// Starts what the carrier needs: nothing for rings, of which these are new
    /// ones, and an engine with these settings for Aeron.
    pub fn start(carrier: &Carrier, settings: EngineSettings) -> Result<Self, BackboneError> {
        match &carrier.0 {
            Kind::Local => Ok(Network::new().into()),
            Kind::Aeron(channels) => {
                let engine = Box::new(Engine::new(settings)?);
                Ok(Self(Means::Aeron(engine, channels.clone())))
            }
        }
    }

    /// A port. It meets peers after some turns of work.
    pub fn port(&mut self, mut settings: PortSettings) -> Result<BackbonePort, BackboneError> {
        let is_gathered = settings.role == Role::Hub
            && matches!(&self.0, Means::Aeron(_, channels) if channels.is_network());
        if !is_gathered {
            // There are no datagrams, or what is sent is asked for and waited for.
            settings.flush_interval = Duration::ZERO;
        }
        let (sink, source) = match &mut self.0 {
            Means::Local(network) => {
                let (sink, source) = network.ends(settings.role);
                (BackboneSink::Local(sink), BackboneSource::Local(source))
            }
            Means::Aeron(engine, channels) => {
                let mut ends = engine.ends(settings.role, channels)?;
                match ends.pop() {
                    Some((_, sink, source)) if ends.is_empty() => {
                        (BackboneSink::Aeron(sink), BackboneSource::Aeron(source))
                    }
                    last => {
                        ends.extend(last);
                        let (sinks, sources): (Vec<_>, Vec<_>) = ends
                            .into_iter()
                            .map(|(path, sink, source)| (sink, (path, source)))
                            .unzip();
                        let (sink, source) = (PathSink::new(sinks), PathSource::new(sources));
                        (BackboneSink::Paths(sink), BackboneSource::Paths(source))
                    }
                }
            }
        };
        Ok(Port::new(settings, sink, source))
    }

    /// One turn. Call it in every turn of the caller's loop, together with the
    /// work of each port. Returns how much was done, 0 when idle.
    pub fn work(&mut self, now: Time) -> usize {
        match &mut self.0 {
            Means::Local(_) => 0,
            Means::Aeron(engine, _) => engine.work(now),
        }
    }

    /// How long the caller may sleep if it is woken by whatever comes.
    pub const fn longest_wait(&self) -> Duration {
        match &self.0 {
            Means::Local(_) => LONGEST_WAIT,
            Means::Aeron(engine, _) => engine.longest_wait(),
        }
    }

    /// Whether any port is on a network.
    pub const fn has_network(&self) -> bool {
        match &self.0 {
            Means::Local(_) => false,
            Means::Aeron(engine, _) => engine.has_network(),
        }
    }

    /// The rings, for other threads of this process; `None` over Aeron.
    pub fn network(&self) -> Option<Network> {
        match &self.0 {
            Means::Local(network) => Some(network.clone()),
            Means::Aeron(..) => None,
        }
    }

    /// Descriptors that can be read when something comes over a network, to wait
    /// for. They come some turns after the ports, and are others after it failed.
    /// The kernel is asked about each descriptor of the process, some
    /// microseconds each.
    pub fn sockets(&self) -> Vec<RawFd> {
        self.engine().map_or_else(Vec::new, Engine::sockets)
    }

    /// The folder of the media driver, if there is one.
    pub fn directory(&self) -> Option<&Path> {
        self.engine().map(Engine::directory)
    }

    /// Why it does not work now; `None` while it does.
    pub fn failure(&self) -> Option<&str> {
        self.engine().and_then(Engine::failure)
    }

    /// Takes the last thing that was reported though it goes on, for the log.
    pub fn take_report(&self) -> Option<String> {
        self.engine().and_then(Engine::take_report)
    }

    /// What was asked for and this host does not give, as a sentence for the
    /// log.
    pub fn shortfall(&self) -> Option<String> {
        self.engine().and_then(Engine::shortfall)
    }

    fn engine(&self) -> Option<&Engine> {
        match &self.0 {
            Means::Local(_) => None,
            Means::Aeron(engine, _) => Some(engine),
        }
    }
}

/// Sends by whichever backbone there is. Which one is decided at the start, so
/// it costs a branch that is always the same.
pub enum BackboneSink {
    /// Into rings.
    Local(LocalSink),
    /// Into a publication.
    Aeron(AeronSink),
    /// Into several.
    Paths(PathSink<AeronSink>),
}

impl FrameSink for BackboneSink {
    #[inline]
    fn offer(&mut self, head: &[u8], parts: &[&[u8]]) -> Offer {
        match self {
            Self::Local(sink) => sink.offer(head, parts),
            Self::Aeron(sink) => sink.offer(head, parts),
            Self::Paths(sink) => sink.offer(head, parts),
        }
    }

    #[inline]
    fn max_frame_bytes(&self) -> usize {
        match self {
            Self::Local(sink) => sink.max_frame_bytes(),
            Self::Aeron(sink) => sink.max_frame_bytes(),
            Self::Paths(sink) => sink.max_frame_bytes(),
        }
    }

    fn work(&mut self, now: Time) {
        match self {
            Self::Local(sink) => sink.work(now),
            Self::Aeron(sink) => sink.work(now),
            Self::Paths(sink) => sink.work(now),
        }
    }

    fn is_ready(&self) -> bool {
        match self {
            Self::Local(sink) => sink.is_ready(),
            Self::Aeron(sink) => sink.is_ready(),
            Self::Paths(sink) => sink.is_ready(),
        }
    }

    fn failure(&self) -> Option<&str> {
        match self {
            Self::Local(sink) => sink.failure(),
            Self::Aeron(sink) => sink.failure(),
            Self::Paths(sink) => sink.failure(),
        }
    }

    fn passed_by(&self) -> u64 {
        match self {
            Self::Local(_) | Self::Aeron(_) => 0,
            Self::Paths(sink) => sink.passed_by(),
        }
    }
}

/// Receives by whichever backbone there is.
pub enum BackboneSource {
    /// From rings.
    Local(LocalSource),
    /// From a subscription.
    Aeron(AeronSource),
    /// From several.
    Paths(PathSource<AeronSource>),
}

impl FrameSource for BackboneSource {
    fn poll(&mut self, now: Time, limit: usize, on_frame: impl FnMut(&[u8])) -> usize {
        match self {
            Self::Local(source) => source.poll(now, limit, on_frame),
            Self::Aeron(source) => source.poll(now, limit, on_frame),
            Self::Paths(source) => source.poll(now, limit, on_frame),
        }
    }

    fn work(&mut self, now: Time) {
        match self {
            Self::Local(source) => source.work(now),
            Self::Aeron(source) => source.work(now),
            Self::Paths(source) => source.work(now),
        }
    }

    fn is_ready(&self) -> bool {
        match self {
            Self::Local(source) => source.is_ready(),
            Self::Aeron(source) => source.is_ready(),
            Self::Paths(source) => source.is_ready(),
        }
    }

    fn failure(&self) -> Option<&str> {
        match self {
            Self::Local(source) => source.failure(),
            Self::Aeron(source) => source.failure(),
            Self::Paths(source) => source.failure(),
        }
    }

    fn sessions_of(&self, peer: Incarnation) -> Vec<i32> {
        match self {
            Self::Local(_) => Vec::new(),
            Self::Aeron(source) => source.sessions_of(peer),
            Self::Paths(source) => source.sessions_of(peer),
        }
    }

    fn path_counts(&self) -> PathCounts {
        match self {
            Self::Local(_) | Self::Aeron(_) => PathCounts::default(),
            Self::Paths(source) => source.path_counts(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carrier_is_named_as_it_was_given() {
        let local = Carrier::parse("local").unwrap();
        assert_eq!((local.to_string().as_str(), local.is_local()), ("local", true));
        assert!(!local.is_network());
        let text = "udp://239.1.1.1:4000";
        assert!(Carrier::parse(text).unwrap_err().to_string().contains(text));
    }

    #[cfg(feature = "aeron")]
    #[test]
    fn channels_of_aeron_are_carriers() {
        for (text, is_network) in [("aeron:ipc", false), ("aeron:udp?control=h:4000", true)] {
            let carrier = Carrier::parse(text).unwrap();
            assert_eq!((carrier.is_network(), carrier.is_local()), (is_network, false));
            assert_eq!(carrier.to_string(), text);
        }
    }

    #[cfg(not(feature = "aeron"))]
    #[test]
    fn without_aeron_it_is_said_how_to_have_it() {
        let problem = Carrier::parse("aeron:ipc").unwrap_err().to_string();
        assert!(
            problem.contains("'aeron:ipc'") && problem.contains("feature `aeron`"),
            "{problem}"
        );
    }
}
