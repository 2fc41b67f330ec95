//! Warm standby: a client has several servers and takes its data from one of
//! them. The others have all its items open, and send nothing of them, so that
//! one of them can go on where the first dies.
//!
//! ```text
//!   a request, when an image or a state is there   a refresh without content
//!   updates, generic messages, states, images      nothing
//!   CLOSED                                         is told
//!   CLOSED_RECOVER, REDIRECTED                     nothing: it is asked for again
//!   lists of names, dictionaries                   in full
//! ```
//!
//! The client gives items up at all of its servers when one that stands by says
//! that they are closed for the time being; what else it is told there it
//! forgets. A stream that stands by is never among those that an update goes to
//! (its subscription is not [`LIVE`](mode::LIVE)), so it costs an update what
//! any stream does that has no image yet.
//!
//! When the server becomes the active one, each stream gets its image out of the
//! cache, without a request to anybody. There may be as many as a mount has
//! items. So the streams are served in a [walk](Walk) of small steps, those of
//! the highest priority first, and each is held until its turn: whatever comes
//! meanwhile is in its image. A client that changes its mind has a walk before
//! that one: it takes nothing of what is sent between the two, and nobody knows
//! how far that came.

use tapeline_channel::SessionId;
use tapeline_omm::directory::ConsumerStatus;
use tapeline_omm::is_administrative;
use tapeline_omm::login::{LoginMsg, WarmStandbyMode};
use tapeline_omm::market::Part;
use tapeline_omm::stream::ProviderStream;
use tapeline_planted::planted;
use tapeline_rwf::{
    DataState, DataType, Domain, Encoded, GenericMsg, MapAction, RefreshFlags, RefreshMsg, State,
    StateCode, StatusMsg, StreamState,
};

use super::Core;
use super::backlog::Job;
use super::item::Item;
use super::mount::{Login, gate};
use super::roles::{Pass, Role, Walk};
use super::rows::Cell;
use super::subscription::mode;
use super::watchers::Watcher;
use crate::{Note, Outputs, StandbyImage};

/// So many streams are passed over in one step.
const PASSED_OVER: usize = 8;

/// To serve a stream costs so many steps.
const STEPS_TO_SERVE: usize = 4;

/// What a stream that is taken over is told if nothing is known of its item.
const NO_IMAGE_YET: State<'static> = State::new(
    StreamState::OPEN,
    DataState::SUSPECT,
    StateCode::NONE,
    "Taken over without an image; it has been asked for",
);

/// Whether a stream of an item takes part in warm standby: what is private is
/// between its two ends, and dictionaries are the same anywhere.
pub(super) const fn has_part(is_private: bool, domain: Domain) -> bool {
    !is_private && !is_administrative(domain)
}

impl Core {
    /// A client says on its login whether this is its active server, or returns a
    /// message by which it is measured. The vendor's library says so on stream 1 when
    /// it changes its mind, whatever the stream of the login.
    pub(super) fn on_login_generic<O: Outputs>(
        &mut self,
        session: SessionId,
        generic: &GenericMsg<'_>,
        out: &mut O,
    ) {
        let status = match LoginMsg::decode(&(*generic).into()) {
            Ok(LoginMsg::ConsumerConnectionStatus(status)) => status,
            Ok(LoginMsg::Rtt(rtt)) => return self.on_round_trip(session, &rtt, out),
            _ => return self.statistics.roles_ignored += 1,
        };
        let role = match (status.action, status.mode) {
            (Some(MapAction::DELETE), _) => None,
            (_, Some(mode)) => match role_of(mode) {
                Some(role) => Some(role),
                None => return self.statistics.roles_ignored += 1,
            },
            // Nothing is said of warm standby.
            (_, None) => return,
        };
        let now = self.now;
        let Some(mount) = self.mounts.get_mut(session).filter(|mount| mount.login.is_some()) else {
            return;
        };
        let has_work = mount.roles.set_login(now, role);
        out.note(Note::Role {
            session,
            user: mount.login.as_ref().map(Login::shown_user).as_ref(),
            service: None,
            role: word_of(role),
        });
        self.follow_roles(session, has_work, out);
    }

