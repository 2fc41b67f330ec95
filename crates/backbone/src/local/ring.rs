//! One direction between two ports: frames in a ring of bytes.
//!
//! ```text
//!   | length u32 | frame ... | up to 7 bytes | length u32 | frame ... | ... | SKIP ... |
//! ```
//!
//! Records begin at multiples of eight bytes, and no record goes around the end
//! of the ring: what is left there is skipped. So a frame is read where it
//! lies, as one slice.

use rtrb::{Consumer, Producer, RingBuffer};

const LENGTH_BYTES: usize = size_of::<u32>();

/// Records begin at multiples of this, so a length never goes around the end.
const ALIGNMENT_BYTES: usize = 8;

/// In place of a length: the rest up to the end of the ring is skipped.
const SKIP: [u8; LENGTH_BYTES] = u32::MAX.to_le_bytes();

/// A new ring of at least so many bytes.
pub(super) fn ring(bytes: usize) -> (Writer, Reader) {
    let bytes = bytes.next_multiple_of(ALIGNMENT_BYTES);
    let (producer, consumer) = RingBuffer::new(bytes);
    (Writer { producer, position: 0, bytes }, Reader(consumer))
}

/// The longest frame that a ring of so many bytes carries: as much of it as of a
/// term of Aeron's.
pub(super) const fn max_frame_bytes(ring_bytes: usize) -> usize {
    ring_bytes / 8 - ALIGNMENT_BYTES
}

const fn record_bytes(frame_bytes: usize) -> usize {
    (LENGTH_BYTES + frame_bytes).next_multiple_of(ALIGNMENT_BYTES)
}

/// Where frames go in.
#[derive(Debug)]
pub(super) struct Writer {
    producer: Producer<u8>,
    /// Where the next record begins.
    position: usize,
    bytes: usize,
}

impl Writer {
    /// What is to be skipped in front of a record.
    const fn skipped_bytes(&self, record_bytes: usize) -> usize {
        let behind = self.bytes - self.position;
        if record_bytes > behind { behind } else { 0 }
    }

    /// Whether a frame goes in now.
    pub(super) fn has_room_for(&self, frame_bytes: usize) -> bool {
        let record_bytes = record_bytes(frame_bytes);
        let needed_bytes = self.skipped_bytes(record_bytes) + record_bytes;
        self.producer.cached_slots() >= needed_bytes || self.producer.slots() >= needed_bytes
    }

    /// Whether half of it is free.
    pub(super) fn is_half_empty(&self) -> bool {
        self.producer.slots() >= self.bytes / 2
    }

    /// Whether nobody is going to read it.
    pub(super) fn is_abandoned(&self) -> bool {
        self.producer.is_abandoned()
    }

    /// Writes a frame that consists of these parts, `frame_bytes` in all. False
    /// if there is no room now.
    pub(super) fn write(&mut self, frame_bytes: usize, head: &[u8], parts: &[&[u8]]) -> bool {
        debug_assert!(frame_bytes <= max_frame_bytes(self.bytes), "the port cuts longer ones");
        let record_bytes = record_bytes(frame_bytes);
        let skipped_bytes = self.skipped_bytes(record_bytes);
        let Ok(mut chunk) = self.producer.write_chunk(skipped_bytes + record_bytes) else {
            return false;
        };
        let (at_position, at_start) = chunk.as_mut_slices();
        let record = if skipped_bytes > 0 {
            at_position[..LENGTH_BYTES].copy_from_slice(&SKIP);
            at_start
        } else {
            at_position
        };
        let (length, mut rest) = record.split_at_mut(LENGTH_BYTES);
        length.copy_from_slice(&(frame_bytes as u32).to_le_bytes());
        for part in std::iter::once(&head).chain(parts) {
            let (place, behind) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = behind;
        }
        chunk.commit_all();
        self.position += skipped_bytes + record_bytes;
        if self.position >= self.bytes {
            self.position -= self.bytes;
        }
        true
    }
}

/// Where frames come out.
#[derive(Debug)]
pub(super) struct Reader(Consumer<u8>);

impl Reader {
    /// Hands up to `limit` frames to `on_frame`. Returns how many there were.
    pub(super) fn read(&mut self, limit: usize, mut on_frame: impl FnMut(&[u8])) -> usize {
        let bytes = self.0.slots();
        if bytes == 0 {
            return 0;
        }
        let Ok(chunk) = self.0.read_chunk(bytes) else { return 0 };
        let (at_position, at_start) = chunk.as_slices();
        let (mut count, mut read_bytes) = (0, 0);
        for mut rest in [at_position, at_start] {
            while count < limit
                && let Some((record, behind)) = split_record(rest)
            {
                read_bytes += rest.len() - behind.len();
                rest = behind;
                if let Some(frame) = record {
                    count += 1;
                    on_frame(frame);
                }
            }
        }
        chunk.commit(read_bytes);
        count
    }

