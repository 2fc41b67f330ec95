//! A server's tables, for whoever looks.

use tapeline_backbone::{Bus, PeerRow};
use tapeline_channel::{SessionId, System};
use tapeline_counters::{Row, Rowed, View, Viewed};
use tapeline_rssl::Compression;

use crate::rows::{HopRow, ItemRow, MountRow, ProductRow, ServiceRow, TraceRow, UserRow};
use crate::shell::Server;

/// All of them.
const VIEWS: &[&View] = &[
    ServiceRow::VIEW,
    MountRow::VIEW,
    UserRow::VIEW,
    ItemRow::VIEW,
    ProductRow::VIEW,
    PeerRow::VIEW,
    HopRow::VIEW,
    TraceRow::VIEW,
];

/// The columns of mounts and users by which they are put in order at each scrape.
const BACKLOG_BYTES: &str = "backlogBytes";
const ROUND_TRIP_US: &str = "roundTripUs";
const UPDATES_MERGED: &str = "updatesMerged";
const TOTAL: &str = "total";

impl<B: Bus, S: System> Server<B, S> {
    fn mount_row(&self, number: u32) -> Option<MountRow> {
        let session = self.core().mount_at(number)?;
        let mut row = self.core().mount_row(session)?;
        if self.interpreter.speaks_json(session) {
            row.protocol = "JSON";
        }
        if let Some(negotiated) = self.reactor().negotiated(session) {
            let library = &negotiated.peer_component_version;
            row.version = Some(library).filter(|version| !version.is_empty()).cloned();
            row.compression = match negotiated.compression {
                Compression::None => None,
                Compression::Zlib => Some("zlib"),
                Compression::Lz4 => Some("lz4"),
            };
        }
        if let Some(counters) = self.reactor().session_counters(session) {
            row.backlog_bytes = counters.backlog_bytes;
            row.backlog_bytes_most = counters.backlog_bytes_most;
            row.slow_count = counters.slow_count;
            row.messages_sent = counters.traffic.messages_sent;
            row.bytes_sent = counters.traffic.bytes_sent;
            row.messages_received = counters.traffic.messages_received;
        }
        Some(row)
    }

    /// Bytes that wait for the mount of a number; asked of all of them at each scrape.
    fn backlog_of(&self, number: u32) -> Option<u64> {
        let session = self.core().mount_at(number)?;
        if self.reactor().output_bytes().0 == 0 {
            return Some(0);
        }
        Some(self.reactor().backlog_bytes(session).unwrap_or(0) as u64)
    }
}

/// A session as it is written: `3.1`.
fn session(text: &str) -> Option<SessionId> {
    let (index, generation) = text.split_once('.')?;
    Some(SessionId { index: index.parse().ok()?, generation: generation.parse().ok()? })
}

impl<B: Bus, S: System> Viewed for Server<B, S> {
    fn views(&self) -> &'static [&'static View] {
        VIEWS
    }

    fn places(&self, view: &View) -> u32 {
        let core = self.core();
        match view.name {
            name if name == ServiceRow::VIEW.name => core.service_places(),
            name if name == MountRow::VIEW.name => core.mount_places(),
            name if name == UserRow::VIEW.name => core.user_places(),
            name if name == ItemRow::VIEW.name => core.item_places(),
            name if name == ProductRow::VIEW.name => core.product_places(),
            name if name == PeerRow::VIEW.name => self.bus().peers().len() as u32,
            name if name == HopRow::VIEW.name => self.hops.places(),
            name if name == TraceRow::VIEW.name => {
                self.trace.as_ref().map_or(0, |trace| trace.places())
            }
            _ => 0,
        }
    }

    fn row(&self, view: &View, place: u32) -> Option<Row> {
        let core = self.core();
        match view.name {
            name if name == ServiceRow::VIEW.name => {
                core.service_row(u16::try_from(place).ok()?).map(Rowed::into_row)
            }
            name if name == MountRow::VIEW.name => self.mount_row(place).map(Rowed::into_row),
            name if name == UserRow::VIEW.name => core.user_row(place).map(Rowed::into_row),
            name if name == ItemRow::VIEW.name => core.item_row(place).map(Rowed::into_row),
            name if name == ProductRow::VIEW.name => core.product_row(place).map(Rowed::into_row),
            name if name == PeerRow::VIEW.name => {
                self.bus().peers().into_iter().nth(place as usize).map(Rowed::into_row)
            }
            name if name == HopRow::VIEW.name => self.hops.row(place).map(Rowed::into_row),
            name if name == TraceRow::VIEW.name => {
                self.trace.as_ref()?.row(place).map(Rowed::into_row)
            }
            _ => None,
        }
    }

    fn is_of(&self, view: &View, place: u32, mount: &str) -> bool {
        let Some(mount) = session(mount) else { return false };
        match view.name {
            name if name == ItemRow::VIEW.name => self.core().is_watched_by(place, mount),
            name if name == MountRow::VIEW.name => self.core().mount_at(place) == Some(mount),
            _ => false,
        }
    }

    fn identity(&self, view: &View, place: u32) -> u64 {
        match view.name {
            name if name == ItemRow::VIEW.name => self.core().item_identity(place),
            name if name == MountRow::VIEW.name => {
                self.core().mount_at(place).map_or(0, |session| session.generation.into())
            }
            _ => 0,
        }
    }

    fn rank(&self, view: &View, place: u32, column: usize) -> Option<u64> {
        let name = view.columns.get(column)?.name;
        match view.name {
            of if of == ItemRow::VIEW.name => self.core().item_rank(place, name),
            of if of == MountRow::VIEW.name && name == BACKLOG_BYTES => self.backlog_of(place),
            of if of == MountRow::VIEW.name && name == UPDATES_MERGED => {
                self.core().updates_merged_at(place)
            }
            of if of == MountRow::VIEW.name && name == ROUND_TRIP_US => {
                self.core().round_trip_us_at(place)
            }
            of if of == UserRow::VIEW.name && name == TOTAL => self.core().items_of_user_at(place),
            _ => Some(self.row(view, place)?.get(column)?.rank()),
        }
    }
}
