//! Where items are asked for.

use super::item::HubIndex;

/// Where the item of a request is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upstream {
    /// Nowhere: there is no hub for it now.
    Nowhere,
    /// It waits for its turn at this hub.
    Queued {
        /// Index of the hub.
        hub: HubIndex,
    },
    /// It was sent to this hub, which has not answered yet.
    Asked {
        /// Index of the hub.
        hub: HubIndex,
        /// It counts against the hub's window: the hub does not have it wait.
        holds_place: bool,
    },
    /// The hub has it.
    Accepted {
        /// Index of the hub.
        hub: HubIndex,
        /// The hub's number for it.
        hub_item: u32,
    },
}

impl Upstream {
    /// The hub that knows of the request.
    pub(super) const fn told(self) -> Option<HubIndex> {
        match self {
            Self::Asked { hub, .. } | Self::Accepted { hub, .. } => Some(hub),
            Self::Nowhere | Self::Queued { .. } => None,
        }
    }

    /// If a hub was asked and has not answered: whether that holds a place in
    /// its window.
    pub(super) fn asked_at(self, index: HubIndex) -> Option<bool> {
        match self {
            Self::Asked { hub, holds_place } if hub == index => Some(holds_place),
            _ => None,
        }
    }

    /// The hub at which the item is.
    pub(super) const fn hub(self) -> Option<HubIndex> {
        match self {
            Self::Queued { hub } => Some(hub),
            _ => self.told(),
        }
    }
}
