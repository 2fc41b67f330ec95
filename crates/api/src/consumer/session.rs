//! The connection of a consumer: dialling, login, directory, dictionary.

use tapeline_omm::directory::{DirectoryChange, DirectoryFilter, DirectoryMsg, DirectoryRequest};
use tapeline_omm::login::LoginMsg;
use tapeline_omm::state::{is_final, usual};
use tapeline_omm::{GroupId, ServiceGroup, StateBuf};
use tapeline_rwf::{Domain, Msg, RefreshFlags, RefreshMsg, State, StreamState};
use tapeline_time::Time;

use super::config::DictionarySource;
use super::core::{ConsumerCore, ConsumerOutputs, Phase, Run, ms};
use super::event::ConsumerEvent;
use super::items::{Item, PartsToCome};
use super::spec::Handle;
use super::streams::{DIRECTORY_STREAM, LOGIN_STREAM};

impl ConsumerCore {
    /// The connection is given up for good, and with it all items. Those that were
    /// the server's alone are returned.
    pub(super) fn leave(
        &mut self,
        now: Time,
        out: &mut dyn ConsumerOutputs,
        reason: &str,
    ) -> Vec<Handle> {
        self.phase = Phase::Over;
        out.disconnect(reason);
        self.directory.clear();
        let mut private = Vec::new();
        for handle in self.items.in_order() {
            let is_private = self.items.get(handle).is_some_and(|item| item.wish.private);
            private.extend(is_private.then_some(handle));
            self.forget(now, handle);
        }
        self.fresh.clear();
        self.batches.clear();
        self.held.clear();
        private
    }
}

