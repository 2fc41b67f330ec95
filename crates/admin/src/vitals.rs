//! How well a process is, in the few numbers by which a change of its configuration
//! is judged.

use std::time::Duration;

use tapeline_counters::Registry;
use tapeline_time::Time;

/// Mounts that may leave while a change is watched without it being to blame, in
/// percent; and how many may in any case.
const MOUNTS_PERCENT: u64 = 10;
const FEW_MOUNTS: u64 = 2;

/// Cuts and denials in a second that say nothing by themselves; what is above is
/// compared with twice what it was before.
const FEW_PER_S: f64 = 1.0;

/// How many looks in a row have to be worse before a change is to blame: what comes and
/// goes is not the change.
const WORSE_LOOKS: u32 = 3;

/// The same of sources: one that is reached another way has to be connected and to say
/// what it offers. The way before is held for 20 s, so that nobody notices a change that
/// is taken back by then.
const SOURCES_LOOKS: u32 = 10;

/// Numbers at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Vitals {
    /// When.
    pub at: Time,
    /// Sources that are up, without those that leave.
    pub sources_up: u64,
    /// Services that hubs have, and hubs that servers have.
    pub services: u64,
    /// Hubs that servers hear.
    pub hubs: u64,
    /// Mounts.
    pub mounts: u64,
    /// Items that the hub has, or, without one, that servers have open.
    pub items: u64,
    /// Mounts that were cut since the start.
    pub cuts: u64,
    /// Logins, requests, posts and connections that were refused since the start.
    pub denials: u64,
}

/// What of a count says how well a process is.
const CUTS: [(&str, &str); 1] = [("server", "mounts_cut")];
const DENIALS: [(&str, &str); 6] = [
    ("server", "logins_refused"),
    ("server", "opens_denied"),
    ("server", "opens_limited"),
    ("server", "posts_denied"),
    ("hub", "logins_refused"),
    ("channel", "refused"),
];

impl Vitals {
    /// Of a process in which there is nothing yet.
    pub const NONE: Self = Self {
        at: Time::ZERO,
        sources_up: 0,
        services: 0,
        hubs: 0,
        mounts: 0,
        items: 0,
        cuts: 0,
        denials: 0,
    };

    /// As they were published last.
    pub fn of(registry: &Registry, at: Time) -> Self {
        let sum = |counts: &[(&str, &str)]| -> u64 {
            let of = |group: &str, name: &str| -> u64 {
                let blocks = registry.blocks().filter(|block| block.table().group == group);
                blocks.filter_map(|block| block.value_of(name)).sum()
            };
            counts.iter().map(|(group, name)| of(group, name)).sum()
        };
        Self {
            at,
            sources_up: sum(&[("hub", "sources_up")]),
            services: sum(&[("hub", "services")]),
            hubs: sum(&[("server", "hubs")]),
            mounts: sum(&[("server", "mounts")]),
            items: match sum(&[("hub", "items")]) {
                0 => sum(&[("server", "items")]),
                of_hubs => of_hubs,
            },
            cuts: sum(&CUTS),
            denials: sum(&DENIALS),
        }
    }

    /// How many more there are in a second than `before`, of a count.
    fn per_s(self, before: Self, count: impl Fn(Self) -> u64) -> f64 {
        let passed = self.at.since(before.at).max(Duration::from_millis(1));
        count(self).saturating_sub(count(before)) as f64 / passed.as_secs_f64()
    }
}

/// In what a process is worse than it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decline {
    /// In words.
    pub what: String,
    /// How many looks in a row it has to be so before the change is taken back.
    pub looks: u32,
}

impl Decline {
    const fn of(what: String) -> Self {
        Self { what, looks: WORSE_LOOKS }
    }
}

/// What was normal before a change: what there was, and how often mounts were cut
/// and refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normal {
    last: Vitals,
    cuts_per_s: f64,
    denials_per_s: f64,
}

impl Normal {
    /// Between an early look and the one before the change.
    pub fn between(first: Vitals, last: Vitals) -> Self {
        Self {
            last,
            cuts_per_s: last.per_s(first, |it| it.cuts),
            denials_per_s: last.per_s(first, |it| it.denials),
        }
    }

