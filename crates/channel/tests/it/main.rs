//! Sockets and sessions, scenario by scenario, in one program: it links once.

mod allocations;
mod busy;
mod closing;
mod pressure;
mod sessions;
mod simulated;
mod strangers;
mod support;
mod texts;
mod tls;
mod tls_client;
