//! What happens to the parties of a world.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_backbone::Incarnation;

use crate::item::Item;
use crate::model::Wish;
use crate::plan::{Action, MirrorWay, Saying};
use crate::rights::REVOKED_WITHIN;
use crate::watcher::Watcher;
use crate::world::{World, for_publishers, listeners};

/// What ends by itself, or begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Later {
    Change(Item),
    StartHub(usize),
    StartServer(usize),
    StartSource(usize),
    StartPublisher(usize),
    Join(Incarnation, Incarnation),
    Unstick(Incarnation),
    Mend(Incarnation),
    Heal(SocketAddr),
    ServiceUp(usize, usize),
    Unsay(usize, usize, usize, Saying),
    Unmute(usize),
    Restore(usize, usize),
    Publish(usize, Item),
    /// A consumer takes its data from its server again.
    Active(usize),
    /// Nothing new comes any more of what a consumer lost the right to.
    Blind(usize, u64),
}

impl Later {
    /// Whether nobody asks for items or is told of them for it.
    pub(crate) const fn is_quiet(self) -> bool {
        matches!(self, Self::Change(_) | Self::Blind(..))
    }
}

impl World {
    pub(crate) fn later(&mut self, wait_ms: u64, what: Later) {
        self.serial += 1;
        let moment = self.now().after(Duration::from_millis(wait_ms));
        self.later.insert((moment, self.serial), what);
    }

    pub(crate) fn begin(&mut self, what: Later) {
        if !matches!(what, Later::Change(_)) {
            self.log.note(format_args!("{what:?}"));
        }
        if !what.is_quiet() {
            self.stir();
        }
        let (now, seed) = (self.now(), self.random.next());
        match what {
            Later::Change(item) => self.change(item),
            Later::StartHub(_)
            | Later::StartServer(_)
            | Later::StartSource(_)
            | Later::StartPublisher(_) => self.start(what, seed),
            Later::Join(one, other) => self.backbone.join(one, other),
            Later::Unstick(member) => self.backbone.set_stuck(member, false),
            Later::Mend(member) => self.backbone.mend_port(member),
            Later::Heal(address) => self.network.heal(address),
            Later::ServiceUp(source, service) => {
                self.sources[source].set_service(service, true, true);
            }
            Later::Unsay(source, service, group, saying) => {
                self.sources[source].unsay(service, group, saying);
            }
            Later::Unmute(source) => self.sources[source].set_mute(now, false, &self.truth),
            Later::Restore(source, service) => self.sources[source].withdraw(service, false),
            Later::Active(consumer) => {
                self.with(consumer, |watcher, log| watcher.set_role(false, log));
            }
            Later::Blind(consumer, epoch) => {
                let items = (0..self.shape.all_items()).map(|number| self.shape.item(number));
                self.watchers[consumer].sight.settle(epoch, items, &self.truth);
            }
            Later::Publish(publisher, item) => {
                self.publishers[publisher].publish(now, item, &self.truth);
            }
        }
    }

    /// Somebody is there again, unless it is already.
    fn start(&mut self, what: Later, seed: u64) {
        let now = self.now();
        let nets = (&self.network, &self.backbone);
        match what {
            Later::StartHub(index) if self.hubs[index].present().is_none() => {
                self.hubs[index].crash(now);
                self.hubs[index].up_since = now;
                let sources: Vec<_> = self.sources.iter().map(|source| source.at).collect();
                let addresses = (&sources[..], for_publishers(index));
                self.hubs[index].start(&self.shape, addresses, nets, seed);
            }
            Later::StartServer(index) if self.servers[index].present().is_none() => {
                self.servers[index].crash(now);
                self.servers[index].up_since = now;
                let edge = self.policies.edge();
                self.servers[index].start(&self.shape, (listeners(index), edge), nets, seed);
            }
            Later::StartSource(index) if !self.sources[index].is_up() => {
                self.sources[index].start(&self.network, seed);
            }
            Later::StartPublisher(index) if !self.publishers[index].is_up() => {
                self.publishers[index].start(now, &self.network, seed, &self.truth);
            }
            _ => {}
        }
    }

