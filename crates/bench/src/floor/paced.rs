//! Bare TCP at a set rate, from the intended time of sending.
//!
//! A ping-pong as fast as it goes waits while the machine stands still, and has
//! one bad sample for it. A system that is measured at a rate has as many as
//! were due meanwhile. So its tail is held against this floor, which is
//! measured in the same way.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use hdrhistogram::Histogram;
use tapeline_measure::clock::now_ns;
use tapeline_measure::histogram::latencies;
use tapeline_measure::schedule::Schedule;
use tapeline_measure::{processor, stop};

use super::MESSAGE_BYTES;
use super::tcp::pair;
use crate::Pacing;

/// Before the schedule begins, in nanoseconds.
const LEAD_NS: u64 = 1_000_000;

/// How long the last messages may take to come back, in nanoseconds.
const DRAIN_NS: u64 = 10_000_000_000;

/// Messages on their way at one time, so that neither side ever writes into a
/// full socket while the other does the same. What has to wait counts from when
/// it was due.
const MOST_UNDERWAY: u64 = 1024;

/// Bytes of a read.
const READ_BYTES: usize = 64 << 10;

/// Half of the time from the moment at which a message was due until it is
/// back, for `rate` messages a second, in nanoseconds; the first tenth is not
/// counted. The side that echoes is on these cores.
pub(super) fn ping_pong(
    rate: u64,
    time: Duration,
    echo_cores: Option<&[usize]>,
) -> io::Result<Histogram<u64>> {
    let (mut client, server) = pair()?;
    let cores = echo_cores.map(<[usize]>::to_vec);
    let echo = thread::spawn(move || {
        processor::pin(cores.as_deref());
        send_back(server)
    });
    let mut latencies = latencies();
    let mut arrived = Arrived::default();
    let start_ns = now_ns() + LEAD_NS;
    let time_ns = time.as_nanos() as u64;
    let (counted_ns, end_ns) = (start_ns + time_ns / 10, start_ns + time_ns);
    let mut schedule = Schedule::new(start_ns, rate, Pacing::Even);
    let (mut sent, mut received) = (0_u64, 0_u64);
    loop {
        let now = now_ns();
        while sent - received < MOST_UNDERWAY
            && let Some(due_ns) = schedule.take(now.min(end_ns - 1))
        {
            let mut message = [7; MESSAGE_BYTES];
            message[..8].copy_from_slice(&due_ns.to_le_bytes());
            write_whole(&mut client, &message)?;
            sent += 1;
        }
        arrived.read(&mut client, |due_ns| {
            received += 1;
            if due_ns >= counted_ns {
                latencies.saturating_record(now_ns().saturating_sub(due_ns) / 2);
            }
        })?;
        if now >= end_ns && received == schedule.due_by(end_ns - 1) {
            break;
        }
        if stop::is_asked() {
            break;
        }
        if now >= end_ns + DRAIN_NS {
            let text = format!("{received} of {sent} messages came back");
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
    }
    drop(client);
    let _ = echo.join();
    Ok(latencies)
}

/// Sends all that comes back, until nothing comes any more.
fn send_back(mut socket: TcpStream) -> io::Result<()> {
    let mut room = vec![0; READ_BYTES];
    loop {
        match socket.read(&mut room) {
            Ok(0) => return Ok(()),
            Ok(count) => write_whole(&mut socket, &room[..count])?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(error) => return Err(error),
        }
    }
}

fn write_whole(socket: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match socket.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What came of messages.
struct Arrived {
    room: Vec<u8>,
    filled: usize,
}

impl Default for Arrived {
    fn default() -> Self {
        Self { room: vec![0; READ_BYTES], filled: 0 }
    }
}

impl Arrived {
    /// Reads once, and hands on when each whole message was due.
    fn read(&mut self, socket: &mut TcpStream, mut on_message: impl FnMut(u64)) -> io::Result<()> {
        match socket.read(&mut self.room[self.filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.filled += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
        let mut start = 0;
        while let Some(message) = self.room[start..self.filled].get(..MESSAGE_BYTES) {
            if let Some(due) = message.first_chunk() {
                on_message(u64::from_le_bytes(*due));
            }
            start += MESSAGE_BYTES;
        }
        self.room.copy_within(start..self.filled, 0);
        self.filled -= start;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_counted_as_were_due() {
        let found = ping_pong(1_000, Duration::from_millis(200), None).unwrap();
        assert_eq!(found.len(), 180);
        assert!(found.min() > 0);
    }
}
