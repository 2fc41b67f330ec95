//! The source directory: which services there are, what they offer and how
//! they are.
//!
//! A directory is a map from service id to a list of *filters*, each a part of
//! what is known of the service. A request says which filters it wants.
//! [`Directory`] is what a receiver keeps and a sender serves from.

mod admit;
mod consumer_status;
mod filter;
mod link;
mod message;
mod multicast;
mod payload;
mod service;
mod store;

pub use consumer_status::{ConsumerStatus, ConsumerStatusEntry, SourceMirroringMode};
pub use filter::{DirectoryFilter, FilterContent, FilterEntry, ServiceEntry};
pub use link::{Link, LinkEntry, LinkInfo, ServiceLinks};
pub use message::{
    DirectoryMsg, DirectoryRefresh, DirectoryRequest, DirectoryStatus, DirectoryUpdate,
};
pub use multicast::{MulticastChannel, MulticastChannels, SequencedMulticast};
pub use service::{
    Admission, ServiceData, ServiceGroupInfo, ServiceInfo, ServiceLoad, ServiceState,
};
pub use store::{Directory, DirectoryChange, DirectoryRefusal, Service};
