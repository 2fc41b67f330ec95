//! A consumer of all items, and what it hears of them.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, Handle, ItemSpec, Login, Protocol, Requests, Server,
};
use tapeline_rwf::DataState;

use super::name;

/// What a consumer hears, items by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// An image with this number.
    Image {
        /// The item.
        item: usize,
        /// The number of the update that it includes last; 0 if it says none.
        number: u32,
        /// Whether its data state is OK.
        is_ok: bool,
    },
    /// An update with this number.
    Update {
        /// The item.
        item: usize,
        /// Its number; of several that were merged, the last one's.
        number: u32,
        /// Whether it is several that were merged,
        is_merged: bool,
        /// and how many it says to be.
        count: u64,
    },
    /// A state without an image.
    State {
        /// The item.
        item: usize,
        /// Whether the data state is OK; `None` if it stays.
        is_ok: Option<bool>,
        /// Whether the stream ended with it.
        is_final: bool,
    },
    /// The connection is lost.
    Down,
}

impl Heard {
    /// `None` for what does not matter here.
    fn of(event: &ConsumerEvent<'_>, items: &HashMap<Handle, usize>) -> Option<Self> {
        match event {
            ConsumerEvent::Refresh { handle, msg } => Some(Self::Image {
                item: items[handle],
                number: msg.seq_num.unwrap_or(0),
                is_ok: msg.state.data == DataState::OK,
            }),
            ConsumerEvent::Update { handle, msg } => Some(Self::Update {
                item: items[handle],
                number: msg.seq_num.unwrap_or(0),
                is_merged: msg.conflation.is_some(),
                count: msg.conflation.map_or(1, |info| u64::from(info.count.max(1))),
            }),
            ConsumerEvent::Status { handle, msg } => {
                let (state, item) = (msg.state.as_ref()?, *items.get(handle)?);
                let is_ok =
                    (state.data != DataState::NO_CHANGE).then(|| state.data == DataState::OK);
                let is_final = tapeline_omm::state::is_final(state.stream);
                Some(Self::State { item, is_ok, is_final })
            }
            ConsumerEvent::Down { .. } => Some(Self::Down),
            _ => None,
        }
    }
}

/// Servers by their addresses.
pub fn named(servers: &[SocketAddr]) -> Vec<Server> {
    servers.iter().map(|at| Server::new(at.ip().to_string(), at.port())).collect()
}

/// A consumer that has all items open.
#[derive(Debug)]
pub struct Listener {
    consumer: Consumer,
    items: HashMap<Handle, usize>,
}

impl Listener {
    /// One of so many items of a service, which connects to these servers in
    /// turn.
    pub fn open(service: &str, protocol: Protocol, servers: &[SocketAddr], items: usize) -> Self {
        let config = ConsumerConfig::new(named(servers), Login::new("tester"));
        Self::with(ConsumerConfig { protocol, ..config }, service, items)
    }

    /// One that connects as its configuration says.
    pub fn with(config: ConsumerConfig, service: &str, items: usize) -> Self {
        let mut consumer = Consumer::new(config).expect("a reactor");
        let mut open = |item| {
            let name = name(item);
            let spec = ItemSpec { conflation_info: true, ..ItemSpec::new(service, &name) };
            (consumer.open(&spec).expect("room"), item)
        };
        let items = (0..items).map(&mut open).collect();
        Self { consumer, items }
    }

    /// Waits for something, not for long, and says what there was.
    pub fn poll(&mut self, hear: &mut impl FnMut(Heard)) {
        let Self { consumer, items } = self;
        consumer.poll(
            Some(Duration::from_millis(5)),
            &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
                if let Some(heard) = Heard::of(&event, items) {
                    hear(heard);
                }
            },
        );
    }
}
