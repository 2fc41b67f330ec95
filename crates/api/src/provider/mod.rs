//! Interactive providers: who is asked for items, and answers.

mod config;
mod core;
mod dictionary;
mod event;
mod incoming;
mod responses;
mod shell;

pub use config::{ProviderConfig, ServiceSpec};
pub use core::{ProviderCore, ProviderInput, ProviderOutputs};
pub use event::{PostReceipt, ProviderEvent, ProviderHandler, StreamHandle, StreamInfo};
pub use responses::{Responses, encode_update};
pub use shell::Provider;
