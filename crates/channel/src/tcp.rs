//! A TCP socket that is acknowledged after its bytes are dealt with.

use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

use mio::net::TcpStream;
use socket2::SockRef;

use crate::system::Socket;

/// A read that left room took all there was, and the next byte is a new edge.
/// Where readiness is not the kernel's own edge, only "would block" says so.
const SHORT_READ_EMPTIES: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Most bytes of one read whose ACK is delayed. Who reads more at a time has many
/// messages for each ACK.
const PEEK_BYTES: usize = 4096;

/// Most bytes that are left in the kernel's queue, before one more such read.
const LEFT_BYTES: usize = PEEK_BYTES;

/// Reads that one delayed ACK is for. A sender whose window is small waits
/// for it: as many packets are the smallest window that senders work with.
const PEEKS_PER_ACK: u8 = 4;

/// A socket of the kernel.
///
/// To take bytes out of the kernel's queue makes the kernel acknowledge them
/// before the call returns, if they were few and all there was: a packet down
/// to the peer's socket and back, longer than the message needs from here to
/// the next socket. A read with a *delayed ACK* copies the bytes and leaves them
/// where they are (`MSG_PEEK`). A later one, or
/// [`acknowledge`](Socket::acknowledge), takes them out.
///
/// ```text
///   read:         [take out, ACK] -> message -> send
///   delayed ACK:  [copy] -> message -> send ... [take out, ACK]
/// ```
#[derive(Debug)]
pub struct TcpSocket {
    pub(crate) socket: TcpStream,
    /// Bytes that were read and are still in the kernel's queue.
    unacknowledged: usize,
    /// Reads that left them there.
    peeks: u8,
    /// The last read took few bytes.
    reads_little: bool,
    /// The last read may have left something although it left room.
    was_cut: bool,
}

impl TcpSocket {
    pub(crate) const fn new(socket: TcpStream) -> Self {
        Self { socket, unacknowledged: 0, peeks: 0, reads_little: false, was_cut: false }
    }

    fn copy_out(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.peeks >= PEEKS_PER_ACK || self.unacknowledged >= LEFT_BYTES.min(room.len()) {
            self.take_out()?;
        }
        let seen = self.unacknowledged;
        let most = room.len().min(seen + PEEK_BYTES);
        let room = &mut room[..most];
        let there = self.socket.peek(room)?;
        self.was_cut = there == room.len();
        let count = there.saturating_sub(seen);
        if count == 0 && seen > 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        room.copy_within(seen..there, 0);
        self.unacknowledged = there;
        self.peeks += 1;
        self.reads_little = !self.was_cut;
        Ok(count)
    }

    fn take_out(&mut self) -> io::Result<()> {
        self.peeks = 0;
        while self.unacknowledged > 0 {
            let mut nothing = [MaybeUninit::uninit(); LEFT_BYTES + PEEK_BYTES];
            let most = self.unacknowledged.min(nothing.len());
            // Of a TCP socket this drops bytes without copying them.
            let taken = SockRef::from(&self.socket)
                .recv_with_flags(&mut nothing[..most], libc::MSG_TRUNC)?;
            if taken == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.unacknowledged -= taken;
        }
        Ok(())
    }
}

impl Read for TcpSocket {
    /// Reads what there is; 0 bytes are the peer's end.
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.take_out()?;
        self.was_cut = false;
        let count = self.socket.read(room)?;
        self.reads_little = count <= PEEK_BYTES;
        Ok(count)
    }
}

impl Write for TcpSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.socket.write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl Socket for TcpSocket {
    /// The peer's end is not seen behind bytes that are not acknowledged.
    fn read_late(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self.reads_little && !room.is_empty() && cfg!(target_os = "linux") {
            true => self.copy_out(room),
            false => self.read(room),
        }
    }

    /// Takes out of the kernel's queue what was read without an ACK.
    fn acknowledge(&mut self) -> io::Result<()> {
        self.take_out()
    }

    fn short_read_empties(&self) -> bool {
        SHORT_READ_EMPTIES && !self.was_cut
    }

    fn end(&mut self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }

