//! Bare TCP over loopback.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tapeline_measure::clock::now_ns;
use tapeline_measure::histogram::latencies;
use tapeline_measure::{processor, stop};

use super::MESSAGE_BYTES;

/// Bytes of a write of the fan-out.
const WRITE_BYTES: usize = 64 << 10;

/// Bytes of a read of the fan-out.
const READ_BYTES: usize = 64 << 10;

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

/// Bytes a second that one thread writes to `sockets` sockets in large writes,
/// one after the other, and another thread reads. The one that writes is on
/// these cores.
pub(super) fn fan_out(
    sockets: usize,
    time: Duration,
    writer_cores: Option<&[usize]>,
) -> io::Result<f64> {
    let (mut readers, mut writers) = (Vec::new(), Vec::new());
    for _ in 0..sockets {
        let (reader, writer) = pair()?;
        readers.push(reader);
        writers.push(writer);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let cores = writer_cores.map(<[usize]>::to_vec);
    let writing = thread::spawn(move || {
        processor::pin(cores.as_deref());
        let data = vec![7; WRITE_BYTES];
        while !over.load(Ordering::Relaxed) {
            for writer in &mut writers {
                match writer.write(&data) {
                    Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                    _ => {}
                }
            }
        }
        io::Result::Ok(())
    });
    let mut room = vec![0; READ_BYTES];
    let (mut bytes, mut began, mut is_warm) = (0_u64, Instant::now(), false);
    // A writer that has not been on a core yet is no figure.
    while (began.elapsed() < time || bytes == 0) && !stop::is_asked() {
        for reader in &mut readers {
            match reader.read(&mut room) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => bytes += black_box(&room[..count]).len() as u64,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        if !is_warm && began.elapsed() > time / 10 {
            (is_warm, began, bytes) = (true, Instant::now(), 0);
        }
    }
    let rate = bytes as f64 / began.elapsed().as_secs_f64();
    is_over.store(true, Ordering::Relaxed);
    let _ = writing.join();
    Ok(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_measured() {
        let time = Duration::from_millis(50);
        let halves = ping_pong(time, None).unwrap();
        assert!(!halves.is_empty() && halves.min() > 0, "{}", halves.len());
        assert!(fan_out(3, time, None).unwrap() > 0.0);
    }
}
