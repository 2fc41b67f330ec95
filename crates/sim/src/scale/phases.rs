//! What happens, one thing after the other, and what each of them cost.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tapeline_backbone::Role;

use super::gauges::Gauges;
use super::row::{Effort, Row};
use super::town::{Spent, Town};
use super::wire::{Heard, Sent};
use super::{Asked, Traffic};

/// How many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Servers behind the hub.
    pub servers: usize,
    /// Items, each of one server, and interests in items that all have.
    pub items: u32,
    /// Changes of items a second, where they change.
    pub changes_per_s: u32,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// All start at once: until each consumer has the directory.
    Start,
    /// Nothing happens, for ten seconds.
    Quiet,
    /// The consumers of each server open a share of the items.
    Share,
    /// The hub restarts while each item is open at one server.
    RestartShare,
    /// All is closed.
    Close,
    /// The consumers of all servers open the same items: the shares are as large.
    Together,
    /// Another server comes, whose consumers open these too.
    Late,
    /// Items change, for a second.
    Updates,
    /// Items change, and for 300 ms nothing of the hub reaches one server.
    LossAtOne,
    /// The same at all servers.
    LossAtAll,
    /// For 3 s one server and the hub do not hear each other.
    CutOfOne,
    /// The hub restarts while each item is open at all servers.
    RestartTogether,
}

impl Phase {
    /// All of them, in their order.
    pub(super) const ALL: [Self; 12] = [
        Self::Start,
        Self::Quiet,
        Self::Share,
        Self::RestartShare,
        Self::Close,
        Self::Together,
        Self::Late,
        Self::Updates,
        Self::LossAtOne,
        Self::LossAtAll,
        Self::CutOfOne,
        Self::RestartTogether,
    ];
}

impl FromStr for Phase {
    /// That there is none, and which there are.
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let phase = Self::ALL.into_iter().find(|phase| phase.name() == name);
        let names = || Self::ALL.map(Self::name).join(", ");
        phase.ok_or_else(|| format!("no phase is called {name:?}; there are {}", names()))
    }
}

impl Phase {
    /// What it is called on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Quiet => "quiet",
            Self::Share => "share",
            Self::RestartShare => "restart-share",
            Self::Close => "close",
            Self::Together => "together",
            Self::Late => "late",
            Self::Updates => "updates",
            Self::LossAtOne => "loss-at-one",
            Self::LossAtAll => "loss-at-all",
            Self::CutOfOne => "cut-of-one",
            Self::RestartTogether => "restart-together",
        }
    }

    /// What it is called over a table.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Start => "All start",
            Self::Quiet => "Quiet",
            Self::Share => "Each server opens its share",
            Self::RestartShare => "The hub restarts, each item is open at one server",
            Self::Close => "All is closed",
            Self::Together => "All servers open the same items",
            Self::Late => "A server comes late",
            Self::Updates => "Updates",
            Self::LossAtOne => "Frames are lost at one server",
            Self::LossAtAll => "Frames are lost at all servers",
            Self::CutOfOne => "One server is cut off",
            Self::RestartTogether => "The hub restarts, each item is open at all servers",
        }
    }

    /// What happens in it.
    pub(super) const fn story(self) -> &'static str {
        match self {
            Self::Start => {
                "Hub, servers and consumers start at once: until the last consumer has the \
                 directory, which has one service."
            }
            Self::Quiet => "Nothing is open and nothing happens, for 10 s: presence alone.",
            Self::Share => {
                "So many items, each of one server: until the last consumer has its last image."
            }
            Self::RestartShare => {
                "The hub is gone without a word, and another one is there at once: until all is \
                 OK again. Half a second of it passes until the first hub is missed. The memory \
                 is that of the hub that ended."
            }
            Self::Close => "The consumers close all that they have open.",
            Self::Together => {
                "The items are those of one share, so that as many requests come as before: \
                 each server makes one for each of them."
            }
            Self::Late => "One server more, whose consumers open the same items.",
            Self::Updates => "Items change for a second, each in its turn.",
            Self::LossAtOne => {
                "For 0.3 s nothing of the hub reaches the first server, while items change: \
                 until it has all that it missed."
            }
            Self::LossAtAll => "The same at all servers at once.",
            Self::CutOfOne => {
                "For 3 s the first server and the hub do not hear each other, while items \
                 change: each gives the other up, and the server asks for all that it has."
            }
            Self::RestartTogether => {
                "As before, with each item open at all servers. The memory is that of the hub that \
                 ended, and of the first server at the end."
            }
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Start => "start",
            Self::Quiet => "quiet, 10 s",
            Self::Share => "open, each its share",
            Self::RestartShare => "hub restarts, shares",
            Self::Close => "close",
            Self::Together => "open, all the same",
            Self::Late => "a server comes late",
            Self::Updates => "updates, 1 s",
            Self::LossAtOne => "loss at one, 0.3 s",
            Self::LossAtAll => "loss at all, 0.3 s",
            Self::CutOfOne => "cut of one, 3 s",
            Self::RestartTogether => "hub restarts, the same",
        })
    }
}

