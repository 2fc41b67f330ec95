//! The links of gateways: what comes by them, and what their clients get.

use std::time::Duration;

use tapeline_ntg::session::Logon;
use tapeline_ntg::{Admission, Channel, Message};
use tapeline_sequence::{Kind, NotTaken};
use tapeline_time::Time;

use super::{Known, Link, Member, Phase, say, source};
use crate::core::answers::Answer;
use crate::core::users::UNAUTHORISED;
use crate::core::{DOWN, Door, Exchange, Numbers, Outputs, Seat, SessionId, request_kind};
use crate::gateway::{Asked, Decision, FixBegun, Greeting, Hello, Resume, Verdict, Welcome, Word};

impl Exchange {
    /// Users whose sessions end by themselves are gone.
    pub(in crate::core) fn see_off(&mut self, now: Time) {
        while let Some(user) = self.floor.gateways.departures.pop() {
            self.gate.disconnect(now, user);
        }
    }

    /// Bytes of a gateway have come. Returns whether its link goes on.
    pub(in crate::core) fn link_received(
        &mut self,
        now: Time,
        session: SessionId,
        bytes: &[u8],
        out: &mut impl Outputs,
    ) -> bool {
        let Some(link) = self.link(session) else { return false };
        link.heard = now;
        let mut words = std::mem::take(&mut link.words);
        let mut goes_on = true;
        goes_on &= words.read(bytes, |word| {
            goes_on = self.word(now, session, word, out);
            goes_on
        });
        if let Some(link) = self.link(session) {
            link.words = words;
        }
        goes_on
    }

    fn link(&mut self, session: SessionId) -> Option<&mut Link> {
        match self.seats.get_mut(session.0 as usize) {
            Some(Some(Seat::Link(link))) => Some(link),
            _ => None,
        }
    }

    pub(super) fn member(&mut self, session: SessionId) -> Option<&mut Member> {
        match self.seats.get_mut(session.0 as usize) {
            Some(Some(Seat::Member(member))) => Some(member),
            _ => None,
        }
    }

    fn word(
        &mut self,
        now: Time,
        session: SessionId,
        word: &Word<'_>,
        out: &mut impl Outputs,
    ) -> bool {
        let Some(link) = self.link(session) else { return false };
        let Some(gateway) = link.gateway else {
            let Word::Hello(hello) = word else { return false };
            return self.greet(now, session, hello, out);
        };
        match *word {
            Word::LogOn { client, channel, logon } => {
                let phase = Phase::Asks(logon);
                match self.seat_member(now, (session, gateway, client), channel, phase, out) {
                    Some(member) => self.look_at(now, member, out),
                    None => refuse(session, client, DOWN, out),
                }
            }
            Word::Resume { client, at } => {
                self.resume_session(now, (session, gateway, client), &at, out);
            }
            Word::FixLogOn { client, asked, logon } => {
                let phase = Phase::AsksByFix(logon, asked);
                let (place, channel) = ((session, gateway, client), Channel::RealTime);
                match self.seat_member(now, place, channel, phase, out) {
                    Some(member) => self.look_at(now, member, out),
                    None => refuse(session, client, DOWN, out),
                }
            }
            Word::FixResume { client, at } => {
                self.resume_fix(now, (session, gateway, client), &at, out);
            }
            Word::Settled => self.forget_others(session, gateway),
            Word::Request { client, kind, asked, frame } => {
                return self.requested(session, gateway, client, (kind, &asked, frame), out);
            }
            Word::Missed { client, request } => {
                let member = link.members.get(&client).copied();
                if let Some(member) = member {
                    let answer = self.floor.missed(member, &request, out);
                    if let Some(seat) = self.member(member) {
                        seat.answer = answer;
                    }
                    self.answer(now, member, out);
                }
            }
            Word::Gone { client } => {
                if let Some(member) = link.members.get(&client).copied() {
                    // It may have been let in meanwhile.
                    let is_in = self.floor.users.at(member).is_some_and(|user| {
                        self.floor.users.get(user).is_some_and(|it| it.session == Some(member))
                    });
                    let user = self.floor.users.at(member).filter(|_| is_in);
                    self.end_member(member);
                    if let Some(user) = user {
                        self.floor.depart(user);
                    }
                }
            }
            Word::Beat => {}
            _ => return false,
        }
        true
    }

