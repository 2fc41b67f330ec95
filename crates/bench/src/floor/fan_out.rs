//! What the fan-out would cost if it were nothing but its writes, and nothing but its
//! copies.
//!
//! | floor | does | does not |
//! |---|---|---|
//! | [`writes`] | writes the same frames to as many sockets, as many bytes at once as the server does, read and counted as the lean clients do | look an update up, copy it, put a stream id in |
//! | [`copies`] | copies the same update into as many buffers, as many bytes in a visit | any system call |

use std::hint::black_box;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tapeline_measure::{processor, stop};

use super::tcp::pair;
use crate::clients::Tally;
use crate::consumers::Reader as _;
use crate::lean::{Frame, ROUND, Room};
use crate::stamp::Stamp;
use crate::update::Update;

/// Most bytes of a frame, as servers and clients agree without another setting.
const FRAME_BYTES: usize = 6144;

/// Updates that are copied one after the other, again and again: a batch.
const BATCH: usize = 64;

/// A length in front of each message of a packed frame.
const LENGTH_BYTES: usize = 2;

/// What the floor of the writes did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Writes {
    /// Updates that were read, a second.
    pub(crate) updates_per_s: f64,
    /// The same for each second that the writing thread was on a processor and had its
    /// writes taken.
    pub(crate) per_busy_cpu_second: f64,
    /// Share of the time in which writes were taken, and in which reads brought something.
    pub(crate) writer_share: f64,
    pub(crate) reader_share: f64,
}

/// What the writing thread tells, and is told.
#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    thread_id: AtomicI32,
    /// Time that writes took which were taken.
    busy_ns: AtomicU64,
}

impl Shared {
    /// Seconds in writes, and on a processor.
    fn seconds(&self) -> (f64, f64) {
        let busy_s = self.busy_ns.load(Ordering::Relaxed) as f64 / 1e9;
        let cpu_s = processor::thread_seconds(self.thread_id.load(Ordering::Relaxed));
        (busy_s, cpu_s.unwrap_or(0.0))
    }
}

/// Writes of `write_bytes` to as many sockets, one after the other, as fast as they are
/// taken, by a thread on these cores; the calling one reads.
pub(super) fn writes(
    (sockets, write_bytes): (usize, usize),
    time: Duration,
    writer_cores: Option<&[usize]>,
) -> io::Result<Writes> {
    let (mut readers, mut writers) = (Vec::new(), Vec::new());
    for _ in 0..sockets {
        let (reader, writer) = pair()?;
        readers.push((reader, Vec::new()));
        writers.push((writer, 0));
    }
    let shared = Arc::new(Shared::default());
    let (its, cores) = (Arc::clone(&shared), writer_cores.map(<[usize]>::to_vec));
    let writing = thread::spawn(move || {
        processor::pin(cores.as_deref());
        its.thread_id.store(processor::thread_id(), Ordering::Relaxed);
        write_all(&mut writers, &Stream::new(write_bytes), &its)
    });
    let read = read_all(&mut readers, time, &shared);
    shared.is_over.store(true, Ordering::Relaxed);
    match writing.join() {
        Ok(Err(error)) => Err(error),
        _ => read,
    }
}

/// Frames of updates that follow each other for ever.
struct Stream {
    /// All of them once, and as much of the beginning as a write may take.
    bytes: Vec<u8>,
    period: usize,
    write_bytes: usize,
}

impl Stream {
    fn new(write_bytes: usize) -> Self {
        let update = packed_updates(1);
        let write_bytes = write_bytes.max(update.len() + Frame::HEAD_BYTES);
        let room = write_bytes.min(FRAME_BYTES) - Frame::HEAD_BYTES;
        let body = packed_updates(room / update.len());
        let length = (body.len() + Frame::HEAD_BYTES) as u16;
        let mut frame = length.to_be_bytes().to_vec();
        frame.push(Frame::PACKED);
        frame.extend(body);
        let period = frame.len();
        let bytes = frame.iter().copied().cycle().take(period + write_bytes).collect();
        Self { bytes, period, write_bytes }
    }

    /// The bytes of a write that begins here.
    fn at(&self, at: usize) -> &[u8] {
        &self.bytes[at..at + self.write_bytes]
    }
}

/// So many updates as they are in a packed frame.
fn packed_updates(count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut update = Update::new();
    for number in 0..count.max(1) as u64 {
        let message = Stamp { due_ns: 0, number }.write_rssl(&mut update);
        bytes.extend((message.len() as u16).to_be_bytes());
        bytes.extend_from_slice(message);
    }
    bytes
}

