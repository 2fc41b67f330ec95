//! Filters: the parts of what is known of a service.

use tapeline_rwf::{FilterAction, MapAction};

use super::{
    SequencedMulticast, ServiceData, ServiceGroupInfo, ServiceInfo, ServiceLinks, ServiceLoad,
    ServiceState,
};

bitflags::bitflags! {
    /// Which filters are wanted or given: the filter of a directory key.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
    pub struct DirectoryFilter: u32 {
        /// What the service is and offers.
        const INFO = 0x01;
        /// How it is.
        const STATE = 0x02;
        /// Changes of groups of items.
        const GROUP = 0x04;
        /// How much it can take.
        const LOAD = 0x08;
        /// Data that it broadcasts.
        const DATA = 0x10;
        /// The ways it gets its data.
        const LINK = 0x20;
        /// Where its sequenced multicast data is found.
        const SEQUENCED_MULTICAST = 0x40;
        const _ = !0;
    }
}

impl DirectoryFilter {
    /// The least that a request must ask for: providers made with the vendor's
    /// library refuse less.
    pub const MINIMUM: Self = Self::INFO.union(Self::STATE);
    /// What a request asks for in practice.
    pub const USUAL: Self = Self::from_bits_retain(0x3F);

    /// The filter of a filter id, 1 to 32.
    pub const fn of_id(id: u8) -> Self {
        match id {
            1..=32 => Self::from_bits_retain(1 << (id - 1)),
            _ => Self::empty(),
        }
    }

    /// Whether a request with this filter asks for enough.
    pub const fn is_enough(self) -> bool {
        self.contains(Self::MINIMUM)
    }
}

/// What one filter entry brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterContent {
    /// Filter 1.
    Info(ServiceInfo),
    /// Filter 2.
    State(ServiceState),
    /// Filter 3, once for each group.
    Group(ServiceGroupInfo),
    /// Filter 4.
    Load(ServiceLoad),
    /// Filter 5.
    Data(ServiceData),
    /// Filter 6.
    Links(ServiceLinks),
    /// Filter 7.
    Multicast(SequencedMulticast),
}

impl FilterContent {
    /// The filter id, 1 to 7.
    pub const fn id(&self) -> u8 {
        match self {
            Self::Info(_) => 1,
            Self::State(_) => 2,
            Self::Group(_) => 3,
            Self::Load(_) => 4,
            Self::Data(_) => 5,
            Self::Links(_) => 6,
            Self::Multicast(_) => 7,
        }
    }
}

/// One entry of a service's filter list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterEntry {
    /// The filter has new content.
    Content {
        /// `SET` or `UPDATE`, as on the wire.
        action: FilterAction,
        /// The content.
        content: FilterContent,
    },
    /// The filter is emptied.
    Clear {
        /// Its id.
        id: u8,
    },
}

impl FilterEntry {
    /// An entry that sets its filter.
    pub const fn set(content: FilterContent) -> Self {
        Self::Content { action: FilterAction::SET, content }
    }

    /// An entry that updates its filter.
    pub const fn update(content: FilterContent) -> Self {
        Self::Content { action: FilterAction::UPDATE, content }
    }

    /// The filter that the entry is about.
    pub const fn filter(&self) -> DirectoryFilter {
        DirectoryFilter::of_id(match self {
            Self::Content { content, .. } => content.id(),
            Self::Clear { id } => *id,
        })
    }
}

/// One service of a directory message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceEntry {
    /// `ADD`, `UPDATE` or `DELETE`.
    pub action: MapAction,
    /// Service, by the number that this connection gives it.
    pub service_id: u16,
    /// Its filters, in wire order; none with `DELETE`.
    pub filters: Vec<FilterEntry>,
}

impl ServiceEntry {
    /// A service that is new.
    pub const fn add(service_id: u16, filters: Vec<FilterEntry>) -> Self {
        Self { action: MapAction::ADD, service_id, filters }
    }

    /// A service that changes.
    pub const fn update(service_id: u16, filters: Vec<FilterEntry>) -> Self {
        Self { action: MapAction::UPDATE, service_id, filters }
    }

    /// A service that is gone.
    pub const fn delete(service_id: u16) -> Self {
        Self { action: MapAction::DELETE, service_id, filters: Vec::new() }
    }

    /// What of this entry a requester of these filters gets; nothing when
    /// nothing is left of a change. That a service is new or gone is always
    /// worth telling.
    pub fn restricted(&self, filter: DirectoryFilter) -> Option<Self> {
        if self.action == MapAction::DELETE {
            return Some(self.clone());
        }
        let filters: Vec<_> =
            self.filters.iter().filter(|entry| filter.contains(entry.filter())).cloned().collect();
        let is_told = self.action == MapAction::ADD || !filters.is_empty();
        is_told.then_some(Self { filters, ..*self })
    }
}
