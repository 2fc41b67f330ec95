//! TLS under sessions that clients open.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

use crate::ChannelError;
use crate::system::Socket;

/// The certificate that a listener shows, TLS 1.2 and 1.3.
///
/// Its clients are those of the vendor's encrypted connection type (RSSL in
/// TLS, without anything in between) and of `wss`. They show no certificate of
/// their own. Read at the start; a new certificate needs a new listener.
#[derive(Clone)]
pub struct Tls(Arc<ServerConfig>);

impl Tls {
    /// Reads a chain of certificates, the server's own first, and its private
    /// key, both PEM files.
    ///
    /// Errors: a file cannot be read, has none of what it is for, or the two do
    /// not belong together.
    pub fn from_files(certificates: &Path, key: &Path) -> Result<Self, ChannelError> {
        let failed = |path: &Path| {
            let file = path.display().to_string();
            move |error: rustls::pki_types::pem::Error| ChannelError::Tls {
                what: file,
                text: error.to_string(),
            }
        };
        let chain: Vec<_> = CertificateDer::pem_file_iter(certificates)
            .and_then(Iterator::collect)
            .map_err(failed(certificates))?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(failed(key))?;
        Self::new(chain, key)
    }

    /// Takes the same as PEM texts.
    ///
    /// Errors: as of [`from_files`](Self::from_files).
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, ChannelError> {
        let failed = |what: &'static str| {
            move |error: rustls::pki_types::pem::Error| ChannelError::Tls {
                what: what.to_owned(),
                text: error.to_string(),
            }
        };
        let chain: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(failed("certificates"))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(failed("private key"))?;
        Self::new(chain, key)
    }

    fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, ChannelError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
        let config = config.map_err(|error| ChannelError::Tls {
            what: "certificate and private key".to_owned(),
            text: error.to_string(),
        })?;
        Ok(Self(Arc::new(config)))
    }
}

impl fmt::Debug for Tls {
    /// Says nothing of the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Tls {}

/// A socket with TLS on it, the server's side.
///
/// ```text
///   write -> rustls -> encrypted, up to its limit -> socket
///                      `-- pending: what the socket did not take
/// ```
#[derive(Debug)]
pub(crate) struct TlsStream<S> {
    pub(crate) socket: S,
    tls: Box<ServerConnection>,
    /// What went wrong behind bytes that are decrypted and not read yet.
    failed: Option<io::Error>,
    /// Bytes taken to be encrypted, and bytes written to the socket, since
    /// nothing was pending.
    taken: usize,
    pushed: usize,
}

impl<S: Socket> TlsStream<S> {
    pub(crate) fn new(socket: S, tls: &Tls) -> io::Result<Self> {
        let tls = ServerConnection::new(Arc::clone(&tls.0)).map_err(io::Error::other)?;
        Ok(Self { socket, tls: Box::new(tls), failed: None, taken: 0, pushed: 0 })
    }

    /// Reads what there is; 0 bytes are the peer's end, whether it said so in
    /// TLS or not: both protocols above say themselves when they end.
    pub(crate) fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if room.is_empty() {
            return Ok(0);
        }
        loop {
            match self.tls.reader().read(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if self.tls.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            let processed = self.tls.process_new_packets();
            // Answers of the handshake, or what was wrong: a socket that is
            // full gets them with the next flush.
            let pushed = ignore_full(self.push());
            // What came before whatever is wrong is read first.
            self.failed = match processed {
                Err(error) => Some(io::Error::new(io::ErrorKind::InvalidData, error)),
                Ok(_) => pushed.err(),
            };
        }
    }

    /// Writes what fits of all slices.
    pub(crate) fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        // Nothing overtakes what is encrypted already.
        self.push()?;
        let mut written = 0;
        for slice in slices {
            let count = self.tls.writer().write(slice)?;
            written += count;
            if count < slice.len() {
                break;
            }
        }
        if written == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.taken += written;
        ignore_full(self.push())?;
        Ok(written)
    }

    /// Writes what is encrypted, as far as the socket takes it.
    pub(crate) fn push(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                Err(_) => {}
                Ok(count) => self.pushed += count,
            }
        }
        (self.taken, self.pushed) = (0, 0);
        Ok(())
    }

    /// Bytes that are encrypted and that the socket did not take yet, but for
    /// what encryption adds to them.
    pub(crate) fn pending_bytes(&self) -> usize {
        match self.is_pending() {
            true => self.taken.saturating_sub(self.pushed).max(1),
            false => 0,
        }
    }

    /// Whether something is encrypted that the socket did not take yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.tls.wants_write()
    }

    /// Tells the peer that nothing more comes.
    pub(crate) fn end(&mut self) {
        self.tls.send_close_notify();
        let _ = self.push();
        let _ = self.socket.end();
    }
}

/// A full socket is no error where the rest is written later.
fn ignore_full(pushed: io::Result<()>) -> io::Result<()> {
    match pushed {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        other => other,
    }
}
