//! Consumers: items of services, from whichever server is up.

mod config;
mod core;
mod download;
mod event;
mod held;
mod items;
mod json;
mod opening;
mod queues;
mod requests;
mod roles;
mod session;
mod set;
mod shell;
mod spec;
mod standby;
mod streams;

pub use config::{ConsumerConfig, DictionarySource};
pub use core::{ConsumerCore, ConsumerInput, ConsumerOutputs};
pub use event::{ConsumerEvent, ConsumerHandler};
pub use requests::Requests;
pub use shell::Consumer;
pub use spec::{Handle, ItemChange, ItemInfo, ItemSpec, ServiceRef};
pub use standby::{ServerOrder, StandbyMode, StandbyServer, StandbySet};

pub(crate) use download::{ENUMS_NAME, FIELDS_NAME};
