//! Ways that never leave memory.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rtrb::{Consumer, Producer, RingBuffer};
use tapeline_measure::stop;

use super::Wire;

/// Answers itself: a round trip costs what measuring costs.
pub(crate) struct Null;

impl Wire for Null {
    fn send(&mut self, _message: &[u8], _more: bool) -> io::Result<()> {
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }
}

/// Bytes of each ring: two of the longest messages.
const RING_BYTES: usize = 2 << 20;

/// Turns between two looks at whether somebody wants the program to end.
const TURNS: u32 = 1 << 14;

/// One end of two rings of bytes between threads.
pub(crate) struct Ring {
    to: Producer<u8>,
    from: Consumer<u8>,
    /// Lets other threads run between two looks; else it looks again at once.
    yields: bool,
    /// Set by the end that is dropped first.
    is_over: Arc<AtomicBool>,
}

impl Ring {
    /// Both ends; each spins or yields.
    pub(crate) fn pair(spins: [bool; 2]) -> (Self, Self) {
        let (to_server, from_client) = RingBuffer::new(RING_BYTES);
        let (to_client, from_server) = RingBuffer::new(RING_BYTES);
        let is_over = Arc::new(AtomicBool::new(false));
        let client = Self {
            to: to_server,
            from: from_server,
            yields: !spins[0],
            is_over: Arc::clone(&is_over),
        };
        let server = Self { to: to_client, from: from_client, yields: !spins[1], is_over };
        (client, server)
    }

    fn turn(&self, turns: &mut u32) -> io::Result<()> {
        if self.yields {
            thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
        *turns = turns.wrapping_add(1);
        if turns.is_multiple_of(TURNS) {
            if self.is_over.load(Ordering::Acquire) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if stop::is_asked() {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}

impl Wire for Ring {
    fn send(&mut self, message: &[u8], _more: bool) -> io::Result<()> {
        let mut turns = 0;
        loop {
            let mut room = self.to.slots();
            if room >= message.len() {
                let Ok(mut chunk) = self.to.write_chunk(message.len()) else { continue };
                let (first, second) = chunk.as_mut_slices();
                let (front, back) = message.split_at(first.len());
                first.copy_from_slice(front);
                second.copy_from_slice(back);
                chunk.commit_all();
                return Ok(());
            }
            while room < message.len() {
                self.turn(&mut turns)?;
                room = self.to.slots();
            }
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut turns = 0;
        loop {
            if let Ok(chunk) = self.from.read_chunk(buffer.len()) {
                let (first, second) = chunk.as_slices();
                buffer[..first.len()].copy_from_slice(first);
                buffer[first.len()..].copy_from_slice(second);
                chunk.commit_all();
                return Ok(buffer.len());
            }
            self.turn(&mut turns)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_around_the_ring() {
        let (mut client, mut server) = Ring::pair([false, false]);
        let answering = thread::spawn(move || {
            let mut buffer = vec![0; 700_001];
            for _ in 0..20 {
                server.receive(&mut buffer).unwrap();
                server.send(&buffer, false).unwrap();
            }
        });
        for round in 0..20_u8 {
            let message = vec![round; 700_001];
            let mut answer = vec![0; 700_001];
            client.send(&message, false).unwrap();
            client.receive(&mut answer).unwrap();
            assert!(answer == message);
        }
        answering.join().unwrap();
        let gone = client.receive(&mut [0]).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::UnexpectedEof);
    }
}