    /// A gateway says which it is.
    fn greet(
        &mut self,
        now: Time,
        session: SessionId,
        hello: &Hello,
        out: &mut impl Outputs,
    ) -> bool {
        let Hello { gateway, instance, .. } = *hello;
        let gateways = &self.floor.gateways;
        let before = gateways.all.get(&gateway).map(|known| (known.link, known.instance));
        let terms = gateways.terms.as_ref();
        let greeting = match before {
            _ if *hello != Hello::of(gateway, instance, &gateways.identity) => Greeting::Stranger,
            _ if !terms.is_some_and(|terms| terms.numbers.contains(&gateway)) => Greeting::Unknown,
            _ if !self.floor.is_open => Greeting::NobodyLeads,
            Some((Some(_), other)) if other != instance => Greeting::InUse,
            _ => Greeting::Welcome,
        };
        let history = terms.map_or(0, |terms| terms.history);
        let taken = self.gate.last_number(source(gateway));
        let is_all_done = self.gate.index() == self.floor.applied && self.gate.waiting() == 0;
        say(session, &Word::Welcome(greeting, Welcome { taken, history }), out);
        if greeting != Greeting::Welcome {
            tracing::debug!(gateway, ?greeting, "a gateway is not linked");
            return false;
        }
        // Its own link of before is one that it has given up.
        if let Some((Some(old), _)) = before {
            self.leave(now, old, out);
        }
        let known = self.floor.gateways.all.entry(gateway).or_default();
        (known.link, known.instance, known.gone) = (Some(session), instance, None);
        // A snapshot does not say how far each gateway was; where nothing waits, all is done.
        known.done = if is_all_done { taken } else { known.done };
        known.told = 0;
        if let Some(link) = self.link(session) {
            (link.gateway, link.said) = (Some(gateway), now);
        }
        self.floor.counts.gateway_links += 1;
        tracing::info!(gateway, taken, "a gateway is linked");
        true
    }

    /// A client of a gateway has a place from now on.
    pub(super) fn seat_member(
        &mut self,
        now: Time,
        (link, gateway, client): (SessionId, u16, u32),
        channel: Channel,
        phase: Phase,
        out: &mut impl Outputs,
    ) -> Option<SessionId> {
        let answer = None;
        let member = Member { link, gateway, client, channel, phase, answer };
        let session = self.sit_down(now, Seat::Member(member))?;
        self.link(link)?.members.insert(client, session);
        out.route(session, link, client);
        Some(session)
    }

    /// A session goes on that the market knows.
    fn resume_session(
        &mut self,
        now: Time,
        (link, gateway, client): (SessionId, u16, u32),
        at: &Resume,
        out: &mut impl Outputs,
    ) {
        let users = &self.floor.users;
        let user = users.get(at.user).filter(|user| {
            user.name == at.name && user.gateway == gateway && user.session.is_none()
        });
        let is_there = user.is_some() && !users.is_leaving(at.user);
        // What the cache has lost, only the client can ask for, who must know it.
        let can = is_there && self.floor.cache.oldest() <= at.last.saturating_add(1);
        let place = (link, gateway, client);
        let channel = Channel::RealTime;
        match can.then(|| self.seat_member(now, place, channel, Phase::Resumes(at.user), out)) {
            Some(Some(session)) => {
                let (user, next) = (at.user, at.last.saturating_add(1));
                if let Some(member) = self.member(session) {
                    member.answer = Some(Answer::Resumed { user, next });
                }
                self.answer(now, session, out);
            }
            Some(None) | None => refuse(link, client, UNAUTHORISED, out),
        }
    }

    /// Sessions of users that a gateway does not name are over.
    fn forget_others(&mut self, session: SessionId, gateway: u16) {
        let Some(link) = self.link(session) else { return };
        let here: Vec<SessionId> = link.members.values().copied().collect();
        let mut named: Vec<u16> = Vec::new();
        for session in here {
            if let Some(Member { phase: Phase::Resumes(user), .. }) = self.member(session) {
                named.push(*user);
            }
        }
        for user in 0..self.floor.users.len() as u16 {
            let has_session = self.floor.users.get(user).is_some_and(|user| user.session.is_some());
            let is_here = self.floor.users.gateway_of(user) == gateway;
            if is_here && !has_session && !named.contains(&user) {
                self.floor.depart(user);
            }
        }
    }

