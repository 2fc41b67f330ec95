//! The admin port over TLS.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::serve::Listener;
use tapeline_channel::Tls;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long a handshake may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Handshakes at a time. Who comes while there are as many waits in the kernel.
const MAX_HANDSHAKES: usize = 32;

/// How long is waited when no connection can be had, as for want of descriptors.
const PAUSE: Duration = Duration::from_secs(1);

type Opened = (TlsStream<TcpStream>, SocketAddr);

/// Connections whose handshakes are done. One that takes its time keeps no other waiting.
pub(crate) struct TlsListener {
    listener: TcpListener,
    tls: Tls,
    handshakes: JoinSet<Option<Opened>>,
}

impl TlsListener {
    pub(crate) fn new(listener: TcpListener, tls: Tls) -> Self {
        Self { listener, tls, handshakes: JoinSet::new() }
    }

    /// Begins a handshake, with the certificate as it is now.
    fn shake_hands(&mut self, socket: TcpStream, peer: SocketAddr) {
        let acceptor = TlsAcceptor::from(self.tls.current());
        self.handshakes.spawn(async move {
            match timeout(PATIENCE, acceptor.accept(socket)).await {
                Ok(Ok(stream)) => Some((stream, peer)),
                Ok(Err(error)) => {
                    tracing::debug!(%peer, %error, "a handshake at the admin port failed");
                    None
                }
                Err(_) => None,
            }
        });
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> Opened {
        loop {
            let has_room = self.handshakes.len() < MAX_HANDSHAKES;
            tokio::select! {
                Some(done) = self.handshakes.join_next() => {
                    if let Ok(Some(opened)) = done {
                        return opened;
                    }
                }
                accepted = self.listener.accept(), if has_room => match accepted {
                    Ok((socket, peer)) => self.shake_hands(socket, peer),
                    Err(error) => {
                        tracing::warn!(%error, "the admin port takes no connection");
                        sleep(PAUSE).await;
                    }
                },
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}
