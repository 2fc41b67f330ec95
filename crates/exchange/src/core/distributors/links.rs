//! The links of distributions: what comes by them, and the entries that go.

use tapeline_sequence::{Entry, Identity};
use tapeline_time::Time;

use super::{Link, Publishing, SLICE_BYTES, Uplink};
use crate::core::floor::Floor;
use crate::core::{Exchange, Outputs, Past, Seat, SessionId};
use crate::distributor::{Greeting, Hello, Position, Sent, Welcome, Word};

/// A distribution that has not caught up may be silent for so many times as long.
const BUSY_SILENCES: u32 = 10;

/// What a distribution gets first: a state, or entries from one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begin {
    State(u64),
    Entry(u64),
}

impl Exchange {
    /// Bytes of a distribution have come. Returns whether its link goes on.
    pub(in crate::core) fn distributor_received(
        &mut self,
        now: Time,
        session: SessionId,
        bytes: &[u8],
        out: &mut impl Outputs,
    ) -> bool {
        let Some(uplink) = self.uplink(session) else { return false };
        uplink.heard = now;
        let mut words = std::mem::take(&mut uplink.words);
        let mut goes_on = true;
        goes_on &= words.read(bytes, |word| {
            goes_on = self.distributor_said(now, session, word, out);
            goes_on
        });
        if let Some(uplink) = self.uplink(session) {
            uplink.words = words;
        }
        goes_on
    }

    fn uplink(&mut self, session: SessionId) -> Option<&mut Uplink> {
        match self.seats.get_mut(session.0 as usize) {
            Some(Some(Seat::Distributor(uplink))) => Some(uplink),
            _ => None,
        }
    }

    fn distributor_said(
        &mut self,
        now: Time,
        session: SessionId,
        word: &Word<'_>,
        out: &mut impl Outputs,
    ) -> bool {
        let links = &self.floor.distributors.links;
        let Some(at) = links.iter().position(|link| link.session == session) else {
            let Word::Hello(hello, identity) = word else { return false };
            return self.greet_distributor(now, session, (hello, identity), out);
        };
        match word {
            Word::Position(position) => self.floor.is_so_far(now, at, position, out),
            Word::Held(position) => {
                self.floor.is_so_far(now, at, position, out);
                self.floor.has_stopped(now, at, out);
            }
            _ => return false,
        }
        true
    }

    /// A distribution says which it is, and what it has.
    fn greet_distributor(
        &mut self,
        now: Time,
        session: SessionId,
        (hello, identity): (&Hello, &Identity),
        out: &mut impl Outputs,
    ) -> bool {
        let Hello { number, instance, .. } = *hello;
        let begin = self.floor.may_link(hello, identity, out);
        let greeting = begin.map_or_else(|greeting| greeting, |_| Greeting::Welcome);
        let terms = self.floor.distributors.terms.as_ref();
        let history = terms.map_or(0, |terms| terms.history);
        let state = match begin {
            Ok(Begin::State(index)) => index,
            _ => 0,
        };
        let sent = self.floor.known_sent();
        let mut bytes = Vec::with_capacity(64);
        Word::Welcome(greeting, Welcome { history, state, sent }).append(&mut bytes);
        out.send(session, &bytes);
        let Ok(begin) = begin else {
            tracing::debug!(number, ?greeting, "a distribution is not linked");
            return false;
        };
        // Its own link of before is one that it has given up.
        let links = &self.floor.distributors.links;
        if let Some(old) = links.iter().find(|link| link.number == number).map(|it| it.session) {
            self.leave(now, old, out);
        }
        self.floor.hears_of(hello);
        let (state, next) = match begin {
            Begin::State(index) => (Some((index, 0)), index + 1),
            Begin::Entry(next) => (None, next),
        };
        let (said, target, is_in_step) = (now, None, false);
        let link = Link { session, number, instance, said, state, next, target, is_in_step };
        self.floor.distributors.links.push(link);
        self.floor.counts.distribution_links += 1;
        tracing::info!(number, next, "a distribution is linked");
        true
    }

    /// Entries go to distributions, and one of them, or the market, publishes: the end of a
    /// turn.
    pub(in crate::core) fn distribute(&mut self, out: &mut impl Outputs) {
        for at in 0..self.floor.distributors.links.len() {
            self.floor.feed(at, out);
        }
    }

    /// The link of a distribution is gone.
    pub(in crate::core) fn end_distributor(&mut self, session: SessionId) {
        let links = &mut self.floor.distributors.links;
        if let Some(at) = links.iter().position(|link| link.session == session) {
            let number = links.swap_remove(at).number;
            tracing::warn!(number, "the link of a distribution ended");
        }
    }

    /// Time has passed for a distribution's link. Returns whether it goes on.
    pub(in crate::core) fn distributor_timeout(
        &mut self,
        now: Time,
        session: SessionId,
        out: &mut impl Outputs,
    ) -> bool {
        let silence = self.floor.distributors.silence();
        let Some(uplink) = self.uplink(session) else { return true };
        let unheard = now.since(uplink.heard);
        let links = &self.floor.distributors.links;
        let link = links.iter().find(|link| link.session == session);
        // Whoever takes up a state says nothing meanwhile.
        let patience = match link.is_some_and(|link| link.is_in_step) {
            true => silence,
            false => silence * BUSY_SILENCES,
        };
        let quiet = link.filter(|link| now.since(link.said) >= silence / 4).map(|it| it.number);
        if let Some(number) = quiet {
            let sent = Sent { sent: self.floor.known_sent() };
            self.floor.distributors.say(now, number, &Word::Beat(sent), out);
        }
        unheard < patience
    }
}

