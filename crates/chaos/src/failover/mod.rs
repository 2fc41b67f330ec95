//! What a consumer of a thousand moving items sees when a part dies that another one
//! stands in for: the same death a hundred times, for each part.

mod doors;
mod stage;
mod table;
mod watch;

use std::fmt;
use std::str::FromStr;

pub use doors::Doors;
pub use stage::{Plan, Stage};
pub use table::Outcome;
pub use watch::{Interruption, Watch, Watching};

/// What dies, and what stands in for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    /// Nothing: a network is cut that carries none of it. What the machine, the cut itself
    /// and the measurement do.
    Nothing,
    /// A server; its consumer connects to another one and asks it for everything.
    Reconnect,
    /// A server; another one stood by for its consumer.
    Standby,
    /// One of two hubs that keep images, with two servers and consumers at both.
    Hub,
    /// One of two sources among which items are spread.
    Source,
    /// The source that is used of two that mirror each other.
    Mirrored,
    /// One of two networks that carry the same.
    Network,
}

impl Case {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::Reconnect,
        Self::Standby,
        Self::Hub,
        Self::Source,
        Self::Mirrored,
        Self::Network,
        Self::Nothing,
    ];

    /// Its name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Reconnect => "reconnect",
            Self::Standby => "standby",
            Self::Hub => "hub",
            Self::Source => "source",
            Self::Mirrored => "mirrored",
            Self::Network => "network",
        }
    }

    /// In words.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Nothing => "nothing: a network cut that carries none of it",
            Self::Reconnect => "server killed, plain reconnect to another",
            Self::Standby => "server killed, another stood by",
            Self::Hub => "one of two hubs killed",
            Self::Source => "one of two sources killed",
            Self::Mirrored => "the source in use of two mirrored ones killed",
            Self::Network => "one of two networks cut",
        }
    }

    /// What of an interruption breaks the promise that the case is about.
    pub fn broken_by(self, seen: &Interruption, requests: u64) -> Option<String> {
        let Interruption { images, stale, closed, .. } = *seen;
        let has_no_image = matches!(self, Self::Network | Self::Nothing);
        let is_unseen = has_no_image || self == Self::Mirrored;
        let asks_nobody = is_unseen || self == Self::Standby;
        if closed > 0 {
            Some(format!("{closed} streams were closed"))
        } else if asks_nobody && requests > 0 {
            Some(format!("sources had {requests} requests"))
        } else if is_unseen && stale > 0 {
            Some(format!("{stale} items became stale"))
        } else if has_no_image && images > 0 {
            Some(format!("{images} images were sent"))
        } else {
            None
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|case| case.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no case `{name}`; give one of {names}")
        })
    }
}

/// Has it happen so often; `None`, with a line that says why, where this machine lets
/// nobody make namespaces. An error says what did not get well again.
pub fn run(
    case: Case,
    plan: &Plan,
    rounds: usize,
    mut on_round: impl FnMut(usize, &Interruption),
) -> Option<Result<Outcome, String>> {
    let mut stage = Stage::start(case, plan)?;
    let mut outcome = Outcome::new(case);
    let mut ran = stage.wait_ready();
    for round in 0..rounds {
        ran = ran.and_then(|()| {
            let (seen, requests) = stage.strike(round)?;
            on_round(round, &seen);
            outcome.add(seen, requests);
            stage.mend();
            stage.wait_ready()
        });
    }
    Some(ran.map(|()| outcome))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for case in Case::ALL {
            assert_eq!(case.to_string().parse(), Ok(case));
        }
        assert!("meteor".parse::<Case>().unwrap_err().contains("mirrored"));
    }

    #[test]
    fn what_is_promised_is_told_from_what_is_not() {
        let stale = Interruption { stale: 3, images: 3, ..Interruption::default() };
        for case in [Case::Reconnect, Case::Standby, Case::Hub, Case::Source] {
            assert_eq!(case.broken_by(&stale, 0), None, "{case}");
        }
        for case in [Case::Mirrored, Case::Network, Case::Nothing] {
            assert!(case.broken_by(&stale, 0).is_some(), "{case}");
        }
        let image = Interruption { images: 1, ..Interruption::default() };
        assert_eq!(Case::Mirrored.broken_by(&image, 0), None);
        assert!(Case::Network.broken_by(&image, 0).is_some());
        let quiet = Interruption::default();
        let asked = Case::ALL.map(|case| case.broken_by(&quiet, 1).is_some());
        assert_eq!(asked, [false, true, false, false, true, true, true]);
        let closed = Interruption { closed: 1, ..Interruption::default() };
        assert!(Case::ALL.iter().all(|case| case.broken_by(&closed, 0).is_some()));
    }
}
