//! What breaks, and how it is mended.

use std::fmt;
use std::time::Duration;

use crate::relay::Weather;
use crate::site::{EACH, Room, Site};

/// What is broken for a while. What it is done to, of several, is drawn anew
/// each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "`about` says what each is")]
pub enum Fault {
    SourceKilled,
    SourcesKilled,
    SourceStopped,
    HubKilled,
    HubsKilled,
    HubStopped,
    ServerKilled,
    ServersKilled,
    ServerStopped,
    ConsumerStopped,
    BackboneCut,
    DatagramsLost,
    DatagramsTwice,
    DatagramsLate,
    SegmentsLost,
    ClockForward,
    ClockBack,
    DiskFull,
    MemoryFull,
    NoDescriptors,
}

/// What a fault is, and what is to be expected of it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name, as on the command line.
    pub name: &'static str,
    /// In words.
    pub what: &'static str,
    /// For how long it stays, in milliseconds, unless all is well again before.
    pub for_ms: u64,
    /// Whether another one takes over, so that all can be well before it is
    /// mended.
    pub has_stand_in: bool,
}

impl Fault {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 20] = [
        Self::SourceKilled,
        Self::SourcesKilled,
        Self::SourceStopped,
        Self::HubKilled,
        Self::HubsKilled,
        Self::HubStopped,
        Self::ServerKilled,
        Self::ServersKilled,
        Self::ServerStopped,
        Self::ConsumerStopped,
        Self::BackboneCut,
        Self::DatagramsLost,
        Self::DatagramsTwice,
        Self::DatagramsLate,
        Self::SegmentsLost,
        Self::ClockForward,
        Self::ClockBack,
        Self::DiskFull,
        Self::MemoryFull,
        Self::NoDescriptors,
    ];

    /// What it is.
    pub const fn about(self) -> About {
        let (name, what, for_ms, has_stand_in) = match self {
            Self::SourceKilled => ("source-killed", "one of two sources killed", 8_000, true),
            Self::SourcesKilled => ("sources-killed", "both sources killed", 1_500, false),
            Self::SourceStopped => ("source-stopped", "one source stopped for 2 s", 2_000, false),
            Self::HubKilled => ("hub-killed", "one of two hubs killed", 8_000, true),
            Self::HubsKilled => ("hubs-killed", "both hubs killed", 1_500, false),
            Self::HubStopped => ("hub-stopped", "one of two hubs stopped for 3 s", 3_000, false),
            Self::ServerKilled => ("server-killed", "one of two servers killed", 8_000, true),
            Self::ServersKilled => ("servers-killed", "both servers killed", 1_500, false),
            Self::ServerStopped => ("server-stopped", "one server stopped for 3 s", 3_000, false),
            Self::ConsumerStopped => {
                ("consumer-stopped", "one consumer stopped for 3 s", 3_000, false)
            }
            Self::BackboneCut => {
                ("backbone-cut", "one server without backbone for 2 s", 2_000, false)
            }
            Self::DatagramsLost => ("datagrams-lost", "5 % of datagrams lost", 2_000, false),
            Self::DatagramsTwice => ("datagrams-twice", "20 % of datagrams twice", 2_000, false),
            Self::DatagramsLate => {
                ("datagrams-late", "20 % of datagrams late by up to 20 ms", 2_000, false)
            }
            Self::SegmentsLost => {
                ("segments-lost", "5 % of TCP segments to consumers lost", 2_000, false)
            }
            Self::ClockForward => ("clock-forward", "wall clock a day ahead", 1_000, false),
            Self::ClockBack => ("clock-back", "wall clock an hour back", 1_000, false),
            Self::DiskFull => ("disk-full", "no room for logs, and a hub killed", 2_000, false),
            Self::MemoryFull => {
                ("memory-full", "no room in shared memory, and a hub anew", 2_000, false)
            }
            Self::NoDescriptors => {
                ("no-descriptors", "a server without descriptors, the other killed", 2_000, false)
            }
        };
        About { name, what, for_ms, has_stand_in }
    }

    /// Whether it can be on this site.
    pub fn is_possible(self, site: &Site) -> bool {
        !matches!(self, Self::ClockForward | Self::ClockBack) || site.clock().is_some()
    }

    /// Breaks it.
    pub fn strike(self, site: &mut Site, victim: usize) {
        let other = (victim + 1) % EACH;
        match self {
            Self::SourceKilled => site.kill_source(victim),
            Self::SourcesKilled => (0..EACH).for_each(|number| site.kill_source(number)),
            Self::SourceStopped => site.source(victim).freeze(),
            Self::HubKilled => site.kill_hub(victim),
            Self::HubsKilled => (0..EACH).for_each(|number| site.kill_hub(number)),
            Self::HubStopped => site.hub(victim).program().freeze(),
            Self::ServerKilled => site.kill_server(victim),
            Self::ServersKilled => (0..EACH).for_each(|number| site.kill_server(number)),
            Self::ServerStopped => site.server(victim).program().freeze(),
            Self::ConsumerStopped => site.consumers()[victim].freeze(),
            Self::BackboneCut => site.server_host(victim).lose_datagrams(),
            Self::DatagramsLost => site.relay().set(Weather { lost: 50, ..Weather::CLEAR }),
            Self::DatagramsTwice => site.relay().set(Weather { twice: 200, ..Weather::CLEAR }),
            Self::DatagramsLate => {
                site.relay().set(Weather { late: 200, late_ms: 20, ..Weather::CLEAR });
            }
            Self::SegmentsLost => site.consumers_host().lose_segments(5),
            Self::ClockForward => step(site, "+1d"),
            Self::ClockBack => step(site, "-1h"),
            Self::DiskFull => {
                site.programs().for_each(|running| running.fill(Room::Disk));
                site.kill_hub(victim);
            }
            Self::MemoryFull => {
                (0..EACH).for_each(|number| site.server(number).fill(Room::Memory));
                site.kill_hub(victim);
                site.start_hub(victim);
            }
            Self::NoDescriptors => {
                let program = site.server(other).program();
                program.limit_descriptors(Some(program.descriptors() as u64));
                site.kill_server(victim);
            }
        }
    }

    /// Mends it.
    pub fn mend(self, site: &mut Site, victim: usize) {
        let other = (victim + 1) % EACH;
        match self {
            Self::SourceKilled => site.start_source(victim),
            Self::SourcesKilled => (0..EACH).for_each(|number| site.start_source(number)),
            Self::SourceStopped => site.source(victim).resume(),
            Self::HubKilled => site.start_hub(victim),
            Self::HubsKilled => (0..EACH).for_each(|number| site.start_hub(number)),
            Self::HubStopped => site.hub(victim).program().resume(),
            Self::ServerKilled => site.start_server(victim),
            Self::ServersKilled => (0..EACH).for_each(|number| site.start_server(number)),
            Self::ServerStopped => site.server(victim).program().resume(),
            Self::ConsumerStopped => site.consumers()[victim].resume(),
            Self::BackboneCut => site.server_host(victim).lose_nothing(),
            Self::DatagramsLost | Self::DatagramsTwice | Self::DatagramsLate => {
                site.relay().set(Weather::CLEAR);
            }
            Self::SegmentsLost => site.consumers_host().lose_nothing(),
            Self::ClockForward | Self::ClockBack => step(site, "+0"),
            Self::DiskFull => {
                site.programs().for_each(|running| running.free(Room::Disk));
                site.start_hub(victim);
            }
            Self::MemoryFull => {
                (0..EACH).for_each(|number| site.server(number).free(Room::Memory));
            }
            Self::NoDescriptors => {
                site.server(other).program().limit_descriptors(None);
                site.start_server(victim);
            }
        }
    }

    /// For how long it stays.
    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.about().for_ms)
    }
}

fn step(site: &Site, offset: &str) {
    site.clock().expect("a clock that can be set").step_to(offset);
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.about().name)
    }
}

impl std::str::FromStr for Fault {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|fault| fault.about().name == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(|fault| fault.about().name).join(", ");
            format!("there is no fault `{name}`; give one of {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for fault in Fault::ALL {
            assert_eq!(fault.to_string().parse(), Ok(fault));
        }
        assert!("meteor".parse::<Fault>().unwrap_err().contains("hub-killed"));
    }
}
