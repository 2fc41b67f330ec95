//! How long messages take from hop to hop, by those that carry stamps.
//!
//! ```text
//!     hub in ──▶ hub out ──▶ server in ──▶ server out
//!       │  hub   │  backbone │   server    │
//! ```
//!
//! `hub in` is the beginning of the turn in which it was read from its socket, `server
//! in` when it was read from the backbone, `server out` the end of the turn in which it
//! was given to the sockets.

use hdrhistogram::Histogram;
use tapeline_backbone::{BusEvent, ClockOffset, FrameHeader, Incarnation, Kind, Stamps};
use tapeline_channel::Clock;
use tapeline_omm::Text;
use tapeline_time::Time;

use crate::rows::HopRow;

/// Services of which hops are told; samples of others are counted with the last one,
/// which is called `*`.
const SERVICES: usize = 64;

/// What is told is of the last whole interval, of 10 s.
const INTERVAL_NS: u64 = 10_000_000_000;

/// Longer ones count as so long.
const LONGEST_NS: u64 = 60_000_000_000;

const HOPS: [&str; 3] = ["hub", "backbone", "server"];

/// A message with stamps that is not given to the sockets yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    /// The hub, and its number for the item.
    item: (Incarnation, u32),
    stamps: Stamps,
    server_in_ns: u64,
}

/// One hop of one service in one interval.
#[derive(Clone, Debug)]
struct Hop {
    times_ns: Histogram<u32>,
    sum_ns: u64,
    worst_ns: u64,
    worst_item: String,
    /// By how much each of these may be wrong, as clocks are apart.
    clock_error_ns: u64,
}

impl Hop {
    fn new() -> Self {
        let times_ns = Histogram::new_with_bounds(1_000, LONGEST_NS, 2);
        Self {
            // The bounds are as they must be, whatever the figures.
            times_ns: times_ns.expect("the bounds of hops are in order"),
            sum_ns: 0,
            worst_ns: 0,
            worst_item: String::new(),
            clock_error_ns: 0,
        }
    }

    /// Takes note of a time. Returns it as it counts.
    fn note(&mut self, (ns, error_ns): (u64, u64), item: impl FnOnce() -> String) -> u64 {
        self.clock_error_ns = self.clock_error_ns.max(error_ns);
        let ns = ns.min(LONGEST_NS);
        self.times_ns.saturating_record(ns);
        self.sum_ns += ns;
        if ns >= self.worst_ns {
            (self.worst_ns, self.worst_item) = (ns, item());
        }
        ns
    }

    fn clear(&mut self) {
        self.times_ns.reset();
        self.sum_ns = 0;
        self.worst_ns = 0;
        self.worst_item.clear();
        self.clock_error_ns = 0;
    }
}

/// The hops of one service.
#[derive(Debug)]
struct OfService {
    service: Text,
    /// Of the interval that goes on,
    present: [Hop; 3],
    /// and of the last one.
    last: [Hop; 3],
    /// Samples since the start, and the time that they took.
    ever: [(u64, u64); 3],
}

impl OfService {
    fn new(service: Text) -> Self {
        let hops = || [Hop::new(), Hop::new(), Hop::new()];
        Self { service, present: hops(), last: hops(), ever: [(0, 0); 3] }
    }
}

/// The hops of all services.
#[derive(Debug)]
pub(crate) struct Hops {
    services: Vec<OfService>,
    pending: Vec<Pending>,
    began_ns: u64,
    /// The stamps of hubs are of the clock of this host.
    has_one_clock: bool,
}

impl Hops {
    /// None yet. Where hubs are on other hosts, whose clocks say something else, the
    /// backbone is told as well as it is known how far they are apart.
    pub(crate) const fn new(has_one_clock: bool) -> Self {
        Self { services: Vec::new(), pending: Vec::new(), began_ns: 0, has_one_clock }
    }

    /// Whether the stamps of hubs are of the clock of this host.
    pub(crate) const fn has_one_clock(&self) -> bool {
        self.has_one_clock
    }

