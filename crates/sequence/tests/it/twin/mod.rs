//! A world of replicas from one seed: the cores that processes run, with everything
//! around them simulated, and what may never happen checked at each step.

mod gateway;
mod host;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::Duration;

use tapeline_sequence::{CommitMode, Entry, ReplicaConfig, ReplicaMessage};
use tapeline_time::Time;

use gateway::Gateway;
use host::Host;

/// How often clocks are looked at.
const TICK: Duration = Duration::from_micros(500);

/// The election time-out, and as long as a message may be on its way.
const ALONE: Duration = Duration::from_millis(600);

/// How long everything may take once nothing breaks any more.
const PEACE: Duration = Duration::from_secs(5);

/// What a world is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) members: u8,
    pub(crate) mode: CommitMode,
    pub(crate) unrest: Duration,
}

/// Draws from a seed (splitmix64).
#[derive(Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.0;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (drawn ^ (drawn >> 31)) % end.max(1)
    }

    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// What will happen.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Message { to: usize, life: u32, bytes: Vec<u8> },
    Synced { host: usize, life: u32, cuts: u32, index: u64 },
    Told { gateway: usize, number: u64, by: (usize, u32) },
    Strike,
}

/// What happened in a world.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Story {
    pub(crate) entries: usize,
    pub(crate) acknowledged: usize,
    pub(crate) leaders: usize,
    pub(crate) kills: usize,
    pub(crate) cuts: u32,
}

pub(crate) struct World {
    setting: Setting,
    now: Time,
    draws: Draws,
    order: u64,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    hosts: Vec<Host>,
    gateways: Vec<Gateway>,
    /// Links that let nothing through, from and to.
    blocked: BTreeSet<(usize, usize)>,
    /// Who hears from nobody, and since when.
    alone: BTreeMap<usize, Time>,
    /// One of so many messages is lost; none with 0.
    loss: u64,
    slow: BTreeSet<usize>,
    /// What is committed, by whoever said so first.
    history: Vec<Vec<u8>>,
    leaders: BTreeMap<u32, usize>,
    kills: usize,
}

/// Lives a world through. The error says what was wrong in it.
pub(crate) fn live(setting: Setting, seed: u64) -> Result<Story, String> {
    let mut world = World::new(setting, seed);
    world.run(setting.unrest, true).map_err(|what| format!("seed {seed}: {what}"))?;
    world.heal();
    world.run(PEACE, false).map_err(|what| format!("seed {seed}, in peace: {what}"))?;
    world.account().map_err(|what| format!("seed {seed}: {what}"))
}

impl World {
    fn new(setting: Setting, seed: u64) -> Self {
        let config = |own| ReplicaConfig {
            own: tapeline_sequence::Member(own),
            members: setting.members,
            mode: setting.mode,
            heartbeat: Duration::from_millis(20),
            election: Duration::from_millis(100),
            slice_bytes: 2 << 10,
            seed,
        };
        let mut world = Self {
            setting,
            now: Time::ZERO,
            draws: Draws(seed),
            order: 0,
            events: BinaryHeap::new(),
            hosts: (0..setting.members).map(|own| Host::new(config(own))).collect(),
            gateways: (1..=2).map(Gateway::new).collect(),
            blocked: BTreeSet::new(),
            alone: BTreeMap::new(),
            loss: 0,
            slow: BTreeSet::new(),
            history: Vec::new(),
            leaders: BTreeMap::new(),
            kills: 0,
        };
        world.after(Duration::from_millis(500), Event::Strike);
        world
    }

    fn after(&mut self, wait: Duration, event: Event) {
        self.order += 1;
        self.events.push(Reverse((self.now.after(wait), self.order, event)));
    }

    fn run(&mut self, span: Duration, breaks: bool) -> Result<(), String> {
        let end = self.now.after(span);
        while self.now < end {
            self.now = self.now.after(TICK);
            while self.events.peek().is_some_and(|Reverse((at, _, _))| *at <= self.now) {
                let Some(Reverse((_, _, event))) = self.events.pop() else { break };
                self.happen(event, breaks)?;
            }
            for host in 0..self.hosts.len() {
                self.hosts[host].timeout(self.now);
                self.settle(host)?;
            }
            self.nobody_leads_alone()?;
            for gateway in 0..self.gateways.len() {
                self.trade(gateway, breaks)?;
            }
        }
        Ok(())
    }

