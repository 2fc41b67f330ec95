//! What the two sides of a ping-pong tell each other beside what is measured:
//! JSON, a line each.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tapeline_measure::stop;

use crate::GaugeError;
use crate::link::Channel;
use crate::mux::{Idle, Muxer, timespec};
use crate::wire::Transport;

/// The longest line, in bytes.
const MAX_LINE_BYTES: usize = 64 << 10;

/// How long the other side may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Changes whenever a message below does.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/3");

/// How the server takes part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Hello {
    pub(crate) transport: Transport,
    pub(crate) is_spinning: bool,
    pub(crate) muxer: Muxer,
    /// Connections that take turns.
    pub(crate) sessions: u32,
    pub(crate) idle: Idle,
    pub(crate) timeout_s: u32,
    pub(crate) nodelay: bool,
    pub(crate) busy_poll_us: u32,
    pub(crate) connects: bool,
    pub(crate) more: bool,
    pub(crate) pings: u32,
    pub(crate) pongs: u32,
    pub(crate) cores: Option<Vec<usize>>,
    pub(crate) bind: Option<IpAddr>,
    pub(crate) device: Option<String>,
    pub(crate) ipv6_only: bool,
    pub(crate) ttl: u32,
    pub(crate) group: Option<IpAddr>,
    pub(crate) interface: Option<String>,
    pub(crate) loops_back: bool,
    /// Of Aeron over a network: where the client hears, and where the server is to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) channels: Option<[Channel; 2]>,
    /// Of the client's UDP socket.
    pub(crate) udp_port: u16,
    pub(crate) locks_memory: bool,
}

/// From the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ToServer {
    /// First of all.
    Version(String),
    /// Then how.
    Hello(Box<Hello>),
    /// So many iterations, after one that is not measured.
    Batch { size: usize, count: u64 },
    /// It is over.
    End,
}

/// From the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ToClient {
    /// First of all.
    Version(String),
    /// It is ready; for what has ports, at this one.
    Ready {
        port: u16,
        /// For what has a folder, in this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
        /// Of Aeron over a network: where it hears.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<Channel>,
    },
    /// It cannot take part.
    Refused(String),
}

/// A connection for lines.
pub(crate) struct Control {
    fd: OwnedFd,
    read: Vec<u8>,
    lines: VecDeque<Vec<u8>>,
    /// The other end's address, if it has one.
    pub(crate) peer: Option<IpAddr>,
    pub(crate) own: Option<IpAddr>,
}