const QUIET: Duration = Duration::from_secs(10);
const OF_UPDATES: Duration = Duration::from_secs(1);
const OF_LOSS: Duration = Duration::from_millis(300);
const OF_CUT: Duration = Duration::from_secs(3);

/// A phase that takes longer does not come to its end.
const PATIENCE: Duration = Duration::from_secs(600);

/// A town, and what all of it has done so far.
struct Run {
    size: Size,
    town: Town,
    gauges: Gauges,
    rows: Vec<Row>,
    /// What the hub had that ended in this phase.
    hub_bytes: Option<u64>,
}

/// What was counted at one time.
struct Totals {
    at_ns: u64,
    of_hub: Sent,
    of_servers: Sent,
    heard: Vec<Heard>,
    heard_by_hub: Heard,
    said: Vec<u64>,
    asked: Asked,
    mounts: u64,
    suspects: u64,
}

/// Measures all phases of a system of a size, in their order.
///
/// Errors: a phase does not come to its end.
pub fn measure(size: Size, gauges: Gauges) -> Result<Vec<Row>, String> {
    measure_until(size, gauges, Phase::RestartTogether)
}

/// Measures the phases of a system of a size up to one, in their order: each begins with
/// what those before it have left.
///
/// Errors: a phase does not come to its end.
pub fn measure_until(size: Size, gauges: Gauges, last: Phase) -> Result<Vec<Row>, String> {
    let share = size.items.div_ceil(size.servers.max(1) as u32);
    let town = Town::new(size.servers, share, gauges);
    let mut run = Run { size, town, gauges, rows: Vec::new(), hub_bytes: None };
    for phase in Phase::ALL.into_iter().filter(|phase| *phase <= last) {
        run.begin(phase)?;
    }
    let server_bytes = run.town.end_server();
    if let Some(last) = run.rows.last_mut() {
        last.server_bytes = server_bytes;
    }
    Ok(run.rows)
}

impl Run {
    /// Items that all servers have open together.
    fn share(&self) -> u32 {
        self.size.items.div_ceil(self.size.servers.max(1) as u32)
    }

    fn begin(&mut self, phase: Phase) -> Result<(), String> {
        let before = self.totals();
        self.town.hub.spent = Spent::default();
        self.town.servers.iter_mut().for_each(|server| server.spent = Spent::default());
        self.hub_bytes = None;
        self.go_through(phase).map_err(|what| {
            let Size { servers, items, .. } = self.size;
            format!("{servers} servers, {items} items: {phase}: {what}")
        })?;
        let row = self.row(phase, &before);
        self.rows.push(row);
        Ok(())
    }