    /// Who hears from nobody does not think for long that it leads.
    fn nobody_leads_alone(&self) -> Result<(), String> {
        let is_long = |since: &Time| self.now.since(*since) > ALONE && self.hosts.len() > 1;
        let leads = |host: &usize| self.hosts[*host].is_elected();
        let mut alone = self.alone.iter().filter(|(_, since)| is_long(since));
        match alone.find(|(host, _)| leads(host)) {
            Some((host, _)) => Err(format!("host {host} leads and hears from nobody")),
            None => Ok(()),
        }
    }

    fn happen(&mut self, event: Event, breaks: bool) -> Result<(), String> {
        match event {
            // A link is a connection: what was on its way to one who died comes to
            // nobody. What the dead had sent still comes.
            Event::Message { to, life, .. } if self.hosts[to].life() != Some(life) => Ok(()),
            Event::Message { to, bytes, .. } => {
                let Some(message) = ReplicaMessage::read(&bytes) else {
                    return Err("a message cannot be read".to_owned());
                };
                self.hosts[to].received(self.now, &message);
                self.settle(to)
            }
            Event::Synced { host, life, cuts, index } => {
                self.hosts[host].synced(life, cuts, index);
                self.settle(host)
            }
            Event::Told { gateway, number, by: (host, life) } => {
                // What the dead were about to say nobody hears.
                if self.hosts[host].life() == Some(life) {
                    self.gateways[gateway].told(number);
                }
                Ok(())
            }
            Event::Strike => {
                if breaks {
                    self.strike();
                    let wait = Duration::from_millis(20 + self.draws.below(400));
                    self.after(wait, Event::Strike);
                }
                Ok(())
            }
        }
    }

    /// Something breaks, or works again.
    fn strike(&mut self) {
        let host = self.draws.below(self.hosts.len() as u64) as usize;
        let other = self.draws.below(self.hosts.len() as u64) as usize;
        match self.draws.below(10) {
            0 | 1 if self.may_die(host) => {
                self.kills += 1;
                let is_orderly = self.draws.one_in(8);
                self.hosts[host].end(is_orderly, &mut self.draws);
            }
            0..=2 => self.hosts[host].start(self.now),
            3 => {
                self.blocked.insert((host, other));
            }
            4 => {
                for other in 0..self.hosts.len() {
                    self.blocked.extend([(host, other), (other, host)]);
                }
                self.alone.entry(host).or_insert(self.now);
            }
            5 | 6 => {
                self.blocked.clear();
                self.alone.clear();
            }
            7 => self.loss = [0, 0, 4, 20][self.draws.below(4) as usize],
            9 if self.setting.mode == CommitMode::Disk && self.others_are_well(host) => {
                self.kills += 1;
                self.hosts[host].lose_disk(&mut self.draws);
            }
            _ => {
                if !self.slow.remove(&host) {
                    self.slow.insert(host);
                }
            }
        }
    }

    /// What memory holds outlives one death at a time.
    fn may_die(&self, host: usize) -> bool {
        self.setting.mode != CommitMode::Memory || self.others_are_well(host)
    }

    fn others_are_well(&self, host: usize) -> bool {
        let is_well = |(at, other): (usize, &Host)| at == host || other.is_sure();
        self.hosts.iter().enumerate().all(is_well)
    }

    /// Nothing is broken any more.
    fn heal(&mut self) {
        self.blocked.clear();
        self.alone.clear();
        self.slow.clear();
        self.loss = 0;
        for host in &mut self.hosts {
            host.start(self.now);
        }
    }

