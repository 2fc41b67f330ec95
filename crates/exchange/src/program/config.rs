//! The configuration of an exchange and of its feed handler, one file for both.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tapeline_exchange::{ExchangeConfig, ExchangeError, JournalSettings, Line, VenueConfig};
use tapeline_sequence::JournalConfig;

use super::cme::CmeSection;
use super::day::DaySection;
use super::distributions::DistributionSection;
use super::gateways::GatewaySection;
use super::instruments::{self, InstrumentSection};
use super::nasdaq::NasdaqSection;
use super::replicas::ReplicaSection;
use super::users::{Firm, Reader, User};

/// What an exchange is without a file: open all day to everybody on this host, with
/// market data to two ports of it.
const DEFAULT: &str = include_str!("default.toml");

const NOTHING_TRADED: &str = "nothing is traded; give an [[instrument]] with id and name";

/// The file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Config {
    #[serde(default)]
    pub(crate) gateway: Gateway,
    #[serde(default)]
    pub(crate) market_data: MarketData,
    #[serde(default)]
    pub(crate) day: DaySection,
    #[serde(default)]
    pub(crate) limits: Limits,
    #[serde(default)]
    pub(crate) journal: JournalSection,
    #[serde(default)]
    pub(crate) replicas: ReplicaSection,
    #[serde(default)]
    pub(crate) gateways: GatewaySection,
    #[serde(default)]
    pub(crate) distribution: DistributionSection,
    #[serde(default)]
    pub(crate) feed: Feed,
    /// With one of these the file may be for the feed handler of Nasdaq, or CME Group, alone.
    pub(crate) nasdaq: Option<NasdaqSection>,
    pub(crate) cme: Option<CmeSection>,
    #[serde(default)]
    pub(crate) admin: Admin,
    #[serde(default, rename = "instrument")]
    pub(crate) instruments: Vec<InstrumentSection>,
    #[serde(default, rename = "user")]
    pub(crate) users: Vec<User>,
    #[serde(default, rename = "reader")]
    pub(crate) readers: Vec<Reader>,
    #[serde(default, rename = "firm")]
    pub(crate) firms: Vec<Firm>,
}

/// The native gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Gateway {
    /// Where clients and readers are listened to.
    pub(crate) listen: IpAddr,
    pub(crate) orders_port: u16,
    pub(crate) recovery_port: u16,
    pub(crate) fix_port: u16,
    pub(crate) post_trade_port: u16,
    pub(crate) heartbeat_ms: u64,
    pub(crate) silent_intervals: u32,
    pub(crate) throttle_per_s: u32,
    pub(crate) throttle_seconds: u32,
    pub(crate) busy_poll_us: u64,
}

impl Gateway {
    /// So long behind something that came it polls instead of waiting.
    pub(crate) const fn busy_poll(&self) -> Duration {
        Duration::from_micros(self.busy_poll_us)
    }
}

/// Market data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct MarketData {
    /// A group or a receiver, with a port.
    pub(crate) line_a: Option<SocketAddrV4>,
    pub(crate) line_b: Option<SocketAddrV4>,
    pub(crate) interface: Ipv4Addr,
    pub(crate) ttl: u32,
    pub(crate) replay_port: u16,
    pub(crate) snapshot_port: u16,
    pub(crate) group: char,
    pub(crate) heartbeat_ms: u64,
}

/// Bounds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Limits {
    pub(crate) max_orders: u32,
    pub(crate) max_users: usize,
    pub(crate) max_sessions: usize,
    pub(crate) order_cache_messages: usize,
    pub(crate) fix_messages: usize,
    /// Sides of trades.
    pub(crate) trades: usize,
    pub(crate) max_output_bytes: usize,
    /// Of a reader, while it waits for what it missed.
    pub(crate) max_buffered: usize,
    /// Commands of a gateway before the next one's turn.
    pub(crate) burst: usize,
}