    fn connected(&mut self) -> io::Result<Option<SocketAddr>> {
        if let Some(error) = self.socket.take_error()? {
            return Err(error);
        }
        match self.socket.peer_addr() {
            Ok(peer) => Ok(Some(peer)),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_below(&self, max: u32) -> bool {
        u32::try_from(self.socket.as_raw_fd()).is_ok_and(|number| number < max)
    }

    fn renumbered(self) -> io::Result<Self> {
        // A copy has the lowest number that is free.
        let copy = self.socket.as_fd().try_clone_to_owned()?;
        Ok(Self::new(TcpStream::from_std(copy.into())))
    }
}

impl Drop for TcpSocket {
    /// A socket that is closed with bytes in its queue resets the connection.
    fn drop(&mut self) {
        let _ = self.take_out();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream as Blocking};

    use super::*;

    fn pair() -> (Blocking, TcpSocket) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = Blocking::connect(listener.local_addr().unwrap()).unwrap();
        let (ours, _) = listener.accept().unwrap();
        // Blocking, so that a read waits for what is on its way.
        (peer, TcpSocket::new(TcpStream::from_std(ours)))
    }

    fn say(peer: &mut Blocking, text: &str) {
        peer.write_all(text.as_bytes()).unwrap();
    }

    fn hear(socket: &mut TcpSocket) -> String {
        let mut room = [0; 100];
        let count = socket.read_late(&mut room).unwrap();
        String::from_utf8(room[..count].to_vec()).unwrap()
    }

    #[test]
    fn what_is_read_late_is_read_once() {
        let (mut peer, mut socket) = pair();
        let texts: Vec<_> = (0..3 * PEEKS_PER_ACK).map(|number| number.to_string()).collect();
        for text in &texts {
            say(&mut peer, text);
            assert_eq!(&hear(&mut socket), text);
        }
        assert_eq!(socket.unacknowledged > 0, cfg!(target_os = "linux"));
        socket.acknowledge().unwrap();
        drop(peer);
        assert_eq!(hear(&mut socket), "");
    }

    #[test]
    fn what_was_seen_and_has_no_ack_yet_is_not_read_again() {
        let (mut peer, mut socket) = pair();
        for text in ["first", "second"] {
            say(&mut peer, text);
            assert_eq!(hear(&mut socket), text);
        }
        let mut room = [0; 100];
        let blocked = socket.read_late(&mut room).unwrap_err();
        assert_eq!(blocked.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn few_reads_wait_for_one_acknowledgement() {
        let (mut peer, mut socket) = pair();
        let unacknowledged: Vec<_> = (0..=PEEKS_PER_ACK + 1)
            .map(|_| {
                say(&mut peer, "ten bytes.");
                assert_eq!(hear(&mut socket), "ten bytes.");
                socket.unacknowledged / 10
            })
            .collect();
        // The first read does not know yet that it reads little.
        assert_eq!(unacknowledged, [0, 1, 2, 3, 4, 1]);
    }

    #[test]
    fn a_reader_of_much_takes_it_out_at_once() {
        let (mut peer, mut socket) = pair();
        for text in ["little", "little"] {
            say(&mut peer, text);
            assert_eq!(hear(&mut socket), text);
        }
        let much: Vec<u8> = (0..5 * PEEK_BYTES).map(|at| at as u8).collect();
        peer.write_all(&much).unwrap();
        let mut heard = Vec::new();
        let mut room = vec![0; 3 * PEEK_BYTES];
        while heard.len() < much.len() {
            let count = socket.read_late(&mut room).unwrap();
            heard.extend_from_slice(&room[..count]);
            assert!(socket.unacknowledged <= "little".len() + PEEK_BYTES);
        }
        assert_eq!(heard, much);
    }

    #[test]
    fn a_small_room_is_read_into_late() {
        let (mut peer, mut socket) = pair();
        say(&mut peer, "0");
        assert_eq!(hear(&mut socket), "0");
        say(&mut peer, "123456789");
        let mut heard = String::new();
        let mut room = [0; 2];
        while heard.len() < 9 {
            let count = socket.read_late(&mut room).unwrap();
            heard.push_str(std::str::from_utf8(&room[..count]).unwrap());
            assert!(count == 2 || heard.len() == 9 || !socket.short_read_empties());
        }
        assert_eq!(heard, "123456789");
    }

    #[test]
    fn a_socket_that_closes_before_its_ack_does_not_reset() {
        let (mut peer, mut socket) = pair();
        for text in ["one", "two"] {
            say(&mut peer, text);
            assert_eq!(hear(&mut socket), text);
        }
        drop(socket);
        let mut room = [0; 10];
        assert_eq!(peer.read(&mut room).unwrap(), 0, "an end, and no error");
    }
}