    /// Whether nobody is going to write more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.0.is_abandoned()
    }

    /// Whether there is nothing to read.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The first record, or nothing for what is skipped, and what is behind it.
fn split_record(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (length, _) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    if *length == SKIP {
        return Some((None, &[]));
    }
    let frame_bytes = u32::from_le_bytes(*length) as usize;
    let record = bytes.split_at_checked(record_bytes(frame_bytes));
    debug_assert!(record.is_some(), "records are written as a whole, and never around the end");
    let (record, behind) = record?;
    Some((Some(&record[LENGTH_BYTES..LENGTH_BYTES + frame_bytes]), behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(number: usize, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (number * 31 + at) as u8).collect()
    }

    fn write(writer: &mut Writer, frame: &[u8]) -> bool {
        let (head, rest) = frame.split_at(frame.len() / 3);
        let (first, second) = rest.split_at(rest.len() / 2);
        writer.write(frame.len(), head, &[first, &[], second])
    }

    fn read(reader: &mut Reader, limit: usize) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        reader.read(limit, |frame| frames.push(frame.to_vec()));
        frames
    }

    #[test]
    fn frames_of_every_size_come_out_as_they_went_in() {
        let bytes = 1024;
        let (mut writer, mut reader) = ring(bytes);
        // Sizes and positions go through all combinations many times.
        for number in 0..20_000 {
            let frame = frame(number, number % (max_frame_bytes(bytes) + 1));
            assert!(write(&mut writer, &frame), "frame {number}");
            assert_eq!(read(&mut reader, 9), [frame], "frame {number}");
        }
    }

    #[test]
    fn a_ring_is_bounded_and_every_place_of_it_is_used_again() {
        let bytes = 1024;
        let (mut writer, mut reader) = ring(bytes);
        for lap in 0..100 {
            let size = 1 + lap % max_frame_bytes(bytes);
            let sent = (0..).map(|number| frame(number, size)).take_while(|frame| {
                let has_room = writer.has_room_for(frame.len());
                assert_eq!(write(&mut writer, frame), has_room);
                has_room
            });
            let sent: Vec<_> = sent.collect();
            let used: usize = sent.iter().map(|frame| record_bytes(frame.len())).sum();
            assert!(used <= bytes && used + 2 * record_bytes(size) > bytes, "{size}: {used}");
            assert!(!writer.is_half_empty());
            assert_eq!(read(&mut reader, usize::MAX), sent);
            assert!(writer.is_half_empty() && reader.is_empty());
        }
    }

    #[test]
    fn no_more_are_read_than_asked_for() {
        let (mut writer, mut reader) = ring(1024);
        for number in 0..5 {
            assert!(write(&mut writer, &frame(number, 40)));
        }
        assert_eq!(read(&mut reader, 2), [frame(0, 40), frame(1, 40)]);
        assert_eq!(read(&mut reader, 0), [[0; 0]; 0]);
        assert_eq!(read(&mut reader, 9).len(), 3);
    }

    #[test]
    fn what_was_written_is_read_though_the_writer_is_gone() {
        let (mut writer, mut reader) = ring(1024);
        assert!(write(&mut writer, &frame(0, 40)));
        assert!(!reader.is_abandoned());
        drop(writer);
        assert!(reader.is_abandoned() && !reader.is_empty());
        assert_eq!(read(&mut reader, 9), [frame(0, 40)]);
        let (writer, reader) = ring(1024);
        drop(reader);
        assert!(writer.is_abandoned());
    }

    #[test]
    fn two_threads_lose_nothing() {
        const FRAMES: usize = 100_000;
        let (mut writer, mut reader) = ring(4096);
        let sizes = |number: usize| number * 7 % max_frame_bytes(4096);
        let sender = std::thread::spawn(move || {
            for number in 0..FRAMES {
                let frame = frame(number, sizes(number));
                while !write(&mut writer, &frame) {
                    std::thread::yield_now();
                }
            }
        });
        let mut number = 0;
        while number < FRAMES {
            let read = reader.read(64, |read| {
                assert!(read == frame(number, sizes(number)), "frame {number}");
                number += 1;
            });
            if read == 0 {
                std::thread::yield_now();
            }
        }
        sender.join().expect("a sender");
        assert!(reader.is_empty());
    }
}
