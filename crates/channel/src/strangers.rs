//! Accepted connections that the program has not admitted yet: how many there
//! are of each network, and who leaves first when there are too many.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use tapeline_time::Time;

use crate::SessionId;

/// A connection and since when it is there.
pub(crate) type Stranger = (Time, SessionId);

/// The strangers of one listener.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    /// Oldest first.
    by_network: BTreeMap<IpAddr, BTreeSet<Stranger>>,
    /// Each network by its number of strangers and its oldest: the one with
    /// most is the last, of several the one with the oldest.
    crowds: BTreeSet<(usize, Reverse<Stranger>)>,
    count: usize,
}

/// The addresses that count as one: a host has a network of IPv6 for itself.
pub(crate) fn network(peer: SocketAddr) -> IpAddr {
    match peer.ip().to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

impl Strangers {
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn of(&self, network: IpAddr) -> usize {
        self.by_network.get(&network).map_or(0, BTreeSet::len)
    }

    pub(crate) fn oldest_of(&self, network: IpAddr) -> Option<Stranger> {
        self.by_network.get(&network)?.first().copied()
    }

    /// The oldest of the network that has most.
    pub(crate) fn oldest_of_most(&self) -> Option<Stranger> {
        self.crowds.last().map(|(_, Reverse(oldest))| *oldest)
    }

    pub(crate) fn enter(&mut self, network: IpAddr, stranger: Stranger) {
        self.change(network, |members| members.insert(stranger));
    }

    pub(crate) fn leave(&mut self, network: IpAddr, stranger: Stranger) {
        self.change(network, |members| members.remove(&stranger));
    }

    fn change(&mut self, network: IpAddr, change: impl FnOnce(&mut BTreeSet<Stranger>) -> bool) {
        let members = self.by_network.entry(network).or_default();
        if let Some(oldest) = members.first() {
            self.crowds.remove(&(members.len(), Reverse(*oldest)));
        }
        self.count -= members.len();
        let _ = change(members);
        self.count += members.len();
        match members.first() {
            Some(oldest) => {
                self.crowds.insert((members.len(), Reverse(*oldest)));
            }
            None => {
                self.by_network.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn stranger(number: u32) -> Stranger {
        (Time::from_nanos(number as u64), SessionId { index: number, generation: 0 })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_oldest_of_the_network_with_most_goes_first() {
        let (many, few) = (address("10.0.0.1"), address("10.0.0.2"));
        let mut strangers = Strangers::default();
        assert_eq!(strangers.oldest_of_most(), None);
        strangers.enter(few, stranger(1));
        for number in 2..=4 {
            strangers.enter(many, stranger(number));
        }
        assert_eq!((strangers.len(), strangers.of(many), strangers.of(few)), (4, 3, 1));
        assert_eq!(strangers.oldest_of_most(), Some(stranger(2)));
        assert_eq!(strangers.oldest_of(few), Some(stranger(1)));
        strangers.leave(many, stranger(2));
        assert_eq!(strangers.oldest_of_most(), Some(stranger(3)));
        strangers.leave(many, stranger(3));
        assert_eq!(strangers.oldest_of_most(), Some(stranger(1)), "as many: the oldest of all");
        strangers.leave(few, stranger(1));
        strangers.leave(many, stranger(4));
        assert_eq!((strangers.len(), strangers.oldest_of_most()), (0, None));
        assert!(strangers.by_network.is_empty() && strangers.crowds.is_empty());
    }

    #[test]
    fn who_is_not_there_leaves_without_a_trace() {
        let mut strangers = Strangers::default();
        strangers.leave(address("10.0.0.1"), stranger(1));
        assert!(strangers.by_network.is_empty() && strangers.crowds.is_empty());
        strangers.enter(address("10.0.0.1"), stranger(1));
        strangers.leave(address("10.0.0.1"), stranger(2));
        assert_eq!((strangers.len(), strangers.crowds.len()), (1, 1));
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let of = |text: &str| network(SocketAddr::new(address(text), 1));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.2"), of("10.0.0.1"));
    }
}
