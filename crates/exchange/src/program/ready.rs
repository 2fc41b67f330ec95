//! What listens where: for people in the log, for scripts in a file.

use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use super::failure::Failure;

/// The addresses of a program, under the names that the ready file has.
#[derive(Default)]
pub(super) struct Ready {
    text: String,
}

impl Ready {
    /// Adds an address and logs it.
    pub(super) fn add(&mut self, name: &str, address: SocketAddr) {
        tracing::info!(name, %address, "listening");
        let _ = writeln!(self.text, "{name}={address}");
    }

    /// Writes the file at one go, so that who waits for it never sees a part of it.
    pub(super) fn write(&self, path: Option<&Path>) -> Result<(), Failure> {
        tracing::info!("ready");
        let Some(path) = path else { return Ok(()) };
        let partial = path.with_extension(format!("{}.part", std::process::id()));
        let written = fs::write(&partial, &self.text).and_then(|()| fs::rename(&partial, path));
        written.map_err(|error| Failure::ReadyFile { path: path.to_owned(), error })
    }
}