    fn change(&mut self, item: Item) {
        let now = self.now();
        let seq = self.truth.change(item);
        for source in &mut self.sources {
            source.change(now, item, seq);
        }
        for publisher in &mut self.publishers {
            publisher.change(item, seq);
        }
        self.strangers.change(item);
    }

    pub(crate) fn act(&mut self, action: Action) {
        self.log.now = self.now();
        self.log.note(format_args!("{action:?}"));
        let is_quiet = match action {
            Action::Update { .. } | Action::UpdateAll => true,
            // Where streams alone are kept, images are asked for.
            Action::LoseMirror { .. } => self.shape.mirror_way != MirrorWay::Streams,
            _ => false,
        };
        if !is_quiet {
            self.stir();
        }
        match action {
            Action::Update { item, count, apart_ms } => {
                let item = self.shape.item(item);
                for number in 0..count {
                    self.later(number as u64 * apart_ms, Later::Change(item));
                }
            }
            Action::UpdateAll => {
                for number in 0..self.shape.all_items() {
                    self.change(self.shape.item(number));
                }
            }
            Action::Unasked { .. }
            | Action::EndItem { .. }
            | Action::EndForGood { .. }
            | Action::Group { .. }
            | Action::ServiceDown { .. }
            | Action::Refuse { .. }
            | Action::Load { .. }
            | Action::Burden { .. }
            | Action::Mute { .. }
            | Action::Withdraw { .. }
            | Action::Republish { .. } => self.speak(action),
            action => self.deed(action),
        }
    }

    /// What consumers do.
    fn deed(&mut self, action: Action) {
        match action {
            Action::Open { consumer, item, view, paused } => {
                self.open(consumer, item, Wish { view, paused, ..Wish::default() });
            }
            Action::Snapshot { consumer, item } => {
                self.open(consumer, item, Wish { snapshot: true, ..Wish::default() });
            }
            Action::Private { consumer, item } => {
                self.open(consumer, item, Wish { private: true, ..Wish::default() });
            }
            Action::Close { consumer, open } => {
                self.with(consumer, |watcher, log| watcher.close(open, log));
            }
            Action::CloseAll { consumer } => self.with(consumer, Watcher::close_all),
            Action::Pause { consumer, open } => {
                self.with(consumer, |watcher, log| watcher.pause(open, true, log));
            }
            Action::Resume { consumer, open } => {
                self.with(consumer, |watcher, log| watcher.pause(open, false, log));
            }
            Action::Change { consumer, open, view } => {
                self.with(consumer, |watcher, log| watcher.change(open, view, log));
            }
            Action::Batch { consumer, service } => {
                let items = self.shape.items_of(service % self.shape.all_services());
                self.with(consumer, |watcher, log| watcher.open_batch(items, log));
            }
            Action::Rank { consumer, open, class } => {
                self.with(consumer, |watcher, log| watcher.rank(open, class, log));
            }
            Action::Post { consumer, open } => {
                self.with(consumer, |watcher, log| watcher.post(open, log));
            }
            Action::PostAside { consumer, item } => {
                let item = self.shape.item(item);
                self.with(consumer, |watcher, log| watcher.post_aside(item, log));
            }
            Action::Generic { consumer, open } => {
                self.generics += 1;
                let number = self.generics;
                self.with(consumer, |watcher, log| watcher.send_generic(open, number, log));
            }
            Action::StandBy { consumer, ms } => {
                self.with(consumer, |watcher, log| watcher.set_role(true, log));
                self.later(ms, Later::Active(consumer));
            }
            Action::Rights { consumer, codes } => {
                self.set_rights(consumer % self.watchers.len(), codes);
            }
            Action::CrashConsumer { consumer } => {
                let seed = self.random.next();
                let index = consumer % self.watchers.len();
                self.watchers[index].restart(self.network.now(), &self.network, seed);
            }
            fault => self.fault(fault),
        }
    }

    /// What a consumer may see is something else from now on.
    pub(crate) fn set_rights(&mut self, consumer: usize, codes: u8) {
        if self.policies.set(consumer, codes) {
            let now = self.now();
            let epoch = self.watchers[consumer].set_rights(now, codes);
            self.later(REVOKED_WITHIN.as_millis() as u64, Later::Blind(consumer, epoch));
        }
    }