impl Run<'_> {
    pub(super) fn opened(&mut self) {
        if self.core.phase != Phase::Dialling {
            return;
        }
        self.core.counts.connected += 1;
        self.core.phase = Phase::Login { until: self.now.after(self.core.config.login_timeout) };
        self.tell(ConsumerEvent::Up { server: self.core.server });
        let request = self.core.config.login.request(LOGIN_STREAM);
        self.send(|encoder| request.encode(encoder));
    }

    /// The connection is of no use any more.
    pub(super) fn fail(&mut self, reason: &str) {
        self.out.disconnect(reason);
        self.closed(reason);
    }

    pub(super) fn closed(&mut self, reason: &str) {
        if matches!(self.core.phase, Phase::Over | Phase::Down { .. }) {
            return;
        }
        self.core.counts.lost += 1;
        let next = self.core.reconnect.down(self.now);
        self.core.phase = match next {
            Some(until) => Phase::Down { until },
            None => Phase::Over,
        };
        let server = self.core.server;
        self.tell(ConsumerEvent::Down { server, reason, recovers: next.is_some() });
        self.core.download.restart();
        self.core.broken = None;
        self.core.held.clear();
        self.core.is_batch_too_large = false;
        self.core.batches.clear();
        let changes = self.core.directory.clear();
        if !changes.is_empty() {
            self.tell(ConsumerEvent::Directory { changes: &changes });
        }
        self.lose_all_items();
        if next.is_none() {
            self.end_all_items();
        }
    }

    /// The login ended for good: so did every item.
    pub(super) fn end_all_items(&mut self) {
        for handle in self.core.items.in_order() {
            let Some(item) = self.core.items.get_mut(handle) else { continue };
            let reaction = item.stream.login_closed();
            self.react(handle, reaction, None);
        }
    }

    /// Every item loses its stream.
    pub(super) fn lose_all_items(&mut self) {
        self.core.items.connection_lost();
        for handle in self.core.items.in_order() {
            let Some(item) = self.core.items.get_mut(handle) else { continue };
            if !item.stream.is_on_wire() {
                continue;
            }
            item.is_lost = true;
            item.told = Some(usual::CHANNEL_DOWN);
            let reaction = item.stream.channel_down();
            self.react(handle, reaction, None);
        }
    }

    pub(super) fn login_message(&mut self, msg: &Msg<'_>) {
        // Acks of posts are of the domain that was posted to.
        if let Msg::Ack(ack) = msg {
            return self.ack(None, ack);
        }
        match LoginMsg::decode(msg) {
            Ok(LoginMsg::Refresh(refresh)) => {
                let state = refresh.state.as_state();
                if !is_final(state.stream) {
                    self.core.features = refresh.features.clone();
                }
                self.tell(ConsumerEvent::Login { state, features: Some(&refresh.features) });
                self.login_state(state);
            }
            Ok(LoginMsg::Status(status)) => {
                let Some(state) = &status.state else { return };
                self.tell(ConsumerEvent::Login { state: state.as_state(), features: None });
                self.login_state(state.as_state());
            }
            // The measurement goes back as it came.
            Ok(LoginMsg::Rtt(rtt)) => self.send(|encoder| rtt.encode(encoder)),
            Ok(_) => {
                if let Msg::Generic(generic) = msg {
                    self.tell(ConsumerEvent::Generic { handle: None, msg: generic });
                }
            }
            Err(_) => self.core.counts.malformed += 1,
        }
    }

    fn login_state(&mut self, state: State<'_>) {
        match state.stream {
            StreamState::OPEN | StreamState::UNSPECIFIED | StreamState::NON_STREAMING => {
                if matches!(self.core.phase, Phase::Login { .. }) {
                    self.logged_in();
                }
            }
            StreamState::CLOSED_RECOVER => self.fail("the login was closed with recovery"),
            _ => {
                self.core.phase = Phase::Over;
                self.out.disconnect("the login was closed");
                self.core.directory.clear();
                self.end_all_items();
            }
        }
    }

    fn logged_in(&mut self) {
        self.core.reconnect.up(self.now);
        self.core.phase =
            Phase::Directory { until: self.now.after(self.core.config.directory_timeout) };
        self.say_login_role();
        let request = DirectoryRequest::new(DIRECTORY_STREAM, DirectoryFilter::USUAL);
        self.send(|encoder| request.encode(encoder));
    }

    pub(super) fn directory_message(&mut self, msg: &Msg<'_>) {
        let changes = match DirectoryMsg::decode(msg) {
            Ok(DirectoryMsg::Refresh(refresh)) => self.core.directory.apply_refresh(&refresh),
            Ok(DirectoryMsg::Update(update)) => self.core.directory.apply_update(&update),
            Ok(DirectoryMsg::Status(status)) => {
                let changes = self.core.directory.apply_status(&status);
                let state = status.state.as_ref().map(|state| state.stream);
                if state.is_some_and(is_final) {
                    return self.directory_lost(&changes);
                }
                changes
            }
            Ok(_) => {
                if let Msg::Generic(generic) = msg {
                    self.tell(ConsumerEvent::Generic { handle: None, msg: generic });
                }
                return;
            }
            Err(_) => {
                self.core.counts.malformed += 1;
                return;
            }
        };
        self.directory_changes(&changes);
        if matches!(self.core.phase, Phase::Directory { .. }) && matches!(msg, Msg::Refresh(_)) {
            self.directory_there();
        } else if matches!(self.core.phase, Phase::Dictionary { .. }) {
            self.download();
        }
    }

    /// The stream of the directory is over: it is asked for again, but not
    /// over and over.
    fn directory_lost(&mut self, changes: &[DirectoryChange]) {
        self.directory_changes(changes);
        if matches!(self.core.phase, Phase::Directory { .. }) {
            return self.fail("the directory was closed");
        }
        self.core.phase =
            Phase::Directory { until: self.now.after(self.core.config.directory_timeout) };
        let request = DirectoryRequest::new(DIRECTORY_STREAM, DirectoryFilter::USUAL);
        self.send(|encoder| request.encode(encoder));
    }

    fn directory_there(&mut self) {
        let is_wanted = matches!(self.core.config.dictionary, DictionarySource::Download);
        if is_wanted && self.core.dictionary.is_none() {
            self.core.phase =
                Phase::Dictionary { until: self.now.after(self.core.config.dictionary_timeout) };
            return self.download();
        }
        self.ready();
    }

    pub(super) fn ready(&mut self) {
        self.core.phase = Phase::Ready;
        self.core.queues.touch_all();
        self.tell(ConsumerEvent::Ready);
    }

    fn directory_changes(&mut self, changes: &[DirectoryChange]) {
        if changes.is_empty() {
            return;
        }
        self.out.directory(&self.core.directory);
        self.say_service_roles(changes);
        self.tell(ConsumerEvent::Directory { changes });
        for change in changes {
            match change {
                DirectoryChange::Deleted { service_id, .. } => self.service_lost(*service_id),
                DirectoryChange::ServiceStatus { service_id, state } => {
                    self.fan_state(state, |item| item.is_of_service(*service_id));
                }
                DirectoryChange::GroupStatus { group, state } => {
                    self.fan_state(state, |item| item.is_of_group(group));
                }
                DirectoryChange::GroupMerged { group, into } => self.merge_group(group, into),
                DirectoryChange::Added { .. }
                | DirectoryChange::Updated { .. }
                | DirectoryChange::Refused { .. } => {}
            }
        }
        self.core.queues.touch_all();
    }

    fn items_where(&self, is_meant: impl Fn(&Item) -> bool) -> Vec<Handle> {
        let mut handles = self.core.items.in_order();
        handles.retain(|handle| self.core.items.get(*handle).is_some_and(&is_meant));
        handles
    }

    fn service_lost(&mut self, service_id: u16) {
        for handle in self.items_where(|item| item.is_of_service(service_id)) {
            let Some(item) = self.core.items.get_mut(handle) else { continue };
            let reaction = item.stream.service_lost();
            self.react(handle, reaction, None);
        }
    }

    fn fan_state(&mut self, state: &StateBuf, is_meant: impl Fn(&Item) -> bool) {
        for handle in self.items_where(is_meant) {
            let Some(item) = self.core.items.get_mut(handle) else { continue };
            let reaction = item.stream.fanned_state(ms(self.now), &state.as_state());
            self.react(handle, reaction, None);
        }
    }

    fn merge_group(&mut self, group: &ServiceGroup, into: &GroupId) {
        for handle in self.items_where(|item| item.is_of_group(group)) {
            if let Some(item) = self.core.items.get_mut(handle) {
                item.group = Some(into.clone());
            }
        }
    }
}

