//! One of two sources that mirror each other is lost: the other one goes on, and
//! nobody asks anybody or is told anything.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_api::Handle;
use tapeline_time::Time;

use crate::acts::Later;
use crate::item::Item;
use crate::model::Phase;
use crate::plan::MirrorWay;
use crate::world::World;

/// For so long it is watched.
const WATCHED: Duration = Duration::from_secs(3);

/// Before it, nothing else has been broken, said or asked for for so long.
const CALM: Duration = Duration::from_secs(8);

/// A switch that must not be felt.
#[derive(Debug)]
pub(crate) struct Switch {
    lost: usize,
    until: Time,
    /// How often the others had been asked for what they have.
    requests: BTreeMap<Item, u64>,
    /// Items of consumers that were OK, and are to stay so.
    ok: Vec<(usize, Handle)>,
}

impl World {
    /// A source is gone for a while.
    pub(crate) fn lose_mirror(&mut self, lost: usize, ms: u64) {
        let now = self.now();
        let is_calm = self.troubled_until.max(self.stirred_at).after(CALM) < now
            && self.later.values().all(|later| later.is_quiet());
        self.switch = (is_calm && self.is_mirrored_by_others(lost)).then(|| Switch {
            lost,
            until: now.after(WATCHED),
            requests: self.sources[lost]
                .served()
                .into_iter()
                .map(|(_, item)| (item, self.requests_beside(lost, item)))
                .collect(),
            ok: self
                .watchers
                .iter()
                .flat_map(|it| it.ok().map(|handle| (it.index, handle)))
                .collect(),
        });
        if self.switch.is_some() {
            self.log.note(format_args!("source {lost}: the others have all that it has"));
        }
        self.sources[lost].crash(now);
        self.later(ms, Later::StartSource(lost));
    }

    /// Something happens because of which others may be asked, and consumers told: a
    /// switch is not watched any more.
    pub(crate) fn stir(&mut self) {
        self.stirred_at = self.now();
        self.switch = None;
    }

    /// Whether each hub has from the others what it has from this one, and all of it.
    fn is_mirrored_by_others(&self, lost: usize) -> bool {
        let has = self.sources[lost].served();
        let now = self.now();
        let is_same =
            |other: &crate::source::Source| other.is_settled(now) && other.served() == has;
        let keeps_images = self.shape.mirror_way != MirrorWay::Streams;
        let has_others = self.shape.mirrored && keeps_images && self.sources.len() > 1;
        has_others && self.sources.iter().all(is_same) && !has.is_empty()
    }

    fn requests_beside(&self, lost: usize, item: Item) -> u64 {
        let others = self.sources.iter().filter(|source| source.index != lost);
        others.filter_map(|source| source.requests.get(&item)).sum()
    }

    /// What must hold while one goes on for another.
    pub(crate) fn check_switch(&mut self) {
        let Some(switch) = &self.switch else { return };
        for (item, before) in &switch.requests {
            if self.requests_beside(switch.lost, *item) > *before {
                self.violations.push(format!("{item} is asked for, and was mirrored"));
            }
        }
        for (index, handle) in &switch.ok {
            let seen = self.watchers[*index].seen.iter().find(|seen| seen.handle == *handle);
            if let Some(seen) = seen.filter(|seen| seen.phase != Phase::Ok) {
                let (item, phase) = (seen.item, seen.phase);
                self.violations
                    .push(format!("consumer {index}: {item} is {phase:?}, and mirrored"));
            }
        }
        if self.now() > switch.until {
            self.switch = None;
        }
    }
}
