//! Mounts that ask faster than they may, or for more at once, have to wait for
//! their turn.
//!
//! ```text
//!   request ──▶ opens-per-s ──▶ a snapshot? snapshot-window, snapshots-per-s ──▶ item
//!                                            images-per-s ◀── image out of the cache
//! ```
//!
//! A request that waits is on its stream, and may be closed or made anew there. What
//! waits of one mount waits in the order in which it came, and each mount that waits
//! has one entry in the list of those whose turn comes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tapeline_channel::SessionId;
use tapeline_omm::is_administrative;
use tapeline_rwf::{DataState, Msg, RequestFlags, RequestMsg, State, StateCode, StreamState};
use tapeline_time::Time;

use super::mount::Mounts;
use super::rate::Rate;
use super::request::Asked;
use super::stream::{Entry, Stream};
use super::{Core, DUE_PER_TURN};
use crate::Outputs;

/// A client whose request waits for longer hears that it does, before it takes
/// the silence for a loss.
const TOLD_AFTER: Duration = Duration::from_secs(3);

/// How often it is looked whether there is room for streams that gave way, and how
/// many are opened then.
const ROOM_INTERVAL: Duration = Duration::from_secs(1);
const OPENED_AT_ONCE: usize = 64;

/// A request that waits for its turn.
#[derive(Debug)]
pub(super) struct PacedRequest {
    /// What it waits for.
    pub(super) line: Line,
    /// Its place there.
    pub(super) place: u32,
    request: Box<[u8]>,
}

/// What requests of a mount wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Line {
    /// Any, as there were too many.
    Opens,
    /// Snapshots, as there were too many, or too many are on their way.
    Snapshots,
    /// Those that gave way to others: until there is room.
    Room,
}

impl Line {
    /// Whether what waits counts among the items of its mount.
    pub(super) const fn counts(self) -> bool {
        !matches!(self, Self::Room)
    }
}

/// How fast a mount asks, and what of it waits.
#[derive(Debug, Default)]
pub(super) struct Turns {
    opens: Rate,
    images: Rate,
    last_place: u32,
    /// Streams, by their place.
    waiting_opens: BTreeMap<u32, i32>,
    waiting_snapshots: BTreeMap<u32, i32>,
    waiting_for_room: BTreeMap<u32, i32>,
    /// When it is looked next whether there is room.
    room_at: Time,
    /// Snapshots that are on their way.
    snapshots_under_way: usize,
    /// When it has its turn.
    due: Option<Time>,
}

impl Turns {
    const fn line(&mut self, line: Line) -> &mut BTreeMap<u32, i32> {
        match line {
            Line::Opens => &mut self.waiting_opens,
            Line::Snapshots => &mut self.waiting_snapshots,
            Line::Room => &mut self.waiting_for_room,
        }
    }

    /// What is on a stream waits no longer. Whether it counted among the items.
    pub(super) fn leave(&mut self, request: &PacedRequest) -> bool {
        let was_there = self.line(request.line).remove(&request.place);
        debug_assert!(was_there.is_some(), "what waits has a place");
        request.line.counts()
    }

    /// A snapshot was asked for, or is not to come any more.
    pub(super) const fn count_snapshot(&mut self, is_asked: bool) {
        match is_asked {
            true => self.snapshots_under_way += 1,
            false => self.snapshots_under_way = self.snapshots_under_way.saturating_sub(1),
        }
    }

    /// All streams are closed.
    pub(super) fn forget_streams(&mut self) {
        *self = Self { opens: self.opens, images: self.images, ..Self::default() };
    }

    /// When it has its turn.
    pub(super) const fn due(&self) -> Option<Time> {
        self.due
    }

    /// Panics where what waits contradicts the streams, given as their line, place
    /// and number, or the snapshots under way.
    pub(super) fn check(&self, waiting: &BTreeSet<(Line, u32, i32)>, snapshots: usize) {
        let lines = [
            (Line::Opens, &self.waiting_opens),
            (Line::Snapshots, &self.waiting_snapshots),
            (Line::Room, &self.waiting_for_room),
        ];
        let all = lines.into_iter().flat_map(|(line, waiting)| {
            waiting.iter().map(move |(place, stream_id)| (line, *place, *stream_id))
        });
        assert_eq!(all.collect::<BTreeSet<_>>(), *waiting, "requests that wait for their turn");
        assert!(self.due.is_some() || self.waiting_for_room.is_empty(), "room is looked for");
        assert_eq!(self.snapshots_under_way, snapshots, "snapshots under way");
        assert!(self.due.is_some() || self.waiting_opens.is_empty(), "opens have no turn");
    }
}

