//! Aeron's channels: where a side hears, and where the other one speaks to it.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Where a side hears: shared memory, or an address of the network that may be
/// left to the side itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Channel(String);

const UDP: &str = "aeron:udp";
const ENDPOINT: &str = "endpoint=";

impl Channel {
    pub(crate) const IPC: &'static str = "aeron:ipc";

    pub(crate) fn is_ipc(&self) -> bool {
        self.0 == Self::IPC
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    fn parameters(&self) -> impl Iterator<Item = &str> {
        let all = self.0.strip_prefix(UDP).and_then(|rest| rest.strip_prefix('?'));
        all.unwrap_or_default().split('|').filter(|one| !one.is_empty())
    }

    /// The same with an endpoint if none was named: a side's own address, at a
    /// port by the system.
    pub(crate) fn heard_at(&self, own: IpAddr) -> Self {
        match self.is_ipc() || self.parameters().any(|one| one.starts_with(ENDPOINT)) {
            true => self.clone(),
            false => self.with_endpoint(&std::net::SocketAddr::new(own, 0).to_string()),
        }
    }

    /// The same with another endpoint.
    pub(crate) fn with_endpoint(&self, endpoint: &str) -> Self {
        let others = self.parameters().filter(|one| !one.starts_with(ENDPOINT));
        let all: Vec<&str> = others.collect();
        let first = format!("{UDP}?{ENDPOINT}{endpoint}");
        Self([&[first.as_str()], &all[..]].concat().join("|"))
    }
}

impl Default for Channel {
    fn default() -> Self {
        Self(Self::IPC.to_owned())
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Channel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_udp =
            text.strip_prefix(UDP).is_some_and(|rest| rest.is_empty() || rest.starts_with('?'));
        match is_udp || text == Self::IPC {
            true => Ok(Self(text.to_owned())),
            false => {
                Err("give aeron:ipc, aeron:udp or aeron:udp?endpoint=HOST:PORT, with further \
                          parameters of Aeron's behind |"
                    .to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Channel {
        text.parse().unwrap()
    }

    #[test]
    fn a_side_hears_at_its_own_address_unless_it_was_told_where() {
        let own = "10.0.0.2".parse().unwrap();
        let heard = |text| read(text).heard_at(own).to_string();
        assert_eq!(heard("aeron:ipc"), "aeron:ipc");
        assert_eq!(heard("aeron:udp"), "aeron:udp?endpoint=10.0.0.2:0");
        assert_eq!(heard("aeron:udp?mtu=1408"), "aeron:udp?endpoint=10.0.0.2:0|mtu=1408");
        let group = "aeron:udp?interface=lo|endpoint=224.0.1.1:40456";
        assert_eq!(heard(group), group);
        let own = "::1".parse().unwrap();
        assert_eq!(read("aeron:udp").heard_at(own).to_string(), "aeron:udp?endpoint=[::1]:0");
    }

    #[test]
    fn an_endpoint_takes_the_place_of_another() {
        let of = read("aeron:udp?mtu=1408|endpoint=a:0").with_endpoint("10.0.0.2:4001");
        assert_eq!(of.as_str(), "aeron:udp?endpoint=10.0.0.2:4001|mtu=1408");
    }

    #[test]
    fn what_is_no_channel_is_told() {
        for text in ["", "udp", "aeron:udpx", "aeron:spy", "aeron:ipc?term-length=64k"] {
            let what = text.parse::<Channel>().unwrap_err();
            assert!(what.starts_with("give aeron:ipc, aeron:udp"), "{text}");
        }
        assert!(read("aeron:ipc").is_ipc() && !read("aeron:udp").is_ipc());
    }
}