    /// A client says on its directory with which services this is its active
    /// server.
    pub(super) fn on_directory_generic<O: Outputs>(
        &mut self,
        session: SessionId,
        generic: &GenericMsg<'_>,
        out: &mut O,
    ) {
        let Ok(status) = ConsumerStatus::decode(generic) else {
            self.statistics.roles_ignored += 1;
            return;
        };
        let now = self.now;
        let mut has_work = false;
        for entry in &status.entries {
            let role = match (entry.action, entry.warm_standby) {
                (MapAction::DELETE, _) => None,
                (_, Some(mode)) => match role_of(mode) {
                    Some(role) => Some(role),
                    None => {
                        self.statistics.roles_ignored += 1;
                        continue;
                    }
                },
                // What else it says is for sources.
                (_, None) => continue,
            };
            let Some(mount) = self.mounts.get_mut(session).filter(|it| it.login.is_some()) else {
                return;
            };
            has_work |= mount.roles.set_service(now, entry.service_id, role);
            let service = self.services.name(entry.service_id).cloned();
            out.note(Note::Role {
                session,
                user: mount.login.as_ref().map(Login::shown_user).as_ref(),
                service: Some((entry.service_id, service.as_ref())),
                role: word_of(role),
            });
        }
        self.follow_roles(session, has_work, out);
    }

