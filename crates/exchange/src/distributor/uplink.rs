//! A distribution's link to who leads its market.

use std::time::Duration;

use tapeline_sequence::Entry;
use tapeline_time::Time;

use super::words::{Greeting, Hello, Position, Welcome, Word, Words};
use super::{Distributor, DistributorOutputs};
use crate::core::{Differs, Exchange};
use crate::error::ExchangeError;
use crate::kept_state;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Linked {
    #[default]
    Down,
    /// The market has not answered yet.
    Greeted,
    Up,
}

/// The link.
#[derive(Debug, Default)]
pub(super) struct Uplink {
    linked: Linked,
    words: Words,
    heard: Time,
    said: Time,
    /// Since when there is none; `None` before the first one.
    lost: Option<Time>,
    /// What the market remembers.
    history: u64,
    /// The state that comes, and what of it has come.
    state: Option<(u64, Vec<u8>)>,
    /// States of this entry and later ones are of no use.
    unusable: Option<u64>,
    /// It has caught up.
    is_in_step: bool,
    /// What the market was told last.
    told: Position,
    /// Why the last link was refused, which is said once.
    refused: Option<Greeting>,
}

impl Uplink {
    pub(super) fn is_up(&self) -> bool {
        self.linked == Linked::Up
    }

    pub(super) const fn is_in_step(&self) -> bool {
        self.is_in_step
    }

    /// Whether there has been no link for so long.
    pub(super) fn is_lost(&self, now: Time, silence: Duration) -> bool {
        !self.is_up() && self.lost.is_some_and(|lost| now.since(lost) >= silence)
    }
}

impl Distributor {
    /// There is a connection to a market, which may lead or not.
    pub fn link_up(&mut self, now: Time, out: &mut impl DistributorOutputs) {
        let uplink = &mut self.uplink;
        (uplink.linked, uplink.heard, uplink.words) = (Linked::Greeted, now, Words::default());
        uplink.state = None;
        let (_, applied, _) = self.exchange.position();
        // The last one again, if it can be told from another one.
        let next = self.last.map_or_else(|| applied + u64::from(applied > 0), |(last, _)| last);
        let config = &self.config;
        let hello = Hello {
            next,
            history: uplink.history,
            before: uplink.unusable.unwrap_or(u64::MAX),
            sent: self.sent,
            ..Hello::of(config.number, config.instance)
        };
        let identity = config.identity;
        self.say(now, &Word::Hello(hello, identity), out);
    }

    /// It is gone: who has none does not publish.
    pub fn link_lost(&mut self, now: Time) {
        let was = std::mem::take(&mut self.uplink.linked);
        self.stop();
        if was == Linked::Up {
            self.uplink.lost = Some(now);
            self.uplink.is_in_step = false;
            tracing::warn!(sent = self.sent, "the link to the market ended");
        }
    }

    /// Bytes of the market have come. Returns whether the link is of use.
    pub fn link_received(
        &mut self,
        now: Time,
        bytes: &[u8],
        out: &mut impl DistributorOutputs,
    ) -> bool {
        self.uplink.heard = now;
        let mut words = std::mem::take(&mut self.uplink.words);
        let mut goes_on = true;
        goes_on &= words.read(bytes, |word| {
            goes_on = self.word(now, word, out);
            goes_on
        });
        self.uplink.words = words;
        goes_on
    }

    /// Whether a link is there on which nothing comes any more.
    pub fn is_link_silent(&self, now: Time) -> bool {
        let uplink = &self.uplink;
        uplink.linked != Linked::Down && now.since(uplink.heard) >= self.config.silence
    }

    fn say(&mut self, now: Time, word: &Word<'_>, out: &mut impl DistributorOutputs) {
        self.uplink.said = now;
        self.scratch.clear();
        word.append(&mut self.scratch);
        out.say(&self.scratch);
    }

    /// The market hears how far this one is, when that is new, or that it is there.
    pub(super) fn tell_position(&mut self, now: Time, out: &mut impl DistributorOutputs) {
        if !self.uplink.is_up() {
            return;
        }
        let position = self.position();
        let is_quiet = now.since(self.uplink.said) >= self.config.silence / 4;
        if position != self.uplink.told || is_quiet {
            self.uplink.told = position;
            self.say(now, &Word::Position(position), out);
        }
    }

    fn position(&self) -> Position {
        let (_, applied, _) = self.exchange.position();
        Position { applied, sent: self.sent }
    }

