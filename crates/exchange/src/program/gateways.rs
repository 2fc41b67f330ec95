//! The configuration of gateways in processes of their own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::Deserialize;
use tapeline_exchange::{
    ExchangeConfig, ExchangeError, GatewayConfig, GatewayTerms, GatewayVenueConfig,
};
use toml::Spanned;

/// Gateways in processes of their own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct GatewaySection {
    /// Where the market, or each of its replicas, listens to gateways; with none, there
    /// are no gateways but that of the market's process.
    pub(crate) markets: Spanned<Vec<SocketAddr>>,
    /// Without a leader for so long, a gateway refuses requests.
    pub(crate) failover_ms: u64,
    /// A link on which nothing comes for so long is broken.
    pub(crate) silence_ms: Spanned<u64>,
    /// Sessions at a gateway without a link are over after so long.
    pub(crate) grace_ms: u64,
    /// Requests of a gateway that are not decided; more are refused.
    pub(crate) max_undecided: usize,
    /// The gateways.
    pub(crate) apart: Vec<ApartSection>,
}

/// One gateway.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ApartSection {
    pub(crate) number: Spanned<u16>,
    /// Where clients are listened to.
    #[serde(default = "here")]
    pub(crate) listen: IpAddr,
    pub(crate) orders_port: u16,
    pub(crate) recovery_port: u16,
    /// Orders by FIX; without it, the gateway does not speak FIX.
    pub(crate) fix_port: Option<u16>,
}

const fn here() -> IpAddr {
    IpAddr::V4(Ipv4Addr::LOCALHOST)
}

/// The streams of a sequencer have numbers of 16 bits, and two are not of such gateways.
const MOST: u16 = u16::MAX - 1;

impl Default for GatewaySection {
    fn default() -> Self {
        Self {
            markets: Spanned::new(0..0, Vec::new()),
            failover_ms: 1_000,
            silence_ms: Spanned::new(0..0, 2_000),
            grace_ms: 3_000,
            max_undecided: 10_000,
            apart: Vec::new(),
        }
    }
}

impl GatewaySection {
    /// What is wrong with it, and where in the file, in bytes from its start. A market
    /// with so many replicas has as many addresses.
    pub(super) fn fault(&self, replicas: usize) -> Option<(usize, String)> {
        let (markets, processes) = (self.markets.get_ref().len(), replicas.max(1));
        for (at, apart) in self.apart.iter().enumerate() {
            let (number, place) = (*apart.number.get_ref(), apart.number.span().start);
            if number == 0 || number > MOST {
                let what = format!("a gateway has number = {number}; give 1 to {MOST}");
                return Some((place, what));
            }
            if self.apart[..at].iter().any(|other| *other.number.get_ref() == number) {
                return Some((place, format!("two gateways have number = {number}")));
            }
            if markets == 0 {
                let what = format!(
                    "gateway {number} has no market; give [gateways] markets, where it listens"
                );
                return Some((place, what));
            }
        }
        if markets > 0 && markets != processes {
            let what = format!(
                "[gateways] has {markets} markets, and {processes} processes are the market; give \
                 one address for each"
            );
            return Some((self.markets.span().start, what));
        }
        let silence = *self.silence_ms.get_ref();
        (silence < 100).then(|| {
            let what = format!("[gateways] has silence-ms = {silence}; give at least 100");
            (self.silence_ms.span().start, what)
        })
    }

    /// What the market has agreed on with its gateways. `history`: another one for each
    /// start that forgets what was before.
    pub(super) fn terms(&self, history: u64) -> Option<GatewayTerms> {
        let numbers = self.apart.iter().map(|apart| *apart.number.get_ref()).collect();
        (!self.markets.get_ref().is_empty()).then(|| GatewayTerms {
            numbers,
            silence: Duration::from_millis(*self.silence_ms.get_ref()),
            grace: Duration::from_millis(self.grace_ms),
            history,
        })
    }

    /// Where this process of the market listens to gateways.
    pub(super) fn market(&self, replica: Option<u8>) -> Option<SocketAddr> {
        let place = usize::from(replica.unwrap_or(1).saturating_sub(1));
        self.markets.get_ref().get(place).copied()
    }

    /// One of the gateways, by its number.
    pub(super) fn venue(
        &self,
        number: u16,
        market: &ExchangeConfig,
        epoch_ns: u64,
    ) -> Result<GatewayVenueConfig, ExchangeError> {
        let of_number = |apart: &&ApartSection| *apart.number.get_ref() == number;
        let Some(apart) = self.apart.iter().find(of_number) else {
            let what = format!(
                "--number {number}: no gateway has it; give [[gateways.apart]] with number, \
                 orders-port and recovery-port"
            );
            return Err(ExchangeError::Config(what));
        };
        let mut gateway = GatewayConfig::of(market, number, epoch_ns);
        gateway.max_undecided = self.max_undecided;
        gateway.failover = Duration::from_millis(self.failover_ms);
        gateway.silence = Duration::from_millis(*self.silence_ms.get_ref());
        Ok(GatewayVenueConfig {
            gateway,
            host: apart.listen,
            ports: [apart.orders_port, apart.recovery_port],
            fix_port: apart.fix_port,
            markets: self.markets.get_ref().clone(),
            busy_poll: Duration::ZERO,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str, replicas: usize) -> Option<String> {
        let section: GatewaySection = toml::from_str(text).expect("it can be read");
        section.fault(replicas).map(|(_, what)| what)
    }

    #[test]
    fn what_gateways_cannot_be_is_said() {
        let markets = "markets = [\"127.0.0.1:1\"]\n";
        let apart = "[[apart]]\nnumber = 1\norders-port = 2\nrecovery-port = 3\n";
        assert_eq!(fault(&[markets, apart].concat(), 0), None);
        assert_eq!(fault(&[markets, apart, "fix-port = 4\n"].concat(), 0), None);
        assert_eq!(fault("", 3), None);
        for (text, replicas, wanted) in [
            (apart.to_owned(), 0, "gateway 1 has no market"),
            ([markets, apart, apart].concat(), 0, "two gateways have number = 1"),
            ([markets, apart].concat(), 3, "1 markets, and 3 processes are the market"),
            ([markets, &apart.replace("= 1", "= 0")].concat(), 0, "give 1 to 65534"),
            (["silence-ms = 50\n", markets].concat(), 0, "give at least 100"),
        ] {
            let said = fault(&text, replicas).unwrap_or_default();
            assert!(said.contains(wanted), "{said}");
        }
    }
}