impl Item {
    fn is_of_service(&self, service_id: u16) -> bool {
        self.on_wire.is_some_and(|on_wire| on_wire.service_id == service_id)
    }

    fn is_of_group(&self, group: &ServiceGroup) -> bool {
        self.is_of_service(group.service_id) && self.group.as_ref() == Some(&group.group)
    }

    /// An image, or a part of one, came. What was left out is in the image only
    /// if that begins with it.
    pub(super) fn note_part(&mut self, part: &RefreshMsg<'_>) {
        let begins = match part.part_num {
            Some(number) => number == 0,
            // Whole, or the next part of one without numbers: one that is not completed
            // may have been begun by a source that is lost.
            None => {
                self.parts != PartsToCome::Unnumbered
                    || part.flags.contains(RefreshFlags::CLEAR_CACHE)
            }
        };
        self.misses_updates &= !begins;
        let is_last = part.flags.contains(RefreshFlags::REFRESH_COMPLETE);
        self.parts = match part.part_num {
            _ if is_last => PartsToCome::None,
            Some(_) => PartsToCome::Numbered,
            None => PartsToCome::Unnumbered,
        };
    }

    /// Keeps the group that a message puts the item in: an image when it is
    /// complete, a status at once.
    #[inline]
    pub(super) fn note(&mut self, msg: &Msg<'_>) {
        let group_id = match msg {
            Msg::Refresh(refresh) if refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE) => {
                self.attempts = 0;
                Some(refresh.group_id)
            }
            Msg::Status(status) => status.group_id,
            _ => None,
        };
        let Some(group_id) = group_id else { return };
        if self.group.as_ref().is_none_or(|known| known.as_bytes() != group_id) {
            self.group = GroupId::try_from(group_id).ok();
        }
    }
}

/// Whether quality and open window apply to requests of a domain.
pub(super) fn has_window(domain: Domain) -> bool {
    domain != Domain::DICTIONARY
}
