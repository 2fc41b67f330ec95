//! What the fuzz targets of one crate share, a module a crate.

pub mod fix;
pub mod hub;
pub mod itch;
pub mod json;
pub mod mdp;
pub mod mitch;
pub mod ntg;
pub mod omm;
pub mod rssl;
pub mod rwf;
pub mod server;
pub mod steps;
pub mod websocket;
