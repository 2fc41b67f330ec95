//! The scenarios of consumer, provider and publisher, in one program: it links once.

mod connection_sets;
mod consumer_core;
mod consumer_pace;
mod consumer_provider;
mod counts;
mod ema_session;
mod faults;
mod no_allocation;
mod provider_core;
mod publisher;
mod publisher_sockets;
mod recovery;
mod sim;
mod support;
