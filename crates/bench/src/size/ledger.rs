//! Hub and server on the calling thread, with what their turns took.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tapeline_backbone::Role;
use tapeline_measure::clock::now_ns;
use tapeline_measure::stop;
use tapeline_node::{Agent, Node};

use super::others::{Others, Want};
use crate::clients::Clients;
use crate::plan::Plan;
use crate::publisher::Publisher;
use crate::setup::Setup;
use crate::subject::node;
use crate::{BenchError, Options};

/// Updates that are sent at once: what a busy turn has.
const BATCH: u64 = 64;

/// Nanoseconds on a processor, by who spent them. Turns with nothing to do are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SpentNs {
    pub(super) hub: f64,
    pub(super) backbone: f64,
    pub(super) server: f64,
}

impl SpentNs {
    /// Since `before`, for each of so many.
    fn each_since(self, before: Self, count: u64) -> Self {
        let each = |now: f64, before: f64| (now - before) / count.max(1) as f64;
        Self {
            hub: each(self.hub, before.hub),
            backbone: each(self.backbone, before.backbone),
            server: each(self.server, before.server),
        }
    }
}

/// A system of one thread: source, hub, server, clients.
pub(super) struct Ledger {
    publisher: Publisher,
    clients: Clients,
    others: Others,
    node: Node,
    spent: SpentNs,
    watchers: Vec<u32>,
    patience: Duration,
}

impl Ledger {
    /// With these clients, once they have their images.
    pub(super) fn open(plan: &Plan, options: &Options) -> Result<Self, BenchError> {
        let (publisher, address) = Publisher::listen(plan)?;
        let setup = Setup { stamps: false, websocket: true, ..options.setup.clone() };
        let node = node::start(address, &setup)?;
        let gone = || BenchError::Ended("it does not listen".to_owned());
        let server = node::address(&node).ok_or_else(gone)?;
        let clients = Clients::connect(&[server], &plan.watchlists, plan.reading)?;
        let mut ledger = Self {
            publisher,
            clients,
            others: Others::default(),
            node,
            spent: SpentNs::default(),
            watchers: plan.watchers(),
            patience: options.patience,
        };
        ledger.until(|its| its.clients.is_ready())?;
        Ok(ledger)
    }

    /// Adds clients that open these items, and says what each of so many things that
    /// happened then took.
    pub(super) fn add(
        &mut self,
        clients: usize,
        watchlist: &[u32],
        count: usize,
    ) -> Result<SpentNs, BenchError> {
        for _ in 0..clients {
            self.clients.add(watchlist)?;
            for item in watchlist {
                self.watchers[*item as usize] += 1;
            }
        }
        let before = self.spent;
        self.until(|its| its.clients.is_ready())?;
        Ok(self.spent.each_since(before, count as u64))
    }

    /// Adds consumers that want something else of the first `items`.
    pub(super) fn add_others(
        &mut self,
        want: Want,
        consumers: usize,
        items: usize,
    ) -> Result<(), BenchError> {
        let address = match want {
            Want::Json => node::websocket_address(&self.node),
            Want::View => node::address(&self.node),
        };
        let address = address.ok_or_else(|| BenchError::Ended("it does not listen".to_owned()))?;
        for _ in 0..consumers {
            self.others.add(want, address, items)?;
        }
        self.until(|its| its.others.are_ready())
    }

    /// Sends updates, which all others get, in batches, and says what each of them took.
    pub(super) fn update(&mut self, updates: u64) -> Result<SpentNs, BenchError> {
        let before = self.spent;
        let mut left = updates;
        while left > 0 {
            let batch = left.min(BATCH);
            let mut expected = self.clients.tally().updates;
            let others = self.others.updates() + batch * self.others.count();
            for _ in 0..batch {
                let item = self.publisher.send(now_ns());
                expected += u64::from(self.watchers[item as usize]);
            }
            self.publisher.source.flush();
            self.until(|its| {
                its.clients.tally().updates >= expected && its.others.updates() >= others
            })?;
            left -= batch;
        }
        Ok(self.spent.each_since(before, updates))
    }

    fn until(&mut self, is_over: impl Fn(&Self) -> bool) -> Result<(), BenchError> {
        let began = Instant::now();
        while !is_over(self) {
            stop::check()?;
            self.publisher.source.poll();
            self.turn();
            self.clients.poll();
            self.others.poll();
            if began.elapsed() > self.patience {
                return Err(BenchError::Ended("what was to come did not".to_owned()));
            }
        }
        Ok(())
    }

    fn turn(&mut self) {
        let now = self.node.now();
        let (mut hub_ns, mut server_ns) = (0.0, 0.0);
        let from = thread_ns();
        let work = self.node.turn_by(now, |agent: &mut dyn Agent| {
            let from = thread_ns();
            let work = agent.duty_cycle(now);
            let its = match agent.role() {
                Role::Hub => &mut hub_ns,
                Role::Server => &mut server_ns,
            };
            *its += thread_ns() - from;
            work
        });
        let all_ns = thread_ns() - from;
        if work > 0 {
            self.spent.hub += hub_ns;
            self.spent.server += server_ns;
            self.spent.backbone += (all_ns - hub_ns - server_ns).max(0.0);
        }
    }
}

/// How long this thread was on a processor: what else runs there does not count.
fn thread_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::Reading;

    #[test]
    fn what_is_done_is_paid_for_by_who_does_it() {
        let options = Options::default();
        let mut plan = Plan::alike(2, 20, Reading::InPlace);
        plan.watchlists.truncate(1);
        let mut ledger = Ledger::open(&plan, &options).unwrap();
        let opened = ledger.add(1, &plan.watchlists[0].clone(), 20).unwrap();
        assert!(opened.server > 0.0, "{opened:?}");
        let updated = ledger.update(200).unwrap();
        assert!(updated.hub > 0.0 && updated.server > 0.0, "{updated:?}");
        assert_eq!(ledger.clients.tally().updates, 2 * 200);
        for (want, heard) in [(Want::Json, 2 * 100), (Want::View, 2 * 100 + 3 * 100)] {
            ledger.add_others(want, if want == Want::Json { 2 } else { 1 }, 20).unwrap();
            ledger.update(100).unwrap();
            assert_eq!(ledger.others.updates(), heard, "{want:?}");
        }
    }
}
