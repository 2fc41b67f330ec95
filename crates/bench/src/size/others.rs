//! Consumers that want something else than the message as it is.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, ConsumerHandler, ItemSpec, Login, Protocol, Requests,
    Server,
};
use tapeline_omm::view::View;

use crate::BenchError;
use crate::source::{SERVICE, item_name};

/// What they want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// JSON, over WebSocket.
    Json,
    /// Three fields of the nine, over RSSL.
    View,
}

/// Fields of the view.
const FIELDS: [i16; 3] = [6, 22, 25];

/// Consumers with a loop each, as applications are.
#[derive(Default)]
pub(super) struct Others {
    all: Vec<Consumer>,
    heard: Heard,
    wanted: u64,
}

#[derive(Default)]
struct Heard {
    images: u64,
    updates: u64,
}

impl ConsumerHandler for Heard {
    fn event(&mut self, event: ConsumerEvent<'_>, _: &mut Requests<'_>) {
        match event {
            ConsumerEvent::Refresh { .. } => self.images += 1,
            ConsumerEvent::Update { .. } => self.updates += 1,
            _ => {}
        }
    }
}

impl Others {
    /// One more, which opens the first `items`.
    pub(super) fn add(
        &mut self,
        want: Want,
        address: SocketAddr,
        items: usize,
    ) -> Result<(), BenchError> {
        let server = Server::new(address.ip().to_string(), address.port());
        let login = Login::new(format!("other-{}", self.all.len()));
        let mut config = ConsumerConfig::new([server], login);
        config.obey_open_window = false;
        if want == Want::Json {
            config.protocol = Protocol::Json;
        }
        let mut consumer = Consumer::new(config)?;
        for item in 0..items {
            let name = item_name(item);
            let mut spec = ItemSpec::new(SERVICE, &name);
            if want == Want::View {
                spec.view = Some(View::of_fields(FIELDS));
            }
            consumer.open(&spec)?;
        }
        self.wanted += items as u64;
        self.all.push(consumer);
        Ok(())
    }

    pub(super) fn poll(&mut self) {
        for consumer in &mut self.all {
            consumer.poll(Some(Duration::ZERO), &mut self.heard);
        }
    }

    pub(super) fn are_ready(&self) -> bool {
        self.heard.images >= self.wanted
    }

    pub(super) fn updates(&self) -> u64 {
        self.heard.updates
    }

    pub(super) fn count(&self) -> u64 {
        self.all.len() as u64
    }
}
