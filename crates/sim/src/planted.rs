//! Faults that are planted, so that it is seen that each is found.

use std::fmt;
use std::str::FromStr;

use tapeline_planted::Fault;

/// A fault of a party of the world, or of the code of the cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Planted {
    /// None.
    #[default]
    Nothing,
    /// A source forgets to send one update of 16.
    LostUpdate,
    /// It sends one of 16 twice.
    RepeatedUpdate,
    /// It sends one of 16 behind the next one.
    SwappedUpdates,
    /// It sends one of 16 with a value that the item never had.
    FalseValue,
    /// One image of 4 is that of the item three changes ago.
    OldImage,
    /// One image of 4 does not reach the consumer.
    LostImage,
    /// Consumers are told nothing of a close in one case of 4.
    DeafClose,
    /// Consumers know one of their servers alone.
    LoneServer,
    /// Sources never answer a request for the first item of a service.
    Silence,
    /// A bug of the code, which only builds with the feature `planted` have.
    Code(Fault),
}

impl Planted {
    /// Those of parties of the world.
    pub const OF_PARTIES: [Self; 9] = [
        Self::LostUpdate,
        Self::RepeatedUpdate,
        Self::SwappedUpdates,
        Self::FalseValue,
        Self::OldImage,
        Self::LostImage,
        Self::DeafClose,
        Self::LoneServer,
        Self::Silence,
    ];

    /// All that this build can have.
    pub fn all() -> impl Iterator<Item = Self> {
        let in_code = Fault::ALL.iter().filter(|_| tapeline_planted::IS_BUILT);
        Self::OF_PARTIES.into_iter().chain(in_code.map(|fault| Self::Code(*fault)))
    }

    /// What is wrong.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::LostUpdate => " a source forgets to send one update of 16",
            Self::RepeatedUpdate => " a source sends one update of 16 twice",
            Self::SwappedUpdates => " a source sends one update of 16 behind the next one",
            Self::FalseValue => " a source sends a value that the item never had",
            Self::OldImage => " one image of 4 is that of three changes ago",
            Self::LostImage => " one image of 4 does not reach the consumer",
            Self::DeafClose => " one close of 4 is not said",
            Self::LoneServer => " consumers try one of their servers alone",
            Self::Silence => " sources do not answer requests for one item",
            Self::Code(fault) => fault.what(),
        }
    }
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::LostUpdate => "lost-update",
            Self::RepeatedUpdate => "repeated-update",
            Self::SwappedUpdates => "swapped-updates",
            Self::FalseValue => "false-value",
            Self::OldImage => "old-image",
            Self::LostImage => "lost-image",
            Self::DeafClose => "deaf-close",
            Self::LoneServer => "lone-server",
            Self::Silence => "silence",
            Self::Code(fault) => fault.name(),
        })
    }
}

impl FromStr for Planted {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if Fault::ALL.iter().any(|fault| fault.name() == name) && !tapeline_planted::IS_BUILT {
            return Err("this build has no faults in its code: add `--features planted`".to_owned());
        }
        let known = [Self::Nothing].into_iter().chain(Self::all());
        let names = || Self::all().map(|it| it.to_string()).collect::<Vec<_>>().join(", ");
        let found = known.into_iter().find(|planted| planted.to_string() == name);
        found.ok_or_else(|| format!("there is none of that name, but {}", names()))
    }
}

/// A planted fault, and how many worlds it took until one broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caught {
    /// The fault.
    pub planted: Planted,
    /// How many worlds were run, the one that broke included.
    pub seeds: u64,
    /// What did not hold; none if no world broke.
    pub what: Option<String>,
}

/// Most letters that are shown of what did not hold.
const MOST_SHOWN: usize = 100;

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { planted, seeds, what } = self;
        let what = what.as_deref().unwrap_or("NOT FOUND");
        // A line of a table: neither its bars nor a panic's lines are in it.
        let line = what.lines().next().unwrap_or_default().replace('|', "/");
        let what = match line.char_indices().nth(MOST_SHOWN) {
            Some((end, _)) => format!("{} …", &line[..end]),
            None => line,
        };
        write!(f, "| `{planted}` |{} | {seeds} | {what} |", planted.what())
    }
}