impl Control {
    pub(crate) fn over_tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let (peer, own) = (stream.peer_addr()?.ip(), stream.local_addr()?.ip());
        Ok(Self { peer: Some(peer), own: Some(own), ..Self::over(stream.into()) })
    }

    pub(crate) fn over_unix(stream: UnixStream) -> Self {
        Self::over(stream.into())
    }

    fn over(fd: OwnedFd) -> Self {
        Self { fd, read: Vec::new(), lines: VecDeque::new(), peer: None, own: None }
    }

    /// Whether the other end is a process of this host that is not ours: over
    /// TCP, from one address to the same.
    pub(crate) fn is_beside_us(&self) -> bool {
        self.peer.is_some() && self.peer == self.own
    }

    pub(crate) fn send<T: Serialize>(&mut self, message: &T) -> Result<(), GaugeError> {
        let mut line = serde_json::to_vec(message).map_err(GaugeError::io("a message"))?;
        line.push(b'\n');
        let mut sent = &line[..];
        while !sent.is_empty() {
            match rustix::net::send(&self.fd, sent, SendFlags::NOSIGNAL) {
                Ok(bytes) => sent = &sent[bytes..],
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Err(ended()),
            }
        }
        Ok(())
    }

    /// The next message, within 10 s.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self) -> Result<T, GaugeError> {
        self.receive_within(Some(PATIENCE))
    }

    /// The next message, however long it takes.
    pub(crate) fn await_message<T: DeserializeOwned>(&mut self) -> Result<T, GaugeError> {
        self.receive_within(None)
    }

    fn receive_within<T: DeserializeOwned>(
        &mut self,
        patience: Option<Duration>,
    ) -> Result<T, GaugeError> {
        let until = patience.map(|patience| Instant::now() + patience);
        while self.lines.is_empty() {
            stop::check()?;
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(GaugeError::Peer("did not answer within 10 s".to_owned()));
            }
            if self.is_ready(Duration::from_millis(100)) {
                self.fill()?;
            }
        }
        let line = self.lines.pop_front().unwrap_or_default();
        serde_json::from_slice(&line).map_err(|error| {
            GaugeError::Peer(format!("says what this side does not know: {error}"))
        })
    }

    /// Whether something can be read.
    pub(crate) fn is_ready(&self, wait: Duration) -> bool {
        if !self.lines.is_empty() {
            return true;
        }
        let mut one = [PollFd::new(&self.fd, PollFlags::IN)];
        poll(&mut one, Some(&timespec(wait))).is_ok_and(|ready| ready > 0)
    }

    fn fill(&mut self) -> Result<(), GaugeError> {
        let mut buffer = [0; 4096];
        let bytes = match rustix::net::recv(&self.fd, &mut buffer[..], RecvFlags::empty()) {
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Ok((_, 0)) | Err(_) => return Err(ended()),
            Ok((_, bytes)) => bytes,
        };
        self.read.extend_from_slice(&buffer[..bytes]);
        while let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
            let rest = self.read.split_off(end + 1);
            self.lines.push_back(std::mem::replace(&mut self.read, rest));
        }
        if self.read.len() > MAX_LINE_BYTES || self.lines.len() > MAX_LINE_BYTES {
            return Err(GaugeError::Peer("sent a line of more than 64 KiB".to_owned()));
        }
        Ok(())
    }

    /// Hands descriptors over. The other side waits in
    /// [`Self::receive_descriptors`].
    pub(crate) fn send_descriptors(&self, descriptors: &[OwnedFd]) -> Result<(), GaugeError> {
        let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&borrowed));
        let sent = sendmsg(&self.fd, &[IoSlice::new(b"!")], &mut control, SendFlags::NOSIGNAL);
        sent.map(drop).map_err(GaugeError::io("handing descriptors to the server"))
    }

    pub(crate) fn receive_descriptors(&self) -> Result<Vec<OwnedFd>, GaugeError> {
        if !self.is_ready(PATIENCE) {
            return Err(GaugeError::Peer("did not hand descriptors over within 10 s".to_owned()));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::CMSG_CLOEXEC;
        recvmsg(&self.fd, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)
            .map_err(GaugeError::io("taking descriptors from the client"))?;
        let mut all = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                all.extend(descriptors);
            }
        }
        Ok(all)
    }
}

fn ended() -> GaugeError {
    GaugeError::Peer("ended".to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    fn pair() -> (Control, Control) {
        let (near, far) = UnixStream::pair().unwrap();
        (Control::over_unix(near), Control::over_unix(far))
    }

    #[test]
    fn messages_pass_and_unknown_ones_are_refused() {
        let (mut client, mut server) = pair();
        client.send(&ToServer::Batch { size: 5, count: 7 }).unwrap();
        client.send(&ToServer::End).unwrap();
        assert_eq!(server.receive::<ToServer>().unwrap(), ToServer::Batch { size: 5, count: 7 });
        assert_eq!(server.receive::<ToServer>().unwrap(), ToServer::End);
        client.send(&serde_json::json!({"batch": {"size": 1, "count": 1, "new": 1}})).unwrap();
        let error = server.receive::<ToServer>().unwrap_err().to_string();
        assert!(error.starts_with("the other side says what this side does not know"), "{error}");
    }

    #[test]
    fn a_line_without_an_end_is_bounded() {
        let (client, mut server) = pair();
        let mut raw = std::fs::File::from(client.fd.try_clone().unwrap());
        let sending = std::thread::spawn(move || while raw.write_all(&[b'x'; 4096]).is_ok() {});
        let error = server.receive::<ToServer>().unwrap_err().to_string();
        assert_eq!(error, "the other side sent a line of more than 64 KiB");
        drop((server, client));
        sending.join().unwrap();
    }

    #[test]
    fn descriptors_go_from_hand_to_hand() {
        let (client, server) = pair();
        let (read, write) = io::pipe().unwrap();
        client.send_descriptors(&[write.into()]).unwrap();
        let mut taken = server.receive_descriptors().unwrap();
        let mut pipe = std::fs::File::from(taken.pop().unwrap());
        pipe.write_all(b"through").unwrap();
        drop(pipe);
        let mut text = String::new();
        let mut read = read;
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
    }

    #[test]
    fn the_end_of_the_other_side_is_told() {
        let (client, mut server) = pair();
        drop(client);
        assert_eq!(server.receive::<ToServer>().unwrap_err().to_string(), "the other side ended");
    }
}