    /// Takes the stamps from in front of a message, if there are any.
    #[inline]
    pub(crate) fn without_stamps<'a>(
        &mut self,
        event: BusEvent<'a>,
        clock: &impl Clock,
    ) -> BusEvent<'a> {
        match event {
            BusEvent::Frame { header, body } if header.kind == Kind::Stamped => {
                self.take_stamps(header, body, clock.host_now())
            }
            event => event,
        }
    }

    #[cold]
    fn take_stamps<'a>(&mut self, header: FrameHeader, body: &'a [u8], now: Time) -> BusEvent<'a> {
        // One that is too short is no message either, and is counted where that is seen.
        let Some((stamps, body)) = Stamps::decode(body) else {
            return BusEvent::Frame { header, body };
        };
        let (item, server_in_ns) = ((header.sender, header.item), now.as_nanos());
        self.note(Pending { item, stamps, server_in_ns });
        BusEvent::Frame { header: FrameHeader { kind: Kind::Item, ..header }, body }
    }

    /// A message with stamps is handled.
    fn note(&mut self, pending: Pending) {
        self.pending.push(pending);
    }

    /// Whether messages wait for the end of the turn.
    pub(crate) const fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The turn ends. `clock_of` tells how far the clock of a hub is from ours, `named`
    /// the service and the name of an item; one that is gone by now does not count.
    pub(crate) fn end_turn<'n>(
        &mut self,
        now: Time,
        clock_of: impl Fn(Incarnation) -> Option<ClockOffset>,
        named: impl Fn(Incarnation, u32) -> Option<(&'n Text, &'n [u8])>,
    ) {
        let now_ns = now.as_nanos();
        if now_ns.saturating_sub(self.began_ns) >= INTERVAL_NS {
            self.began_ns = now_ns;
            for of in &mut self.services {
                std::mem::swap(&mut of.present, &mut of.last);
                of.present.iter_mut().for_each(Hop::clear);
            }
        }
        let pending = std::mem::take(&mut self.pending);
        for Pending { item: (hub, item), stamps, server_in_ns } in &pending {
            let Some((service, name)) = named(*hub, *item) else { continue };
            let clock = match self.has_one_clock {
                true => Some(ClockOffset { offset_ns: 0, error_ns: 0 }),
                false => clock_of(*hub),
            };
            let of = self.of(service);
            let on_the_way = |clock: ClockOffset| {
                let out_ns = stamps.hub_out_ns.saturating_add_signed(-clock.offset_ns);
                (server_in_ns.saturating_sub(out_ns), clock.error_ns)
            };
            let times = [
                Some((stamps.hub_out_ns.saturating_sub(stamps.hub_in_ns), 0)),
                clock.map(on_the_way),
                Some((now_ns.saturating_sub(*server_in_ns), 0)),
            ];
            for ((hop, ever), time) in of.present.iter_mut().zip(&mut of.ever).zip(times) {
                if let Some(time) = time {
                    let took_ns = hop.note(time, || String::from_utf8_lossy(name).into_owned());
                    *ever = (ever.0 + 1, ever.1 + took_ns);
                }
            }
        }
        // With its room, for the next turn.
        self.pending = pending;
        self.pending.clear();
    }

    fn of(&mut self, service: &Text) -> &mut OfService {
        let place = self.services.iter().position(|of| of.service == *service);
        let place = place.unwrap_or_else(|| {
            if self.services.len() < SERVICES {
                let is_last = self.services.len() == SERVICES - 1;
                let name = if is_last { Text::from("*") } else { service.clone() };
                self.services.push(OfService::new(name));
            }
            self.services.len() - 1
        });
        &mut self.services[place]
    }

    /// Places of rows.
    pub(crate) fn places(&self) -> u32 {
        (self.services.len() * HOPS.len()) as u32
    }

    /// The row of a place: of the last whole interval, or of what there is of the
    /// first one. `None` if there were no samples.
    pub(crate) fn row(&self, place: u32) -> Option<HopRow> {
        let (service, hop) = (place as usize / HOPS.len(), place as usize % HOPS.len());
        let of = self.services.get(service)?;
        let [last, present] = [&of.last[hop], &of.present[hop]];
        let shown = if last.times_ns.is_empty() { present } else { last };
        (!shown.times_ns.is_empty()).then(|| HopRow {
            service: of.service.to_string(),
            hop: HOPS[hop],
            samples: shown.times_ns.len(),
            mean_ns: shown.sum_ns / shown.times_ns.len(),
            // They are known to one in a hundred, the worst one to the nanosecond.
            p50_ns: shown.times_ns.value_at_quantile(0.5).min(shown.worst_ns),
            p99_ns: shown.times_ns.value_at_quantile(0.99).min(shown.worst_ns),
            worst_ns: shown.worst_ns,
            worst_item: shown.worst_item.clone(),
            samples_total: of.ever[hop].0,
            time_total_ns: of.ever[hop].1,
            clock_error_ns: shown.clock_error_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUB: Incarnation = Incarnation(1);

    fn pending(item: u32, hub_ns: u64, backbone_ns: u64) -> Pending {
        let (hub_in_ns, hub_out_ns) = (1_000_000, 1_000_000 + hub_ns);
        let stamps = Stamps { source_ns: 0, hub_in_ns, hub_out_ns };
        Pending { item: (HUB, item), stamps, server_in_ns: hub_out_ns + backbone_ns }
    }

    /// Each hop of the first service: samples, worst time and worst item.
    fn shown(hops: &Hops) -> Vec<(&'static str, u64, u64, String)> {
        let rows = (0..hops.places()).filter_map(|place| hops.row(place));
        rows.map(|row| (row.hop, row.samples, row.worst_ns, row.worst_item)).collect()
    }

    #[test]
    fn each_hop_names_its_worst_item() {
        let service = Text::from("FEED");
        let named = |_: Incarnation, item: u32| {
            let name: &[u8] = match item {
                1 => b"A",
                2 => b"B",
                _ => return None,
            };
            Some((&service, name))
        };
        let mut hops = Hops::new(true);
        hops.note(pending(1, 50_000, 7_000));
        hops.note(pending(2, 20_000, 9_000));
        hops.note(pending(3, 99_000, 99_000));
        hops.end_turn(Time::from_nanos(1_100_000), |_| None, named);
        assert!(!hops.has_pending());
        let (a, b) = ("A".to_owned(), "B".to_owned());
        assert_eq!(
            shown(&hops),
            [("hub", 2, 50_000, a), ("backbone", 2, 9_000, b.clone()), ("server", 2, 71_000, b)]
        );
        let means = (0..3).filter_map(|place| hops.row(place)).map(|row| row.mean_ns);
        assert_eq!(means.collect::<Vec<_>>(), [35_000, 8_000, 57_000]);
    }

    #[test]
    fn what_is_told_is_of_the_last_whole_interval() {
        let service = Text::from("FEED");
        let named = |_: Incarnation, _: u32| Some((&service, &b"A"[..]));
        let mut hops = Hops::new(true);
        let mut sample = |at_ns, hub_ns| {
            hops.note(pending(1, hub_ns, 0));
            hops.end_turn(Time::from_nanos(at_ns), |_| None, named);
            hops.row(0).map(|row| (row.samples, row.worst_ns, row.samples_total, row.time_total_ns))
        };
        assert_eq!(sample(2_000_000, 5_000), Some((1, 5_000, 1, 5_000)));
        assert_eq!(sample(INTERVAL_NS, 6_000), Some((1, 5_000, 2, 11_000)));
        assert_eq!(sample(INTERVAL_NS + 1, 7_000), Some((1, 5_000, 3, 18_000)));
        assert_eq!(sample(2 * INTERVAL_NS, 8_000), Some((2, 7_000, 4, 26_000)));
    }

    #[test]
    fn of_a_hub_whose_clock_is_ahead_the_backbone_is_told_with_what_may_be_wrong() {
        let service = Text::from("FEED");
        let mut hops = Hops::new(false);
        let sample = pending(1, 5_000, 8_000);
        let ahead_ns = 700_000;
        let server_in_ns = sample.server_in_ns - ahead_ns;
        hops.note(Pending { server_in_ns, ..sample });
        let clock = ClockOffset { offset_ns: ahead_ns as i64, error_ns: 900 };
        let now = Time::from_nanos(server_in_ns + 3_000);
        hops.end_turn(now, |_| Some(clock), |_, _| Some((&service, b"A")));
        let rows: Vec<_> = (0..3).filter_map(|place| hops.row(place)).collect();
        let times: Vec<_> = rows.iter().map(|row| (row.worst_ns, row.clock_error_ns)).collect();
        assert_eq!(times, [(5_000, 0), (8_000, 900), (3_000, 0)]);
    }

    #[test]
    fn of_a_hub_whose_clock_is_not_known_the_backbone_is_not_told() {
        let service = Text::from("FEED");
        let mut hops = Hops::new(false);
        hops.note(pending(1, 5_000, 5_000));
        hops.end_turn(Time::from_nanos(2_000_000), |_| None, |_, _| Some((&service, b"A")));
        let told: Vec<_> = shown(&hops).into_iter().map(|(hop, ..)| hop).collect();
        assert_eq!(told, ["hub", "server"]);
    }

    #[test]
    fn many_services_share_the_last_place() {
        let mut hops = Hops::new(true);
        let services: Vec<Text> =
            (0..SERVICES + 5).map(|number| Text::from(format!("S{number}").as_str())).collect();
        for number in 0..services.len() as u32 {
            hops.note(pending(number, 5_000, 5_000));
        }
        hops.end_turn(
            Time::from_nanos(2_000_000),
            |_| None,
            |_, item| Some((&services[item as usize], b"A")),
        );
        assert_eq!(hops.places() as usize, SERVICES * HOPS.len());
        let last = hops.row(hops.places() - 1).expect("there are samples");
        assert_eq!((last.service.as_str(), last.samples), ("*", 6));
    }
}