impl Floor {
    /// Whether a distribution may be linked, and with what it begins.
    fn may_link(
        &self,
        hello: &Hello,
        identity: &Identity,
        out: &mut impl Outputs,
    ) -> Result<Begin, Greeting> {
        let Hello { number, instance, next, history, before, .. } = *hello;
        let all = &self.distributors;
        let other = all.links.iter().find(|link| link.number == number);
        let Some(terms) = all.terms.as_ref().filter(|_| hello.is_ours()) else {
            return Err(Greeting::Stranger);
        };
        if *identity != all.identity {
            return Err(Greeting::Stranger);
        }
        if !terms.numbers.contains(&number) {
            return Err(Greeting::Unknown);
        }
        if !self.is_open {
            return Err(Greeting::NobodyLeads);
        }
        if other.is_some_and(|link| link.instance != instance) {
            return Err(Greeting::InUse);
        }
        if next > 0 {
            let is_known = history == terms.history && next <= self.applied + 1;
            let has_it = is_known && self.has_entry(next, out);
            return if has_it { Ok(Begin::Entry(next)) } else { Err(Greeting::Forgotten) };
        }
        // A state is there sooner than all that led to it.
        let state = out.past().and_then(|past| past.newest_state(before));
        match state {
            Some(index) => Ok(Begin::State(index)),
            None if self.has_entry(1, out) => Ok(Begin::Entry(1)),
            None => Err(Greeting::NoPast),
        }
    }

    /// Whether an entry can be had, now or once it is there.
    fn has_entry(&self, index: u64, out: &mut impl Outputs) -> bool {
        index > self.applied
            || self.distributors.tail.has(index)
            || out.past().and_then(Past::oldest).is_some_and(|oldest| oldest <= index)
    }

    /// One that is linked has published before, or has heard of what is out: who goes on
    /// behind a market's death begins there.
    fn hears_of(&mut self, hello: &Hello) {
        let next = self.market.distribution().publisher().next();
        let is_awaited = matches!(self.distributors.publishing, Publishing::Awaited(_));
        if is_awaited && hello.next > 0 && hello.sent < next {
            self.distributors.sent = self.distributors.sent.max(hello.sent);
        }
    }

    /// A distribution says how far it is.
    fn is_so_far(&mut self, now: Time, at: usize, position: &Position, out: &mut impl Outputs) {
        let all = &mut self.distributors;
        let link = &mut all.links[at];
        let number = link.number;
        if let Publishing::Named(it) | Publishing::Stopping(it) = all.publishing
            && it == number
        {
            all.sent = all.sent.max(position.sent);
        }
        if !link.is_in_step && link.target.is_some_and(|target| position.applied >= target) {
            link.is_in_step = true;
            tracing::info!(number, applied = position.applied, "a distribution has caught up");
            all.say(now, number, &Word::InStep, out);
        }
    }

    /// Who was to stop has.
    fn has_stopped(&mut self, now: Time, at: usize, out: &mut impl Outputs) {
        let number = self.distributors.links[at].number;
        if self.distributors.publishing == Publishing::Stopping(number) {
            let best = self.distributors.best();
            self.pass_on(now, best, out);
        }
    }

    /// One that is linked gets what it has not got, as far as its link takes it.
    fn feed(&mut self, at: usize, out: &mut impl Outputs) {
        let applied = self.applied;
        let most = self.config.max_output_bytes;
        let all = &mut self.distributors;
        let link = &mut all.links[at];
        loop {
            let queued = out.queued(link.session);
            if link.target.is_none() && queued >= SLICE_BYTES {
                return;
            }
            all.scratch.clear();
            all.entries.clear();
            if let Some((index, offset)) = link.state {
                let read = out
                    .past()
                    .and_then(|past| past.state(index, offset, SLICE_BYTES, &mut all.entries));
                let Some(is_last) = read else { return self.slow.push(link.session) };
                let bytes = &all.entries[..];
                link.state = (!is_last).then_some((index, offset + bytes.len() as u64));
                Word::State { bytes, is_last }.append(&mut all.scratch);
                out.send(link.session, &all.scratch);
                continue;
            }
            if link.next > applied {
                link.target.get_or_insert(applied);
                return;
            }
            if !all.tail.read(link.next, SLICE_BYTES, &mut all.entries) {
                // Without a journal nobody has it any more.
                let Some(past) = out.past() else { return self.slow.push(link.session) };
                past.entries(link.session, link.next, SLICE_BYTES, &mut all.entries);
            }
            let Some(last) = cut_behind(&mut all.entries, applied) else { return };
            link.next = last + 1;
            Word::Entries(&all.entries).append(&mut all.scratch);
            out.send(link.session, &all.scratch);
            if link.target.is_some() && out.queued(link.session) > most {
                return self.slow.push(link.session);
            }
        }
    }
}

/// Leaves those entries that are committed. Returns the last of them.
fn cut_behind(entries: &mut Vec<u8>, committed: u64) -> Option<u64> {
    let (mut end, mut last) = (0, None);
    while let Some(entry) = Entry::own(&entries[end..])
        && entry.head().index <= committed
    {
        last = Some(entry.head().index);
        end += entry.bytes().len();
    }
    entries.truncate(end);
    last
}
