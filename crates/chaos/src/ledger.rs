//! What one consumer was told, and when; kept from what its process says.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A line of a consumer's process. Times are microseconds since the host's
/// start, so that other processes can compare them.
///
/// ```text
/// ok ITEM TIME               the item has an image and is not stale
/// told ITEM TIME             it is stale, or its connection is lost
/// breach ITEM TIME TEXT      something that must not be
/// numbers N N - N            the answer to `numbers`: `-` for what is not ok
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The item is well.
    Ok(usize, u64),
    /// It was told that it is not.
    Told(usize, u64),
    /// What must not be, in words.
    Breach(usize, u64, String),
    /// The last number of each item that is ok.
    Numbers(Vec<Option<u32>>),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok(item, at_us) => write!(f, "ok {item} {at_us}"),
            Self::Told(item, at_us) => write!(f, "told {item} {at_us}"),
            Self::Breach(item, at_us, text) => write!(f, "breach {item} {at_us} {text}"),
            Self::Numbers(numbers) => {
                write!(f, "numbers")?;
                numbers.iter().try_for_each(|number| match number {
                    Some(number) => write!(f, " {number}"),
                    None => write!(f, " -"),
                })
            }
        }
    }
}

impl FromStr for Line {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("no line of a consumer: {text}");
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        if word == "numbers" {
            let number = |text: &str| match text {
                "-" => Ok(None),
                text => text.parse().map(Some).map_err(|_| bad()),
            };
            return Ok(Self::Numbers(
                rest.split_whitespace().map(number).collect::<Result<_, _>>()?,
            ));
        }
        let mut parts = rest.splitn(3, ' ');
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok()).ok_or_else(bad);
        let (item, at_us) = (number()? as usize, number()?);
        match word {
            "ok" => Ok(Self::Ok(item, at_us)),
            "told" => Ok(Self::Told(item, at_us)),
            "breach" => Ok(Self::Breach(item, at_us, parts.next().unwrap_or("").to_owned())),
            _ => Err(bad()),
        }
    }
}

/// What is known of one item at one consumer.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    is_ok: bool,
    /// When it was first told of since the episode began.
    told_us: Option<u64>,
    /// When it was last ok again.
    ok_us: Option<u64>,
}

/// What one consumer was told in an episode, item by item.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    items: Vec<Entry>,
    breaches: BTreeMap<String, u64>,
}

impl Ledger {
    /// Of so many items, none of which is ok yet.
    pub fn new(items: usize) -> Self {
        Self { items: vec![Entry::default(); items], breaches: BTreeMap::new() }
    }

    /// Notes what the consumer says.
    pub fn note(&mut self, line: &Line) {
        match line {
            Line::Ok(item, at_us) => {
                let entry = &mut self.items[*item];
                (entry.is_ok, entry.ok_us) = (true, Some(*at_us));
            }
            Line::Told(item, at_us) => {
                let entry = &mut self.items[*item];
                entry.is_ok = false;
                entry.told_us.get_or_insert(*at_us);
            }
            Line::Breach(item, _, text) => {
                *self.breaches.entry(format!("item {item}: {text}")).or_default() += 1;
            }
            Line::Numbers(_) => {}
        }
    }

    /// Whether every item is ok.
    pub fn is_ok(&self) -> bool {
        self.items.iter().all(|entry| entry.is_ok)
    }

    /// How many items were told of in this episode.
    pub fn told(&self) -> usize {
        self.items.iter().filter(|entry| entry.told_us.is_some()).count()
    }

    /// Ends an episode that something broke at one moment and that was mended
    /// at another: for each item that was told of, how long it took until it
    /// was, and until it was well again, in microseconds. The latter counts
    /// from the mending for what was well only after it. The next episode
    /// begins.
    pub fn take(&mut self, broken_us: u64, mended_us: u64) -> Vec<Times> {
        let mut times = Vec::new();
        for entry in &mut self.items {
            let (told_us, ok_us) = (entry.told_us.take(), entry.ok_us.take());
            if let (Some(told_us), Some(ok_us)) = (told_us, ok_us) {
                let from_us = if ok_us > mended_us { mended_us } else { broken_us };
                times.push(Times {
                    told_us: told_us.saturating_sub(broken_us),
                    healed_us: ok_us.saturating_sub(from_us),
                });
            }
        }
        times
    }

    /// Whether there was something that must not be.
    pub fn has_breaches(&self) -> bool {
        !self.breaches.is_empty()
    }

    /// What must not be, in words, with how often it was since it was last
    /// taken.
    pub fn take_breaches(&mut self) -> BTreeMap<String, u64> {
        std::mem::take(&mut self.breaches)
    }
}

/// How long an item took, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Until its consumer was told.
    pub told_us: u64,
    /// Until it was well again.
    pub healed_us: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let lines = [
            Line::Ok(3, 17),
            Line::Told(0, 18),
            Line::Breach(2, 19, "lost without notice: 5 after 3".to_owned()),
            Line::Numbers(vec![Some(1), None, Some(7)]),
            Line::Numbers(Vec::new()),
        ];
        for line in lines {
            assert_eq!(line.to_string().parse(), Ok(line));
        }
        for text in ["", "ok", "ok 1", "ok x 1", "well 1 2", "numbers 1 x"] {
            assert!(text.parse::<Line>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_count_from_the_break_or_from_the_mending() {
        let mut ledger = Ledger::new(3);
        for item in 0..3 {
            ledger.note(&Line::Ok(item, 10));
        }
        assert!(ledger.is_ok());
        assert_eq!(ledger.take(0, 0), [], "nothing was told");
        ledger.note(&Line::Told(0, 130));
        ledger.note(&Line::Told(1, 140));
        assert!(!ledger.is_ok());
        ledger.note(&Line::Ok(0, 170));
        ledger.note(&Line::Ok(1, 250));
        assert_eq!(ledger.told(), 2);
        let times = [(30, 70), (40, 50)];
        let times = times.map(|(told_us, healed_us)| Times { told_us, healed_us });
        assert_eq!(ledger.take(100, 200), times);
        assert_eq!(ledger.told(), 0, "another episode");
    }

    #[test]
    fn breaches_are_counted() {
        let mut ledger = Ledger::new(1);
        let breach = Line::Breach(0, 5, "closed".to_owned());
        ledger.note(&breach);
        ledger.note(&breach);
        let twice = BTreeMap::from([("item 0: closed".to_owned(), 2)]);
        assert_eq!(ledger.take_breaches(), twice);
        assert!(ledger.take_breaches().is_empty());
    }
}
