//! What modules do with messages. Time and messages come in, messages go out
//! through an [`Outlet`]; links and threads are elsewhere.

mod delay;
mod journal;
mod ordering;
mod origin;
mod sink;
mod spreading;
mod work;

pub(super) use delay::Delay;
pub(super) use journal::Journal;
pub(super) use ordering::Sequencer;
pub(super) use origin::{Client, Conditions};
pub(super) use sink::{Heard, Sink, Times, Way};
pub(super) use spreading::{Fanout, Match, Router};
pub(super) use work::Work;

use super::flow::{Kind, ModuleSpec, Reply};
use super::tracked;
use crate::GaugeError;
use crate::message::{HEAD_BYTES, Head, Kind as MessageKind};

/// Where a message came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Came {
    /// Which input; of an answer, which output.
    pub(super) port: usize,
    /// Which connection of its link.
    pub(super) connection: usize,
    /// It came back over an output.
    pub(super) is_answer: bool,
    pub(super) at_ns: u64,
}

/// Where messages of a module go. A message that has no room waits, and then
/// nothing more is taken in.
pub(super) trait Outlet {
    /// Over an output, by the connection that its number has.
    fn send(&mut self, output: usize, message: &mut [u8]);

    /// Over all connections of an output.
    fn send_to_all(&mut self, output: usize, message: &mut [u8]);

    /// Over one connection of an output.
    fn send_over(&mut self, output: usize, connection: usize, message: &mut [u8]);

    /// Back over an input.
    fn answer(&mut self, to: Came, message: &mut [u8]);

    /// Whether an output takes a message at once.
    fn has_room(&self, output: usize) -> bool;
}

/// A module at work.
pub(super) trait Module {
    /// A message came.
    fn message(&mut self, came: Came, message: &mut [u8], outlet: &mut dyn Outlet);

    /// Does what is due, and returns when something is again.
    ///
    /// Errors: a file failed.
    fn turn(&mut self, _now_ns: u64, _outlet: &mut dyn Outlet) -> Result<u64, GaugeError> {
        Ok(u64::MAX)
    }

    /// Whether nothing is kept that is still to be sent.
    fn is_clear(&self) -> bool {
        true
    }

    /// What it has measured.
    fn heard(&mut self) -> Option<Heard> {
        None
    }

    /// What it has measured since it was asked last, for the lines of an
    /// interval.
    fn take_line(&mut self) -> Option<crate::intervals::Interval> {
        None
    }
}

/// Passes on what comes; answers go back where the message came from.
pub(super) struct Forward {
    pub(super) acknowledges: bool,
}

/// The answer of a side that only says that something came.
fn acknowledgement(head: &Head) -> [u8; HEAD_BYTES] {
    let mut answer = [0; HEAD_BYTES];
    Head { kind: MessageKind::Answer, length: HEAD_BYTES as u32, ..*head }.write(&mut answer);
    answer
}

impl Module for Forward {
    fn message(&mut self, came: Came, message: &mut [u8], outlet: &mut dyn Outlet) {
        if came.is_answer {
            return relay(came, message, outlet);
        }
        if self.acknowledges
            && let Some(head) = Head::read(message)
        {
            outlet.answer(came, &mut acknowledgement(&head));
        }
        outlet.send(0, message);
    }
}

/// What comes back over the one output goes back over the one input.
fn relay(came: Came, message: &mut [u8], outlet: &mut dyn Outlet) {
    outlet.answer(Came { port: 0, is_answer: false, ..came }, message);
}

/// Answers.
pub(super) struct Server {
    pub(super) reply: Reply,
    pub(super) reply_bytes: usize,
    pub(super) longer: Vec<u8>,
}

impl Module for Server {
    fn message(&mut self, came: Came, message: &mut [u8], outlet: &mut dyn Outlet) {
        let Some(head) = Head::read(message) else { return };
        match self.reply {
            Reply::None => {}
            Reply::Ack => outlet.answer(came, &mut acknowledgement(&head)),
            Reply::Full => {
                let length = if self.reply_bytes == 0 { message.len() } else { self.reply_bytes };
                let head = Head { kind: MessageKind::Answer, length: length as u32, ..head };
                if length <= message.len() {
                    head.write(message);
                    return outlet.answer(came, &mut message[..length]);
                }
                self.longer.resize(length, 0x5A);
                self.longer[..message.len()].copy_from_slice(message);
                head.write(&mut self.longer);
                outlet.answer(came, &mut self.longer);
            }
        }
    }
}