    fn word(&mut self, now: Time, word: &Word<'_>, out: &mut impl DistributorOutputs) -> bool {
        if !self.uplink.is_up() {
            let Word::Welcome(greeting, welcome) = word else { return false };
            return self.greeted(now, *greeting, welcome, out);
        }
        match *word {
            Word::State { bytes, is_last } => return self.state(bytes, is_last),
            Word::Entries(bytes) => return self.entries(now, bytes, out),
            Word::InStep => {
                self.uplink.is_in_step = true;
                self.exchange.set_has_books(true);
                let (_, applied, _) = self.exchange.position();
                tracing::info!(applied, "caught up with the market");
            }
            Word::Publish(from) => {
                tracing::info!(sent = from.sent, "market data goes out from here");
                self.exchange.publish_from(from.sent);
                (self.sent, self.publishes) = (self.sent.max(from.sent), true);
                self.counts.takeovers += 1;
            }
            Word::Hold => {
                self.stop();
                let position = self.position();
                self.say(now, &Word::Held(position), out);
            }
            Word::Beat(out_there) => self.sent = self.sent.max(out_there.sent),
            _ => return false,
        }
        true
    }

    /// Nothing goes out any more.
    fn stop(&mut self) {
        if std::mem::take(&mut self.publishes) {
            self.sent = self.sent.max(self.exchange.hold());
            tracing::info!(sent = self.sent, "market data does not go out from here any more");
        }
    }

    fn greeted(
        &mut self,
        now: Time,
        greeting: Greeting,
        welcome: &Welcome,
        out: &mut impl DistributorOutputs,
    ) -> bool {
        let number = self.config.number;
        let is_new = self.uplink.refused.replace(greeting) != Some(greeting);
        match greeting {
            Greeting::Welcome => return self.welcomed(now, welcome),
            Greeting::Stranger if is_new => {
                tracing::error!(number, "the market has another configuration, or version");
            }
            Greeting::InUse if is_new => {
                tracing::error!(number, "another process is this distribution");
            }
            Greeting::Unknown if is_new => {
                tracing::error!(number, "the market has no distribution of this number");
            }
            Greeting::NobodyLeads | Greeting::Stranger | Greeting::InUse | Greeting::Unknown => {}
            Greeting::Forgotten => {
                tracing::warn!("the market does not go on where this one is: it begins anew");
                self.begin_anew(now, out);
            }
            Greeting::NoPast => self.trouble = Some(ExchangeError::NoPast),
        }
        false
    }

    fn welcomed(&mut self, now: Time, welcome: &Welcome) -> bool {
        let uplink = &mut self.uplink;
        uplink.linked = Linked::Up;
        uplink.refused = None;
        uplink.history = welcome.history;
        uplink.told = Position::default();
        uplink.state = (welcome.state > 0).then(|| (welcome.state, Vec::new()));
        self.sent = self.sent.max(welcome.sent);
        self.exchange.set_has_books(false);
        let without_ms = self.uplink.lost.map_or(0, |lost| now.since(lost).as_millis() as u64);
        self.counts.longest_without_ms = self.counts.longest_without_ms.max(without_ms);
        self.counts.links += 1;
        let (_, applied, _) = self.exchange.position();
        tracing::info!(applied, state = welcome.state, without_ms, "linked to the market");
        true
    }

    /// A slice of the state that comes first. Returns whether it is of use.
    fn state(&mut self, bytes: &[u8], is_last: bool) -> bool {
        let Some((index, state)) = &mut self.uplink.state else { return false };
        state.extend_from_slice(bytes);
        if !is_last {
            return true;
        }
        let index = *index;
        let Some((_, whole)) = self.uplink.state.take() else { return false };
        let state = kept_state::open(whole, self.config.identity, index);
        let mut restored = Exchange::new(&self.config.exchange, self.config.epoch_ns);
        if state.and_then(|state| restored.restore(&state)).is_none() {
            tracing::warn!(index, "a state cannot be read: an older one is asked for");
            self.uplink.unusable = Some(index);
            return false;
        }
        restored.stand_aside();
        self.exchange = restored;
        self.last = None;
        self.counts.states += 1;
        tracing::info!(index, "it begins with a state");
        true
    }

    /// Entries are done, one after the other. Returns whether they are the next ones.
    fn entries(&mut self, now: Time, bytes: &[u8], out: &mut impl DistributorOutputs) -> bool {
        let mut rest = bytes;
        while !rest.is_empty() {
            let Ok((entry, behind)) = Entry::read(rest) else { return false };
            rest = behind;
            let (index, checksum) = (entry.head().index, entry.head().checksum);
            if self.last.is_some_and(|(last, _)| last == index) {
                if self.last != Some((index, checksum)) {
                    tracing::warn!(index, "the market has another entry here: it begins anew");
                    self.begin_anew(now, out);
                    return false;
                }
                continue;
            }
            let (_, applied, _) = self.exchange.position();
            if index != applied + 1 {
                tracing::error!(index, applied, "entries are missing on the link");
                return false;
            }
            let done = self.exchange.relay(now, &entry, out);
            self.last = Some((index, checksum));
            self.counts.entries += 1;
            if let Err(Differs { index, here, there }) = done {
                self.stop();
                let (here, there) = (here.0, there.0);
                self.trouble = Some(ExchangeError::Diverged { index, here, there });
                return false;
            }
        }
        true
    }
}