    /// The change takes so many sources away: that they are not up is no harm.
    pub const fn with_fewer_sources(mut self, fewer: u64) -> Self {
        self.last.sources_up = self.last.sources_up.saturating_sub(fewer);
        self
    }

    /// In what the process is worse now than before the change, if it is: `before`
    /// and `now` are two looks since it.
    pub fn worse(&self, before: Vitals, now: Vitals) -> Option<Decline> {
        let (up, then) = (now.sources_up, self.last.sources_up);
        if up < then {
            let what = format!("{up} sources are up, {then} before");
            return Some(Decline { what, looks: SOURCES_LOOKS });
        }
        let fewer = [
            ("services are there", self.last.services, now.services),
            ("hubs are heard", self.last.hubs, now.hubs),
        ];
        for (what, then, now) in fewer {
            if now < then {
                return Some(Decline::of(format!("{now} {what}, {then} before")));
            }
        }
        let mounts = self.last.mounts;
        let gone = mounts.saturating_sub(now.mounts);
        if gone > FEW_MOUNTS.max(mounts * MOUNTS_PERCENT / 100) {
            return Some(Decline::of(format!("{} mounts are there, {mounts} before", now.mounts)));
        }
        let more = [
            ("mounts are cut", self.cuts_per_s, now.per_s(before, |it| it.cuts)),
            ("are refused", self.denials_per_s, now.per_s(before, |it| it.denials)),
        ];
        for (what, then, now) in more {
            if now > FEW_PER_S + 2.0 * then {
                return Some(Decline::of(format!("{now:.1} {what} in a second, {then:.1} before")));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vitals(second: u64) -> Vitals {
        Vitals {
            at: Time::from_nanos(second * 1_000_000_000),
            sources_up: 4,
            services: 10,
            hubs: 2,
            mounts: 100,
            cuts: 2 * second,
            denials: 0,
            ..Vitals::NONE
        }
    }

    #[test]
    fn what_goes_on_as_before_is_not_worse() {
        let normal = Normal::between(vitals(0), vitals(10));
        assert_eq!(normal.worse(vitals(10), vitals(11)), None);
        let few_left = Vitals { mounts: 90, ..vitals(11) };
        assert_eq!(normal.worse(vitals(10), few_left), None);
        let more_cuts = Vitals { cuts: 25, ..vitals(11) };
        assert_eq!(normal.worse(vitals(10), more_cuts), None);
    }

    #[test]
    fn what_is_lost_and_what_is_refused_is_named() {
        let normal = Normal::between(vitals(0), vitals(10));
        let worse = |change: fn(&mut Vitals)| {
            let mut now = vitals(11);
            change(&mut now);
            normal.worse(vitals(10), now).map_or_else(String::new, |it| it.what)
        };
        let no_source = Vitals { sources_up: 3, hubs: 0, ..vitals(11) };
        let no_hub = Vitals { hubs: 0, ..vitals(11) };
        let looks = [no_source, no_hub].map(|now| normal.worse(vitals(10), now).map(|it| it.looks));
        assert_eq!(looks, [Some(SOURCES_LOOKS), Some(WORSE_LOOKS)]);
        assert_eq!(worse(|it| it.sources_up = 3), "3 sources are up, 4 before");
        let three = Vitals { sources_up: 3, ..vitals(11) };
        assert_eq!(normal.with_fewer_sources(1).worse(vitals(10), three), None);
        assert_eq!(worse(|it| it.services = 0), "0 services are there, 10 before");
        assert_eq!(worse(|it| it.hubs = 1), "1 hubs are heard, 2 before");
        assert_eq!(worse(|it| it.mounts = 89), "89 mounts are there, 100 before");
        assert_eq!(worse(|it| it.cuts = 26), "6.0 mounts are cut in a second, 2.0 before");
        assert_eq!(worse(|it| it.denials = 2), "2.0 are refused in a second, 0.0 before");
    }
}
