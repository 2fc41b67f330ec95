//! How updates reach somebody.

use std::fmt;
use std::ops::RangeInclusive;

/// How updates of a stream reach somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contract {
    /// Each one does, or the connection is cut.
    Every,
    /// They are merged while the connection does not keep up.
    LatestWhenSlow,
    /// They are merged, and wait for so many milliseconds at the most.
    LatestWithin(u16),
    /// So many in a second, and merged beyond that.
    AtMost(u32),
}

/// An interval as a quality of service can say it.
const INTERVALS_MS: RangeInclusive<u16> = 1..=65_534;
const RATES_PER_S: RangeInclusive<u32> = 1..=1_000;

impl Contract {
    /// What policies may write, for people.
    pub(crate) const FORMS: &str = "every, latest-when-slow, latest-within N ms (1 to 65534) or \
                                    at-most N/s (1 to 1000)";

    /// As policies write it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "every" => return Some(Self::Every),
            "latest-when-slow" => return Some(Self::LatestWhenSlow),
            _ => {}
        }
        let (word, number) = text.split_once(' ')?;
        match word {
            "latest-within" => {
                let ms = number.strip_suffix("ms")?.trim().parse().ok()?;
                INTERVALS_MS.contains(&ms).then_some(Self::LatestWithin(ms))
            }
            "at-most" => {
                let per_s = number.strip_suffix("/s")?.trim().parse().ok()?;
                RATES_PER_S.contains(&per_s).then_some(Self::AtMost(per_s))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every => f.write_str("every"),
            Self::LatestWhenSlow => f.write_str("latest-when-slow"),
            Self::LatestWithin(ms) => write!(f, "latest-within {ms} ms"),
            Self::AtMost(per_s) => write!(f, "at-most {per_s}/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contracts_are_read_as_they_are_shown() {
        for contract in [
            Contract::Every,
            Contract::LatestWhenSlow,
            Contract::LatestWithin(1),
            Contract::LatestWithin(65_534),
            Contract::AtMost(1_000),
        ] {
            assert_eq!(Contract::parse(&contract.to_string()), Some(contract));
        }
        assert_eq!(Contract::parse("latest-within 250ms"), Some(Contract::LatestWithin(250)));
        for wrong in [
            "",
            "latest",
            "latest-within",
            "latest-within 250",
            "latest-within 0 ms",
            "latest-within 65535 ms",
            "latest-within -1 ms",
            "at-most 4",
            "at-most 0/s",
            "at-most 1001/s",
            "at-most four/s",
        ] {
            assert_eq!(Contract::parse(wrong), None, "{wrong}");
        }
    }
}
