//! Host names to addresses, without stopping the reactor.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use mio::Waker;

use crate::{CloseReason, SessionId};

/// Addresses of one host that are tried.
const MAX_ADDRESSES: usize = 16;

/// What the resolver said about the host of one session.
pub(crate) struct Answer {
    pub(crate) session: SessionId,
    pub(crate) addresses: Result<Vec<SocketAddr>, String>,
}

/// Lookups that run. The system's resolver blocks and cannot be stopped, so
/// each lookup has a thread; one that was given up still counts until it
/// returns.
pub(crate) struct Lookups {
    answers: Receiver<Answer>,
    answer_to: Sender<Answer>,
    waker: Arc<Waker>,
    running: usize,
    max: usize,
}

impl Lookups {
    pub(crate) fn new(waker: Arc<Waker>, max: usize) -> Self {
        let (answer_to, answers) = channel();
        Self { answers, answer_to, waker, running: 0, max }
    }

    pub(crate) fn start(
        &mut self,
        session: SessionId,
        host: &str,
        port: u16,
    ) -> Result<(), CloseReason> {
        if self.running >= self.max {
            return Err(CloseReason::TooManyLookups { max: self.max });
        }
        let (answer_to, waker) = (self.answer_to.clone(), Arc::clone(&self.waker));
        let name = host.to_owned();
        let body = move || {
            let addresses = resolve(&name, port).map_err(|error| error.to_string());
            if answer_to.send(Answer { session, addresses }).is_ok() {
                // A waker that fails is one of a reactor that is gone.
                let _ = waker.wake();
            }
        };
        thread::Builder::new().name("lookup".to_owned()).spawn(body).map_err(|error| {
            CloseReason::Lookup { host: host.to_owned(), text: error.to_string() }
        })?;
        self.running += 1;
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Option<Answer> {
        if self.running == 0 {
            return None;
        }
        let answer = self.answers.try_recv().ok()?;
        self.running -= 1;
        Some(answer)
    }
}

fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let addresses: Vec<_> = (host, port).to_socket_addrs()?.take(MAX_ADDRESSES).collect();
    if addresses.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    }
    Ok(addresses)
}
