//! What a set does about what happens to one of its connections.

use tapeline_omm::directory::DirectoryChange;
use tapeline_omm::login::LoginFeatures;
use tapeline_omm::state::is_final;
use tapeline_rwf::{DataState, State, StateCode, StatusMsg, StreamState};

use super::super::event::{ConsumerEvent, ConsumerHandler};
use super::super::requests::Requests;
use super::super::spec::{Handle, ItemChange};
use super::sameness::{check_login, check_names, check_offer, check_services};
use super::state::{Known, Role, Service};

const fn suspect(text: &'static str) -> State<'static> {
    State::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, text)
}

const NOBODY: State<'static> = suspect("No server of the set is up.");
const ASKED_AGAIN: State<'static> =
    suspect("The server that took over does not have the item; it is asked for again.");
const WAITS: State<'static> = suspect("The item waits at the server that took over.");
const LEFT_OUT: State<'static> = State::new(
    StreamState::CLOSED_RECOVER,
    DataState::SUSPECT,
    StateCode::NONE,
    "The server was left out of the set.",
);
const OVER: State<'static> = State::new(
    StreamState::CLOSED,
    DataState::SUSPECT,
    StateCode::NONE,
    "No server of the set is left.",
);

/// All of a set, while something happens at one of its places.
pub(super) struct Turn<'t> {
    pub(super) all: Requests<'t>,
    pub(super) handler: &'t mut dyn ConsumerHandler,
}

