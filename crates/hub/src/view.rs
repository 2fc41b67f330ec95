//! A hub's tables, for whoever looks.

use std::net::SocketAddr;

use tapeline_backbone::{Bus, PeerRow};
use tapeline_channel::{SessionId, System};
use tapeline_counters::{Row, Rowed, Value, View, Viewed};
use tapeline_time::Time;

use crate::dialled::Dialled;
use crate::rows::{HubItemRow, HubServiceRow, ServerRow, SourceRow};
use crate::shell::Hub;

/// All of them.
const VIEWS: &[&View] =
    &[SourceRow::VIEW, HubServiceRow::VIEW, HubItemRow::VIEW, ServerRow::VIEW, PeerRow::VIEW];

/// The column of items by which a million of them are put in order at each look.
const MESSAGES: &str = "messages";

/// What an operator wants to know of a connection beside what it is now.
#[derive(Debug, Default)]
pub(crate) struct Past {
    /// How often it was lost.
    losses: u64,
    /// When and why it was lost last.
    last_loss: Option<(Time, String)>,
    /// Since when it is connected, if it is.
    opened_at: Option<Time>,
}

impl Past {
    /// It is connected.
    pub(crate) fn opened(&mut self, now: Time) {
        self.opened_at = Some(now);
    }

    /// It is not, any more or again.
    pub(crate) fn closed(&mut self, now: Time, reason: String) {
        if self.opened_at.take().is_some() {
            self.losses += 1;
        }
        self.last_loss = Some((now, reason));
    }

    fn tell(&self, now: Time, row: &mut SourceRow) {
        let seconds_since = |then: Time| now.since(then).as_secs();
        row.losses = self.losses;
        row.last_loss = self.last_loss.as_ref().map(|(_, reason)| reason.clone());
        row.last_loss_seconds = self.last_loss.as_ref().map(|(at, _)| seconds_since(*at));
        row.up_seconds = self.opened_at.map(seconds_since);
    }
}

/// Who a source is, as the shell has it.
enum End<'a> {
    /// One that the hub calls.
    Route(&'a Dialled),
    /// One that has called.
    Guest(&'a Guest),
}

/// A provider that has connected.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) session: SessionId,
    pub(crate) peer: SocketAddr,
    pub(crate) opened_at: Time,
}

impl<B: Bus, S: System> Hub<B, S> {
    fn source_row(&self, index: u32) -> Option<SourceRow> {
        let now = self.last_turn;
        let mut row = self.core.source_row(index)?;
        row.name = self.source_name(index)?;
        match self.end_of(index)? {
            End::Route(route) => {
                row.host = route.last_host();
                route.past.tell(now, &mut row);
            }
            End::Guest(guest) => {
                row.host.clone_from(&row.name);
                row.up_seconds = Some(now.since(guest.opened_at).as_secs());
            }
        }
        Some(row)
    }

    /// What the source of an index is called.
    fn source_name(&self, index: u32) -> Option<String> {
        Some(match self.end_of(index)? {
            End::Route(route) => route.name.clone(),
            End::Guest(guest) => guest.peer.to_string(),
        })
    }

    /// The other end of the source of an index.
    fn end_of(&self, index: u32) -> Option<End<'_>> {
        let (route, session) = self.core.source_ends(index)?;
        if let Some(route) = route.and_then(|route| self.routes.get(route)) {
            return Some(End::Route(route));
        }
        self.guests.iter().find(|guest| Some(guest.session) == session).map(End::Guest)
    }

    fn service_row(&self, id: u16) -> Option<HubServiceRow> {
        let mut row = self.core.service_row(id)?;
        let sources = self.core.sources_of(id);
        let named = sources
            .filter_map(|(index, what)| Some(format!("{} {what}", self.source_name(index)?)));
        row.from = named.collect::<Vec<_>>().join(", ");
        Some(row)
    }

    fn item_row(&self, id: u32) -> Option<HubItemRow> {
        let (mut row, source) = self.core.item_row(id)?;
        row.source = source.and_then(|index| self.source_name(index));
        Some(row)
    }

    fn server_row(&self, place: u32) -> Option<ServerRow> {
        let (incarnation, name) = self.servers.get(place as usize)?;
        Some(ServerRow {
            name: name.clone(),
            incarnation: incarnation.to_string(),
            requests: self.core.requests_of(*incarnation),
        })
    }
}

impl<B: Bus, S: System> Viewed for Hub<B, S> {
    fn views(&self) -> &'static [&'static View] {
        VIEWS
    }

    fn places(&self, view: &View) -> u32 {
        match view.name {
            name if name == SourceRow::VIEW.name => self.core.source_places(),
            name if name == HubServiceRow::VIEW.name => self.core.service_places(),
            name if name == HubItemRow::VIEW.name => self.core.item_places(),
            name if name == ServerRow::VIEW.name => self.servers.len() as u32,
            name if name == PeerRow::VIEW.name => self.bus().peers().len() as u32,
            _ => 0,
        }
    }

    fn row(&self, view: &View, place: u32) -> Option<Row> {
        match view.name {
            name if name == SourceRow::VIEW.name => self.source_row(place).map(Rowed::into_row),
            name if name == HubServiceRow::VIEW.name => {
                self.service_row(u16::try_from(place).ok()?).map(Rowed::into_row)
            }
            name if name == HubItemRow::VIEW.name => self.item_row(place).map(Rowed::into_row),
            name if name == ServerRow::VIEW.name => self.server_row(place).map(Rowed::into_row),
            name if name == PeerRow::VIEW.name => {
                self.bus().peers().into_iter().nth(place as usize).map(Rowed::into_row)
            }
            _ => None,
        }
    }

    fn identity(&self, view: &View, place: u32) -> u64 {
        if view.name == HubItemRow::VIEW.name { self.core.item_identity(place) } else { 0 }
    }

    fn rank(&self, view: &View, place: u32, column: usize) -> Option<u64> {
        let name = view.columns.get(column)?.name;
        match view.name == HubItemRow::VIEW.name && name == MESSAGES {
            true => self.core.messages_of(place).map(u64::from),
            false => self.row(view, place)?.get(column).map(Value::rank),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_that_fail_are_no_losses() {
        let mut past = Past::default();
        past.closed(Time::ZERO, "refused".to_owned());
        past.opened(Time::ZERO);
        past.closed(Time::ZERO, "gone".to_owned());
        past.closed(Time::ZERO, "refused".to_owned());
        assert_eq!(past.losses, 1);
        assert!(past.last_loss.is_some_and(|(_, reason)| reason == "refused"));
    }
}