    /// What a client of a gateway asks for waits for its turn. Returns whether it can be
    /// understood.
    fn requested(
        &mut self,
        session: SessionId,
        gateway: u16,
        client: u32,
        (kind, asked, frame): (Kind, &Asked, &[u8]),
        out: &mut impl Outputs,
    ) -> bool {
        let is_end = kind == Kind::DISCONNECT && frame.is_empty();
        if !is_end && Message::read(frame).and_then(|it| request_kind(&it)) != Some(kind) {
            let is_note = kind == Kind::NUMBERS && Numbers::is_of(frame, asked.user);
            if !is_note {
                return false;
            }
        }
        match self.gate.forward(gateway, (kind, asked, client, frame)) {
            Ok(()) => self.floor.counts.note_request(kind),
            Err(NotTaken::Double) => {}
            Err(_) => say(session, &Word::NotTaken { number: asked.number }, out),
        }
        if is_end {
            let is_here = self.floor.users.gateway_of(asked.user) == gateway;
            if is_here {
                self.floor.users.set_leaving(asked.user);
            }
            let member = self.link(session).and_then(|link| link.members.get(&client).copied());
            if let Some(member) = member {
                self.end_member(member);
            }
        }
        true
    }

    /// Sees whether a client of a gateway who waits can come in.
    fn look_at(&mut self, now: Time, session: SessionId, out: &mut impl Outputs) {
        let Some(&mut Member { link, gateway, client, channel, phase, .. }) = self.member(session)
        else {
            return;
        };
        let next = match phase {
            Phase::Asks(logon) => {
                let known = self.floor.users.named(logon.user);
                let waits = channel == Channel::RealTime
                    && known.is_some_and(|user| self.floor.make_room(user));
                match waits {
                    true => Some(phase),
                    false => self.admit_member(now, (session, gateway, channel), &logon, out),
                }
            }
            Phase::Claims { user, password_days } => {
                let is_kept = self.floor.users.gateway_of(user) == gateway;
                if is_kept {
                    let last = self.floor.cache.last();
                    let decision = Decision { code: 0, password_days, last, user };
                    say(link, &Word::Decided { client, verdict: Verdict::Granted, decision }, out);
                }
                Some(if is_kept { Phase::In } else { phase })
            }
            Phase::AsksByFix(logon, asked) => {
                let known = self.floor.users.named(logon.user);
                match known.is_some_and(|user| self.floor.make_room(user)) {
                    true => Some(phase),
                    false => self.admit_fix(now, (session, gateway), (logon, &asked), out),
                }
            }
            Phase::Begins(begun) => {
                let is_kept = self.floor.users.gateway_of(begun.user) == gateway;
                if is_kept {
                    self.begin_fix(session, &begun, out);
                }
                Some(if is_kept { Phase::In } else { phase })
            }
            Phase::Resumes(_) | Phase::In => Some(phase),
        };
        let Some(next) = next else { return self.end_member(session) };
        let waits = !matches!(next, Phase::Resumes(_) | Phase::In);
        if waits && !self.floor.gateways.waiting.contains(&session) {
            self.floor.gateways.waiting.push(session);
        }
        if let Some(member) = self.member(session) {
            member.phase = next;
        }
        self.answer(now, session, out);
    }

    /// Lets a client in, or not, which it is told. Returns how far it is then.
    fn admit_member(
        &mut self,
        now: Time,
        (session, gateway, channel): (SessionId, u16, Channel),
        logon: &Logon,
        out: &mut impl Outputs,
    ) -> Option<Phase> {
        let (door, known) = match channel {
            Channel::RealTime => (Door::Orders, self.floor.users.len()),
            Channel::Recovery => (Door::Recovery, self.floor.users.len()),
        };
        let admission = self.floor.admit(session, door, logon);
        if self.floor.users.len() > known {
            self.gate.introduce(now, known as u16, logon.user);
        }
        let user = self.floor.users.at(session).unwrap_or_default();
        let &mut Member { link, client, .. } = self.member(session)?;
        match (admission, channel) {
            (Admission::Granted { password_days }, Channel::RealTime) => {
                self.gate.seat(now, user, gateway);
                Some(Phase::Claims { user, password_days })
            }
            (Admission::Granted { password_days }, Channel::Recovery) => {
                let decision = Decision { code: 0, password_days, last: 0, user };
                say(link, &Word::Decided { client, verdict: Verdict::Granted, decision }, out);
                Some(Phase::In)
            }
            (Admission::Refused(code), _) => {
                refuse(link, client, code, out);
                None
            }
            (Admission::Silent | Admission::Later, _) => {
                let decision = Decision::default();
                say(link, &Word::Decided { client, verdict: Verdict::Silent, decision }, out);
                None
            }
        }
    }

