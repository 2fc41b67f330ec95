//! The loops of a source: messages in, what is due out.

use std::time::Duration;

use tapeline_api::{
    Provider, ProviderHandler, Publisher, PublisherHandler, Responses, Submissions,
};
use tapeline_feed::FeedError;
use tapeline_rwf::{State, StreamState};
use tapeline_time::{MonotonicClock, Time};

use crate::Counts;

/// A wait this close to the next burst is not left to the kernel, which may
/// sleep for longer.
const CLOSE: Duration = Duration::from_micros(150);

/// Requests are answered at least this often.
const TURN: Duration = Duration::from_micros(500);

/// What a source does by itself, beside answering.
pub trait Playing {
    /// What was done so far, and how things are.
    fn counts(&self) -> Counts;
    /// Changes the rate.
    fn set_rate(&mut self, now: Time, rate: u64);
    /// Changes how many updates a second carry the time. Returns false if none
    /// can.
    fn set_stamp_rate(&mut self, _now: Time, _rate: u64) -> bool {
        false
    }
    /// When something is due next.
    fn next(&self) -> Option<Time>;
}

/// A source that clients connect to.
pub trait Interactive: Playing + ProviderHandler {
    /// Sends what is due. Returns how many messages that were.
    fn send_due(&mut self, now: Time, responses: &mut Responses<'_>) -> Result<u64, FeedError>;
}

/// A source that connects to a hub.
pub trait NonInteractive: Playing + PublisherHandler {
    /// Sends what is due. Returns how many messages that were.
    fn send_due(&mut self, now: Time, submissions: &mut Submissions<'_>) -> Result<u64, FeedError>;
    /// Why the hub does not want this provider, if it does not.
    fn refusal(&self) -> Option<&str>;
}

/// Why the hub does not want this provider, if that is the state of its login.
pub(super) fn refusal_of(state: &State<'_>) -> Option<String> {
    let text = String::from_utf8_lossy(state.text);
    (state.stream == StreamState::CLOSED).then(|| format!("{text} ({})", state.code))
}

/// One turn of a provider. Returns how much there was to do.
pub fn serve(
    provider: &mut Provider,
    source: &mut impl Interactive,
    clock: &MonotonicClock,
) -> Result<usize, FeedError> {
    let work = provider.poll(Some(Duration::ZERO), source);
    let sent = provider.with(|responses| source.send_due(clock.now(), responses))?;
    if sent > 0 {
        provider.flush();
    }
    Ok(work + sent as usize)
}

/// One turn of a publisher. Returns how much there was to do.
pub fn publish(
    publisher: &mut Publisher,
    source: &mut impl NonInteractive,
    clock: &MonotonicClock,
) -> Result<usize, FeedError> {
    let work = publisher.poll(Some(Duration::ZERO), source);
    let sent = publisher.with(|submissions| source.send_due(clock.now(), submissions))?;
    if sent > 0 {
        publisher.flush();
    }
    Ok(work + sent as usize)
}

/// Waits for what is due next, or for long enough that others can work.
pub fn rest(next: Option<Time>, clock: &MonotonicClock) {
    let until = next.map_or(TURN, |next| next.since(clock.now()));
    match until.checked_sub(CLOSE) {
        Some(sleep) if !sleep.is_zero() => std::thread::sleep(sleep.min(TURN)),
        _ => std::thread::yield_now(),
    }
}
