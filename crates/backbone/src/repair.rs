//! What was lost between a hub and a server is found by comparing lists.
//!
//! Whoever sees a hole in the stream of the other asks for its list: the
//! server for what the hub *holds* for it, the hub for what the server
//! *wants*. A list comes in pages, each about a range of the server's request
//! numbers, in the stream of all other frames. What a page says is therefore
//! true at its place in the stream: it is compared with what was read before
//! it, and nothing that is under way is taken for lost. Of what was asked for
//! after the list was, it says nothing.
//!
//! ```text
//!  hub                                              server
//!   |  frames of items  - - - x                        |
//!   |  Item ---------------------------------------->  |  a hole
//!   |  <----------------------------- HeldRequest 1 -- |
//!   |  Held 1: requests 0..64 --------------------->   |  item 17: seq 9, here 7: missed
//!   |  <------------------------------ Reissue 17 ---- |  another image, please
//!   |  Held 1: requests 64..  LAST ---------------->   |  all compared
//!   |                                                  |
//!   |                        x - - - -  Close, Open -- |
//!   |  <-------------------------------------- Post -- |
//!   |  a hole                                          |
//!   |  WantedRequest 1 ---------------------------->   |
//!   |  <------- Wanted 1: requests 0..64, LAST ------- |
//!   |  request 3 is not wanted any more: closed        |
//!   |  request 5 is unknown                            |
//!   |  Held 0: requests 0..64 --------------------->   |  5 is not held: opened again
//! ```
//!
//! Every frame of this can be lost as well. A hole while a list is due begins
//! another *round* of it, and a round is asked for again until its last page
//! came ([`Inquiry`]). Who lists goes on where it is when a new round is asked
//! for, and once around ([`Walk`]): under steady loss too, every range is
//! compared in the end.
//!
//! # Frames
//!
//! ```text
//!  WantedRequest, HeldRequest   item: round   item seq: how many request numbers the asker has
//!
//!  Wanted, Held                 item: round   flags: LAST on the end of a round
//!   0      4      8       12
//!   | from | to   | as of | entries
//!     u32    u32    u32     to: exclusive, all ones for all above
//!
//!  entry of Wanted:   | request | serial | priority count | class | flags |          12 bytes
//!                        u32       u32        u16            u8      u8
//!  entry of Held:     | request | serial | item | item seq | flags |                 17 bytes
//!                        u32       u32      u32     u32       u8
//! ```
//!
//! A server numbers its `Open` frames, in their item seq: that is the *serial*
//! of a request, and tells it from an earlier one with the same number. `as of`
//! is the serial of the last one that counts: requests after it may still be
//! under way. Entries are in the order of their requests.

use std::time::Duration;

use bitflags::bitflags;
use tapeline_time::Time;

/// How many request numbers a page is about, so that it fits a datagram.
pub const REQUESTS_PER_PAGE: u32 = 64;

bitflags! {
    /// How far a request is at the hub.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct HeldFlags: u8 {
        /// The server was told the item.
        const ACCEPTED = 0x01;
        /// An image was sent, and none is due.
        const LIVE = 0x02;
        /// The data is suspect, and the server was told so.
        const SUSPECT = 0x04;
    }
}

bitflags! {
    /// What a server wants of a request.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct WantedFlags: u8 {
        /// An image is due.
        const IMAGE = 0x01;
    }
}

/// What a page is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The first request number.
    pub from: u32,
    /// Behind the last one; `u32::MAX` for all above.
    pub to: u32,
    /// The serial of the last request that counts.
    pub as_of: u32,
}

impl Page {
    /// Begins the body of a page.
    pub fn write(&self, body: &mut Vec<u8>) {
        body.clear();
        for word in [self.from, self.to, self.as_of] {
            body.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// The head of a page, and its entries.
    pub fn read(body: &[u8]) -> Option<(Self, &[u8])> {
        let (head, entries) = body.split_first_chunk::<12>()?;
        let page = Self { from: word(head, 0), to: word(head, 4), as_of: word(head, 8) };
        Some((page, entries))
    }

    /// Whether a request with this serial was made before the page.
    pub const fn counts(&self, serial: u32) -> bool {
        self.as_of.wrapping_sub(serial) < 1 << 31
    }
}

/// A request as its hub has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The server's number for it.
    pub request: u32,
    /// Which request of that number.
    pub serial: u32,
    /// The hub's number of the item.
    pub item: u32,
    /// The item's count of frames to all.
    pub item_seq: u32,
    /// How far it is.
    pub flags: HeldFlags,
}

impl Held {
    const BYTES: usize = 17;

    /// Adds it to the body of a page.
    pub fn write(&self, body: &mut Vec<u8>) {
        for word in [self.request, self.serial, self.item, self.item_seq] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        body.push(self.flags.bits());
    }