/// Writes to each socket, from where it is in the stream, until it is over.
fn write_all(
    writers: &mut [(TcpStream, usize)],
    stream: &Stream,
    shared: &Shared,
) -> io::Result<()> {
    let mut busy_ns = 0;
    while !shared.is_over.load(Ordering::Relaxed) {
        let mut began = Instant::now();
        for (socket, at) in writers.iter_mut() {
            let written = socket.write(stream.at(*at));
            let now = Instant::now();
            match written {
                Ok(count) => {
                    *at = (*at + count) % stream.period;
                    busy_ns += (now - began).as_nanos() as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            began = now;
        }
        shared.busy_ns.store(busy_ns, Ordering::Relaxed);
    }
    Ok(())
}

/// Reads from each socket once in a round, as the lean clients do.
fn read_all(
    readers: &mut [(TcpStream, Vec<u8>)],
    time: Duration,
    shared: &Shared,
) -> io::Result<Writes> {
    let mut tally = Tally::in_place(readers.len());
    let mut room = Room::default();
    let (mut began, mut before, mut is_warm) = (Instant::now(), shared.seconds(), false);
    let (mut updates_before, mut read_ns, mut next) = (0, 0, began);
    // A writer that has not been on a core yet is no figure.
    while (began.elapsed() < time || tally.updates == updates_before) && !stop::is_asked() {
        let now = Instant::now();
        if now < next {
            std::hint::spin_loop();
            continue;
        }
        next = now + ROUND;
        if read_round(readers, &mut room, &mut tally)? {
            read_ns += now.elapsed().as_nanos() as u64;
        }
        if !is_warm && began.elapsed() > time / 10 {
            (began, before, is_warm) = (Instant::now(), shared.seconds(), true);
            (updates_before, read_ns) = (tally.updates, 0);
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let (busy_s, cpu_s) = shared.seconds();
    let (busy_s, cpu_s) = (busy_s - before.0, cpu_s - before.1);
    let updates = (tally.updates - updates_before) as f64;
    let writer_share = busy_s / seconds;
    Ok(Writes {
        updates_per_s: updates / seconds,
        per_busy_cpu_second: updates / (cpu_s * writer_share).max(f64::MIN_POSITIVE),
        writer_share,
        reader_share: read_ns as f64 / 1e9 / seconds,
    })
}

/// Returns whether anything came.
fn read_round(
    readers: &mut [(TcpStream, Vec<u8>)],
    room: &mut Room,
    tally: &mut Tally,
) -> io::Result<bool> {
    let mut has_read = false;
    for (client, (socket, begun)) in readers.iter_mut().enumerate() {
        let Some(mut rest) = room.read(socket, begun)? else { continue };
        has_read = true;
        while let Some(frame) = Frame::first(rest) {
            let (whole, behind) = rest.split_at(frame.bytes);
            frame.messages(whole, |message| {
                black_box(tally.takes(client, message));
            });
            rest = behind;
        }
        begun.extend_from_slice(rest);
    }
    Ok(has_read)
}

/// Copies of updates into as many buffers, a visit after the other, for each second that
/// the calling thread was on a processor.
pub(super) fn copies((buffers, visit_bytes): (usize, usize), time: Duration) -> f64 {
    let batch = packed_updates(BATCH);
    let length = batch.len() / BATCH;
    let copies = (visit_bytes / length).max(1);
    let mut all = vec![vec![0_u8; copies * length]; buffers.max(1)];
    let own_seconds = || processor::thread_seconds(processor::thread_id()).unwrap_or(0.0);
    // The first time round, memory is touched for the first time.
    fill(&mut all, &batch, length);
    let (began, before, mut count) = (Instant::now(), own_seconds(), 0_u64);
    while began.elapsed() < time && !stop::is_asked() {
        count += fill(&mut all, &batch, length);
    }
    count as f64 / (own_seconds() - before).max(f64::MIN_POSITIVE)
}

/// Fills each buffer with copies. Returns how many.
fn fill(buffers: &mut [Vec<u8>], batch: &[u8], length: usize) -> u64 {
    let mut count = 0;
    for buffer in buffers.iter_mut() {
        let originals = batch.chunks_exact(length).cycle();
        for (place, original) in buffer.chunks_exact_mut(length).zip(originals) {
            place[..LENGTH_BYTES].copy_from_slice(&original[..LENGTH_BYTES]);
            place[LENGTH_BYTES..].copy_from_slice(&original[LENGTH_BYTES..]);
            count += 1;
        }
        black_box(buffer);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_millis(50);

    #[test]
    fn the_floor_is_measured() {
        let found = writes((3, 2_000), TIME, None).unwrap();
        assert!(found.updates_per_s > 0.0 && found.per_busy_cpu_second > 0.0, "{found:?}");
        assert!(found.writer_share > 0.0 && found.reader_share > 0.0, "{found:?}");
        assert!(copies((3, 2_000), TIME) > 0.0);
    }

    #[test]
    fn writes_that_end_anywhere_are_frames_of_updates() {
        for write_bytes in [1, 90, 1_000, 70_000] {
            let stream = Stream::new(write_bytes);
            // As a socket has them that takes half of each write.
            let mut bytes = Vec::new();
            let mut at = 0;
            while bytes.len() < 3 * stream.period {
                let taken = stream.write_bytes.div_ceil(2);
                bytes.extend_from_slice(&stream.at(at)[..taken]);
                at = (at + taken) % stream.period;
            }
            let (mut rest, mut tally) = (&bytes[..], Tally::in_place(1));
            while let Some(frame) = Frame::first(rest) {
                let is_whole = frame.messages(&rest[..frame.bytes], |message| {
                    assert!(tally.takes(0, message), "of writes of {write_bytes}");
                });
                assert!(is_whole && frame.bytes <= FRAME_BYTES);
                rest = &rest[frame.bytes..];
            }
            assert!(tally.updates >= 3 && rest.len() < stream.period, "{write_bytes}");
        }
    }

    #[test]
    fn a_buffer_is_filled_with_whole_copies() {
        let batch = packed_updates(2);
        let length = batch.len() / 2;
        let mut buffers = vec![vec![0; 3 * length]; 2];
        assert_eq!(fill(&mut buffers, &batch, length), 6);
        let expected: Vec<u8> = batch.iter().copied().cycle().take(3 * length).collect();
        assert!(buffers.iter().all(|buffer| *buffer == expected));
    }
}
