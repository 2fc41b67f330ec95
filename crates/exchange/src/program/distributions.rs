//! The configuration of distributions in processes of their own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::Deserialize;
use tapeline_exchange::{
    DistributionTerms, DistributorConfig, DistributorVenueConfig, ExchangeConfig, ExchangeError,
    Line,
};
use toml::Spanned;

/// Distributions in processes of their own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct DistributionSection {
    /// Where the market, or each of its replicas, listens to distributions; with none, the
    /// market's process publishes.
    pub(crate) markets: Spanned<Vec<SocketAddr>>,
    /// A link on which nothing comes for so long is broken.
    pub(crate) silence_ms: Spanned<u64>,
    /// A market that begins waits so long for who published before.
    pub(crate) grace_ms: u64,
    /// Entries that the market keeps in memory, for who is a little behind.
    pub(crate) kept_bytes: usize,
    /// The distributions.
    pub(crate) apart: Vec<ApartSection>,
}

/// One distribution.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ApartSection {
    pub(crate) number: Spanned<u16>,
    /// Where readers are listened to.
    #[serde(default = "here")]
    pub(crate) listen: IpAddr,
    pub(crate) replay_port: u16,
    pub(crate) snapshot_port: u16,
    /// The address of its interface for multicast; without it, that of `[market-data]`.
    pub(crate) interface: Option<Ipv4Addr>,
}

const fn here() -> IpAddr {
    IpAddr::V4(Ipv4Addr::LOCALHOST)
}

impl Default for DistributionSection {
    fn default() -> Self {
        Self {
            markets: Spanned::new(0..0, Vec::new()),
            silence_ms: Spanned::new(0..0, 1_000),
            grace_ms: 250,
            kept_bytes: 16 << 20,
            apart: Vec::new(),
        }
    }
}

impl DistributionSection {
    /// What is wrong with it, and where in the file, in bytes from its start. A market
    /// with so many replicas has as many addresses.
    pub(super) fn fault(&self, replicas: usize) -> Option<(usize, String)> {
        let (markets, processes) = (self.markets.get_ref().len(), replicas.max(1));
        for (at, apart) in self.apart.iter().enumerate() {
            let (number, place) = (*apart.number.get_ref(), apart.number.span().start);
            if number == 0 {
                let what = format!("a distribution has number = 0; give 1 to {}", u16::MAX);
                return Some((place, what));
            }
            if self.apart[..at].iter().any(|other| *other.number.get_ref() == number) {
                return Some((place, format!("two distributions have number = {number}")));
            }
            if markets == 0 {
                let what = format!(
                    "distribution {number} has no market; give [distribution] markets, where it \
                     listens"
                );
                return Some((place, what));
            }
        }
        if markets > 0 && markets != processes {
            let what = format!(
                "[distribution] has {markets} markets, and {processes} processes are the market; \
                 give one address for each"
            );
            return Some((self.markets.span().start, what));
        }
        let silence = *self.silence_ms.get_ref();
        (silence < 100).then(|| {
            let what = format!("[distribution] has silence-ms = {silence}; give at least 100");
            (self.silence_ms.span().start, what)
        })
    }

    fn silence(&self) -> Duration {
        Duration::from_millis(*self.silence_ms.get_ref())
    }

    /// What the market has agreed on with its distributions. `history`: another one for
    /// each start that forgets what was before.
    pub(super) fn terms(&self, history: u64) -> Option<DistributionTerms> {
        let numbers = self.apart.iter().map(|apart| *apart.number.get_ref()).collect();
        (!self.markets.get_ref().is_empty()).then(|| DistributionTerms {
            numbers,
            silence: self.silence(),
            grace: Duration::from_millis(self.grace_ms),
            history,
            tail_bytes: self.kept_bytes,
        })
    }

    /// Where this process of the market listens to distributions.
    pub(super) fn market(&self, replica: Option<u8>) -> Option<SocketAddr> {
        let place = usize::from(replica.unwrap_or(1).saturating_sub(1));
        self.markets.get_ref().get(place).copied()
    }

    /// One of the distributions, by its number, with the market's lines.
    pub(super) fn venue(
        &self,
        number: u16,
        market: &ExchangeConfig,
        mut lines: Vec<Line>,
        epoch_ns: u64,
    ) -> Result<DistributorVenueConfig, ExchangeError> {
        let of_number = |apart: &&ApartSection| *apart.number.get_ref() == number;
        let Some(apart) = self.apart.iter().find(of_number) else {
            let what = format!(
                "--number {number}: no distribution has it; give [[distribution.apart]] with \
                 number, replay-port and snapshot-port"
            );
            return Err(ExchangeError::Config(what));
        };
        for line in &mut lines {
            line.interface = apart.interface.unwrap_or(line.interface);
        }
        let mut distributor = DistributorConfig::of(market, number, epoch_ns);
        distributor.silence = self.silence();
        Ok(DistributorVenueConfig {
            distributor,
            host: apart.listen,
            ports: [apart.replay_port, apart.snapshot_port],
            lines,
            markets: self.markets.get_ref().clone(),
            busy_poll: Duration::ZERO,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str, replicas: usize) -> Option<String> {
        let section: DistributionSection = toml::from_str(text).expect("it can be read");
        section.fault(replicas).map(|(_, what)| what)
    }

    #[test]
    fn what_distributions_cannot_be_is_said() {
        let markets = "markets = [\"127.0.0.1:1\"]\n";
        let apart = "[[apart]]\nnumber = 1\nreplay-port = 2\nsnapshot-port = 3\n";
        assert_eq!(fault(&[markets, apart].concat(), 0), None);
        assert_eq!(fault("", 3), None);
        for (text, replicas, wanted) in [
            (apart.to_owned(), 0, "distribution 1 has no market"),
            ([markets, apart, apart].concat(), 0, "two distributions have number = 1"),
            ([markets, apart].concat(), 3, "1 markets, and 3 processes are the market"),
            ([markets, &apart.replace("= 1", "= 0")].concat(), 0, "give 1 to 65535"),
            (["silence-ms = 50\n", markets].concat(), 0, "give at least 100"),
        ] {
            let said = fault(&text, replicas).unwrap_or_default();
            assert!(said.contains(wanted), "{said}");
        }
    }

    #[test]
    fn a_distribution_has_the_lines_of_the_market_and_an_interface_of_its_own() {
        let text = "markets = [\"127.0.0.1:1\"]\n[[apart]]\nnumber = 4\nreplay-port = 2\n\
                    snapshot-port = 3\ninterface = \"10.0.0.4\"\n";
        let section: DistributionSection = toml::from_str(text).expect("it can be read");
        let to = "239.255.90.1:5".parse().expect("an address");
        let line = Line { to, interface: Ipv4Addr::UNSPECIFIED, ttl: 1 };
        let venue = section.venue(4, &ExchangeConfig::default(), vec![line], 0).expect("there");
        assert_eq!(venue.lines, [Line { interface: Ipv4Addr::new(10, 0, 0, 4), ..line }]);
        let error = section.venue(5, &ExchangeConfig::default(), Vec::new(), 0).expect_err("none");
        assert!(error.to_string().starts_with("--number 5: no distribution has it"), "{error}");
    }
}