/// The mounts whose turn comes.
#[derive(Debug, Default)]
pub(super) struct DueMounts(BTreeSet<(Time, u32)>);

impl DueMounts {
    /// When the first has its turn.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Whether a mount has its turn then.
    pub(super) fn has(&self, at: Time, number: u32) -> bool {
        self.0.contains(&(at, number))
    }

    fn pop(&mut self, now: Time) -> Option<(Time, u32)> {
        self.deadline().filter(|at| *at <= now)?;
        self.0.pop_first()
    }
}

impl Mounts {
    /// Takes a snapshot of those that the user of a mount may have in a second.
    fn takes_snapshot_of_user(&mut self, session: SessionId, now: Time, per_s: u32) -> bool {
        let login = self.get(session).and_then(|mount| mount.login.as_ref());
        let Some(who) = login.map(|login| Arc::clone(&login.identity)) else { return true };
        self.users.take_snapshot(who.user.as_bytes(), now, per_s)
    }

    /// When the user of a mount may have the next one; `None`: now.
    fn next_snapshot_of_user(&self, session: SessionId, now: Time, per_s: u32) -> Option<Time> {
        let login = self.get(session)?.login.as_ref()?;
        self.users.next_snapshot(login.user(), now, per_s)
    }
}

impl Core {
    /// Has a request wait if it is not its turn. Whether it waits, or is refused.
    pub(super) fn waits_for_turn<O: Outputs>(
        &mut self,
        session: SessionId,
        msg: &RequestMsg<'_>,
        bytes: &[u8],
        out: &mut O,
    ) -> bool {
        let per_s = self.config.limits.opens_per_s;
        if per_s > 0 && !is_administrative(msg.domain) {
            let Some(mount) = self.mounts.known_mut(session) else { return false };
            let is_first = mount.turns.waiting_opens.is_empty();
            if !is_first || !mount.turns.opens.take(self.now, per_s) {
                self.have_wait(session, msg.stream_id, bytes, Line::Opens);
                self.tell_of_wait(session, msg, out);
                return true;
            }
        }
        self.waits_for_snapshots(session, msg, bytes, out)
    }

    /// The same of a request that had its turn among all.
    fn waits_for_snapshots<O: Outputs>(
        &mut self,
        session: SessionId,
        msg: &RequestMsg<'_>,
        bytes: &[u8],
        out: &mut O,
    ) -> bool {
        let is_snapshot = !msg.flags.contains(RequestFlags::STREAMING);
        if !is_snapshot || is_administrative(msg.domain) {
            return false;
        }
        let waiting = self.mounts.get(session).map_or(0, |it| it.turns.waiting_snapshots.len());
        if waiting == 0 && self.takes_snapshot_turn(session) {
            return false;
        }
        if waiting >= self.config.limits.snapshot_queue {
            self.statistics.opens_limited += 1;
            self.refuse(session, msg, &TOO_MANY_SNAPSHOTS, out);
            return true;
        }
        self.have_wait(session, msg.stream_id, bytes, Line::Snapshots);
        let most = &mut self.statistics.snapshots_waiting_most;
        *most = (*most).max(waiting + 1);
        true
    }

    fn has_snapshot_room(&self, session: SessionId) -> bool {
        let under_way = self.mounts.get(session).map(|mount| mount.turns.snapshots_under_way);
        under_way.is_some_and(|under_way| under_way < self.config.limits.snapshot_window)
    }

    /// Takes a turn for a snapshot, if there is one now.
    fn takes_snapshot_turn(&mut self, session: SessionId) -> bool {
        let per_s = self.config.limits.snapshots_per_s;
        self.has_snapshot_room(session)
            && (per_s == 0 || self.mounts.takes_snapshot_of_user(session, self.now, per_s))
    }

    /// Has a request wait on its stream.
    pub(super) fn have_wait(
        &mut self,
        session: SessionId,
        stream_id: i32,
        bytes: &[u8],
        line: Line,
    ) {
        let next_look = self.now.after(ROOM_INTERVAL);
        let Some(mount) = self.mounts.known_mut(session) else { return };
        if mount.turns.waiting_for_room.is_empty() {
            mount.turns.room_at = next_look;
        }
        mount.turns.last_place = mount.turns.last_place.wrapping_add(1);
        let place = mount.turns.last_place;
        mount.turns.line(line).insert(place, stream_id);
        let paced = PacedRequest { line, place, request: bytes.into() };
        mount.streams.insert(stream_id, Stream::Paced(Box::new(paced)));
        self.statistics.opens_paced += u64::from(line.counts());
        self.waiting.paced += 1;
        if line.counts() {
            self.mounts.count_item(session, true);
        }
        self.plan_turn(session);
    }

