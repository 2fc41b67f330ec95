//! One item, message by message, for an operator who looks.

use std::collections::VecDeque;
use std::time::Duration;

use tapeline_backbone::{BusEvent, Kind, Stamps};
use tapeline_rwf::MsgHeader;
use tapeline_time::Time;

use crate::Core;
use crate::rows::TraceRow;

/// Messages that are kept of a second,
const PER_S: u32 = 100;

/// and in all.
const KEPT: usize = 1_000;

/// The longest that an item is traced, in milliseconds.
pub const MAX_TRACE_MS: u64 = 600_000;

/// Which item an operator wants to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceWanted {
    /// Its name.
    pub item: String,
    /// Its service; any if it is empty.
    pub service: String,
    /// For how long, in milliseconds, up to [`MAX_TRACE_MS`].
    pub for_ms: u64,
}

/// An item that is traced, and what came of it.
#[derive(Debug)]
pub(crate) struct Trace {
    wanted: TraceWanted,
    began: Time,
    until: Time,
    /// Whether the stamps of hubs are of the clock of this host.
    has_one_clock: bool,
    rows: VecDeque<TraceRow>,
    /// Messages that were kept so far.
    count: u32,
    /// Since when the present second goes on, and what was kept of it.
    second: (Time, u32),
    /// Messages that were not, since the last that was.
    left_out: u64,
}

impl Trace {
    /// One that begins now.
    pub(crate) fn new(now: Time, wanted: TraceWanted, has_one_clock: bool) -> Self {
        let until = now.after(Duration::from_millis(wanted.for_ms.min(MAX_TRACE_MS)));
        Self {
            wanted,
            began: now,
            until,
            has_one_clock,
            rows: VecDeque::new(),
            count: 0,
            second: (now, 0),
            left_out: 0,
        }
    }

    /// Whether it goes on. What was kept can be read behind that.
    pub(crate) fn goes_on(&self, now: Time) -> bool {
        now < self.until
    }

    /// Takes note of what comes from a hub, before the core hears of it. `host_now` is the
    /// clock of stamps.
    #[cold]
    pub(crate) fn note(
        &mut self,
        now: Time,
        event: &BusEvent<'_>,
        core: &Core,
        host_now: impl FnOnce() -> Time,
    ) {
        let BusEvent::Frame { header, body } = event else { return };
        let (stamps, message) = match header.kind {
            Kind::Item => (None, *body),
            Kind::Stamped => match Stamps::decode(body) {
                Some((stamps, message)) => (Some(stamps), message),
                None => return,
            },
            _ => return,
        };
        let Some((service, name)) = core.item_named(header.sender, header.item) else { return };
        let TraceWanted { item, service: of, .. } = &self.wanted;
        if name != item.as_bytes() || !(of.is_empty() || service.as_bytes() == of.as_bytes()) {
            return;
        }
        if !self.has_room(now) {
            self.left_out += 1;
            return;
        }
        let class = MsgHeader::decode(message).map(|head| head.class.to_string());
        let backbone = stamps.filter(|_| self.has_one_clock).map(|stamps| {
            let host_now_ns = host_now().as_nanos();
            host_now_ns.saturating_sub(stamps.hub_out_ns)
        });
        let row = TraceRow {
            number: self.count,
            after_us: now.since(self.began).as_micros() as u64,
            service: service.to_string(),
            name: self.wanted.item.clone(),
            hub_run: header.sender.to_string(),
            message: class.unwrap_or_else(|_| "odd".to_owned()).to_lowercase(),
            sequence: header.item_seq,
            bytes: message.len(),
            watchers: core.watchers_of(header.sender, header.item),
            hub_ns: stamps.map(|it| it.hub_out_ns.saturating_sub(it.hub_in_ns)),
            backbone_ns: backbone,
            left_out: std::mem::take(&mut self.left_out),
        };
        self.keep(row);
    }

    /// Whether one more of this second is kept.
    fn has_room(&mut self, now: Time) -> bool {
        if now.since(self.second.0) >= Duration::from_secs(1) {
            self.second = (now, 0);
        }
        self.second.1 += 1;
        self.second.1 <= PER_S
    }

    fn keep(&mut self, row: TraceRow) {
        if self.rows.len() == KEPT {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
        self.count += 1;
    }

    /// Rows are at the places of their numbers: those below this one.
    pub(crate) const fn places(&self) -> u32 {
        self.count
    }

    /// The row of a number, if it is still kept.
    pub(crate) fn row(&self, number: u32) -> Option<TraceRow> {
        let first = self.count - self.rows.len() as u32;
        self.rows.get(number.checked_sub(first)? as usize).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn trace() -> Trace {
        let wanted = TraceWanted { for_ms: 2_500, ..TraceWanted::default() };
        Trace::new(at(1_000), wanted, true)
    }

    fn row(number: u32) -> TraceRow {
        TraceRow {
            number,
            after_us: 0,
            service: String::new(),
            name: String::new(),
            hub_run: String::new(),
            message: String::new(),
            sequence: 0,
            bytes: 0,
            watchers: 0,
            hub_ns: None,
            backbone_ns: None,
            left_out: 0,
        }
    }

    #[test]
    fn so_many_of_a_second_are_kept() {
        let mut trace = trace();
        let kept = |trace: &mut Trace, ms| (0..150).filter(|_| trace.has_room(at(ms))).count();
        assert_eq!(kept(&mut trace, 1_000), 100);
        assert_eq!(kept(&mut trace, 1_999), 0);
        assert_eq!(kept(&mut trace, 2_000), 100);
    }

    #[test]
    fn the_last_are_kept_at_the_places_of_their_numbers() {
        let mut trace = trace();
        (0..KEPT as u32 + 5).for_each(|number| trace.keep(row(number)));
        assert_eq!(trace.places(), KEPT as u32 + 5);
        assert_eq!(trace.row(4), None);
        for number in [5, 700, KEPT as u32 + 4] {
            assert_eq!(trace.row(number).map(|row| row.number), Some(number));
        }
        assert_eq!(trace.row(KEPT as u32 + 5), None);
    }

    #[test]
    fn it_ends_when_it_was_told_to() {
        assert!(trace().goes_on(at(3_499)) && !trace().goes_on(at(3_500)));
        let wanted = TraceWanted { for_ms: u64::MAX, ..TraceWanted::default() };
        let trace = Trace::new(at(0), wanted, true);
        assert!(trace.goes_on(at(MAX_TRACE_MS - 1)) && !trace.goes_on(at(MAX_TRACE_MS)));
    }
}