/// The module that a flow has.
pub(super) fn of(spec: &ModuleSpec, conditions: Conditions) -> Result<Box<dyn Module>, GaugeError> {
    Ok(match &spec.kind {
        Kind::Client(origin) => Box::new(Client::new(origin, true, conditions)),
        Kind::Source(origin) => Box::new(Client::new(origin, false, conditions)),
        Kind::Server { reply, reply_bytes } => {
            Box::new(Server { reply: *reply, reply_bytes: *reply_bytes, longer: Vec::new() })
        }
        Kind::Sink => Box::new(Sink::new(conditions.measured, conditions.is_fanned)),
        Kind::Forward { acknowledges } => Box::new(Forward { acknowledges: *acknowledges }),
        Kind::Merge => Box::new(Forward { acknowledges: false }),
        Kind::Work { time, by } => Box::new(Work::new(time.clone(), *by)),
        Kind::Sequencer { in_turn } => Box::new(Sequencer::new(*in_turn, spec.inputs.len())),
        Kind::Match { share, copies } => Box::new(Match::new(*share, *copies)),
        Kind::Fanout => Box::new(Fanout { outputs: spec.outputs.len() }),
        Kind::Route(by) => Box::new(Router::new(*by, spec.outputs.len())),
        Kind::Delay(delay) => Box::new(Delay::new(delay)),
        Kind::Journal(journal) => Box::new(Journal::create(journal, !spec.outputs.is_empty())?),
    })
}

/// A message's number, and whose it is.
fn numbered(message: &[u8]) -> Option<(u64, Head)> {
    Head::read(message).map(|head| (tracked::id(message), head))
}

/// A number that looks random and follows from another one.
fn mixed(number: u64) -> u64 {
    // SplitMix64.
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The same as a share of one.
fn share_of(number: u64) -> f64 {
    ((mixed(number) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What went where: `out 1.0`, `all 0`, `back 0.2`, with the number and the
    /// length.
    #[derive(Default)]
    pub(super) struct Gone {
        pub(super) all: Vec<(String, u64, usize)>,
        pub(super) messages: Vec<Vec<u8>>,
        pub(super) is_full: bool,
    }

    impl Gone {
        fn add(&mut self, place: String, message: &[u8]) {
            let seq = Head::read(message).map_or(u64::MAX, |head| head.seq);
            self.all.push((place, seq, message.len()));
            self.messages.push(message.to_vec());
        }

        pub(super) fn places(&self) -> Vec<&str> {
            self.all.iter().map(|(place, ..)| place.as_str()).collect()
        }

        pub(super) fn seqs(&self) -> Vec<u64> {
            self.all.iter().map(|(_, seq, _)| *seq).collect()
        }
    }

    impl Outlet for Gone {
        fn send(&mut self, output: usize, message: &mut [u8]) {
            self.add(format!("out {output}"), message);
        }

        fn send_to_all(&mut self, output: usize, message: &mut [u8]) {
            self.add(format!("all {output}"), message);
        }

        fn send_over(&mut self, output: usize, connection: usize, message: &mut [u8]) {
            self.add(format!("out {output}.{connection}"), message);
        }

        fn answer(&mut self, to: Came, message: &mut [u8]) {
            self.add(format!("back {}.{}", to.port, to.connection), message);
        }

        fn has_room(&self, _output: usize) -> bool {
            !self.is_full
        }
    }

    /// A message of somebody.
    pub(super) fn message(id: u64, seq: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let head =
            Head { kind: MessageKind::Data, length: length as u32, seq, due_ns: 100, sent_ns: 200 };
        head.write(&mut bytes);
        tracked::begin(&mut bytes, id, true);
        bytes
    }

    /// Gives messages to a module by input, owner and number.
    pub(super) fn given(module: &mut dyn Module, all: &[(usize, u64, u64)]) -> Gone {
        let mut gone = Gone::default();
        for (port, id, seq) in all {
            let came = Came { port: *port, ..Came::default() };
            module.message(came, &mut message(*id, *seq, 64), &mut gone);
        }
        gone
    }

    #[test]
    fn a_forward_passes_on_and_answers_if_it_is_to() {
        let gone = given(&mut Forward { acknowledges: false }, &[(0, 1, 7)]);
        assert_eq!(gone.all, [("out 0".to_owned(), 7, 64)]);
        let mut module = Forward { acknowledges: true };
        let mut gone = given(&mut module, &[(0, 1, 7)]);
        assert_eq!(gone.all, [("back 0.0".to_owned(), 7, 32), ("out 0".to_owned(), 7, 64)]);
        // An answer of those behind goes to those before, on the same connection.
        let came = Came { port: 0, connection: 3, is_answer: true, at_ns: 0 };
        module.message(came, &mut message(1, 8, 64), &mut gone);
        assert_eq!(gone.all[2], ("back 0.3".to_owned(), 8, 64));
    }

    #[test]
    fn a_server_answers_in_full_in_short_or_not_at_all() {
        let answers = |reply, reply_bytes| {
            let mut module = Server { reply, reply_bytes, longer: Vec::new() };
            let gone = given(&mut module, &[(0, 1, 7)]);
            let kinds = gone.messages.iter().map(|bytes| Head::read(bytes).unwrap().kind);
            assert!(kinds.into_iter().all(|kind| kind == MessageKind::Answer));
            gone.all.into_iter().map(|(_, seq, length)| (seq, length)).collect::<Vec<_>>()
        };
        assert_eq!(answers(Reply::Full, 0), [(7, 64)]);
        assert_eq!(answers(Reply::Full, 48), [(7, 48)]);
        assert_eq!(answers(Reply::Full, 500), [(7, 500)]);
        assert_eq!(answers(Reply::Ack, 0), [(7, 32)]);
        assert_eq!(answers(Reply::None, 0), []);
    }
}