    /// A host's messages go out, its disk gets to work, and what it says is committed
    /// is held against what others said.
    fn settle(&mut self, host: usize) -> Result<(), String> {
        if let Some(term) = self.hosts[host].lead_if_elected(self.now)
            && let Some(before) = self.leaders.insert(term, host)
        {
            return Err(format!("{before} and {host} both lead in term {term}"));
        }
        for (to, bytes) in self.hosts[host].outgoing() {
            self.carry(host, to, bytes);
        }
        if let Some((life, cuts, index)) = self.hosts[host].begins_to_sync() {
            let most = if self.slow.contains(&host) { 400_000 } else { 3_000 };
            let wait = Duration::from_micros(200 + self.draws.below(most));
            self.after(wait, Event::Synced { host, life, cuts, index });
        }
        while let Some((index, entry)) = self.hosts[host].next_committed()? {
            match self.history.get(index as usize - 1) {
                Some(known) if *known != entry => {
                    return Err(format!(
                        "host {host} has another entry {index} than was committed"
                    ));
                }
                Some(_) => {}
                None if index as usize == self.history.len() + 1 => {
                    self.history.push(entry.clone());
                }
                None => return Err(format!("entry {index} is committed and those before are not")),
            }
            self.tell(host, &entry);
        }
        Ok(())
    }

    fn carry(&mut self, from: usize, to: usize, bytes: Vec<u8>) {
        let Some(life) = self.hosts[to].life() else { return };
        if self.blocked.contains(&(from, to)) || (self.loss > 0 && self.draws.one_in(self.loss)) {
            return;
        }
        let most = if self.draws.one_in(50) { 300_000 } else { 2_000 };
        let wait = Duration::from_micros(50 + self.draws.below(most));
        if self.draws.one_in(50) {
            let later = wait + Duration::from_micros(self.draws.below(50_000));
            self.after(later, Event::Message { to, life, bytes: bytes.clone() });
        }
        self.after(wait, Event::Message { to, life, bytes });
    }

    /// Who leads tells the gateways what is done, as it learns of it.
    fn tell(&mut self, host: usize, entry: &[u8]) {
        let Some(life) = self.hosts[host].life().filter(|_| self.hosts[host].is_leading()) else {
            return;
        };
        let Ok((entry, _)) = Entry::read(entry) else { return };
        for command in entry.commands().filter(|command| command.source.0 > 0) {
            let (gateway, number) = (usize::from(command.source.0) - 1, command.number);
            let wait = Duration::from_micros(50 + self.draws.below(2_000));
            self.after(wait, Event::Told { gateway, number, by: (host, life) });
        }
    }

    /// A gateway sends to who lets it in.
    fn trade(&mut self, at: usize, makes_more: bool) -> Result<(), String> {
        if !self.draws.one_in(4) {
            return Ok(());
        }
        let more = if makes_more { self.draws.below(3) } else { 0 };
        let host = self.draws.below(self.hosts.len() as u64) as usize;
        let gateway = &mut self.gateways[at];
        gateway.make(more);
        let host = gateway.present(&self.hosts).unwrap_or(host);
        gateway.send(&mut self.hosts[host], host);
        if self.hosts[host].sequence(self.now) { self.settle(host) } else { Ok(()) }
    }

    /// What everybody was told is what is there, once, and on every host.
    fn account(&mut self) -> Result<Story, String> {
        let mut seen = BTreeSet::new();
        for entry in &self.history {
            let (entry, _) = Entry::read(entry).map_err(|fault| fault.to_string())?;
            for command in entry.commands().filter(|command| command.source.0 > 0) {
                if !seen.insert((command.source.0, command.number)) {
                    return Err(format!("{:?} {} is done twice", command.source, command.number));
                }
            }
        }
        let mut acknowledged = 0;
        for gateway in &self.gateways {
            for number in gateway.acknowledged() {
                acknowledged += 1;
                if !seen.contains(&(gateway.source(), number)) {
                    return Err(format!("{number} of gateway {} is lost", gateway.source()));
                }
            }
            if gateway.waits() > 0 {
                return Err(format!("{} commands are not answered", gateway.waits()));
            }
        }
        for (at, host) in self.hosts.iter().enumerate() {
            if host.log() != self.history {
                let (log, all) = (host.log().len(), self.history.len());
                return Err(format!("host {at} has {log} entries of {all}, or others"));
            }
        }
        Ok(Story {
            entries: self.history.len(),
            acknowledged,
            leaders: self.leaders.len(),
            kills: self.kills,
            cuts: self.hosts.iter().map(Host::cuts).sum(),
        })
    }
}
