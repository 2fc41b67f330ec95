//! What listens where: for people in the log, for scripts in a file.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The addresses that a program listens on, under the names that the ready
/// file has.
///
/// ```text
/// rssl=127.0.0.1:14002
/// ws=127.0.0.1:15000
/// ni=127.0.0.1:14003
/// ```
#[derive(Default)]
pub(crate) struct Addresses {
    addresses: Vec<(&'static str, SocketAddr)>,
}

impl Addresses {
    /// Adds an address and logs it.
    pub(crate) fn add(&mut self, name: &'static str, address: SocketAddr) {
        tracing::info!(name, %address, "listening");
        self.addresses.push((name, address));
    }

    /// Says that all of them are listened on, in the ready file if there is to be one.
    ///
    /// Errors: the file cannot be written.
    pub(crate) fn announce(&self, ready_file: Option<&Path>) -> Result<(), Failure> {
        if let Some(path) = ready_file {
            self.write(path)?;
        }
        tracing::info!("ready");
        Ok(())
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, address) in &self.addresses {
            let _ = writeln!(text, "{name}={}", reachable(*address));
        }
        text
    }

    /// Writes the ready file, so that who waits for it never sees a part of
    /// it.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        let failure = |error: io::Error| Failure::ReadyFile { path: path.to_owned(), error };
        let name = path.file_name().ok_or_else(|| failure(io::ErrorKind::InvalidInput.into()))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}", std::process::id()));
        let partial: PathBuf = path.with_file_name(hidden);
        fs::write(&partial, self.text()).map_err(failure)?;
        fs::rename(&partial, path).map_err(failure)
    }
}

/// An address that can be connected to from this host.
fn reachable(address: SocketAddr) -> SocketAddr {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    match address.ip() {
        ip if !ip.is_unspecified() => address,
        IpAddr::V4(_) => SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())),
        IpAddr::V6(_) => SocketAddr::from((Ipv6Addr::LOCALHOST, address.port())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_holds_addresses_that_can_be_reached() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ready");
        let mut addresses = Addresses::default();
        addresses.add("rssl", SocketAddr::from(([0, 0, 0, 0], 7)));
        addresses.add("ni", SocketAddr::from(([10, 0, 0, 1], 8)));
        addresses.write(&path).expect("written");
        let text = fs::read_to_string(&path).expect("read");
        assert_eq!(text, "rssl=127.0.0.1:7\nni=10.0.0.1:8\n");
        let files = fs::read_dir(folder.path()).expect("listed").count();
        assert_eq!(files, 1, "nothing else is left in the folder");
    }
}