    fn go_through(&mut self, phase: Phase) -> Result<(), String> {
        let share = self.share();
        match phase {
            Phase::Start => {
                self.until(|town| town.mounts.iter().all(|(_, mount)| mount.is_ready()))
            }
            Phase::Quiet => self.pass(QUIET),
            Phase::Share => {
                self.each_its_share();
                self.until(Town::is_well)
            }
            Phase::RestartShare | Phase::RestartTogether => {
                self.hub_bytes = self.town.restart_hub();
                // Until its servers have noticed.
                self.until(|town| !town.is_well())?;
                self.until(Town::is_current)
            }
            Phase::Close => {
                self.town.mounts.iter_mut().for_each(|(_, mount)| mount.close_all());
                self.until(|town| town.feed.open == 0)
            }
            Phase::Together => {
                self.all_the_same(0);
                self.until(Town::is_well)
            }
            Phase::Late => {
                let before = self.town.mounts.len();
                self.town.add_server();
                self.all_the_same(before);
                self.until(Town::is_well)
            }
            Phase::Updates => {
                self.town.begin_changes(self.size.changes_per_s, share);
                self.pass(OF_UPDATES)?;
                self.settle()
            }
            Phase::LossAtOne => self.lose(1),
            Phase::LossAtAll => self.lose(usize::MAX),
            Phase::CutOfOne => {
                self.town.begin_changes(self.size.changes_per_s, share);
                self.set_cut(true);
                self.pass(OF_CUT)?;
                self.set_cut(false);
                self.settle()
            }
        }
    }

    /// The hub is not heard at so many servers for a while, in which items change.
    fn lose(&mut self, servers: usize) -> Result<(), String> {
        self.town.begin_changes(self.size.changes_per_s, self.share());
        let them: Vec<_> = self.town.servers.iter().map(|server| server.me).take(servers).collect();
        for me in &them {
            self.town.wire.set_deaf(*me, true);
        }
        self.pass(OF_LOSS)?;
        for me in &them {
            self.town.wire.set_deaf(*me, false);
        }
        self.settle()
    }

    fn set_cut(&mut self, is_cut: bool) {
        let Some(server) = self.town.servers.first() else { return };
        self.town.wire.set_deaf(server.me, is_cut);
        self.town.wire.set_mute(server.me, is_cut);
    }

    /// Nothing changes any more, and all have what the source has.
    fn settle(&mut self) -> Result<(), String> {
        self.town.changes = None;
        self.until(Town::is_current)
    }

    fn each_its_share(&mut self) {
        let per_server = self.town.mounts.len() / self.town.servers.len().max(1);
        let step = (self.town.servers.len() * per_server) as u32;
        for (number, (_, mount)) in self.town.mounts.iter_mut().enumerate() {
            mount.want(number as u32..self.size.items, step);
        }
    }

    /// Consumers from this one on open the items that all have.
    fn all_the_same(&mut self, from: usize) {
        let share = self.share();
        let per_server = self.town.mounts.len() / self.town.servers.len().max(1);
        for (number, (_, mount)) in self.town.mounts.iter_mut().enumerate().skip(from) {
            mount.want((number % per_server) as u32..share, per_server as u32);
        }
    }

    fn pass(&mut self, time: Duration) -> Result<(), String> {
        let end = self.town.now().after(time);
        self.until(|town| town.now() >= end)
    }

    fn until(&mut self, is_over: impl Fn(&Town) -> bool) -> Result<(), String> {
        let end = self.town.now().after(PATIENCE);
        while !is_over(&self.town) {
            self.town.round();
            if self.town.now() > end {
                return Err(format!("it is not over after {PATIENCE:?} of virtual time"));
            }
        }
        Ok(())
    }

    fn totals(&self) -> Totals {
        let Town { wire, servers, hub, mounts, feed, .. } = &self.town;
        Totals {
            at_ns: self.town.now().as_nanos(),
            of_hub: wire.sent(Role::Hub),
            of_servers: wire.sent(Role::Server),
            heard: servers.iter().map(|server| wire.heard(Role::Server, server.me)).collect(),
            heard_by_hub: wire.heard(Role::Hub, hub.me),
            said: servers.iter().map(|server| wire.said(server.me)).collect(),
            asked: feed.asked,
            mounts: mounts.iter().map(|(_, mount)| mount.heard).sum(),
            suspects: mounts.iter().map(|(_, mount)| mount.suspects).sum(),
        }
    }

