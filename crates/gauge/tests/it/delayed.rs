//! A server that is known to be late: what is measured is at least its delay.
//! Only minima are held, since other work can only add.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::pingpong::rows;

/// Bytes of a message.
const SIZE: usize = 32;

/// Answers each message of a connection after a delay.
fn late_stream(listener: &TcpListener, delay: Duration) {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_nodelay(true).unwrap();
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
    writeln!(stream, "{{\"version\":\"{}/2\"}}", env!("CARGO_PKG_VERSION")).unwrap();
    assert!(lines.next().unwrap().unwrap().contains("hello"));
    writeln!(stream, "{{\"ready\":{{\"port\":{port}}}}}").unwrap();
    // Lines of later are read by nobody, and held by the kernel.
    thread::spawn(move || lines.map_while(Result::ok).count());
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
