//! Who is let in at a listener, and who has to make room.

use super::Table;
use crate::link::Link;
use crate::live::{Live, Origin, Stage};
use crate::strangers::network;
use crate::system::System;
use crate::{Admission, CloseReason, ListenerId, SessionId};

impl<S: System> Table<S> {
    /// Counts a connection that was accepted.
    pub(crate) fn enter(&mut self, live: &mut Live<S>) {
        match &live.origin {
            Origin::Listener(listener) => {
                live.stranger_since = Some(self.now);
                let strangers = &mut self.occupancy[listener.index()].strangers;
                strangers.enter(network(live.peer), (self.now, live.id));
            }
            Origin::Refused(listener) => self.occupancy[listener.index()].refusals += 1,
            Origin::Connect(_) => {}
        }
    }

    /// Gives back what a connection took of its listener's numbers.
    pub(super) fn leave(&mut self, live: &Live<S>) {
        match (&live.origin, live.stranger_since) {
            (Origin::Listener(listener), Some(since)) => {
                let strangers = &mut self.occupancy[listener.index()].strangers;
                strangers.leave(network(live.peer), (since, live.id));
            }
            (Origin::Listener(listener), None) => self.occupancy[listener.index()].sessions -= 1,
            (Origin::Refused(listener), _) => self.occupancy[listener.index()].refusals -= 1,
            (Origin::Connect(_), _) => {}
        }
    }

    /// Admits a session, in the table or out of it.
    pub(crate) fn admit(&mut self, id: SessionId) {
        if self.deferred.is_for(id) {
            let Some(listener) = self.deferred.waits_at() else { return };
            let rules = &self.rules[listener.index()];
            let send_bytes = rules.send_bytes(self.deferred.is_text());
            return self.deferred.admit(send_bytes, rules.session.output);
        }
        if self.live(id).is_some_and(|live| live.stage == Stage::Open)
            && let Some(mut live) = self.take(id.index)
        {
            self.let_in(&mut live);
            self.put_back(live);
        }
    }

    /// Admits a session that is out of the table.
    pub(super) fn let_in(&mut self, live: &mut Live<S>) {
        let (Some(listener), Some(since)) = (live.origin.listener(), live.stranger_since.take())
        else {
            return;
        };
        let occupancy = &mut self.occupancy[listener.index()];
        occupancy.strangers.leave(network(live.peer), (since, live.id));
        occupancy.sessions += 1;
        let rules = &self.rules[listener.index()];
        let is_text = matches!(live.connection, Link::Text(_));
        live.options = rules.session;
        live.message_limit = rules.send_bytes(is_text);
        match &mut live.connection {
            Link::Rssl(connection) => connection.set_limits(&rules.limits),
            Link::Text(text) => {
                let config = rules.text.as_ref();
                text.set_max_message_bytes(config.map_or(0, |text| text.max_message_bytes));
            }
        }
    }

    /// The handshake of a session that is out of the table is over: it is
    /// admitted, where that is all that is needed. Whether there is room for it.
    pub(crate) fn greet(&mut self, live: &mut Live<S>) -> bool {
        let Some(listener) = live.stranger_since.and_then(|_| live.origin.listener()) else {
            return true;
        };
        let rules = &self.rules[listener.index()];
        if rules.admission == Admission::Program {
            return true;
        }
        let max_sessions = rules.max_sessions;
        if self.occupancy[listener.index()].sessions >= max_sessions {
            self.counters.dropped += 1;
            self.end(live, CloseReason::TooManySessions { max_sessions });
            return false;
        }
        self.let_in(live);
        true
    }

    /// Closes a stranger at once, so that another has room.
    pub(crate) fn evict(&mut self, listener: ListenerId, id: SessionId) {
        if self.live(id).is_none() {
            return;
        }
        let Some(mut live) = self.take(id.index) else { return };
        let strangers = &self.occupancy[listener.index()].strangers;
        let (count, of_address) = (strangers.len(), strangers.of(network(live.peer)));
        self.counters.made_room += 1;
        self.end(&mut live, CloseReason::MadeRoom { count, of_address });
        live.give_up();
        self.settle(live);
    }
}