/// The journal.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct JournalSection {
    /// Its folder; without one there is no journal.
    pub(crate) dir: Option<PathBuf>,
    pub(crate) segment_bytes: u64,
    pub(crate) max_segments: usize,
    /// A start behind so many entries keeps the state that they led to.
    pub(crate) snapshot_entries: u64,
}

/// The feed handler.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Feed {
    /// Hubs, the next one tried when one fails.
    pub(crate) hub: Vec<String>,
    pub(crate) service: String,
    pub(crate) service_id: u16,
    /// The host of replay and snapshot.
    pub(crate) exchange: String,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) segment: String,
}

/// The admin port.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Admin {
    /// At 127.0.0.1; without one there is none.
    pub(crate) port: Option<u16>,
}

impl Default for Gateway {
    fn default() -> Self {
        let limits = tapeline_ntg::Limits::default();
        Self {
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            orders_port: 14_300,
            recovery_port: 14_301,
            fix_port: 14_304,
            post_trade_port: 14_305,
            heartbeat_ms: limits.heartbeat.as_millis() as u64,
            silent_intervals: limits.silent_intervals,
            throttle_per_s: limits.throttle_per_s,
            throttle_seconds: limits.throttle_seconds,
            busy_poll_us: 0,
        }
    }
}

impl Default for MarketData {
    fn default() -> Self {
        let here = |port| Some(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
        Self {
            line_a: here(14_310),
            line_b: here(14_311),
            interface: Ipv4Addr::UNSPECIFIED,
            ttl: 1,
            replay_port: 14_302,
            snapshot_port: 14_303,
            group: 'A',
            heartbeat_ms: 1_000,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let exchange = ExchangeConfig::default();
        Self {
            max_orders: exchange.engine.max_orders,
            max_users: exchange.max_users,
            max_sessions: exchange.max_sessions,
            order_cache_messages: exchange.order_cache_messages,
            fix_messages: exchange.fix_messages,
            trades: exchange.trades,
            max_output_bytes: exchange.max_output_bytes,
            max_buffered: 100_000,
            burst: exchange.sequencer.burst,
        }
    }
}

impl Default for JournalSection {
    fn default() -> Self {
        let JournalConfig { segment_bytes, max_segments } = JournalConfig::default();
        Self { dir: None, segment_bytes, max_segments, snapshot_entries: 10_000 }
    }
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            hub: vec!["127.0.0.1:14003".to_owned()],
            service: "EXCHANGE".to_owned(),
            service_id: 1,
            exchange: "127.0.0.1".to_owned(),
            user: "FEED".to_owned(),
            password: "FEED".to_owned(),
            segment: instruments::sets(),
        }
    }
}

impl Config {
    /// The file, or the default market without one.
    pub(crate) fn read(path: Option<&Path>) -> Result<Self, ExchangeError> {
        let Some(path) = path else { return Self::parse("the default market", DEFAULT) };
        let file = path.display().to_string();
        let read = fs::read_to_string(path);
        let text = read.map_err(|error| ExchangeError::Io { file: file.clone(), error })?;
        Self::parse(&file, &text)
    }

    fn parse(file: &str, text: &str) -> Result<Self, ExchangeError> {
        let fault = |what: String| ExchangeError::Config(format!("{file}: {}", what.trim_end()));
        let config: Self = toml::from_str(text).map_err(|error| fault(error.to_string()))?;
        let is_read_alone = config.nasdaq.is_some() || config.cme.is_some();
        if config.instruments.is_empty() && !is_read_alone {
            return Err(fault(NOTHING_TRADED.into()));
        }
        for (at, instrument) in config.instruments.iter().enumerate() {
            if config.instruments[..at].iter().any(|other| other.id == instrument.id) {
                return Err(fault(format!("two instruments have the id {}", instrument.id)));
            }
        }
        let replicas = config.replicas.members.get_ref().len();
        let of_users = config.users.iter().find_map(User::fault);
        let of_users = of_users.or_else(|| Firm::fault(&config.firms));
        let of_parts = || {
            let own = config.replicas.fault();
            let own = own.or_else(|| config.gateways.fault(replicas));
            own.or_else(|| config.distribution.fault(replicas))
        };
        let own = of_users.or_else(of_parts);
        let of_nasdaq = || config.nasdaq.as_ref().and_then(NasdaqSection::fault);
        let of_cme = || config.cme.as_ref().and_then(CmeSection::fault);
        let of_day = || config.day.fault();
        if let Some((at, what)) = own.or_else(of_day).or_else(of_nasdaq).or_else(of_cme) {
            let line = text[..at].lines().count().max(1);
            return Err(fault(format!("line {line}: {what}")));
        }
        Ok(config)
    }

