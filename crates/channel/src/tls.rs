//! TLS under sessions: of those that clients open, and of those that are opened to
//! others.

use std::fmt;
use std::fs;
use std::io::{self, IoSlice, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection,
};

use crate::ChannelError;
use crate::system::Socket;

/// A configuration of TLS, and the files that it is read from. A session has the one
/// that was in force when it began.
#[derive(Debug)]
struct Reloaded<C, F> {
    files: Option<F>,
    current: RwLock<Arc<C>>,
}

impl<C, F> Reloaded<C, F> {
    fn new(files: Option<F>, config: Arc<C>) -> Arc<Self> {
        Arc::new(Self { files, current: RwLock::new(config) })
    }

    fn current(&self) -> Arc<C> {
        // What is behind a poisoned lock is whole: it is replaced at once.
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the files again. What was read before stays if there is an error.
    fn reload(
        &self,
        read: impl FnOnce(&F) -> Result<Arc<C>, ChannelError>,
    ) -> Result<(), ChannelError> {
        let Some(files) = &self.files else { return Ok(()) };
        let config = read(files)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }
}

/// Files of a listener, all PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// A chain of certificates, the server's own first.
    pub certificates: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// The authorities of clients: then each client has to show a certificate of one
    /// of them. `None`: clients show none.
    pub client_ca: Option<PathBuf>,
}

/// The certificate that a listener shows, TLS 1.2 and 1.3.
///
/// Its clients are those of the vendor's encrypted connection type (RSSL in
/// TLS, without anything in between) and of `wss`. Clones are the same: what
/// [`reload`](Self::reload) reads again is for the sessions that begin then, of all
/// listeners that have one.
#[derive(Clone)]
pub struct Tls(Arc<Reloaded<ServerConfig, TlsFiles>>);

impl Tls {
    /// Reads the files.
    ///
    /// Errors: a file cannot be read, has none of what it is for, or certificate and key
    /// do not belong together.
    pub fn from_files(files: TlsFiles) -> Result<Self, ChannelError> {
        let config = Self::read(&files)?;
        Ok(Self(Reloaded::new(Some(files), config)))
    }

    /// Takes a chain of certificates and its private key as PEM texts; clients show no
    /// certificate.
    ///
    /// Errors: as of [`from_files`](Self::from_files).
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, ChannelError> {
        let chain = certificates_in("certificates", certificates)?;
        let key =
            PrivateKeyDer::from_pem_slice(key).map_err(|error| of_tls("private key", error))?;
        Ok(Self(Reloaded::new(None, server_config(chain, key, None)?)))
    }

    /// Reads the files again, for sessions that begin from now on.
    ///
    /// Errors: as of [`from_files`](Self::from_files); what was read before stays then.
    pub fn reload(&self) -> Result<(), ChannelError> {
        self.0.reload(Self::read)
    }

    /// What a session that begins now has, for whoever has sockets of its own.
    pub fn current(&self) -> Arc<ServerConfig> {
        self.0.current()
    }

    fn read(files: &TlsFiles) -> Result<Arc<ServerConfig>, ChannelError> {
        let chain = certificates_of(&files.certificates)?;
        let key = key_of(&files.key)?;
        let roots = files.client_ca.as_deref().map(roots_of).transpose()?;
        server_config(chain, key, roots)
    }
}

fn server_config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    clients: Option<RootCertStore>,
) -> Result<Arc<ServerConfig>, ChannelError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| of_tls("versions", error))?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(roots) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| of_tls("authorities of clients", error))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let config = builder.with_single_cert(chain, key);
    Ok(Arc::new(config.map_err(|error| of_tls("certificate and private key", error))?))
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

/// Files of a client, all PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsClientFiles {
    /// The authorities that servers are believed by.
    pub ca: PathBuf,
    /// A chain of certificates that is shown to servers that ask for one, and its
    /// private key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// TLS towards others, 1.2 and 1.3: whom to believe, and what to show.
///
/// A server has to show a certificate of one of the authorities, for the name by which
/// it is called; the name is also sent to it (SNI), unless it is an address. There is
/// no way to do without. Clones are the same, as of [`Tls`].
#[derive(Clone)]
pub struct TlsClient {
    shared: Arc<Reloaded<ClientConfig, TlsClientFiles>>,
    /// The name in the certificate, if it is another than the host's.
    name: Option<Arc<str>>,
}

impl TlsClient {
    /// Reads the files.
    ///
    /// Errors: a file cannot be read, has none of what it is for, or certificate and key
    /// do not belong together.
    pub fn from_files(files: TlsClientFiles) -> Result<Self, ChannelError> {
        let config = Self::read(&files)?;
        Ok(Self { shared: Reloaded::new(Some(files), config), name: None })
    }

    /// Takes the authorities as a PEM text; nothing is shown.
    ///
    /// Errors: as of [`from_files`](Self::from_files).
    pub fn from_pem(ca: &[u8]) -> Result<Self, ChannelError> {
        let roots = roots_in("authorities", certificates_in("authorities", ca)?)?;
        Ok(Self { shared: Reloaded::new(None, client_config(roots, None)?), name: None })
    }

