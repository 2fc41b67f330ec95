//! Two rings of bytes in memory, between threads of a process.
//!
//! A message has its length in front, four bytes. The end that sleeps waits on
//! a descriptor; the other one wakes it only if it sleeps.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use rtrb::{Consumer, Producer, RingBuffer};
use rustix::event::{EventfdFlags, eventfd};

use super::Link;

const LENGTH_BYTES: usize = 4;

/// Messages that are read in one poll.
const AT_ONCE: usize = 64;

/// Wakes an end that sleeps.
struct Bell {
    fd: OwnedFd,
    is_asleep: AtomicBool,
}

impl Bell {
    fn new() -> io::Result<Arc<Self>> {
        let fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Arc::new(Self { fd, is_asleep: AtomicBool::new(false) }))
    }

    fn ring(&self) {
        // What was put into the ring is there before this is looked at.
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::Relaxed) && self.is_asleep.swap(false, Ordering::AcqRel) {
            let _ = rustix::io::write(&self.fd, &1_u64.to_ne_bytes());
        }
    }
}

/// One end.
pub(crate) struct RingLink {
    to: Producer<u8>,
    from: Consumer<u8>,
    own: Arc<Bell>,
    others: Arc<Bell>,
    /// Set by the end that goes first.
    is_over: Arc<AtomicBool>,
    message: Vec<u8>,
    /// It slept, so that there may be something to read from its bell.
    was_asleep: bool,
}

impl RingLink {
    /// Both ends; each way has room for so many bytes.
    pub(crate) fn pair(bytes: usize) -> io::Result<(Self, Self)> {
        let (forth, of_forth) = RingBuffer::new(bytes);
        let (back, of_back) = RingBuffer::new(bytes);
        let (near, far) = (Bell::new()?, Bell::new()?);
        let is_over = Arc::new(AtomicBool::new(false));
        let end = |to, from, own: &Arc<Bell>, others: &Arc<Bell>| Self {
            to,
            from,
            own: Arc::clone(own),
            others: Arc::clone(others),
            is_over: Arc::clone(&is_over),
            message: Vec::new(),
            was_asleep: false,
        };
        Ok((end(forth, of_back, &near, &far), end(back, of_forth, &far, &near)))
    }

    /// Bytes of a ring for so many messages of a length, within reason.
    pub(crate) fn bytes_for(messages: usize, length: usize) -> usize {
        const MOST: usize = 64 << 20;
        let one = length + LENGTH_BYTES;
        messages.saturating_mul(one).min(MOST).max(4 * one)
    }

    fn take(&mut self, bytes: usize) {
        self.message.clear();
        if let Ok(chunk) = self.from.read_chunk(bytes) {
            let (first, second) = chunk.as_slices();
            self.message.extend_from_slice(first);
            self.message.extend_from_slice(second);
            chunk.commit_all();
        }
    }
}

/// Copies to a place of a ring's two pieces.
fn put(first: &mut [u8], second: &mut [u8], at: usize, bytes: &[u8]) {
    let (front, back) = bytes.split_at(first.len().saturating_sub(at).min(bytes.len()));
    if !front.is_empty() {
        first[at..at + front.len()].copy_from_slice(front);
    }
    if !back.is_empty() {
        let from = at + front.len() - first.len();
        second[from..from + back.len()].copy_from_slice(back);
    }
}

impl Drop for RingLink {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        self.others.ring();
    }
}

impl Link for RingLink {
    fn offer(&mut self, message: &[u8]) -> io::Result<bool> {
        if self.is_over.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Ok(mut chunk) = self.to.write_chunk(message.len() + LENGTH_BYTES) else {
            return Ok(false);
        };
        let length = (message.len() as u32).to_ne_bytes();
        let (first, second) = chunk.as_mut_slices();
        put(first, second, 0, &length);
        put(first, second, LENGTH_BYTES, message);
        chunk.commit_all();
        self.others.ring();
        Ok(true)
    }

    fn poll(&mut self, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        if self.was_asleep {
            self.was_asleep = false;
            self.own.is_asleep.store(false, Ordering::Relaxed);
            let _ = rustix::io::read(&self.own.fd, &mut [0; 8]);
        }
        for _ in 0..AT_ONCE {
            // First this, so that what was put there before the end is taken.
            let is_over = self.is_over.load(Ordering::Acquire);
            if self.from.slots() < LENGTH_BYTES {
                return if is_over { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) };
            }
            self.take(LENGTH_BYTES);
            let length = self.message.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
            self.take(length as usize);
            each(&self.message);
        }
        Ok(())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.own.fd.as_fd())
    }

    fn falls_asleep(&mut self) -> bool {
        self.was_asleep = true;
        self.own.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.from.slots() == 0 && !self.is_over.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Links, Readiness};
    use tapeline_measure::clock::now_ns;

    #[test]
    fn a_message_wakes_an_end_that_sleeps_and_a_full_ring_takes_no_more() {
        let (mut near, far) = RingLink::pair(RingLink::bytes_for(4, 100)).unwrap();
        let mut taken = 0_u8;
        while near.offer(&[taken; 100]).unwrap() {
            taken += 1;
        }
        assert_eq!(taken, 4);
        let mut links: Links = vec![Box::new(far)];
        let mut readiness = Readiness::of(&links).unwrap();
        let mut came = Vec::new();
        let mut take = |_: usize, bytes: &[u8]| came.push((bytes[0], bytes.len()));
        readiness.poll(&mut links, &mut take).unwrap();
        assert!(links[0].falls_asleep());
        std::thread::scope(|scope| {
            scope.spawn(move || assert!(near.offer(&[9; 7]).unwrap()));
            let until = now_ns() + 10_000_000_000;
            let mut is_over = false;
            while !is_over && now_ns() < until {
                if links[0].falls_asleep() {
                    readiness.wait(&mut links, until).unwrap();
                }
                is_over = readiness.poll(&mut links, &mut take).is_err();
            }
            assert!(is_over, "the end of the other end is told");
        });
        assert_eq!(came, [(0, 100), (1, 100), (2, 100), (3, 100), (9, 7)]);
    }

    #[test]
    fn a_million_messages_keep_their_order_and_allocate_nothing() {
        let (mut near, mut far) = RingLink::pair(RingLink::bytes_for(64, 64)).unwrap();
        let counted = allocation_counter::measure(|| {
            let (mut sent, mut came) = (0_u64, 0_u64);
            while came < 1_000_000 {
                while sent < 1_000_000 && near.offer(&sent.to_ne_bytes()).unwrap() {
                    sent += 1;
                }
                far.poll(&mut |bytes| {
                    assert_eq!(bytes, came.to_ne_bytes());
                    came += 1;
                })
                .unwrap();
            }
        });
        // The room for one message.
        assert!(counted.count_total <= 2, "{}", counted.count_total);
    }
}
