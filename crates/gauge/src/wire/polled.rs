//! What is polled by itself, used one message at a time.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use tapeline_measure::stop;

use super::Wire;
use crate::link::Link;

/// Turns between two looks at whether somebody wants the program to end.
const TURNS: u32 = 1 << 14;

/// How long a side that does not spin sleeps between two looks.
const NAP: Duration = Duration::from_micros(50);

/// One end, which waits for each message.
pub(crate) struct Polled {
    link: Box<dyn Link>,
    is_spinning: bool,
    /// Messages that came with the one that was wanted.
    early: VecDeque<Vec<u8>>,
}

impl Polled {
    pub(crate) fn new(link: Box<dyn Link>, is_spinning: bool) -> Self {
        Self { link, is_spinning, early: VecDeque::new() }
    }

    fn turn(&mut self, turns: &mut u32) -> io::Result<()> {
        *turns = turns.wrapping_add(1);
        if !self.is_spinning {
            self.link.nap(NAP);
        }
        if (!self.is_spinning || turns.is_multiple_of(TURNS)) && stop::is_asked() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    }
}

fn copy(message: &[u8], buffer: &mut [u8]) -> usize {
    let length = message.len().min(buffer.len());
    buffer[..length].copy_from_slice(&message[..length]);
    length
}

impl Wire for Polled {
    fn send(&mut self, message: &[u8], _more: bool) -> io::Result<()> {
        let mut turns = 0;
        while !self.link.offer(message)? {
            self.turn(&mut turns)?;
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(message) = self.early.pop_front() {
            return Ok(copy(&message, buffer));
        }
        let mut turns = 0;
        loop {
            let (mut came, early) = (None, &mut self.early);
            self.link.poll(&mut |message| match came {
                None => came = Some(copy(message, buffer)),
                Some(_) => early.push_back(message.to_vec()),
            })?;
            match came {
                Some(length) => return Ok(length),
                None => self.turn(&mut turns)?,
            }
        }
    }
}