    /// Those who wait to be let in are looked at again.
    pub(in crate::core) fn look_at_waiting(&mut self, now: Time, out: &mut impl Outputs) {
        let mut waiting = std::mem::take(&mut self.floor.gateways.waiting);
        for session in waiting.drain(..) {
            self.look_at(now, session, out);
        }
        if self.floor.gateways.waiting.is_empty() {
            self.floor.gateways.waiting = waiting;
        }
    }

    /// Goes on with what a client of a gateway is to get.
    pub(in crate::core) fn answer_member(
        &mut self,
        now: Time,
        session: SessionId,
        out: &mut impl Outputs,
    ) {
        let Self { floor, seats, .. } = self;
        let Some(Some(Seat::Member(member))) = seats.get_mut(session.0 as usize) else { return };
        if let Some(Answer::Held { .. }) = member.answer {
            return self.answer_fix(session, out);
        }
        let Some(Answer::Resumed { user, mut next }) = member.answer else {
            return floor.recover(now, session, &mut member.answer, out);
        };
        let &mut Member { link, client, .. } = member;
        match floor.catch_up(session, user, &mut next, out) {
            None => {
                refuse(link, client, UNAUTHORISED, out);
                self.floor.depart(user);
                self.end_member(session);
            }
            Some(false) => member.answer = Some(Answer::Resumed { user, next }),
            Some(true) => {
                (member.answer, member.phase) = (None, Phase::In);
                floor.users.go_on(user, session);
                let last = floor.cache.last();
                let decision = Decision { last, user, ..Decision::default() };
                say(link, &Word::Decided { client, verdict: Verdict::Granted, decision }, out);
            }
        }
    }

    /// A client of a gateway is not there any more.
    pub(super) fn end_member(&mut self, session: SessionId) {
        let seat = self.seats.get_mut(session.0 as usize);
        let Some(Seat::Member(member)) = seat.and_then(Option::take) else { return };
        if let Some(link) = self.link(member.link) {
            link.members.remove(&member.client);
        }
        if let Some(user) = self.floor.users.left(session) {
            self.floor.desks.left(user, session);
        }
        match member.phase {
            Phase::Claims { user, .. } | Phase::Begins(FixBegun { user, .. }) => {
                self.floor.depart(user);
            }
            Phase::Resumes(user) => self.floor.desks.left(user, session),
            _ => {}
        }
    }

    /// The link of a gateway is gone: sessions wait for the next one.
    pub(in crate::core) fn end_link(&mut self, now: Time, session: SessionId, link: &Link) {
        for member in link.members.values() {
            self.end_member(*member);
        }
        let Some(gateway) = link.gateway else { return };
        let known = self.floor.gateways.all.entry(gateway).or_default();
        if known.link == Some(session) {
            (known.link, known.gone) = (None, Some(now));
            tracing::warn!(gateway, clients = link.members.len(), "the link of a gateway ended");
        }
    }

    /// Time has passed for a gateway's link. Returns whether it goes on.
    pub(in crate::core) fn link_timeout(
        &mut self,
        now: Time,
        session: SessionId,
        out: &mut impl Outputs,
    ) -> bool {
        let silence = self.floor.gateways.silence();
        let Some(link) = self.link(session) else { return true };
        let is_there = now.since(link.heard) < silence;
        if now.since(link.said) >= silence / 4 && link.gateway.is_some() {
            link.said = now;
            self.floor.gateways.beat(session, out);
        }
        is_there
    }

    /// Sessions at gateways that do not come back are over.
    pub(in crate::core) fn give_up_gateways(&mut self, now: Time) {
        let Self { floor, .. } = self;
        // A market whose file has no gateways any more waits for none.
        let grace = floor.gateways.terms.as_ref().map_or(Duration::ZERO, |terms| terms.grace);
        let is_over = |known: &Known| {
            known.link.is_none() && known.gone.is_some_and(|gone| now.since(gone) >= grace)
        };
        let all = floor.gateways.all.iter().filter(|(_, known)| is_over(known));
        let over: Vec<u16> = all.map(|(gateway, _)| *gateway).collect();
        for gateway in over {
            for user in 0..floor.users.len() as u16 {
                if floor.users.gateway_of(user) == gateway {
                    floor.depart(user);
                }
            }
        }
    }
}

pub(super) fn refuse(link: SessionId, client: u32, code: i32, out: &mut impl Outputs) {
    let decision = Decision { code, ..Decision::default() };
    say(link, &Word::Decided { client, verdict: Verdict::Refused, decision }, out);
}
