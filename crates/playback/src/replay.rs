//! A recording that is played again.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use tapeline_feed::{FeedError, Pace as Recorded, Recording, UpdateKind};
use tapeline_rwf::{DataType, Domain};
use tapeline_time::Time;

/// An event that leaves so much later than it should is a missed one.
const LATE: Duration = Duration::from_millis(1);

/// Events sent in one turn at most, so that requests are answered meanwhile.
const EVENTS_PER_TURN: usize = 64;

/// How fast a recording is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// So many times as fast as it was recorded.
    Times(f64),
    /// So many events a second.
    Rate(u64),
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let times = |text: &str| text.parse::<f64>().ok().filter(|times| *times > 0.0);
        let found = match text.strip_prefix('x') {
            _ if text == "recorded" => Some(Self::Times(1.0)),
            Some(digits) => times(digits).map(Self::Times),
            None => text.parse().ok().filter(|rate| *rate > 0).map(Self::Rate),
        };
        found.ok_or_else(|| {
            "give `recorded`, `x10` for ten times as fast, or a number of events a second"
                .to_owned()
        })
    }
}

/// One message of an event.
#[derive(Clone, Debug)]
struct Message {
    domain: Domain,
    kind: UpdateKind,
    /// Where its bytes end; they begin where those of the one before end.
    end: usize,
}

/// The event that comes next.
#[derive(Debug, Default)]
struct Pending {
    name: String,
    due: Time,
    messages: Vec<Message>,
    bytes: Vec<u8>,
}

/// What of an event goes to one item.
pub(super) struct Sent<'e> {
    pub(super) name: &'e str,
    pub(super) domain: Domain,
    pub(super) kind: UpdateKind,
    /// The message, with stream id 0 and without a key.
    pub(super) message: &'e [u8],
}

/// Plays a recording, and knows how its items are at any time.
pub struct Replay {
    path: PathBuf,
    recording: Recording,
    speed: Speed,
    is_endless: bool,
    /// When the first event was, once it was.
    start: Option<Time>,
    recorded: Recorded,
    events: u64,
    pending: Option<Pending>,
    spare: Pending,
    is_over: bool,
    pub(super) updates: u64,
    pub(super) missed: u64,
}

impl Replay {
    /// Opens a recording; an endless one begins again when it is over.
    pub fn open(path: &Path, speed: Speed, is_endless: bool) -> Result<Self, FeedError> {
        Ok(Self {
            path: path.to_owned(),
            recording: Recording::open(path)?,
            speed,
            is_endless,
            start: None,
            recorded: Self::recorded(speed),
            events: 0,
            pending: None,
            spare: Pending::default(),
            is_over: false,
            updates: 0,
            missed: 0,
        })
    }

    fn recorded(speed: Speed) -> Recorded {
        Recorded::new(match speed {
            Speed::Times(times) => times,
            Speed::Rate(_) => 1.0,
        })
    }

    /// The domains of its items.
    pub const DOMAINS: [Domain; 3] =
        [Domain::MARKET_PRICE, Domain::MARKET_BY_ORDER, Domain::MARKET_BY_PRICE];

    /// The names of its items.
    pub fn names(&self) -> Vec<String> {
        self.recording.names().map(str::to_owned).collect()
    }

    /// Changes the speed to so many events a second, from now on.
    pub fn set_rate(&mut self, now: Time, rate: u64) {
        self.speed = Speed::Rate(rate);
        self.start = Some(now);
        self.events = 0;
        if let Some(pending) = &mut self.pending {
            pending.due = now;
        }
    }

    /// The events a second that are wanted, if they are.
    pub(super) const fn rate(&self) -> u64 {
        match self.speed {
            Speed::Rate(rate) => rate,
            Speed::Times(_) => 0,
        }
    }

    /// The payload of an item as it is after all events that were sent; `None`
    /// if it is not in the recording. An event that waits for its time is sent
    /// before: an image has it already.
    pub(super) fn image(
        &mut self,
        domain: Domain,
        name: &str,
        out: &mut Vec<u8>,
        send: &mut dyn FnMut(Sent<'_>),
    ) -> Result<Option<DataType>, FeedError> {
        if let Some(pending) = self.pending.take() {
            self.send(pending, send);
        }
        self.recording.image(domain, name, out)
    }

    /// When the next event is due; `None` at the end.
    pub(super) fn next(&self) -> Option<Time> {
        self.pending.as_ref().map(|pending| pending.due)
    }

    /// Sends the events that are due; the first one is as soon as this is
    /// called. Returns how many messages that were.
    pub(super) fn send_due(
        &mut self,
        now: Time,
        send: &mut dyn FnMut(Sent<'_>),
    ) -> Result<u64, FeedError> {
        let before = self.updates;
        for _ in 0..EVENTS_PER_TURN {
            self.load(now)?;
            let Some(pending) = self.pending.take_if(|pending| pending.due <= now) else { break };
            if now.since(pending.due) > LATE {
                self.missed += 1;
            }
            self.send(pending, send);
        }
        Ok(self.updates - before)
    }

    fn send(&mut self, pending: Pending, send: &mut dyn FnMut(Sent<'_>)) {
        let mut start = 0;
        for Message { domain, kind, end } in &pending.messages {
            let message = &pending.bytes[start..*end];
            send(Sent { name: &pending.name, domain: *domain, kind: *kind, message });
            start = *end;
            self.updates += 1;
        }
        self.spare = pending;
    }

    /// Reads the next event, unless one waits.
    fn load(&mut self, now: Time) -> Result<(), FeedError> {
        if self.pending.is_some() || self.is_over {
            return Ok(());
        }
        let start = *self.start.get_or_insert(now);
        let Some(event) = self.recording.next_event()? else {
            return self.end();
        };
        let mut pending = std::mem::take(&mut self.spare);
        pending.name.clear();
        pending.name.push_str(event.name);
        pending.messages.clear();
        pending.bytes.clear();
        let after_ns = match self.speed {
            Speed::Times(_) => self.recorded.due_ns(event.at_ns),
            Speed::Rate(0) => u64::MAX,
            Speed::Rate(rate) => {
                (u128::from(self.events) * 1_000_000_000 / u128::from(rate)) as u64
            }
        };
        pending.due = start.after(Duration::from_nanos(after_ns));
        for update in event.updates() {
            let written = update.append(0, None, &mut pending.bytes);
            if let Err(error) = written {
                return Err(FeedError::Encode { item: event.name.to_owned(), error });
            }
            let end = pending.bytes.len();
            pending.messages.push(Message { domain: update.domain, kind: update.kind, end });
        }
        self.events += 1;
        self.pending = Some(pending);
        Ok(())
    }

    fn end(&mut self) -> Result<(), FeedError> {
        if !self.is_endless {
            self.is_over = true;
            tracing::info!(events = self.events, "end of the recording");
            return Ok(());
        }
        self.recording = Recording::open(&self.path)?;
        self.recorded = Self::recorded(self.speed);
        self.start = None;
        self.events = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read() {
        let good = [
            ("recorded", Speed::Times(1.0)),
            ("x10", Speed::Times(10.0)),
            ("x0.5", Speed::Times(0.5)),
            ("500", Speed::Rate(500)),
        ];
        for (text, speed) in good {
            assert_eq!(text.parse(), Ok(speed));
        }
        for text in ["", "x", "x0", "0", "fast", "-1", "xNaN"] {
            assert!(text.parse::<Speed>().is_err(), "{text}");
        }
    }
}