    /// Tells a client that its request waits, if that takes long.
    fn tell_of_wait<O: Outputs>(&mut self, session: SessionId, msg: &RequestMsg<'_>, out: &mut O) {
        let per_s = self.config.limits.opens_per_s.max(1);
        let Some(mount) = self.mounts.get(session).filter(|mount| !mount.is_slow) else { return };
        let ahead = u32::try_from(mount.turns.waiting_opens.len()).unwrap_or(u32::MAX);
        if Duration::from_secs(1) * (ahead / per_s) >= TOLD_AFTER {
            let state = self.state_told(session, msg, &WAITS);
            self.refuse(session, msg, &state, out);
        }
    }

    /// Finds out when a mount has its next turn.
    pub(super) fn plan_turn(&mut self, session: SessionId) {
        let (now, limits) = (self.now, &self.config.limits);
        let (opens_per_s, snapshots_per_s) = (limits.opens_per_s, limits.snapshots_per_s);
        let images_per_s = limits.images_per_s;
        let snapshots_at = match self.has_snapshot_room(session) && snapshots_per_s > 0 {
            true => self.mounts.next_snapshot_of_user(session, now, snapshots_per_s),
            false => None,
        };
        let has_room = self.has_snapshot_room(session);
        let Some(mount) = self.mounts.get_mut(session) else { return };
        let turns = &mut mount.turns;
        let opens = (!turns.waiting_opens.is_empty())
            .then(|| turns.opens.next(now, opens_per_s).unwrap_or(now));
        let snapshots =
            (!turns.waiting_snapshots.is_empty() && has_room).then(|| snapshots_at.unwrap_or(now));
        let images = (mount.owed.has_images() && !mount.is_slow && !mount.owed.is_draining)
            .then(|| turns.images.next(now, images_per_s).unwrap_or(now));
        let room = (!turns.waiting_for_room.is_empty()).then_some(turns.room_at);
        let due = [opens, snapshots, images, room].into_iter().flatten().min();
        if due != turns.due {
            let number = mount.number;
            if let Some(before) = turns.due {
                self.due_mounts.0.remove(&(before, number));
            }
            turns.due = due;
            self.due_mounts.0.extend(due.map(|at| (at, number)));
        }
    }

    /// Gives those their turn for whom it has come.
    pub(super) fn check_turns<O: Outputs>(&mut self, out: &mut O) {
        for _ in 0..DUE_PER_TURN {
            let Some((at, number)) = self.due_mounts.pop(self.now) else { return };
            let Some(session) = self.mounts.session_of(number) else { continue };
            let Some(mount) = self.mounts.get_mut(session) else { continue };
            if mount.turns.due != Some(at) {
                // It was of another mount.
                continue;
            }
            mount.turns.due = None;
            self.give_turn(session, out);
            self.plan_turn(session);
        }
    }

