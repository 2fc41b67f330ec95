//! What a consumer asks for.

use tapeline_omm::Text;
use tapeline_omm::qos::QosWish;
use tapeline_omm::view::View;
use tapeline_rwf::{Domain, Priority};

use crate::slab::Key;

/// An open item of a consumer. It is void when the item is over: after a final
/// state, the last part of a snapshot, or [`close`](super::Requests::close).
/// Handles are never used again for other items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub(super) Key);

impl Handle {
    /// The place of the item among all: small numbers, reused by later items,
    /// for tables of the application's own.
    pub const fn index(self) -> usize {
        self.0.index as usize
    }
}

/// Which service an item is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceRef<'a> {
    /// By name. Its number may differ from connection to connection.
    Name(&'a str),
    /// By number.
    Id(u16),
}

impl<'a> From<&'a str> for ServiceRef<'a> {
    fn from(name: &'a str) -> Self {
        Self::Name(name)
    }
}

impl From<u16> for ServiceRef<'_> {
    fn from(id: u16) -> Self {
        Self::Id(id)
    }
}

/// An item that is asked for.
///
/// ```
/// use tapeline_api::ItemSpec;
/// use tapeline_rwf::Domain;
///
/// let book = ItemSpec::new("FEED", "TRI.N").domain(Domain::MARKET_BY_ORDER).snapshot();
/// let quote = ItemSpec::new("FEED", "TRI.N").fields([22, 25]);
/// # let _ = (book, quote);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools, reason = "independent wishes")]
pub struct ItemSpec<'a> {
    /// Service of the item.
    pub service: ServiceRef<'a>,
    /// Name of the item.
    pub name: &'a str,
    /// What kind of name it is; a RIC when absent.
    pub name_type: Option<u8>,
    /// Domain. Default: market price.
    pub domain: Domain,
    /// Whether updates are wanted after the image. Default: yes.
    pub streaming: bool,
    /// Whether the stream is to be the consumer's alone; it is not recovered
    /// then.
    pub private: bool,
    /// The fields that are wanted; all when absent.
    pub view: Option<View>,
    /// Class and count of the interest.
    pub priority: Priority,
    /// Quality that is wanted. Default: the best there is.
    pub qos: QosWish,
    /// Whether the key is wanted in every response.
    pub key_in_updates: bool,
    /// Whether it is wanted to be told what was merged into an update.
    pub conflation_info: bool,
    /// Whether no updates are wanted until
    /// [`resume`](super::Requests::resume).
    pub paused: bool,
}

impl<'a> ItemSpec<'a> {
    /// A streaming market price item.
    pub fn new(service: impl Into<ServiceRef<'a>>, name: &'a str) -> Self {
        Self {
            service: service.into(),
            name,
            name_type: None,
            domain: Domain::MARKET_PRICE,
            streaming: true,
            private: false,
            view: None,
            priority: Priority::default(),
            qos: QosWish::Best,
            key_in_updates: false,
            conflation_info: false,
            paused: false,
        }
    }

    /// The same of another domain.
    #[must_use]
    pub fn domain(self, domain: Domain) -> Self {
        Self { domain, ..self }
    }

    /// An image and no updates.
    #[must_use]
    pub fn snapshot(self) -> Self {
        Self { streaming: false, ..self }
    }

    /// A stream of the consumer's own.
    #[must_use]
    pub fn private(self) -> Self {
        Self { private: true, ..self }
    }

    /// Only these fields.
    #[must_use]
    pub fn fields(self, field_ids: impl IntoIterator<Item = i16>) -> Self {
        Self { view: Some(View::of_fields(field_ids)), ..self }
    }

    /// This priority.
    #[must_use]
    pub fn priority(self, class: u8, count: u16) -> Self {
        Self { priority: Priority { class, count }, ..self }
    }
}

/// A change of an open item. Domain, service, name and whether it is streaming
/// cannot change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemChange {
    /// Another view: `Some(None)` for all fields.
    pub view: Option<Option<View>>,
    /// Another priority.
    pub priority: Option<Priority>,
    /// Whether an image is wanted. One always comes with another view.
    pub refresh: bool,
}

/// What is known of an open item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ItemInfo<'a> {
    /// Service, if it is known by name.
    pub service_name: Option<&'a Text>,
    /// Number of the service on this connection, while it is requested.
    pub service_id: Option<u16>,
    /// Name of the item.
    pub name: &'a Text,
    /// Domain.
    pub domain: Domain,
    /// Its stream on this connection; 0 while it is not requested.
    pub stream_id: i32,
}