    /// Expects another name in the certificate than that of the host.
    ///
    /// Errors: it is neither a host name nor an address.
    pub fn named(mut self, name: &str) -> Result<Self, ChannelError> {
        server_name(name)?;
        self.name = Some(name.into());
        Ok(self)
    }

    /// Reads the files again, for sessions that begin from now on.
    ///
    /// Errors: as of [`from_files`](Self::from_files); what was read before stays then.
    pub fn reload(&self) -> Result<(), ChannelError> {
        self.shared.reload(Self::read)
    }

    fn read(files: &TlsClientFiles) -> Result<Arc<ClientConfig>, ChannelError> {
        let roots = roots_of(&files.ca)?;
        let identity = match &files.identity {
            None => None,
            Some((certificates, key)) => Some((certificates_of(certificates)?, key_of(key)?)),
        };
        client_config(roots, identity)
    }
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn client_config(
    roots: RootCertStore,
    identity: Option<Identity>,
) -> Result<Arc<ClientConfig>, ChannelError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()
            .map_err(|error| of_tls("authorities of servers", error))?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| of_tls("versions", error))?
        .with_webpki_verifier(verifier);
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| of_tls("certificate and private key", error))?,
    };
    Ok(Arc::new(config))
}

impl fmt::Debug for TlsClient {
    /// Says nothing of the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsClient").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for TlsClient {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared) && self.name == other.name
    }
}

impl Eq for TlsClient {}

fn of_tls(what: impl fmt::Display, error: impl fmt::Display) -> ChannelError {
    ChannelError::Tls { what: what.to_string(), text: error.to_string() }
}

fn server_name(name: &str) -> Result<ServerName<'static>, ChannelError> {
    let parsed = ServerName::try_from(name.to_owned());
    parsed.map_err(|error| of_tls(format_args!("the server's name {name:?}"), error))
}

fn read(path: &Path) -> Result<Vec<u8>, ChannelError> {
    fs::read(path).map_err(|error| of_tls(path.display(), error))
}

fn certificates_in(
    what: impl fmt::Display,
    pem: &[u8],
) -> Result<Vec<CertificateDer<'static>>, ChannelError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| of_tls(&what, error))?;
    match chain.is_empty() {
        true => Err(of_tls(what, "no certificate is in it")),
        false => Ok(chain),
    }
}

fn certificates_of(path: &Path) -> Result<Vec<CertificateDer<'static>>, ChannelError> {
    certificates_in(path.display(), &read(path)?)
}

fn key_of(path: &Path) -> Result<PrivateKeyDer<'static>, ChannelError> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|error| of_tls(path.display(), error))
}

fn roots_in(
    what: impl fmt::Display,
    certificates: Vec<CertificateDer<'static>>,
) -> Result<RootCertStore, ChannelError> {
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates);
    match added {
        0 => Err(of_tls(what, "no authority is in it")),
        _ => Ok(roots),
    }
}

fn roots_of(path: &Path) -> Result<RootCertStore, ChannelError> {
    roots_in(path.display(), certificates_of(path)?)
}

/// A socket with TLS on it, of either side.
///
/// ```text
///   write -> rustls -> encrypted, up to its limit -> socket
///                      `-- pending: what the socket did not take
/// ```
#[derive(Debug)]
pub(crate) struct TlsStream<S> {
    pub(crate) socket: S,
    tls: Box<Connection>,
    /// What went wrong behind bytes that are decrypted and not read yet.
    failed: Option<io::Error>,
    /// Bytes taken to be encrypted, and bytes written to the socket, since
    /// nothing was pending.
    taken: usize,
    pushed: usize,
    /// The peer was told that nothing more comes.
    has_ended: bool,
}

impl<S: Socket> TlsStream<S> {
    /// The server's side.
    pub(crate) fn server(socket: S, tls: &Tls) -> io::Result<Self> {
        let tls = ServerConnection::new(tls.current()).map_err(io::Error::other)?;
        Ok(Self::of(socket, tls.into()))
    }

    /// The client's side, towards a host.
    pub(crate) fn client(socket: S, tls: &TlsClient, host: &str) -> Result<Self, ChannelError> {
        let name = server_name(tls.name.as_deref().unwrap_or(host))?;
        let tls = ClientConnection::new(tls.shared.current(), name)
            .map_err(|error| of_tls(host, error))?;
        Ok(Self::of(socket, tls.into()))
    }

    fn of(socket: S, tls: Connection) -> Self {
        Self { socket, tls: Box::new(tls), failed: None, taken: 0, pushed: 0, has_ended: false }
    }

    /// Reads what there is; 0 bytes are the peer's end, whether it said so in
    /// TLS or not: both protocols above say themselves when they end.
    ///
    /// Behind our own end it is what is on the wire, for nobody: what is wrong there (a
    /// certificate, where the handshake was under way) would have an alert sent behind the
    /// last one that may be, which rustls asserts that nobody does.
    pub(crate) fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if room.is_empty() {
            return Ok(0);
        }
        if self.has_ended {
            return self.socket.read(room);
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
        self.has_ended = true;
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
