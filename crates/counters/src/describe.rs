//! What a count is: its name, kind, unit and help, said once where it is counted.

use std::fmt;

/// How a count behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It only grows, from 0 at the start.
    Total,
    /// What is there now.
    Now,
    /// The most that ever was there.
    Most,
}

/// What is counted, where it is not things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Things.
    None,
    /// Bytes.
    Bytes,
    /// Milliseconds; shown in seconds.
    Milliseconds,
    /// Nanoseconds; shown in seconds.
    Nanoseconds,
}

/// One count of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Its name in the code, in the log and in views.
    pub name: &'static str,
    /// How it behaves.
    pub kind: Kind,
    /// What is counted.
    pub unit: Unit,
    /// The key of the configuration that bounds it.
    pub bound: Option<&'static str>,
    /// The lines of its documentation.
    pub about: &'static [&'static str],
}

/// What one part of the system counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// The part: `server`, `hub`, `channel`.
    pub group: &'static str,
    /// The lines of its documentation.
    pub about: &'static [&'static str],
    /// Its counts, in order.
    pub counts: &'static [Count],
}

/// A struct of counts, made by [`counts!`](crate::counts).
pub trait Counted {
    /// What its fields are.
    const TABLE: &'static Table;

    /// Hands over each field, in the order of the table.
    fn each(&self, take: impl FnMut(usize, u64));
}

impl Unit {
    /// The words of a name that say the unit, to be moved to its end.
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::Bytes => &["bytes"],
            Self::Milliseconds => &["ms"],
            Self::Nanoseconds => &["ns"],
        }
    }

    /// The unit as it stands in names of metrics.
    pub const fn suffix(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Bytes => Some("bytes"),
            Self::Milliseconds | Self::Nanoseconds => Some("seconds"),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.suffix().unwrap_or_default())
    }
}

impl Count {
    /// Its name as a metric, without the unit and `_total`, which stand at the end
    /// there: `output_bytes_most` of a server is `tapeline_server_output_most`,
    /// and `_bytes` follows.
    pub fn metric_stem(&self, group: &str) -> String {
        let words = self.name.split('_').filter(|word| !self.unit.words().contains(word));
        ["tapeline", group].into_iter().chain(words).collect::<Vec<_>>().join("_")
    }

    /// Its whole name as a metric, by the rules of `OpenMetrics`.
    pub fn metric(&self, group: &str) -> String {
        let mut name = self.metric_stem(group);
        let total = (self.kind == Kind::Total).then_some("total");
        for part in [self.unit.suffix(), total].into_iter().flatten() {
            name.push('_');
            name.push_str(part);
        }
        name
    }

    /// Its documentation as one line.
    pub fn help(&self) -> String {
        joined(self.about)
    }
}

/// The lines of a doc comment as one.
pub(crate) fn joined(lines: &[&str]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    lines.join(" ")
}

/// Defines a struct of counts: its fields, what they are, and how they are read.
///
/// A field is `name: type = kind;` where the kind is `total`, `now` or `most`,
/// with a unit in parentheses if it does not count things, and the key of the
/// configuration that bounds it if one does:
///
/// ```
/// tapeline_counters::counts! {
///     /// What an output counts.
///     pub struct Output = "output" {
///         /// Bytes that wait.
///         waiting_bytes: usize = now(bytes), at most "output-pool-bytes";
///         /// Bytes that were sent.
///         bytes_sent: u64 = total(bytes);
///     }
/// }
/// let output = Output { waiting_bytes: 7, bytes_sent: 9 };
/// assert_eq!(output.named(), [("waiting_bytes", 7), ("bytes_sent", 9)]);
/// ```
#[macro_export]
macro_rules! counts {
    (
        $(#[doc = $about:literal])*
        $visibility:vis struct $struct:ident = $group:literal {
            $(
                $(#[doc = $doc:literal])*
                $field:ident: $type:ty = $kind:ident $(($unit:ident))? $(, at most $bound:literal)?;
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $visibility struct $struct {
            $( $(#[doc = $doc])* $visibility $field: $type, )*
        }

        impl $struct {
            /// How many counts there are.
            $visibility const COUNTS: usize = [$(stringify!($field)),*].len();

            /// All of them by name, for whoever shows them.
            #[allow(dead_code, reason = "not every table is shown by name")]
            $visibility fn named(&self) -> [(&'static str, u64); Self::COUNTS] {
                [$( (stringify!($field), self.$field as u64), )*]
            }
        }

        impl $crate::Counted for $struct {
            const TABLE: &'static $crate::Table = &$crate::Table {
                group: $group,
                about: &[$($about),*],
                counts: &[$( $crate::Count {
                    name: stringify!($field),
                    kind: $crate::counts!(@kind $kind),
                    unit: $crate::counts!(@unit $($unit)?),
                    bound: $crate::counts!(@bound $($bound)?),
                    about: &[$($doc),*],
                }, )*],
            };

            fn each(&self, mut take: impl FnMut(usize, u64)) {
                let mut index = 0..;
                $( take(index.next().unwrap_or_default(), self.$field as u64); )*
            }
        }
    };
    (@kind total) => { $crate::Kind::Total };
    (@kind now) => { $crate::Kind::Now };
    (@kind most) => { $crate::Kind::Most };
    (@unit) => { $crate::Unit::None };
    (@unit bytes) => { $crate::Unit::Bytes };
    (@unit ms) => { $crate::Unit::Milliseconds };
    (@unit ns) => { $crate::Unit::Nanoseconds };
    (@bound) => { None };
    (@bound $bound:literal) => { Some($bound) };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::counts! {
        /// For tests.
        struct Tested = "tested" {
            /// Things.
            things: u64 = total;
            /// Bytes that wait,
            /// now.
            output_bytes: usize = now(bytes), at most "max-bytes";
            /// The most of them.
            output_bytes_most: usize = most(bytes);
            /// Time at work.
            busy_ns: u64 = total(ns);
            /// Time of rest.
            rest_ms: u64 = total(ms);
        }
    }

    #[test]
    fn names_follow_the_rules_of_openmetrics() {
        let names: Vec<_> = Tested::TABLE.counts.iter().map(|count| count.metric("x")).collect();
        assert_eq!(
            names,
            [
                "tapeline_x_things_total",
                "tapeline_x_output_bytes",
                "tapeline_x_output_most_bytes",
                "tapeline_x_busy_seconds_total",
                "tapeline_x_rest_seconds_total",
            ]
        );
    }

    #[test]
    fn fields_come_in_the_order_of_the_table() {
        let tested =
            Tested { things: 1, output_bytes: 2, output_bytes_most: 3, busy_ns: 4, rest_ms: 5 };
        let mut seen = Vec::new();
        tested.each(|index, value| seen.push((Tested::TABLE.counts[index].name, value)));
        assert_eq!(seen, tested.named());
        let count = Tested::TABLE.counts[1];
        assert_eq!(count.help(), "Bytes that wait, now.");
        assert_eq!((count.kind, count.bound), (Kind::Now, Some("max-bytes")));
    }
}
