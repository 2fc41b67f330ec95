//! Bare TCP over loopback.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tapeline_measure::clock::now_ns;
use tapeline_measure::histogram::latencies;
use tapeline_measure::{processor, stop};

use super::MESSAGE_BYTES;

pub(super) fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (server, _) = listener.accept()?;
    for socket in [&client, &server] {
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
    }
    Ok((client, server))
}

/// Half round trips of small messages between two spinning threads, as fast
/// as it goes, for `time`; in nanoseconds. The one that echoes is on these
/// cores.
pub(super) fn ping_pong(
    time: Duration,
    echo_cores: Option<&[usize]>,
) -> io::Result<Histogram<u64>> {
    let (mut client, mut server) = pair()?;
    let cores = echo_cores.map(<[usize]>::to_vec);
    let echo = thread::spawn(move || {
        processor::pin(cores.as_deref());
        let mut message = [0; MESSAGE_BYTES];
        while read_whole(&mut server, &mut message)? {
            server.write_all(&message)?;
        }
        io::Result::Ok(())
    });
    let mut latencies = latencies();
    let mut message = [7; MESSAGE_BYTES];
    let (mut began, mut is_warm) = (Instant::now(), false);
    while (began.elapsed() < time || latencies.is_empty()) && !stop::is_asked() {
        let sent = now_ns();
        client.write_all(&message)?;
        read_whole(&mut client, &mut message)?;
        latencies.saturating_record((now_ns() - sent) / 2);
        if !is_warm && began.elapsed() > time / 10 {
            (is_warm, began) = (true, Instant::now());
            latencies.reset();
        }
    }
    drop(client);
    let _ = echo.join();
    Ok(latencies)
}

/// False at the end of the stream.
fn read_whole(socket: &mut TcpStream, message: &mut [u8]) -> io::Result<bool> {
    let mut filled = 0;
    while filled < message.len() {
        match socket.read(&mut message[filled..]) {
            Ok(0) => return Ok(false),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_measured() {
        let time = Duration::from_millis(50);
        let halves = ping_pong(time, None).unwrap();
        assert!(!halves.is_empty() && halves.min() > 0, "{}", halves.len());
    }
}
