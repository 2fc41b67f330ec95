//! Publishes the updates of a plan.

use std::net::SocketAddr;

use tapeline_api::ApiError;
use tapeline_measure::clock::now_ns;

use crate::clients::Reading;
use crate::plan::Plan;
use crate::source::Source;
use crate::stamp::Stamp;
use crate::update::Update;

/// A source, and the update that it sends of one item after the other.
pub(crate) struct Publisher {
    pub(crate) source: Source,
    update: Update,
    reading: Reading,
    /// The items of updates, one after the other, again and again.
    order: Vec<u32>,
    next: usize,
    published: u64,
}

impl Publisher {
    /// Listens.
    pub(crate) fn listen(plan: &Plan) -> Result<(Self, SocketAddr), ApiError> {
        let (source, address) = Source::listen(plan.items)?;
        let publisher = Self {
            source,
            update: Update::new(),
            reading: plan.reading,
            order: plan.order.clone(),
            next: 0,
            published: 0,
        };
        Ok((publisher, address))
    }

    /// Sends an update of the next item, which leaves with the next flush.
    /// Returns the item. It carries when it was due, and its number if clients
    /// read headers, or else when it was sent.
    #[inline]
    pub(crate) fn send(&mut self, due_ns: u64) -> u32 {
        let item = self.order[self.next];
        self.next = if self.next + 1 == self.order.len() { 0 } else { self.next + 1 };
        let bytes = match self.reading {
            Reading::Headers | Reading::InPlace | Reading::Sampled => {
                Stamp { due_ns, number: self.published }.write_rssl(&mut self.update)
            }
            Reading::Fields => self.update.stamped(due_ns, now_ns()),
        };
        self.published += 1;
        self.source.send(item as usize, bytes);
        item
    }

    /// Updates so far: the number of the next one.
    pub(crate) fn published(&self) -> u64 {
        self.published
    }

    /// Bytes of an update.
    pub(crate) fn update_bytes(&self) -> usize {
        self.update.len()
    }
}
