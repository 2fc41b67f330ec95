//! Host names to addresses, without stopping the reactor.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use mio::Waker;

use crate::SessionId;
use crate::system::Answer;

/// Addresses of one host that are tried.
const MAX_ADDRESSES: usize = 16;

/// Lookups that run. The system's resolver blocks and cannot be stopped, so
/// each lookup has a thread.
pub(crate) struct Lookups {
    answers: Receiver<Answer>,
    answer_to: Sender<Answer>,
    waker: Arc<Waker>,
}

impl Lookups {
    pub(crate) fn new(waker: Arc<Waker>) -> Self {
        let (answer_to, answers) = channel();
        Self { answers, answer_to, waker }
    }

    pub(crate) fn start(&self, session: SessionId, host: &str, port: u16) -> io::Result<()> {
        let (answer_to, waker) = (self.answer_to.clone(), Arc::clone(&self.waker));
        let name = host.to_owned();
        let body = move || {
            let addresses = resolve(&name, port).map_err(|error| error.to_string());
            if answer_to.send(Answer { session, addresses }).is_ok() {
                // A waker that fails is one of a reactor that is gone.
                let _ = waker.wake();
            }
        };
        thread::Builder::new().name("lookup".to_owned()).spawn(body).map(drop)
    }

    pub(crate) fn next(&self) -> Option<Answer> {
        self.answers.try_recv().ok()
    }
}

fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let addresses: Vec<_> = (host, port).to_socket_addrs()?.take(MAX_ADDRESSES).collect();
    if addresses.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    }
    Ok(addresses)
}
