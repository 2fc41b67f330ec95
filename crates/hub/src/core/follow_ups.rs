//! What an event leaves behind, to be dealt with before the next one.

use super::item::{Interest, Item};

/// What follows from the present event, as soon as it is through: what causes
/// it is in the middle of tables that it would change.
#[derive(Debug, Default)]
pub(super) struct FollowUps {
    /// Sources whose session is closed and not yet mourned.
    lost: Vec<u32>,
    /// Items that are over, with requests that came too late for them.
    anew: Vec<(Item, Vec<Interest>)>,
    /// Services of which a source that was full has room, once for each place.
    room: Vec<u16>,
    /// Sources and their services whose window has room again.
    window_room: Vec<(u32, u16)>,
}

impl FollowUps {
    /// A source's session is closed. Whether that is news.
    pub(super) fn lose(&mut self, source: u32) -> bool {
        let is_news = !self.lost.contains(&source);
        if is_news {
            self.lost.push(source);
        }
        is_news
    }

    /// A source whose session is closed.
    pub(super) fn next_lost(&mut self) -> Option<u32> {
        self.lost.pop()
    }

    /// An item is over, and some ask for it: it begins anew for them.
    pub(super) fn begin_anew(&mut self, before: Item, late: Vec<Interest>) {
        self.anew.push((before, late));
    }

    /// An item as it was, and who asks for it.
    pub(super) fn next_anew(&mut self) -> Option<(Item, Vec<Interest>)> {
        self.anew.pop()
    }

    /// A source that was full has room for an item of a service.
    pub(super) fn add_room(&mut self, service: u16) {
        self.room.push(service);
    }

    /// A service of which one more item has room.
    pub(super) fn next_room(&mut self) -> Option<u16> {
        self.room.pop()
    }

    /// Whether items that wait could be tried.
    pub(super) const fn has_room(&self) -> bool {
        !self.room.is_empty()
    }

    /// The window of a source's service has room.
    pub(super) fn add_window_room(&mut self, source: u32, service_id: u16) {
        self.window_room.push((source, service_id));
    }

    /// A source and its service whose window has room.
    pub(super) fn next_window_room(&mut self) -> Option<(u32, u16)> {
        self.window_room.pop()
    }
}