    fn give_turn<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        let (now, per_s) = (self.now, self.config.limits.opens_per_s);
        let Some(mount) = self.mounts.get_mut(session) else { return };
        if let Some(stream_id) = mount.turns.waiting_opens.values().next().copied()
            && mount.turns.opens.take(now, per_s)
            && let Some(request) = self.take_paced(session, stream_id, out)
            && let Ok(Msg::Request(msg)) = Msg::decode(&request)
            && !self.waits_for_snapshots(session, &msg, &request, out)
        {
            self.open_in_turn(session, asked(&msg, &request), out);
        }
        let Some(mount) = self.mounts.get_mut(session) else { return };
        if let Some(stream_id) = mount.turns.waiting_snapshots.values().next().copied()
            && self.takes_snapshot_turn(session)
            && let Some(request) = self.take_paced(session, stream_id, out)
            && let Ok(Msg::Request(msg)) = Msg::decode(&request)
        {
            self.open_in_turn(session, asked(&msg, &request), out);
        }
        if self.mounts.get(session).is_some_and(|mount| mount.owed.has_images()) {
            self.begin_draining(session, out);
        }
        self.open_those_that_gave_way(session, out);
    }

    /// Opens streams again that gave way, where there is room now.
    fn open_those_that_gave_way<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        let next_look = self.now.after(ROOM_INTERVAL);
        let Some(mount) = self.mounts.get_mut(session) else { return };
        if mount.turns.waiting_for_room.is_empty() || self.now < mount.turns.room_at {
            return;
        }
        mount.turns.room_at = next_look;
        for _ in 0..OPENED_AT_ONCE {
            let mount = self.mounts.get(session);
            let next = mount.and_then(|it| it.turns.waiting_for_room.values().next().copied());
            let Some(stream_id) = next else { return };
            if self.is_at_limit(session) || !self.has_room(out) {
                return;
            }
            if let Some(request) = self.take_paced(session, stream_id, out)
                && let Ok(Msg::Request(msg)) = Msg::decode(&request)
            {
                if !self.has_room_in(msg.key.service_id, out) {
                    // Those of other services may be luckier.
                    self.have_wait(session, stream_id, &request, Line::Room);
                    continue;
                }
                let asked = Asked { is_return: true, ..asked(&msg, &request) };
                self.open_in_turn(session, asked, out);
            }
        }
    }

    /// Takes a request that waits off its stream.
    fn take_paced<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        out: &mut O,
    ) -> Option<Box<[u8]>> {
        let mount = self.mounts.get_mut(session)?;
        let Some(Stream::Paced(paced)) = mount.streams.other_mut(stream_id) else {
            debug_assert!(false, "what waits is on its stream");
            return None;
        };
        let request = core::mem::take(&mut paced.request);
        self.remove_stream(session, stream_id, out);
        Some(request)
    }

    /// A snapshot is on its way to a mount no more: another one may be.
    pub(super) fn end_snapshot(&mut self, session: SessionId) {
        let Some(mount) = self.mounts.get_mut(session) else { return };
        mount.turns.count_snapshot(false);
        if !mount.turns.waiting_snapshots.is_empty() {
            self.plan_turn(session);
        }
    }

    /// Whether an image out of the cache has to wait: its mount is slow, or has had
    /// what it may. Else it counts as had.
    pub(super) fn image_is_late(&mut self, session: SessionId) -> bool {
        let (now, per_s) = (self.now, self.config.limits.images_per_s);
        let Some(mount) = self.mounts.get_mut(session) else { return false };
        mount.is_slow || per_s > 0 && !mount.turns.images.take(now, per_s)
    }

    /// Whether an image may go to a mount now.
    pub(super) fn has_image_turn(&self, session: SessionId) -> bool {
        let per_s = self.config.limits.images_per_s;
        let mount = self.mounts.get(session).filter(|_| per_s > 0);
        mount.is_none_or(|mount| mount.turns.images.next(self.now, per_s).is_none())
    }

    /// Panics where the turn of a mount is not in the list.
    pub(super) fn check_turn_of(&self, session: SessionId) {
        let Some(mount) = self.mounts.get(session) else { return };
        let (mut waiting, mut snapshots) = (BTreeSet::new(), 0);
        for (stream_id, stream) in mount.streams.others() {
            if let Stream::Paced(of) = stream {
                waiting.insert((of.line, of.place, stream_id));
                assert!(!of.request.is_empty(), "the request of {session:?}/{stream_id}");
            }
        }
        for stream_id in mount.streams.items() {
            let Some(Entry::Item(item)) = mount.streams.get(stream_id) else { continue };
            snapshots += usize::from(!item.state.is_streaming());
        }
        mount.turns.check(&waiting, snapshots);
        let due = mount.turns.due();
        assert!(due.is_none_or(|at| self.due_mounts.has(at, mount.number)), "{session:?}: {due:?}");
    }
}

/// What a client is told whose request waits for its turn.
const WAITS: State<'static> = State::new(
    StreamState::OPEN,
    DataState::SUSPECT,
    StateCode::NONE,
    "The request waits for its turn",
);

/// More snapshots wait than may.
const TOO_MANY_SNAPSHOTS: State<'static> = State::new(
    StreamState::CLOSED,
    DataState::SUSPECT,
    StateCode::NO_RESOURCES,
    "Too many snapshots wait",
);

/// A request whose turn has come.
const fn asked<'a>(msg: &'a RequestMsg<'a>, bytes: &'a [u8]) -> Asked<'a> {
    Asked { msg, bytes, is_return: false }
}
