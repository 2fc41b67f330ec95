//! A gateway's link to who leads its market.

use std::time::Duration;

use tapeline_ntg::{Admission, Channel};
use tapeline_sequence::Kind;
use tapeline_time::Time;

use super::clients::{Client, Gateway, GatewayOutputs, Phase};
use super::words::{Decision, Greeting, Hello, Resume, Verdict, Welcome, Word, Words};
use crate::core::{DOWN, SessionId, down_as};

/// Why clients are logged out whose sessions do not go on.
const NOT_RESUMED: &str = "log on again";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Down,
    /// The market has not answered yet.
    Greeted,
    Up,
}

/// The link.
#[derive(Debug, Default)]
pub(super) struct Uplink {
    state: State,
    words: Words,
    heard: Time,
    pub(super) said: Time,
    /// Since when there is none; `None` before the first one.
    lost: Option<Time>,
    /// What the market remembers.
    history: Option<u64>,
}

impl Uplink {
    /// Whether who leads is there.
    pub(super) fn is_up(&self) -> bool {
        self.state == State::Up
    }

    /// Whether who leads is there, or is waited for.
    pub(super) fn may_come_back(&self, now: Time, failover: Duration) -> bool {
        self.is_up() || self.lost.is_some_and(|lost| now.since(lost) < failover)
    }
}

/// The number of a report, which rises, by its bytes; 0 if it has none.
fn number_of(report: &[u8]) -> i32 {
    let number = report.get(5..9).filter(|_| matches!(report.get(3), Some(b'8' | b'r' | b'9')));
    let bytes = number.and_then(|number| <[u8; 4]>::try_from(number).ok());
    bytes.map_or(0, i32::from_le_bytes)
}

impl Gateway {
    /// There is a connection to a market, which may lead or not.
    pub fn link_up(&mut self, now: Time, out: &mut impl GatewayOutputs) {
        let uplink = &mut self.desk.uplink;
        (uplink.state, uplink.heard, uplink.words) = (State::Greeted, now, Words::default());
        let config = &self.desk.config;
        let hello = Hello::of(config.number, config.instance, &config.identity);
        self.desk.say(now, &Word::Hello(hello), out);
    }

    /// It is gone. Who trades waits for the next one.
    pub fn link_lost(&mut self, now: Time, out: &mut impl GatewayOutputs) {
        let uplink = &mut self.desk.uplink;
        if std::mem::take(&mut uplink.state) != State::Up {
            return;
        }
        uplink.lost = Some(now);
        tracing::warn!(undecided = self.desk.requests.len(), "the link to the market ended");
        for place in 0..self.seats.len() {
            let session = SessionId(place as u32);
            let Some(client) = &mut self.seats[place] else { continue };
            match (client.phase, client.channel) {
                (Phase::Asks(_), _) => {
                    client.phase = Phase::Outside;
                    self.desk.counts.logons_refused += 1;
                    self.decide(now, session, Admission::Refused(DOWN), out);
                }
                (Phase::In { .. }, Channel::Recovery) => {
                    self.log_out(now, session, "the market is gone", out);
                }
                _ => {}
            }
        }
        self.link_lost_fix(now, out);
    }

    /// Bytes of the market have come. Returns whether the link is of use.
    pub fn link_received(
        &mut self,
        now: Time,
        bytes: &[u8],
        out: &mut impl GatewayOutputs,
    ) -> bool {
        self.desk.uplink.heard = now;
        let mut words = std::mem::take(&mut self.desk.uplink.words);
        let mut goes_on = true;
        goes_on &= words.read(bytes, |word| {
            goes_on = self.word(now, word, out);
            goes_on
        });
        self.desk.uplink.words = words;
        goes_on
    }

    /// Whether a link is there on which nothing comes any more.
    pub fn is_link_silent(&self, now: Time) -> bool {
        let uplink = &self.desk.uplink;
        uplink.state != State::Down && now.since(uplink.heard) >= self.desk.config.silence
    }

    /// Says that it is there.
    pub(super) fn beat(&mut self, now: Time, out: &mut impl GatewayOutputs) {
        let Uplink { said, .. } = self.desk.uplink;
        if self.desk.uplink.is_up() && now.since(said) >= self.desk.config.silence / 4 {
            self.desk.say(now, &Word::Beat, out);
        }
    }

    fn word(&mut self, now: Time, word: &Word<'_>, out: &mut impl GatewayOutputs) -> bool {
        match *word {
            Word::Welcome(greeting, welcome) => return self.greeted(now, greeting, &welcome, out),
            Word::Decided { client, verdict, decision } => {
                self.decided(now, client, verdict, &decision, out);
            }
            Word::Report { client, bytes } => self.report(now, client, bytes, out),
            Word::FixBegun { client, begun } => self.begun_fix(now, client, &begun, out),
            Word::Done { number } => self.desk.requests.done(number),
            Word::NotTaken { number } => self.not_taken(now, number, out),
            Word::Beat => {}
            _ => return false,
        }
        true
    }