    /// The entries of a page.
    pub fn entries(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
        bytes.chunks_exact(Self::BYTES).map(|entry| Self {
            request: word(entry, 0),
            serial: word(entry, 4),
            item: word(entry, 8),
            item_seq: word(entry, 12),
            flags: HeldFlags::from_bits_retain(entry[16]),
        })
    }
}

/// A request as its server wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The server's number for it.
    pub request: u32,
    /// Which request of that number.
    pub serial: u32,
    /// How much it is wanted: the count of its priority.
    pub priority_count: u16,
    /// The class of its priority.
    pub priority_class: u8,
    /// What of it is due.
    pub flags: WantedFlags,
}

impl Wanted {
    const BYTES: usize = 12;

    /// Adds it to the body of a page.
    pub fn write(&self, body: &mut Vec<u8>) {
        body.extend_from_slice(&self.request.to_le_bytes());
        body.extend_from_slice(&self.serial.to_le_bytes());
        body.extend_from_slice(&self.priority_count.to_le_bytes());
        body.extend_from_slice(&[self.priority_class, self.flags.bits()]);
    }

    /// The entries of a page.
    pub fn entries(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
        bytes.chunks_exact(Self::BYTES).map(|entry| Self {
            request: word(entry, 0),
            serial: word(entry, 4),
            priority_count: u16::from_le_bytes([entry[8], entry[9]]),
            priority_class: entry[10],
            flags: WantedFlags::from_bits_retain(entry[11]),
        })
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// The side that saw a hole: which round of the other's list it waits for, and
/// when it asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inquiry {
    round: u32,
    ask_at: Option<Time>,
    asked_at: Option<Time>,
}

impl Inquiry {
    /// Frames of the other were lost: its list is due, from the beginning. Where
    /// frames are lost all the time, it is asked for once in an interval.
    pub fn hole(&mut self, now: Time, interval: Duration) {
        self.round = self.round.wrapping_add(1);
        let earliest = self.asked_at.map_or(now, |at| at.after(interval));
        self.ask_at = Some(earliest.max(now));
    }

    /// The round to ask for now, if one is due. It is due again after the
    /// interval.
    pub fn due(&mut self, now: Time, interval: Duration) -> Option<u32> {
        self.ask_at.filter(|at| *at <= now)?;
        self.asked_at = Some(now);
        self.ask_at = Some(now.after(interval));
        Some(self.round)
    }

    /// The latest round, be it that it is still to be asked for.
    pub const fn round(&self) -> u32 {
        self.round
    }

    /// A page came, perhaps the last of its round.
    pub fn page(&mut self, round: u32, is_last: bool, now: Time, interval: Duration) {
        if round != self.round || self.ask_at.is_none() {
            return;
        }
        self.ask_at = (!is_last).then(|| now.after(interval));
    }

    /// When a list is to be asked for.
    pub const fn deadline(&self) -> Option<Time> {
        self.ask_at
    }
}

/// The side that lists: how far it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walk {
    round: u32,
    /// The first request number of the next page.
    next: u32,
    /// Where it ends, after its turn at the end of the numbers.
    stop: u32,
    /// How many request numbers the asker has.
    asker_len: u32,
    is_walking: bool,
    has_turned: bool,
}

/// A page that is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The round that it belongs to.
    pub round: u32,
    /// The first request number.
    pub from: u32,
    /// Behind the last one.
    pub to: u32,
    /// The round is complete with it.
    pub is_last: bool,
}

impl Walk {
    /// The list is asked for, by somebody who has so many request numbers.
    pub const fn ask(&mut self, round: u32, asker_len: u32) {
        if round == self.round {
            // It was asked for once more: it is on its way, or was lost, of
            // which the next round tells.
            return;
        }
        self.round = round;
        self.asker_len = asker_len;
        self.has_turned = false;
        self.stop = if self.is_walking { self.next } else { 0 };
        self.next = self.stop;
        self.is_walking = true;
    }

    /// Whether pages are due.
    pub const fn is_walking(&self) -> bool {
        self.is_walking
    }