impl Turn<'_> {
    pub(super) fn tell(&mut self, event: ConsumerEvent<'_>) {
        self.handler.event(event, &mut self.all);
    }

    /// The place that it happens at.
    fn place(&self) -> usize {
        self.all.peers.as_ref().map_or(0, |peers| peers.place)
    }

    /// The server of a place, by its number in the configuration.
    fn server(&mut self, place: usize) -> usize {
        let listed = self.all.core_at(place).server;
        self.all.set().server(place, listed)
    }

    fn is_leading(&mut self) -> bool {
        let place = self.place();
        self.all.set().lead.active() == Some(place)
    }

    /// Something happened to the connection.
    pub(super) fn connection(&mut self, event: ConsumerEvent<'_>) {
        let place = self.place();
        match event {
            ConsumerEvent::Up { .. } => {
                let server = self.server(place);
                self.tell(ConsumerEvent::Up { server });
            }
            ConsumerEvent::Down { reason, recovers, .. } => self.down(reason, recovers),
            ConsumerEvent::Login { state, features } => self.login(state, features),
            ConsumerEvent::Directory { changes } => self.directory(changes),
            ConsumerEvent::Ready => self.ready(),
            ConsumerEvent::Dictionary { .. } => {
                let is_first = !core::mem::replace(&mut self.all.set().has_dictionary, true);
                if is_first || self.is_leading() {
                    self.tell(event);
                }
            }
            ConsumerEvent::Generic { .. } => {
                if self.is_leading() {
                    self.tell(event);
                }
            }
            ConsumerEvent::Active { .. }
            | ConsumerEvent::LeftOut { .. }
            | ConsumerEvent::Refresh { .. }
            | ConsumerEvent::Update { .. }
            | ConsumerEvent::Status { .. }
            | ConsumerEvent::Ack { .. } => {
                debug_assert!(false, "a core tells nothing of sets, and items were dealt with");
            }
        }
    }

    /// The connection is lost, or there was none. Who takes over is told so before
    /// anything else.
    fn down(&mut self, reason: &str, recovers: bool) {
        let place = self.place();
        let roles = self.all.set().lost(place);
        self.say(&roles);
        let server = self.server(place);
        let goes_on = recovers || !self.all.set().is_last(place);
        self.tell(ConsumerEvent::Down { server, reason, recovers: goes_on });
        if !recovers {
            return self.leave_out(place, "it is not to be connected to any more");
        }
        self.follow();
    }

    fn login(&mut self, state: State<'_>, features: Option<&LoginFeatures>) {
        let place = self.place();
        let event = ConsumerEvent::Login { state, features };
        // What can be recovered is followed by the loss of the connection.
        if is_final(state.stream)
            && !matches!(state.stream, StreamState::CLOSED_RECOVER | StreamState::NON_STREAMING)
        {
            if self.all.set().is_last(place) {
                self.tell(event);
            }
            let text = String::from_utf8_lossy(state.text);
            return self.leave_out(place, &format!("its login was closed: {text}"));
        }
        if let Some(features) = features.filter(|_| !is_final(state.stream)) {
            if let Err(why) = self.check_login(features) {
                return self.leave_out(place, &why);
            }
            let now = self.all.now;
            let roles = self.all.set().logged_in(place, now);
            self.say(&roles);
        }
        if self.is_leading() {
            self.tell(event);
        }
        self.follow();
    }

    fn check_login(&mut self, features: &LoginFeatures) -> Result<(), String> {
        let place = self.place();
        let set = self.all.set();
        check_offer(features, set.mode.wanted())?;
        let Some(active) = set.lead.active().filter(|active| *active != place) else {
            return Ok(());
        };
        let active = self.all.core_at(active);
        match active.is_logged_in() {
            true => check_login(features, &active.features),
            false => Ok(()),
        }
    }

    fn directory(&mut self, changes: &[DirectoryChange]) {
        let place = self.place();
        while let Some((other, why)) = self.mismatch() {
            self.leave_out(other, &why);
            if other == place {
                return;
            }
        }
        let now = self.all.now;
        let (core, peers) = (&*self.all.core, &mut self.all.peers);
        let Some(peers) = peers else { return };
        let has_services = core.directory.services().len() > 0;
        let mut roles = peers.set.services_changed(place, changes, &core.directory, now);
        if has_services {
            roles.extend(peers.set.settled(place));
        }
        self.say(&roles);
        let heard = self.heard_of(changes);
        if !heard.is_empty() {
            self.tell(ConsumerEvent::Directory { changes: &heard });
        }
        self.follow();
    }

    /// The changes of services that this server is active for.
    fn heard_of(&mut self, changes: &[DirectoryChange]) -> Vec<DirectoryChange> {
        let place = self.place();
        let (core, peers) = (&*self.all.core, &mut self.all.peers);
        let Some(peers) = peers else { return Vec::new() };
        let mut heard = Vec::new();
        for change in changes {
            let id = service_of(change);
            if peers.set.active_for_id(id) != Some(place) {
                continue;
            }
            match change {
                DirectoryChange::Added { .. }
                | DirectoryChange::Updated { .. }
                | DirectoryChange::Deleted { .. } => {
                    heard.extend(peers.set.directory.adopt(id, &core.directory));
                }
                DirectoryChange::ServiceStatus { .. }
                | DirectoryChange::GroupStatus { .. }
                | DirectoryChange::GroupMerged { .. }
                | DirectoryChange::Refused { .. } => heard.push(change.clone()),
            }
        }
        heard
    }

    /// A server whose services are not those of another one, and why. Of two the
    /// one stays that leads.
    fn mismatch(&mut self) -> Option<(usize, String)> {
        let place = self.place();
        let lead = self.all.set().lead.active();
        for other in self.all.places().filter(|other| *other != place) {
            let is_compared = self.all.set().places[other].is_compared;
            let (ours, others) = (self.all.core_at(place), self.all.core_at(other));
            if ours.directory.services().len() == 0 || others.directory.services().len() == 0 {
                continue;
            }
            let leads = lead == Some(place);
            let (judged, judged_by) = if leads { (others, ours) } else { (ours, others) };
            let judged_place = if leads { other } else { place };
            let is_new = match leads {
                true => !is_compared,
                false => {
                    lead == Some(other) && !self.all.peers.as_ref()?.set.places[place].is_compared
                }
            };
            let checked = match is_new {
                true => check_services(&judged.directory, &judged_by.directory),
                false => check_names(&judged.directory, &judged_by.directory),
            };
            if let Err(why) = checked {
                return Some((judged_place, why));
            }
            if is_new {
                self.all.set().places[judged_place].is_compared = true;
            }
        }
        None
    }

    fn ready(&mut self) {
        let place = self.place();
        let roles = self.all.set().settled(place);
        self.say(&roles);
        // What was closed before is tried again; what was opened meanwhile is there.
        for handle in self.handles() {
            if self.all.set().belongs_at(handle, place) {
                self.all.open_at(place, handle);
            }
        }
        if self.is_leading() {
            self.tell(ConsumerEvent::Ready);
        }
        self.follow();
    }

    /// Time has passed.
    pub(super) fn timeouts(&mut self) {
        let now = self.all.now;
        let roles = self.all.set().timeout(now);
        self.say(&roles);
        self.follow();
        if self.all.set().images_until.is_some_and(|until| until <= now) {
            self.all.set().images_until = None;
            self.ask_for_images();
        }
    }

    /// A server that became active has not sent the images of some items.
    fn ask_for_images(&mut self) {
        for handle in self.handles() {
            let Some(item) = self.all.set().items.get_mut(handle.0) else { continue };
            let (was_due, active) = (core::mem::take(&mut item.is_due), item.active);
            if let Some(active) = active.filter(|_| was_due) {
                let change = ItemChange { refresh: true, ..ItemChange::default() };
                // It is open there, or on its way to be.
                let _ = self.all.with_place(active, |it| it.change(handle, change));
            }
        }
    }

    /// Tells servers their roles.
    fn say(&mut self, roles: &[Role]) {
        for (service, place, mode) in roles {
            self.all.with_place(*place, |it| match service {
                None => it.core.set_role(Some(*mode), it.out),
                Some(id) => it.core.say_service_role(*id, Some(*mode), it.out),
            });
        }
    }

    /// A server is of no use to the set, for good.
    fn leave_out(&mut self, place: usize, why: &str) {
        let server = self.server(place);
        tracing::warn!(server, why, "a server is left out of the standby set");
        let set = self.all.set();
        set.counts.left_out += 1;
        let roles = set.out(place);
        let is_over = set.places.iter().all(|it| it.is_out);
        self.say(&roles);
        let private = self.all.with_place(place, |it| it.core.leave(it.now, it.out, why));
        self.tell(ConsumerEvent::LeftOut { server, reason: why });
        for handle in private {
            self.end(handle, LEFT_OUT);
        }
        if is_over {
            for handle in self.handles() {
                self.end(handle, OVER);
            }
        }
        self.follow();
    }

    /// Has everything follow those who are active now.
    fn follow(&mut self) {
        if !self.all.set().has_moved() {
            return;
        }
        self.tell_active();
        let changes = self.all.adopt_services();
        if !changes.is_empty() {
            self.tell(ConsumerEvent::Directory { changes: &changes });
        }
        for handle in self.handles() {
            self.move_item(handle);
        }
    }

    /// Tells the application who is active, where that is somebody else than before.
    fn tell_active(&mut self) {
        let set = self.all.set();
        let mut moved = Vec::new();
        let lead = set.lead.active();
        let shown = core::mem::replace(&mut set.shown_lead, lead);
        if set.mode == super::super::standby::StandbyMode::Login && shown != lead {
            moved.extend(lead.map(|place| (place, None, shown.is_some())));
        }
        for Service { name, succession, shown } in set.services.values_mut() {
            let active = succession.active();
            let before = core::mem::replace(shown, active);
            if before != active {
                moved.extend(active.map(|place| (place, Some(name.clone()), before.is_some())));
            }
        }
        for (place, service, is_take_over) in moved {
            self.all.set().counts.take_overs += u64::from(is_take_over);
            let server = self.server(place);
            let of = service.as_ref().map(ToString::to_string).unwrap_or_default();
            tracing::info!(server, service = of, "a server of the standby set is active");
            self.tell(ConsumerEvent::Active { server, service: service.as_ref() });
        }
    }

    fn handles(&mut self) -> Vec<Handle> {
        self.all.set().items.keys().map(Handle).collect()
    }

    /// An item goes on at the server that is active for it now.
    fn move_item(&mut self, handle: Handle) {
        let set = self.all.set();
        let Some(item) = set.items.get(handle.0) else { return };
        let (before, now_active) = (item.active, set.active_for(&item.service));
        let (streaming, private) = (item.wish.streaming, item.wish.private);
        if before == now_active {
            return;
        }
        if let Some(before) = before {
            let there = self.all.core_at(before).items.get(handle);
            // What is between two ends ends with the server that it is at.
            if private && there.is_some_and(|item| item.on_wire.is_some()) {
                return;
            }
            if (private || !streaming) && there.is_some() {
                self.all.with_place(before, |it| it.close(handle));
            }
        }
        let Some(item) = self.all.set().items.get_mut(handle.0) else { return };
        item.active = now_active;
        match now_active {
            None => self.tell_suspect(handle, NOBODY),
            Some(place) => self.take_over(handle, place),
        }
    }

    /// A server goes on with an item. The application is told nothing where an image
    /// of it is to come.
    fn take_over(&mut self, handle: Handle, place: usize) {
        let there = self.all.core_at(place).items.get(handle);
        let (is_there, is_on_wire) =
            (there.is_some(), there.is_some_and(|item| item.on_wire.is_some()));
        if is_on_wire {
            let until = self.all.now.after(self.all.core.config.request_timeout);
            let set = self.all.set();
            set.images_until = Some(until);
            if let Some(item) = set.items.get_mut(handle.0) {
                item.is_due = true;
                set.counts.items_taken_over += u64::from(item.known != Known::Nothing);
            }
            return;
        }
        if !is_there {
            self.all.open_at(place, handle);
        }
        self.tell_suspect(handle, if is_there { WAITS } else { ASKED_AGAIN });
    }

    /// What nothing is known of yet is not suspect.
    fn tell_suspect(&mut self, handle: Handle, state: State<'_>) {
        let Some(item) = self.all.set().items.get_mut(handle.0) else { return };
        if item.known == Known::Well {
            item.known = Known::Suspect;
            self.tell_state(handle, state);
        }
    }

    fn tell_state(&mut self, handle: Handle, state: State<'_>) {
        let Some(item) = self.all.set().items.get(handle.0) else { return };
        let msg = StatusMsg { state: Some(state), ..StatusMsg::new(item.wish.domain, 0) };
        self.tell(ConsumerEvent::Status { handle, msg: &msg });
    }

    /// An item is over, everywhere.
    fn end(&mut self, handle: Handle, state: State<'_>) {
        self.tell_state(handle, state);
        self.all.close_in_set(handle);
    }

    /// The application was told something of an item. If that was the last, it is
    /// over at all servers.
    pub(super) fn end_if_over(&mut self, handle: Handle) {
        let item = self.all.core.items.get(handle);
        if !item.is_none_or(|item| item.stream.is_over()) {
            return;
        }
        let place = self.place();
        if self.all.set().items.remove(handle.0).is_some() {
            self.all.close_everywhere(handle, Some(place));
        }
    }
}

/// The service that a change is about.
const fn service_of(change: &DirectoryChange) -> u16 {
    match change {
        DirectoryChange::Added { service_id }
        | DirectoryChange::Updated { service_id, .. }
        | DirectoryChange::Deleted { service_id, .. }
        | DirectoryChange::ServiceStatus { service_id, .. }
        | DirectoryChange::Refused { service_id, .. } => *service_id,
        DirectoryChange::GroupStatus { group, .. } | DirectoryChange::GroupMerged { group, .. } => {
            group.service_id
        }
    }
}