    fn with<R>(
        &mut self,
        consumer: usize,
        act: impl FnOnce(&mut Watcher, &mut crate::log::Log) -> R,
    ) -> R {
        let index = consumer % self.watchers.len();
        act(&mut self.watchers[index], &mut self.log)
    }

    fn open(&mut self, consumer: usize, item: usize, wish: Wish) {
        let item = self.shape.item(item);
        self.with(consumer, |watcher, log| watcher.open(item, wish, log));
    }

    /// What providers say.
    fn speak(&mut self, action: Action) {
        let (now, sources) = (self.now(), self.sources.len());
        match action {
            Action::Unasked { source, item } => {
                let item = self.shape.item(item);
                match self.publishers.len() {
                    _ if item.service < self.shape.services => {
                        self.sources[source % sources].send_unasked(now, item, &self.truth);
                    }
                    0 => {}
                    count => self.publishers[source % count].send_unasked(now, item, &self.truth),
                }
            }
            Action::EndItem { source, item } => {
                let item = self.shape.item(item);
                self.sources[source % sources].end_item(item, false);
            }
            Action::EndForGood { source, item } => {
                let item = self.shape.item(item);
                self.truth.end(item);
                self.sources[source % sources].end_item(item, true);
            }
            Action::Group { source, service, group, saying, ms } => {
                let source = source % sources;
                self.sources[source].say(service, group, saying);
                self.later(ms, Later::Unsay(source, service, group, saying));
            }
            Action::ServiceDown { source, service, ms } => {
                self.sources[source % sources].set_service(service, false, false);
                self.later(ms, Later::ServiceUp(source % sources, service));
            }
            Action::Refuse { source, service, ms } => {
                self.sources[source % sources].set_service(service, true, false);
                self.later(ms, Later::ServiceUp(source % sources, service));
            }
            Action::Load { source, service, window, limit } => {
                self.sources[source % sources].set_load(service, (window, limit));
            }
            Action::Burden { source, service, percent } => {
                self.sources[source % sources].set_burden(service, percent);
            }
            Action::Mute { source, ms } => {
                if self.shape.open_window > 0 {
                    // Behind a window of few places each request waits for those
                    // before it, and each of these for as long as it may.
                    let until = now.after(Duration::from_millis(ms));
                    self.troubled_until = self.troubled_until.max(until);
                }
                self.sources[source % sources].set_mute(now, true, &self.truth);
                self.later(ms, Later::Unmute(source % sources));
            }
            Action::Withdraw { source, service, ms } => {
                self.sources[source % sources].withdraw(service, true);
                self.later(ms, Later::Restore(source % sources, service));
            }
            Action::Republish { publisher, item, ms } if !self.publishers.is_empty() => {
                let index = publisher % self.publishers.len();
                let items = (self.shape.services..self.shape.all_services())
                    .flat_map(|service| self.shape.items_of(service));
                let items: Vec<_> = items.collect();
                let item = items[item % items.len()];
                self.publishers[index].end(item);
                // A hub that stands still, or is not reached, hears of it later.
                self.ended_at.insert(item, now.max(self.troubled_until));
                self.later(ms, Later::Publish(index, item));
            }
            _ => {}
        }
    }

    /// Something is broken for a while that may keep others from being told.
    fn trouble(&mut self, action: Action) {
        if let Some(ms) = action.barrier_ms() {
            let until = self.now().after(Duration::from_millis(ms));
            self.barred_until = self.barred_until.max(until);
        }
        if let Some(ms) = action.trouble_ms() {
            let until = self.now().after(Duration::from_millis(ms));
            self.troubled_until = self.troubled_until.max(until);
        }
    }

