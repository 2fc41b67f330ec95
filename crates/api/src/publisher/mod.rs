//! Non-interactive providers: who publishes without being asked.

mod config;
mod core;
mod event;
mod shell;
mod submissions;

pub use config::PublisherConfig;
pub use core::{PublisherCore, PublisherInput, PublisherOutputs};
pub use event::{ItemHandle, PublisherEvent, PublisherHandler};
pub use shell::Publisher;
pub use submissions::{PublishSpec, Submissions};
