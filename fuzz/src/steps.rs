//! An input as a list of steps: the bytes of each are taken as it needs them.
//! What the steps of both cores have in common.

use tapeline_backbone::Published;
use tapeline_channel::{Sent, SessionId};
use tapeline_rwf::{DataState, State, StateCode, StreamState};

/// What is left of an input. Beyond its end there are zeros.
#[derive(Debug)]
pub struct Steps<'a> {
    rest: &'a [u8],
}

impl<'a> Steps<'a> {
    /// All of it.
    pub fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    /// Whether there is nothing left.
    pub fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    /// A number below this, from the next byte.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    /// Yes or no, one bit of the next byte.
    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// One of some, if there are any.
    pub fn one<'s, T>(&mut self, some: &'s [T]) -> Option<&'s T> {
        let place = self.below(some.len());
        some.get(place)
    }

    /// So many of the bytes that follow as the next byte says.
    pub fn bytes(&mut self) -> &'a [u8] {
        let count = usize::from(self.byte());
        let (bytes, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        bytes
    }
}

/// What sending answers to a core.
#[derive(Debug, Default)]
pub struct Answers {
    /// Of a session; none for that it is queued.
    pub sent: Option<Sent>,
    /// Of the backbone; none for that it is on its way.
    pub published: Option<Published>,
    /// Whether the backbone has more waiting than it should.
    pub is_congested: bool,
    /// Sessions that were said to be gone: their end is the next event.
    pub gone: Vec<SessionId>,
}

impl Answers {
    /// What a byte says of all three.
    pub fn of(bits: u8) -> Self {
        let sent = match bits & 7 {
            0 | 1 => Some(Sent::Slow),
            2 => Some(Sent::Full),
            3 => Some(Sent::Gone),
            4 => Some(Sent::TooLarge),
            _ => None,
        };
        let published = match bits >> 3 & 7 {
            0 => Some(Published::Dropped),
            1 => Some(Published::NoPeer),
            2 => Some(Published::TooLarge),
            _ => None,
        };
        Self { sent, published, is_congested: bits >> 6 == 1, gone: Vec::new() }
    }

    /// What a session answers.
    pub fn answer(&mut self, session: SessionId) -> Sent {
        let sent = self.sent.unwrap_or(Sent::Queued);
        if sent == Sent::Gone && !self.gone.contains(&session) {
            self.gone.push(session);
        }
        sent
    }
}

/// The state that a byte says.
pub fn state(bits: u8) -> State<'static> {
    let stream = match bits & 7 {
        0 => StreamState::CLOSED,
        1 => StreamState::CLOSED_RECOVER,
        2 => StreamState::NON_STREAMING,
        3 => StreamState::REDIRECTED,
        _ => StreamState::OPEN,
    };
    let data = match bits >> 3 & 3 {
        0 => DataState::NO_CHANGE,
        1 => DataState::SUSPECT,
        _ => DataState::OK,
    };
    State::new(stream, data, StateCode::NONE, "")
}