    /// The next page, of somebody who has so many request numbers.
    pub fn next_page(&mut self, len: u32) -> Option<Stretch> {
        if !self.is_walking {
            return None;
        }
        let from = self.next;
        let is_end = from.saturating_add(REQUESTS_PER_PAGE) >= len.max(self.asker_len);
        let to = if is_end { u32::MAX } else { from + REQUESTS_PER_PAGE };
        self.next = if is_end { 0 } else { to };
        let is_around = self.has_turned && is_end;
        self.has_turned |= is_end;
        let is_last = is_around || self.has_turned && self.next >= self.stop;
        self.is_walking = !is_last;
        Some(Stretch { round: self.round, from, to, is_last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(ms))
    }

    #[test]
    fn the_layout_is_the_documented_one() {
        let mut body = vec![9; 3];
        Page { from: 1, to: 2, as_of: 3 }.write(&mut body);
        let flags = HeldFlags::LIVE;
        Held { request: 4, serial: 5, item: 6, item_seq: 7, flags }.write(&mut body);
        let words = [1_u32, 2, 3, 4, 5, 6, 7].map(u32::to_le_bytes).concat();
        assert_eq!(body, [&words[..], &[2]].concat());
        Page { from: 1, to: 2, as_of: 3 }.write(&mut body);
        let (priority_count, priority_class) = (0x0605, 7);
        let flags = WantedFlags::IMAGE;
        Wanted { request: 4, serial: 5, priority_count, priority_class, flags }.write(&mut body);
        assert_eq!(body[12..], [4, 0, 0, 0, 5, 0, 0, 0, 5, 6, 7, 1]);
    }

    #[test]
    fn what_is_written_is_read_and_a_torn_entry_is_left_out() {
        let page = Page { from: 64, to: u32::MAX, as_of: 900 };
        let entry = |request| Held {
            request,
            serial: request * 3,
            item: 17,
            item_seq: 4,
            flags: HeldFlags::ACCEPTED | HeldFlags::SUSPECT,
        };
        let mut body = Vec::new();
        page.write(&mut body);
        entry(64).write(&mut body);
        entry(70).write(&mut body);
        let (read, entries) = Page::read(&body).unwrap();
        assert_eq!(read, page);
        assert_eq!(Held::entries(entries).collect::<Vec<_>>(), [entry(64), entry(70)]);
        let (_, torn) = Page::read(&body[..body.len() - 1]).unwrap();
        assert_eq!(Held::entries(torn).count(), 1);
        assert_eq!(Page::read(&body[..11]), None);
    }

    #[test]
    fn a_full_page_fits_a_datagram() {
        let entries = REQUESTS_PER_PAGE as usize * Held::BYTES.max(Wanted::BYTES);
        assert!(crate::FrameHeader::BYTES + 12 + entries <= 1376);
    }

    #[test]
    fn serials_count_round_the_end_of_the_numbers() {
        let page = Page { from: 0, to: 1, as_of: 2 };
        assert!(page.counts(2) && page.counts(0) && page.counts(u32::MAX));
        assert!(!page.counts(3));
    }

    #[test]
    fn a_round_is_asked_for_until_its_last_page_came() {
        let mut inquiry = Inquiry::default();
        assert_eq!((inquiry.deadline(), inquiry.due(at(5), INTERVAL)), (None, None));
        inquiry.hole(at(10), INTERVAL);
        assert_eq!(inquiry.due(at(10), INTERVAL), Some(1));
        assert_eq!(inquiry.due(at(109), INTERVAL), None);
        assert_eq!(inquiry.due(at(110), INTERVAL), Some(1), "the request or its pages were lost");
        inquiry.page(1, false, at(150), INTERVAL);
        assert_eq!(inquiry.deadline(), Some(at(250)), "it comes");
        inquiry.page(1, true, at(160), INTERVAL);
        assert_eq!(inquiry.deadline(), None);
        inquiry.page(1, false, at(170), INTERVAL);
        assert_eq!(inquiry.deadline(), None, "an answer to something else");
    }

    #[test]
    fn a_hole_in_the_middle_begins_another_round_not_too_soon() {
        let mut inquiry = Inquiry::default();
        inquiry.hole(at(10), INTERVAL);
        assert_eq!(inquiry.due(at(10), INTERVAL), Some(1));
        inquiry.hole(at(20), INTERVAL);
        inquiry.hole(at(30), INTERVAL);
        inquiry.page(1, true, at(40), INTERVAL);
        assert_eq!(inquiry.deadline(), Some(at(110)));
        assert_eq!(inquiry.due(at(110), INTERVAL), Some(3));
        inquiry.page(3, true, at(120), INTERVAL);
        assert_eq!(inquiry.deadline(), None);
    }

    fn pages(walk: &mut Walk, len: u32, count: usize) -> Vec<(u32, u32, bool)> {
        let stretches = std::iter::from_fn(|| walk.next_page(len)).take(count);
        stretches.map(|page| (page.from, page.to, page.is_last)).collect()
    }

    #[test]
    fn a_walk_covers_everything_once() {
        let mut walk = Walk::default();
        assert_eq!(walk.next_page(200), None);
        walk.ask(1, 0);
        let all = [(0, 64, false), (64, 128, false), (128, 192, false), (192, u32::MAX, true)];
        assert_eq!(pages(&mut walk, 200, 9), all);
        walk.ask(1, 0);
        assert!(!walk.is_walking(), "that round is over");
        walk.ask(2, 0);
        assert_eq!(pages(&mut walk, 0, 9), [(0, u32::MAX, true)]);
        walk.ask(3, 65);
        assert_eq!(pages(&mut walk, 0, 9), [(0, 64, false), (64, u32::MAX, true)]);
    }

    #[test]
    fn a_round_that_begins_on_the_way_goes_once_around() {
        let mut walk = Walk::default();
        walk.ask(1, 0);
        pages(&mut walk, 200, 2);
        walk.ask(2, 0);
        let all = [(128, 192, false), (192, u32::MAX, false), (0, 64, false), (64, 128, true)];
        assert_eq!(pages(&mut walk, 200, 9), all);
        assert!(!walk.is_walking());
    }

    #[test]
    fn a_list_that_became_shorter_ends_all_the_same() {
        let mut walk = Walk::default();
        walk.ask(1, 0);
        pages(&mut walk, 2000, 9);
        walk.ask(2, 0);
        assert_eq!(pages(&mut walk, 10, 9), [(576, u32::MAX, false), (0, u32::MAX, true)]);
    }
}