    fn greeted(
        &mut self,
        now: Time,
        greeting: Greeting,
        welcome: &Welcome,
        out: &mut impl GatewayOutputs,
    ) -> bool {
        let number = self.desk.config.number;
        match greeting {
            Greeting::Welcome => {}
            Greeting::NobodyLeads => return false,
            Greeting::Stranger => {
                tracing::error!(number, "the market has another configuration, or version");
                return false;
            }
            Greeting::InUse => {
                tracing::error!(number, "another process is this gateway");
                return false;
            }
            Greeting::Unknown => {
                tracing::error!(number, "the market has no gateway of this number");
                return false;
            }
        }
        let Welcome { taken, history } = *welcome;
        let uplink = &mut self.desk.uplink;
        uplink.state = State::Up;
        if let Some(lost) = uplink.lost {
            let without_ms = now.since(lost).as_millis() as u64;
            let longest = &mut self.desk.counts.longest_without_ms;
            *longest = (*longest).max(without_ms);
            tracing::info!(taken, without_ms, "linked to the market again");
        } else {
            tracing::info!(taken, "linked to the market");
        }
        self.desk.counts.links += 1;
        if self.desk.uplink.history.replace(history).is_some_and(|before| before != history) {
            self.begin_anew(now, taken, out);
        }
        self.go_on(now, taken, out);
        true
    }

    /// The market has forgotten everything: so does the gateway.
    fn begin_anew(&mut self, now: Time, taken: u64, out: &mut impl GatewayOutputs) {
        tracing::warn!("the market began anew: clients have to log on again");
        for place in 0..self.seats.len() {
            if matches!(&self.seats[place], Some(Client { phase: Phase::In { .. }, .. })) {
                self.desk.counts.not_resumed += 1;
                self.log_out(now, SessionId(place as u32), NOT_RESUMED, out);
            }
        }
        self.begin_anew_fix(now, out);
        self.desk.requests.forget(taken);
    }

    /// Sessions go on, and what the market does not know is said again.
    fn go_on(&mut self, now: Time, taken: u64, out: &mut impl GatewayOutputs) {
        for client in self.seats.iter().flatten() {
            let Phase::In { name, user, last } = client.phase else { continue };
            if client.channel == Channel::RealTime {
                let (client, at) = (client.number, Resume { name, user, last });
                self.desk.say(now, &Word::Resume { client, at }, out);
            }
        }
        for word in self.fix.resumes() {
            self.desk.say(now, &word, out);
        }
        self.desk.say(now, &Word::Settled, out);
        let mut bytes = Vec::new();
        for request in self.desk.requests.behind(taken) {
            self.desk.counts.said_again += 1;
            request.word().append(&mut bytes);
        }
        if !bytes.is_empty() {
            out.say(&bytes);
        }
    }

    fn decided(
        &mut self,
        now: Time,
        client: u32,
        verdict: Verdict,
        decision: &Decision,
        out: &mut impl GatewayOutputs,
    ) {
        let Some(&session) = self.places.get(&client) else { return };
        let Some(Some(seat)) = self.seats.get_mut(session.0 as usize) else {
            return self.decided_fix(now, session, (verdict, decision), out);
        };
        let Decision { code, password_days, last, user } = *decision;
        match (seat.phase, verdict) {
            (Phase::Asks(name), Verdict::Granted) => {
                seat.phase = Phase::In { name, user, last };
                self.desk.counts.logons += 1;
                tracing::info!(user = name.as_str(), "logged on");
                self.decide(now, session, Admission::Granted { password_days }, out);
            }
            (Phase::Asks(name), _) => {
                seat.phase = Phase::Outside;
                self.desk.counts.logons_refused += 1;
                tracing::info!(user = name.as_str(), code, "logon refused");
                let admission = match verdict {
                    Verdict::Silent => Admission::Silent,
                    Verdict::Granted | Verdict::Refused => Admission::Refused(code),
                };
                self.decide(now, session, admission, out);
            }
            (Phase::In { .. }, Verdict::Granted) => self.desk.counts.resumed += 1,
            (Phase::In { name, .. }, Verdict::Silent | Verdict::Refused) => {
                self.desk.counts.not_resumed += 1;
                tracing::warn!(user = name.as_str(), "a session cannot go on");
                self.log_out(now, session, NOT_RESUMED, out);
            }
            (Phase::Outside, _) => {}
        }
    }

    fn decide(
        &mut self,
        now: Time,
        session: SessionId,
        admission: Admission,
        out: &mut impl GatewayOutputs,
    ) {
        let goes =
            self.talk((now, session), out, |acceptor, talk| acceptor.decided(now, admission, talk));
        self.obey(now, session, goes.unwrap_or(tapeline_ntg::Verdict::Open), out);
    }

    /// Something for a client goes out as it came.
    fn report(&mut self, now: Time, client: u32, bytes: &[u8], out: &mut impl GatewayOutputs) {
        let Some(&session) = self.places.get(&client) else { return };
        let Some(Some(seat)) = self.seats.get_mut(session.0 as usize) else {
            return self.report_fix(now, session, bytes, out);
        };
        let Phase::In { last, .. } = &mut seat.phase else { return };
        *last = (*last).max(number_of(bytes));
        seat.acceptor.spoke(now);
        self.desk.counts.reports += 1;
        out.send(session, bytes);
        self.note_queued(session, out);
    }

    /// The market can keep nothing.
    fn not_taken(&mut self, now: Time, number: u64, out: &mut impl GatewayOutputs) {
        let Some(request) = self.desk.requests.take(number) else { return };
        let Some(&session) = self.places.get(&request.client) else { return };
        if !self.fix.is_free(session.0 as usize) {
            return self.not_taken_fix(now, session, &request, out);
        }
        if request.kind != Kind::DISCONNECT
            && let Some(message) = down_as(request.frame())
        {
            self.desk.counts.refused_down += 1;
            let mut bytes = Vec::with_capacity(64);
            message.append(&mut bytes);
            out.send(session, &bytes);
        }
    }
}
