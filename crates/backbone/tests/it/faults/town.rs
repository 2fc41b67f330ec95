//! A simulated network with members that remember what they heard.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_backbone::sim::{Network, SimPort};
use tapeline_backbone::{Bus, BusEvent, Incarnation, Kind, PortSettings, Role};
use tapeline_time::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Up(Incarnation),
    Down(Incarnation),
    Gap(Incarnation),
    Item(Incarnation, u32),
    Open(Incarnation, u32),
}

impl From<BusEvent<'_>> for Heard {
    fn from(event: BusEvent<'_>) -> Self {
        match event {
            BusEvent::PeerUp { peer, .. } => Self::Up(peer),
            BusEvent::PeerDown { peer } => Self::Down(peer),
            BusEvent::Gap { peer, .. } => Self::Gap(peer),
            BusEvent::Frame { header, .. } => match header.kind {
                Kind::Open => Self::Open(header.sender, header.item),
                _ => Self::Item(header.sender, header.item),
            },
        }
    }
}

pub(crate) struct Town {
    pub(crate) network: Network,
    now: Time,
    members: BTreeMap<Incarnation, Member>,
}

struct Member {
    port: SimPort,
    heard: Vec<Heard>,
    up: Vec<Incarnation>,
}

impl Town {
    pub(crate) fn new(seed: u64) -> Self {
        let network = Network::new(seed);
        Self { network, now: Time::ZERO, members: BTreeMap::new() }
    }

    pub(crate) fn join(&mut self, role: Role, incarnation: Incarnation) {
        self.join_with(PortSettings { incarnation, ..PortSettings::new(role, "somebody") });
    }

    pub(crate) fn join_with(&mut self, settings: PortSettings) {
        let incarnation = settings.incarnation;
        let port = self.network.port(settings);
        self.members.insert(incarnation, Member { port, heard: Vec::new(), up: Vec::new() });
    }

    pub(crate) fn kill(&mut self, who: Incarnation) {
        self.members.remove(&who);
    }

    pub(crate) fn port(&mut self, who: Incarnation) -> &mut SimPort {
        &mut self.members.get_mut(&who).unwrap().port
    }

    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// What a member heard since the last time.
    pub(crate) fn take(&mut self, who: Incarnation) -> Vec<Heard> {
        std::mem::take(&mut self.members.get_mut(&who).unwrap().heard)
    }

    pub(crate) fn is_up(&self, at: Incarnation, peer: Incarnation) -> bool {
        self.members[&at].up.contains(&peer)
    }

    /// Turns everyone every millisecond for a while.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.turns(time, None, |_| false);
    }

    /// The same until something is so, which must be before the time is over.
    pub(crate) fn pass_until(&mut self, time: Duration, until: impl Fn(&Self) -> bool) {
        assert!(self.turns(time, None, until), "it did not happen");
    }

    /// The same while one of them stands still.
    pub(crate) fn pass_without(&mut self, still: Incarnation, time: Duration) {
        self.turns(time, Some(still), |_| false);
    }

    fn turns(
        &mut self,
        time: Duration,
        still: Option<Incarnation>,
        until: impl Fn(&Self) -> bool,
    ) -> bool {
        let end = self.now.after(time);
        while self.now < end {
            self.now = self.now.after(Duration::from_millis(1));
            for (_, member) in self.members.iter_mut().filter(|&(&who, _)| Some(who) != still) {
                member.turn(self.now);
            }
            if until(self) {
                return true;
            }
        }
        false
    }
}

impl Member {
    fn turn(&mut self, now: Time) {
        let Self { port, heard, up } = self;
        port.poll(now, 1000, |event, _| {
            match event {
                BusEvent::PeerUp { peer, .. } => up.push(peer),
                BusEvent::PeerDown { peer } => up.retain(|&other| other != peer),
                _ => {}
            }
            heard.push(event.into());
        });
        port.work(now);
    }
}
