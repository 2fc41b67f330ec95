//! A server that is known to be late: what is measured is at least its delay.
//! Only minima are held, since other work can only add.

use std::io::{BufRead, BufReader, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tapeline_gauge::pingpong::StartServer;

use crate::pingpong::{rows, rows_of};

/// Bytes of a message.
const SIZE: usize = 32;

/// Answers each message of a connection after a delay.
fn late_stream(listener: &TcpListener, delay: Duration) {
    let (stream, _) = listener.accept().unwrap();
    stream.set_nodelay(true).unwrap();
    late_echo(stream, delay);
}

fn late_echo(mut stream: impl Read + Write, delay: Duration) {
    // The warm-up has a byte a message.
    let mut buffer = [0; SIZE];
    while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
        thread::sleep(delay);
        if stream.write_all(&buffer[..bytes]).is_err() {
            return;
        }
    }
}

/// Answers each datagram after a delay, until none came for a while.
fn late_datagrams(socket: &UdpSocket, delay: Duration) {
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let mut buffer = [0; SIZE];
    while let Ok((bytes, from)) = socket.recv_from(&mut buffer) {
        thread::sleep(delay);
        socket.send_to(&buffer[..bytes], from).unwrap();
    }
}

/// A server whose answers come late, over `tcp` or `udp`.
fn late(transport: &str, delay: Duration) -> (SocketAddr, JoinHandle<()>) {
    let control = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = control.local_addr().unwrap();
    let is_stream = transport == "tcp";
    let serving = thread::spawn(move || {
        let (stream, _) = control.accept().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = if is_stream { listener.local_addr() } else { socket.local_addr() };
        agree(&stream, own.unwrap().port());
        match is_stream {
            true => late_stream(&listener, delay),
            false => late_datagrams(&socket, delay),
        }
    });
    (address, serving)
}

fn agree(mut stream: &TcpStream, port: u16) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("version"));
    writeln!(stream, "{{\"version\":\"{}/3\"}}", env!("CARGO_PKG_VERSION")).unwrap();
    assert!(lines.next().unwrap().unwrap().contains("hello"));
    writeln!(stream, "{{\"ready\":{{\"port\":{port}}}}}").unwrap();
    // Lines of later are read by nobody, and held by the kernel.
    thread::spawn(move || lines.map_while(Result::ok).count());
}

/// A server on this host that takes one end of a pair of sockets from its
/// client, in a thread of the test; the process that the client holds for it
/// only waits.
fn late_pair(control: OwnedFd, delay: Duration) -> std::io::Result<Child> {
    let control = UnixStream::from(control);
    thread::spawn(move || {
        let mut lines = BufReader::new(control.try_clone().unwrap()).lines();
        let mut say = control.try_clone().unwrap();
        assert!(lines.next().unwrap().unwrap().contains("version"));
        writeln!(say, "{{\"version\":\"{}/3\"}}", env!("CARGO_PKG_VERSION")).unwrap();
        assert!(lines.next().unwrap().unwrap().contains("hello"));
        writeln!(say, "{{\"ready\":{{\"port\":0}}}}").unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let buffers = &mut [IoSliceMut::new(&mut byte)];
        recvmsg(&control, buffers, &mut rights, RecvFlags::empty()).unwrap();
        let taken = rights.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut all) => all.next(),
            _ => None,
        });
        late_echo(UnixStream::from(taken.unwrap()), delay);
    });
    Command::new("sleep").arg("60").spawn()
}

#[test]
fn a_known_delay_of_a_pair_of_sockets_is_found() {
    for delay_us in [200, 1_000, 5_000] {
        let delay = Duration::from_micros(delay_us);
        let start = |control| late_pair(control, delay);
        let line = format!("--rtt --sizes={SIZE} unix_stream");
        let rows = rows_of(&line, &StartServer::Process(&start));
        let [(_, whole)] = rows[..] else { panic!("{rows:?}") };
        assert!(whole.min >= delay_us * 1_000, "{delay_us}: {whole:?}");
        // A machine that stands still for 5 ms in each of 20 messages says nothing.
        assert!(delay_us < 5_000 || whole.min < 2 * delay_us * 1_000, "{whole:?}");
    }
}

#[test]
fn a_known_delay_is_found() {
    for transport in ["tcp", "udp"] {
        for delay_us in [200, 1_000, 5_000] {
            let delay_ns = delay_us * 1_000;
            let (address, serving) = late(transport, Duration::from_micros(delay_us));
            let whole = rows(&format!("--nodelay --rtt --sizes={SIZE} {transport} {address}"));
            serving.join().unwrap();
            let (address, serving) = late(transport, Duration::from_micros(delay_us));
            let half = rows(&format!("--nodelay --sizes={SIZE} {transport} {address}"));
            serving.join().unwrap();
            let ([(_, whole), ..], [(_, half), ..]) = (&whole[..], &half[..]) else {
                panic!("{transport}")
            };
            assert!(whole.min >= delay_ns, "{transport} {delay_us}: {whole:?}");
            assert!(half.min >= delay_ns / 2, "{transport} {delay_us}: {half:?}");
            // A machine that stands still for 5 ms in each of 20 messages says
            // nothing about halves.
            assert!(delay_us < 5_000 || half.min < delay_ns, "{transport}: {half:?}");
        }
    }
}