    /// The lines of market data.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let MarketData { line_a, line_b, interface, ttl, .. } = self.market_data;
        let line = |to| Line { to, interface, ttl };
        [line_a, line_b].into_iter().flatten().map(line).collect()
    }

    /// The exchange.
    pub(crate) fn venue(&self, epoch_ns: u64) -> Result<VenueConfig, ExchangeError> {
        if self.instruments.is_empty() {
            return Err(ExchangeError::Config(NOTHING_TRADED.to_owned()));
        }
        let Self { gateway, market_data, limits, .. } = self;
        let instruments = self.instruments.iter().map(InstrumentSection::instrument);
        let max_orders = limits.max_orders;
        let engine = tapeline_matching::Config { max_orders, ..self.day.engine() };
        let exchange = ExchangeConfig {
            instruments: instruments.collect::<Result<_, _>>()?,
            users: self.users.iter().map(User::config).collect(),
            readers: self.readers.iter().map(Reader::config).collect(),
            firms: self.firms.iter().map(Firm::config).collect(),
            engine,
            limits: tapeline_ntg::Limits {
                heartbeat: Duration::from_millis(gateway.heartbeat_ms),
                silent_intervals: gateway.silent_intervals,
                throttle_per_s: gateway.throttle_per_s,
                throttle_seconds: gateway.throttle_seconds,
            },
            fix: tapeline_fix::Limits {
                throttle_per_s: gateway.throttle_per_s,
                throttle_seconds: gateway.throttle_seconds,
                ..tapeline_fix::Limits::default()
            },
            group: self.group(),
            plan: self.day.plan()?,
            utc_offset_s: self.day.utc_offset_s,
            seed: self.day.seed,
            sequencer: tapeline_sequence::Limits {
                burst: limits.burst,
                ..tapeline_sequence::Limits::default()
            },
            quiet: Duration::from_millis(market_data.heartbeat_ms),
            max_users: limits.max_users,
            max_sessions: limits.max_sessions,
            order_cache_messages: limits.order_cache_messages,
            fix_messages: limits.fix_messages,
            trades: limits.trades,
            max_output_bytes: limits.max_output_bytes,
            gateways: None,
            distribution: None,
        };
        let ports = [
            gateway.orders_port,
            gateway.recovery_port,
            market_data.replay_port,
            market_data.snapshot_port,
            gateway.fix_port,
            gateway.post_trade_port,
            0,
            0,
        ];
        Ok(VenueConfig {
            exchange,
            host: gateway.listen,
            ports,
            lines: self.lines(),
            epoch_ns,
            journal: self.journal.dir.as_deref().map(|dir| self.journal_in(dir)),
            replicas: None,
            gateways: None,
            busy_poll: gateway.busy_poll(),
            distribution: None,
        })
    }

    /// The journal in a folder.
    pub(crate) fn journal_in(&self, dir: &Path) -> JournalSettings {
        let JournalSection { segment_bytes, max_segments, snapshot_entries, .. } = self.journal;
        let config = JournalConfig { segment_bytes, max_segments };
        JournalSettings { dir: dir.to_owned(), config, snapshot_entries }
    }

    /// The market data group.
    pub(crate) fn group(&self) -> u8 {
        u8::try_from(self.market_data.group).unwrap_or(b'A')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_market_is_one_that_can_be() {
        let config = Config::read(None).expect("good");
        let venue = config.venue(0).expect("good");
        assert_eq!(venue.exchange.instruments.len(), 3);
        assert_eq!((venue.lines.len(), venue.ports[0]), (2, 14_300));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, what) in [
            ("[gateway]\nport = 1\n", "unknown field `port`"),
            ("", "nothing is traded"),
            (
                "[[instrument]]\nid = 1\nname = \"A\"\n[[instrument]]\nid = 1\nname = \"B\"\n",
                "two instruments",
            ),
            ("[day]\nsessions = \"never\"\n", "line 2"),
            (
                "[[instrument]]\nid = 1\nname = \"A\"\n[[firm]]\nnumber = 1\nname = \"BANK OF LONDON\"\n",
                "line 6: \"BANK OF LONDON\" is no name",
            ),
            (
                "[[instrument]]\nid = 1\nname = \"A\"\n[[firm]]\nnumber = 1\nname = \"A\"\n[[firm]]\nnumber = 1\nname = \"B\"\n",
                "line 8: two firms have the number 1",
            ),
        ] {
            let error = Config::parse("x.toml", text).expect_err("wrong").to_string();
            assert!(error.starts_with("x.toml: ") && error.contains(what), "{error}");
        }
        let text = "[[instrument]]\nid = 1\nname = \"A\"\nmifid-column = 9\n";
        let config = Config::parse("x.toml", text).expect("it can be read");
        assert!(config.venue(0).expect_err("wrong").to_string().contains("give 1 to 6"));
    }

    #[test]
    fn who_settles_gets_no_copies() {
        let user = "[[user]]\nname = \"OPS\"\npassword = \"x\"\nfirm = 9\n";
        let text = format!("{DEFAULT}\n{user}settles = [1]\n");
        let config = Config::parse("x.toml", &text).expect("good").venue(0).expect("good");
        assert_eq!(config.exchange.users[0].settles, [1]);
        let text = format!("{DEFAULT}\n{user}copies = [1]\nsettles = [1]\n");
        let line = text.lines().count();
        let error = Config::parse("x.toml", &text).map(|_| ()).expect_err("both").to_string();
        let wanted = format!("x.toml: line {line}: OPS has copies and settles");
        assert!(error.starts_with(&wanted), "{error}");
    }

    #[test]
    fn who_answers_for_firms_names_them() {
        let user = "[[user]]\nname = \"OPS\"\npassword = \"x\"\nfirm = 9\nstop-after-s = 30\n";
        let text = format!("{DEFAULT}\n{user}copies = [1]\n");
        let config = Config::parse("x.toml", &text).expect("good").venue(0).expect("good");
        assert_eq!(config.exchange.users[0].stop_after, Some(Duration::from_secs(30)));
        let text = format!("{DEFAULT}\n{user}");
        let line = text.lines().count();
        let error = Config::parse("x.toml", &text).map(|_| ()).expect_err("no firms").to_string();
        let wanted = format!("x.toml: line {line}: OPS has stop-after-s and no copies");
        assert!(error.starts_with(&wanted), "{error}");
    }

    #[test]
    fn what_replicas_cannot_be_is_told_with_its_line() {
        let text = format!("{DEFAULT}\n[replicas]\nheartbeat-ms = 50\nelection-ms = 80\n");
        let line = text.lines().position(|line| line == "election-ms = 80").expect("it is there");
        let error = Config::parse("market.toml", &text).map(|_| ()).expect_err("too short");
        let wanted = format!("market.toml: line {}: [replicas] has election-ms = 80", line + 1);
        assert!(error.to_string().starts_with(&wanted), "{error}");
        let text = format!("{DEFAULT}\n[gateways]\nsilence-ms = 5\n");
        let line = text.lines().count();
        let error = Config::parse("market.toml", &text).map(|_| ()).expect_err("too short");
        let wanted = format!("market.toml: line {line}: [gateways] has silence-ms = 5");
        assert!(error.to_string().starts_with(&wanted), "{error}");
    }
}
