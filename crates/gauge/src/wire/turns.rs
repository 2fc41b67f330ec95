//! Several connections that take turns.

use std::io;

use super::{Stamped, Wire};

/// What ends an iteration as one side sees it: so many messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IterationEnd {
    /// It has sent them.
    Sent(u32),
    /// It has received them.
    Received(u32),
}

/// Connections of which each carries an iteration before the next one does: all of them
/// talk, and what that costs is in every round trip.
///
/// ```text
///   iteration    0    1    2    3    4 ...
///   connection   0    1    2    0    1 ...      of three
/// ```
///
/// Both sides count by themselves, and agree as long as nothing is lost.
pub(crate) struct Turns<W> {
    wires: Vec<W>,
    /// Whose turn it is.
    at: usize,
    end: IterationEnd,
    /// Messages of the present iteration that count towards its end.
    done: u32,
}

impl<W: Wire> Turns<W> {
    /// Of at least one connection, in the same order at both sides.
    pub(crate) fn new(wires: Vec<W>, end: IterationEnd) -> Self {
        debug_assert!(!wires.is_empty(), "somebody has to talk");
        Self { wires, at: 0, end, done: 0 }
    }

    #[inline]
    fn note(&mut self, of: u32) {
        self.done += 1;
        if self.done >= of {
            self.done = 0;
            self.at = if self.at + 1 < self.wires.len() { self.at + 1 } else { 0 };
        }
    }
}

impl<W: Wire> Wire for Turns<W> {
    #[inline]
    fn send(&mut self, message: &[u8], more: bool) -> io::Result<()> {
        self.wires[self.at].send(message, more)?;
        if let IterationEnd::Sent(of) = self.end {
            self.note(of);
        }
        Ok(())
    }

    #[inline]
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.wires[self.at].receive(buffer)?;
        if let IterationEnd::Received(of) = self.end {
            self.note(of);
        }
        Ok(bytes)
    }

    fn stamped(&mut self) -> Option<Stamped> {
        // The iteration that is over was the turn of the one before.
        let before = self.at.checked_sub(1).unwrap_or(self.wires.len() - 1);
        self.wires[before].stamped()
    }

    fn is_ready(&self) -> bool {
        self.wires[self.at].is_ready()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers with its number, and keeps what it is sent.
    struct Numbered(u8, Vec<u8>);

    impl Wire for Numbered {
        fn send(&mut self, message: &[u8], _more: bool) -> io::Result<()> {
            self.1.extend_from_slice(message);
            Ok(())
        }

        fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            buffer[0] = self.0;
            Ok(1)
        }
    }

    fn three(end: IterationEnd) -> Turns<Numbered> {
        Turns::new((0..3).map(|number| Numbered(number, Vec::new())).collect(), end)
    }

    #[test]
    fn each_connection_has_whole_iterations() {
        let mut asking = three(IterationEnd::Received(2));
        let mut came = Vec::new();
        for iteration in 0..5 {
            asking.send(&[iteration], false).unwrap();
            for _ in 0..2 {
                let mut buffer = [0];
                asking.receive(&mut buffer).unwrap();
                came.push(buffer[0]);
            }
        }
        assert_eq!(came, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1]);
        let sent: Vec<_> = asking.wires.iter().map(|wire| wire.1.clone()).collect();
        assert_eq!(sent, [vec![0, 3], vec![1, 4], vec![2]]);
    }

    #[test]
    fn who_answers_turns_with_the_last_answer() {
        let mut answering = three(IterationEnd::Sent(2));
        for iteration in 0..4 {
            let mut buffer = [0];
            answering.receive(&mut buffer).unwrap();
            assert_eq!(buffer[0], iteration % 3);
            answering.send(&[iteration], true).unwrap();
            answering.send(&[iteration], false).unwrap();
        }
        assert_eq!(answering.wires[0].1, [0, 0, 3, 3]);
    }
}