    fn row(&self, phase: Phase, before: &Totals) -> Row {
        let after = self.totals();
        let kinds = |role: Role| {
            let (after, before) = match role {
                Role::Hub => (after.of_hub, before.of_hub),
                Role::Server => (after.of_servers, before.of_servers),
            };
            std::array::from_fn(|kind| after.by_kind[kind] - before.by_kind[kind])
        };
        let heard = |of: fn(&Heard) -> Traffic| {
            let before = before.heard.iter().map(of).chain(std::iter::repeat(Traffic::default()));
            let each = after.heard.iter().map(of).zip(before);
            each.map(|(after, before)| after.since(before)).max_by_key(|it| it.frames)
        };
        let before_said = before.said.iter().copied().chain(std::iter::repeat(0));
        let said = after.said.iter().zip(before_said).map(|(after, before)| after - before);
        let said: Vec<u64> = said.collect();
        let spent = self.town.servers.iter().map(|server| server.spent);
        let busiest = spent.clone().max_by_key(|spent| spent.time).unwrap_or_default();
        let of_servers = Effort {
            longest: spent.clone().map(|spent| spent.longest).max().unwrap_or_default(),
            long_turns: spent.map(|spent| spent.long).sum(),
            ..Effort::from(busiest)
        };
        Row {
            size: Size { servers: self.town.servers.len(), ..self.size },
            phase,
            time: Duration::from_nanos(after.at_ns - before.at_ns),
            from_hub: after.of_hub.once.since(before.of_hub.once),
            from_hub_to_each: after.of_hub.to_each.since(before.of_hub.to_each),
            from_servers: after.of_servers.once.since(before.of_servers.once),
            kinds_of_hub: kinds(Role::Hub),
            kinds_of_servers: kinds(Role::Server),
            read_at_one: heard(|heard| heard.all).unwrap_or_default(),
            read_for_one: heard(|heard| heard.own).unwrap_or_default(),
            read_at_hub: match after.heard_by_hub.all.frames >= before.heard_by_hub.all.frames {
                true => after.heard_by_hub.all.since(before.heard_by_hub.all),
                // It is another hub.
                false => after.heard_by_hub.all,
            },
            said_by_first: said.first().copied().unwrap_or_default(),
            said_by_others: said.iter().skip(1).sum(),
            asked: after.asked.since(before.asked),
            at_consumers: after.mounts - before.mounts,
            suspects: after.suspects - before.suspects,
            held: after.of_hub.held + after.of_servers.held
                - before.of_hub.held
                - before.of_servers.held,
            hub: Effort::from(self.town.hub.spent),
            server: of_servers,
            hub_bytes: self.hub_bytes,
            server_bytes: None,
            is_measured: self.gauges.thread_ns.is_some(),
        }
    }
}

impl From<Spent> for Effort {
    fn from(spent: Spent) -> Self {
        let Spent { time, longest, long } = spent;
        Self { time, longest, long_turns: long }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEMS: u32 = 2_000;

    #[test]
    fn phases_are_measured_up_to_the_one_that_is_named() {
        let size = Size { servers: 1, items: 20, changes_per_s: 10 };
        let until = "restart-share".parse().expect("there is such a phase");
        let rows = measure_until(size, Gauges::default(), until).expect("each comes to its end");
        let phases: Vec<_> = rows.iter().map(|row| row.phase.name()).collect();
        assert_eq!(phases, ["start", "quiet", "share", "restart-share"]);
        for phase in Phase::ALL {
            assert_eq!(phase.name().parse(), Ok(phase));
        }
        let unknown = "restart".parse::<Phase>().expect_err("two are called so, and more");
        assert!(unknown.contains("restart-share, close"), "{unknown}");
    }

    #[test]
    fn a_server_asks_for_what_it_lost_in_slices() {
        let mut town = Town::new(1, ITEMS, Gauges::default());
        town.mounts[0].1.want(0..ITEMS, 1);
        while town.mounts[0].1.asked() < ITEMS as usize || !town.is_well() {
            town.round();
        }
        let me = town.servers[0].me;
        town.wire.set_deaf(me, true);
        (0..ITEMS).for_each(|item| town.feed.change(item));
        (0..100).for_each(|_| town.round());
        town.wire.set_deaf(me, false);
        let (mut most, before) = (0, town.wire.said(me));
        while !town.is_current() {
            let said = town.wire.said(me);
            town.round();
            most = most.max(town.wire.said(me) - said);
        }
        let said = town.wire.said(me) - before;
        assert!(said >= u64::from(ITEMS), "it asks for each: {said}");
        // A page of 64 requests between two looks at the clock, which are 50 µs apart
        // in turns of 600 µs.
        assert!(most <= 14 * 64, "{most} in one turn");
    }
}