    /// A client has ended its session. Where it had this server stand by, and was told
    /// just now how services are described, an operator is told what that may mean: the
    /// client's log has the reason, and an operator of servers seldom sees that.
    pub(super) fn on_closed<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        let mount = self.mounts.get(session);
        if let Some(mount) = mount
            && let Some(after) = mount.roles.left_out(self.now)
        {
            self.statistics.mounts_left_out += 1;
            let user = mount.login.as_ref().map(Login::shown_user);
            out.note(Note::LeftOut { session, user: user.as_ref(), after });
        }
        self.drop_mount(session);
    }

    /// Has the streams of a mount follow its roles.
    fn follow_roles<O: Outputs>(&mut self, session: SessionId, has_work: bool, out: &mut O) {
        self.mounts.note_roles(session);
        if !has_work {
            return;
        }
        let is_holding = self
            .mounts
            .get(session)
            .is_some_and(|mount| matches!(mount.roles.walk, Some(Walk::Hold { .. })));
        self.mounts.set_gate(session, gate::HOLDING, is_holding);
        let has_job =
            self.backlog.jobs().any(|job| matches!(job, Job::Roles(of) if *of == session));
        if !has_job {
            self.backlog.add(Job::Roles(session));
        }
        if self.refreshed_at != Some(self.now) {
            self.refreshed_at = Some(self.now);
            self.begin_jobs_of_mounts(out);
        }
    }

    /// Has the next streams of a mount follow its roles.
    pub(super) fn roles_step<O: Outputs>(
        &mut self,
        session: SessionId,
        out: &mut O,
    ) -> Option<usize> {
        match self.mounts.get(session)?.roles.walk {
            Some(Walk::Hold { from }) => self.hold_step(session, from),
            Some(Walk::Release(pass)) => self.release_step(session, pass, out),
            None => {
                self.begin_draining(session, out);
                self.end_take_over(session, out);
                None
            }
        }
    }

    fn hold_step(&mut self, session: SessionId, from: i32) -> Option<usize> {
        let mount = self.mounts.get_mut(session)?;
        let stream_id = mount.streams.item_from(from);
        if let Some(stream_id) = stream_id
            && let Some(slot) = mount.streams.slot(stream_id)
            && let Some(item) = self.items.get(slot)
            && mount.roles.is_to_hold(stream_id, item.service_id())
        {
            self.hold(session, stream_id);
        }
        let mount = self.mounts.get_mut(session)?;
        match stream_id.and_then(|stream_id| stream_id.checked_add(1)) {
            Some(from) => mount.roles.walk = Some(Walk::Hold { from }),
            None => {
                mount.roles.end_holding();
                self.mounts.set_gate(session, gate::HOLDING, false);
            }
        }
        Some(1)
    }

    /// Nothing is sent on a stream from here on, but the answer to a request.
    /// What waits for it is not needed any more.
    fn hold(&mut self, session: SessionId, stream_id: i32) {
        let Some((slot, cell)) = self.item_on(session, stream_id) else { return };
        let Some(item) = self.items.get(slot) else { return };
        if !has_part(item.is_private, item.key.as_ref().domain) {
            return;
        }
        self.forget_waiting(slot, cell);
        let Self { items, mounts, .. } = self;
        let changed = mounts.get_mut(session).and_then(|mount| {
            // Nor is it told that its updates are not merged any more.
            mount.owed.forget(stream_id);
            mount.streams.change(stream_id, |state| {
                state.stand_by();
                state.owes_image()
            })
        });
        let subscription =
            items.get_mut(slot).and_then(|item| item.watchers.subscription_mut(cell));
        let (Some(owes_image), Some(subscription)) = (changed, subscription) else { return };
        subscription.set(mode::LIVE | mode::IN_IMAGE, false);
        match owes_image {
            true => subscription.set(mode::WANTS, true),
            false => subscription.set(mode::WANTS | mode::LATE, false),
        }
    }

    /// Holds a watcher whose turn in the walk has not come, before anything is
    /// sent to it. Whether it was one.
    pub(super) fn holds_first(&mut self, slot: u32, watcher: &Watcher) -> bool {
        if self.mounts.gate(watcher.session) & gate::HOLDING == 0 {
            return false;
        }
        let service_id = self.items.get(slot).map(Item::service_id);
        let is_due = service_id.is_some_and(|service_id| {
            let mount = self.mounts.get(watcher.session);
            mount.is_some_and(|mount| mount.roles.is_to_hold(watcher.stream_id, service_id))
        });
        if is_due {
            self.hold(watcher.session, watcher.stream_id);
        }
        is_due && self.stands_by_on(watcher)
    }

    /// Whether the stream of a watcher stands by.
    pub(super) fn stands_by_on(&self, watcher: &Watcher) -> bool {
        let mount = self.mounts.get(watcher.session);
        let stream = mount.and_then(|mount| mount.streams.item(watcher.stream_id));
        stream.is_some_and(|stream| stream.state.stands_by())
    }

    /// Serves the next stream of a mount that is held without reason.
    fn release_step<O: Outputs>(
        &mut self,
        session: SessionId,
        mut pass: Pass,
        out: &mut O,
    ) -> Option<usize> {
        for _ in 0..PASSED_OVER {
            let mount = self.mounts.get_mut(session)?;
            let Some(stream_id) = mount.streams.item_from(pass.from) else {
                mount.roles.walk = pass.next().map(Walk::Release);
                return Some(1);
            };
            let after = stream_id.checked_add(1);
            let class = self.class_if_held(session, stream_id);
            match class {
                Some(class) if class < pass.class => {
                    pass.highest_left = pass.highest_left.max(Some(class));
                }
                Some(_) => self.serve_held(session, stream_id, out),
                None => {}
            }
            let mount = self.mounts.get_mut(session)?;
            if let Some(from) = after {
                pass.from = from;
                mount.roles.walk = Some(Walk::Release(pass));
            } else {
                mount.roles.walk = pass.next().map(Walk::Release);
                return Some(STEPS_TO_SERVE);
            }
            if class.is_some_and(|class| class >= pass.class) {
                self.begin_draining(session, out);
                return Some(STEPS_TO_SERVE);
            }
        }
        Some(1)
    }

    /// The priority class of a stream that is held though the server does not
    /// stand by with its service.
    fn class_if_held(&self, session: SessionId, stream_id: i32) -> Option<u8> {
        let mount = self.mounts.get(session)?;
        let stream = mount.streams.item(stream_id).filter(|stream| stream.state.stands_by())?;
        let item = self.items.get(stream.slot)?;
        (!mount.roles.stands_by(item.service_id())).then(|| item.priority().class)
    }

    /// A stream is served from here on, beginning with its image.
    fn serve_held<O: Outputs>(&mut self, session: SessionId, stream_id: i32, out: &mut O) {
        if planted!(LostTakeOver) {
            return;
        }
        let Some((slot, cell)) = self.item_on(session, stream_id) else { return };
        let now = self.now;
        if let Some(mount) = self.mounts.get_mut(session) {
            mount.streams.change(stream_id, ProviderStream::take_over);
            if let Some(take_over) = &mut mount.roles.take_over {
                take_over.first.get_or_insert(now);
                take_over.streams += 1;
            }
        }
        self.statistics.streams_taken_over += 1;
        if self.items.get(slot).is_some_and(Item::is_servable) {
            return self.put_image_off(slot, cell);
        }
        let Some(item) = self.items.get_mut(slot) else { return };
        if let Some(subscription) = item.watchers.subscription_mut(cell) {
            subscription.set(mode::WANTS, true);
        }
        self.tell_no_image(slot, cell, out);
        // That may have been the end of it.
        if self.items.get(slot).is_some() {
            self.ask_image(slot, out);
        }
    }

    /// Tells a client that takes over that there is no image of an item, at once
    /// or when the output of its mount has drained.
    pub(super) fn tell_no_image<O: Outputs>(&mut self, slot: u32, cell: Cell, out: &mut O) {
        let (Some(item), Some(watcher)) = (self.items.get(slot), self.watcher(slot, cell)) else {
            return;
        };
        if let Some(mount) = self.mounts.get_mut(watcher.session).filter(|mount| mount.is_slow) {
            let waiting = mount.owed.owe(watcher.stream_id);
            (waiting.owes_state, waiting.is_taken_over) = (true, true);
            self.statistics.states_put_off += 1;
            return;
        }
        if item.state().data == DataState::SUSPECT && !item.state().text.is_empty() {
            return self.tell_state(slot, cell, out);
        }
        let domain = item.key.as_ref().domain;
        let status = StatusMsg { state: Some(NO_IMAGE_YET), ..StatusMsg::new(domain, 0) };
        self.variants.begin();
        if self.send_status(slot, cell, &status, out) {
            self.remove_stream(watcher.session, watcher.stream_id, out);
        }
    }

    /// All streams of a mount have been seen to. The take-over is over when
    /// nothing waits for its output any more.
    pub(super) fn end_take_over<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        let now = self.now;
        let Some(mount) = self.mounts.get_mut(session) else { return };
        if mount.roles.walk.is_some() || !mount.owed.is_empty() {
            return;
        }
        let Some(done) = mount.roles.take_over.take() else { return };
        let (first, last) = (done.first.unwrap_or(now).since(done.since), now.since(done.since));
        let last_ns = u64::try_from(last.as_nanos()).unwrap_or(u64::MAX);
        self.statistics.take_overs += 1;
        self.statistics.take_over_ns_most = self.statistics.take_over_ns_most.max(last_ns);
        let user = mount.login.as_ref().map(Login::shown_user);
        let streams = done.streams;
        out.note(Note::TakenOver { session, user: user.as_ref(), streams, first, last });
    }

    /// Answers a request on a stream that stands by with a state and nothing
    /// else. Whether the stream is over with it.
    pub(super) fn answer_with_state<O: Outputs>(
        &mut self,
        slot: u32,
        cell: Cell,
        state: &State<'_>,
        out: &mut O,
    ) -> bool {
        let Some(item) = self.items.get(slot) else { return false };
        let refresh = RefreshMsg {
            flags: RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE,
            state: *state,
            payload: Encoded::new(DataType::NO_DATA, &[]),
            ..RefreshMsg::new(item.key.as_ref().domain, 0)
        };
        self.send_image(slot, cell, Part::ONLY, &refresh, out)
    }

    /// Whether a watcher that asks is answered without an image.
    pub(super) fn is_answered_blank(&self, slot: u32, cell: Cell) -> bool {
        self.items.get(slot).is_some_and(|item| item.is_streaming)
            && self.watcher(slot, cell).is_some_and(|watcher| {
                self.stands_by_on(&watcher) && self.may_be_blank(slot, watcher.session)
            })
    }

    /// Whether a mount whose stream of an item stands by gets images without
    /// content. A stream may stand by a moment longer than its mount has that
    /// role: what is asked for meanwhile is asked of the active server.
    pub(super) fn may_be_blank(&self, slot: u32, session: SessionId) -> bool {
        let domain = self.items.get(slot).map(|item| item.key.as_ref().domain);
        self.config.standby_image == StandbyImage::Empty
            && domain.is_some_and(|domain| domain != Domain::SYMBOL_LIST)
            && self.stands_by_with(slot, session)
    }

    /// Whether the server stands by for a mount with an item.
    fn stands_by_with(&self, slot: u32, session: SessionId) -> bool {
        self.items.get(slot).is_some_and(|item| self.stands_by(session, item.service_id()))
    }

    /// A status is to be told to a watcher that stands by. `None`: it is told
    /// like any other; else whether the stream is over.
    pub(super) fn status_on_standby<O: Outputs>(
        &mut self,
        slot: u32,
        cell: Cell,
        status: &StatusMsg<'_>,
        out: &mut O,
    ) -> Option<bool> {
        let watcher = self.watcher(slot, cell)?;
        self.holds_first(slot, &watcher);
        let stream = self.mounts.get(watcher.session)?.streams.item(watcher.stream_id)?;
        if !stream.state.stands_by() {
            return None;
        }
        match &status.state {
            Some(state) if stream.state.hears(state) => None,
            // A snapshot waits for what it is of.
            Some(state)
                if stream.state.owes_image()
                    && stream.state.is_streaming()
                    && self.stands_by_with(slot, watcher.session) =>
            {
                Some(self.answer_with_state(slot, cell, state, out))
            }
            _ => Some(false),
        }
    }

    /// Whether the server stands by for a mount with a service.
    pub(super) fn stands_by(&self, session: SessionId, service_id: u16) -> bool {
        self.mounts.get(session).is_some_and(|mount| mount.roles.stands_by(service_id))
    }
}

/// `None`: there is no such role.
const fn role_of(mode: WarmStandbyMode) -> Option<Role> {
    match mode {
        WarmStandbyMode::Active => Some(Role::Active),
        WarmStandbyMode::Standby => Some(Role::Standby),
        WarmStandbyMode::Other(_) => None,
    }
}

const fn word_of(role: Option<Role>) -> &'static str {
    match role {
        Some(role) => role.word(),
        None => "none",
    }
}