    /// What goes wrong.
    fn fault(&mut self, action: Action) {
        self.trouble(action);
        let now = self.now();
        let (hubs, servers) = (self.hubs.len(), self.servers.len());
        let (sources, publishers) = (self.sources.len(), self.publishers.len());
        let until = |ms: u64| now.after(Duration::from_millis(ms));
        match action {
            Action::CrashHub { hub, ms } => {
                self.hubs[hub % hubs].crash(now);
                self.later(ms, Later::StartHub(hub % hubs));
            }
            Action::CrashServer { server, ms } => {
                self.servers[server % servers].crash(now);
                self.later(ms, Later::StartServer(server % servers));
            }
            Action::CrashSource { source, ms } => {
                self.sources[source % sources].crash(now);
                self.later(ms, Later::StartSource(source % sources));
            }
            Action::LoseMirror { source, ms } => self.lose_mirror(source % sources, ms),
            Action::CrashPublisher { publisher, ms } if publishers > 0 => {
                self.publishers[publisher % publishers].crash(now);
                self.later(ms, Later::StartPublisher(publisher % publishers));
            }
            Action::StopHub { hub, ms } => {
                self.hubs[hub % hubs].stop(now, until(ms.min(1000)));
                self.later(ms + 2000, Later::StartHub(hub % hubs));
            }
            Action::StopServer { server, ms } => {
                self.servers[server % servers].stop(now, until(ms.min(1000)));
                self.later(ms + 2000, Later::StartServer(server % servers));
            }
            Action::StallHub { hub, ms } => self.hubs[hub % hubs].stalled_until = until(ms),
            Action::StallServer { server, ms } => {
                self.servers[server % servers].stalled_until = until(ms);
            }
            Action::StallSource { source, ms } => {
                self.sources[source % sources].stalled_until = until(ms);
            }
            Action::StallConsumer { consumer, ms } => {
                let count = self.watchers.len();
                self.watchers[consumer % count].stalled_until = until(ms);
            }
            Action::Suspend { ms } => self.network.advance(Duration::from_millis(ms)),
            Action::ResetServer { server } => {
                for address in listeners(server % servers) {
                    self.network.reset(address);
                }
            }
            Action::ResetSource { source } => {
                _ = self.network.reset(self.sources[source % sources].at);
            }
            Action::ResetPublishers { hub } => _ = self.network.reset(for_publishers(hub % hubs)),
            Action::CutServer { server, ms } => {
                for at in listeners(server % servers) {
                    self.cut(at, ms);
                }
            }
            Action::CutSource { source, ms } => self.cut(self.sources[source % sources].at, ms),
            Action::CutPublishers { hub, ms } => self.cut(for_publishers(hub % hubs), ms),
            action => self.fault_of_backbone(action),
        }
    }

    fn cut(&mut self, address: SocketAddr, ms: u64) {
        self.network.cut(address);
        self.later(ms, Later::Heal(address));
    }

    fn fault_of_backbone(&mut self, action: Action) {
        let (hubs, servers) = (self.hubs.len(), self.servers.len());
        let hub_at = |hub: usize| self.hubs[hub % hubs].incarnation;
        let server_at = |server: usize| self.servers[server % servers].incarnation;
        let (ms, later) = match action {
            Action::Cut { hub, server, ways, ms } => {
                let (hub, server) = (hub_at(hub), server_at(server));
                if ways & 1 > 0 {
                    self.backbone.cut(hub, server);
                }
                if ways & 2 > 0 {
                    self.backbone.cut(server, hub);
                }
                (ms, Later::Join(hub, server))
            }
            Action::Lose { hub, server, per_million, ms } => {
                let (hub, server) = (hub_at(hub), server_at(server));
                self.backbone.set_loss(hub, server, per_million);
                self.backbone.set_loss(server, hub, per_million);
                (ms, Later::Join(hub, server))
            }
            Action::StickHub { hub, ms } => {
                self.backbone.set_stuck(hub_at(hub), true);
                (ms, Later::Unstick(hub_at(hub)))
            }
            Action::StickServer { server, ms } => {
                self.backbone.set_stuck(server_at(server), true);
                (ms, Later::Unstick(server_at(server)))
            }
            Action::BreakHub { hub, ms } => {
                self.backbone.break_port(hub_at(hub));
                (ms, Later::Mend(hub_at(hub)))
            }
            Action::BreakServer { server, ms } => {
                self.backbone.break_port(server_at(server));
                (ms, Later::Mend(server_at(server)))
            }
            Action::Junk { bytes } => {
                let junk: Vec<u8> = (0..bytes).map(|_| self.random.next() as u8).collect();
                self.backbone.send_to_all(&junk);
                return;
            }
            _ => return,
        };
        self.later(ms, later);
    }
}
