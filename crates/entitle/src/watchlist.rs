//! Watchlists, as text and in journals: who has what open.

use std::collections::HashMap;

use crate::change::Watch;
use crate::document::hex_of;
use crate::engine::{Asked, Protection};
use crate::fault::Fault;
use crate::usage::{Kind, Usage};

/// The domain of market prices, which a watchlist means if it names none.
pub const MARKET_PRICE: u8 = 6;

/// A line of a watchlist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The user.
    pub user: String,
    /// The item's service.
    pub service: String,
    /// The item's domain.
    pub domain: u8,
    /// The item's name.
    pub name: String,
    /// Its lock, if it has one.
    pub lock: Option<Vec<u8>>,
}

impl Entry {
    /// The question that it is.
    pub fn watch(&self) -> Watch<'_> {
        Watch {
            user: &self.user,
            roles: None,
            asked: Asked { service: &self.service, domain: self.domain, name: &self.name },
            protection: self.lock.as_deref().map_or(Protection::None, Protection::Lock),
        }
    }
}

/// Reads lines of `USER SERVICE/NAME [LOCK]`, with the lock in hexadecimal.
/// Empty lines and those that begin with `#` say nothing.
pub fn read_watchlist(file: &str, text: &str) -> Result<Vec<Entry>, Vec<Fault>> {
    let (mut entries, mut faults) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match entry_of(line) {
            Some(entry) => entries.push(entry),
            None => faults.push(Fault {
                file: file.to_owned(),
                line: index + 1,
                text: format!("`{line}` is no watch; give USER SERVICE/NAME [LOCK in hexadecimal]"),
            }),
        }
    }
    if faults.is_empty() { Ok(entries) } else { Err(faults) }
}

/// What users opened or asked for in vain, by records in the order of time: an item
/// is there once for each user, guarded as it was last.
pub fn watches_recorded<'a>(records: &[Usage<'a>]) -> Vec<Watch<'a>> {
    let mut roles: HashMap<(u64, u64), &'a str> = HashMap::new();
    let (mut watches, mut places) = (Vec::new(), HashMap::new());
    for usage in records {
        match usage.kind {
            Kind::Login => drop(roles.insert((usage.run, usage.mount), usage.roles)),
            Kind::StartWatch | Kind::ContinueWatch | Kind::Snapshot | Kind::AccessDenied => {
                let roles = roles.get(&(usage.run, usage.mount)).copied();
                let watch = watch_of(usage, roles.filter(|roles| !roles.is_empty()));
                let place =
                    *places.entry((watch.user, watch.roles, watch.asked)).or_insert_with(|| {
                        watches.push(watch);
                        watches.len() - 1
                    });
                // A request that is refused for its name says nothing of the item.
                if watch.protection != Protection::None {
                    watches[place] = watch;
                }
            }
            _ => {}
        }
    }
    watches
}

fn watch_of<'a>(usage: &Usage<'a>, roles: Option<&'a str>) -> Watch<'a> {
    // Records of the layout before do not say the domain.
    let domain = if usage.domain == 0 { MARKET_PRICE } else { usage.domain };
    let protection = match (usage.lock, usage.prod_perm) {
        ([], None) => Protection::None,
        ([], Some(code)) => Protection::ProdPerm(code),
        (lock, _) => Protection::Lock(lock),
    };
    let asked = Asked { service: usage.service, domain, name: usage.item };
    Watch { user: usage.user, roles, asked, protection }
}

fn entry_of(line: &str) -> Option<Entry> {
    let (user, rest) = line.split_once(char::is_whitespace)?;
    let rest = rest.trim_start();
    let (item, lock) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (service, name) = item.split_once('/')?;
    let lock = match lock.trim() {
        "" => None,
        digits => Some(hex_of(digits)?),
    };
    let [user, service, name] = [user, service, name].map(ToOwned::to_owned);
    Some(Entry { user, service, domain: MARKET_PRICE, name, lock })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_watched_or_refused_is_there_once_by_its_last_lock() {
        let (first, last) = ([3u8, 1].as_slice(), [3u8, 2].as_slice());
        let of = |kind, user, item, lock| Usage {
            user,
            item,
            lock,
            run: 1,
            mount: 7,
            service: "FEED",
            ..Usage::of(kind, 0)
        };
        let records = [
            Usage { roles: "fx", ..of(Kind::Login, "ann", "", &[]) },
            of(Kind::StartWatch, "ann", "A", first),
            of(Kind::ContinueWatch, "ann", "A", last),
            of(Kind::AccessDenied, "ann", "A", &[]),
            of(Kind::StopWatch, "ann", "C", first),
            of(Kind::AccessDenied, "ann", "B", &[]),
        ];
        let watch = |name, protection| Watch {
            user: "ann",
            roles: Some("fx"),
            asked: Asked { service: "FEED", domain: MARKET_PRICE, name },
            protection,
        };
        let expected = [watch("A", Protection::Lock(last)), watch("B", Protection::None)];
        assert_eq!(watches_recorded(&records), expected);
    }

    #[test]
    fn lines_are_watches() {
        let text = "# morning\n\njdoe FEED/VOD.L 03 01 01 62 C0\nasmith\tFX/EUR/GBP\n";
        let entries = read_watchlist("w", text).expect("it is in order");
        assert_eq!(entries[0].lock.as_deref(), Some(&[3, 1, 1, 0x62, 0xC0][..]));
        assert_eq!((entries[1].service.as_str(), entries[1].name.as_str()), ("FX", "EUR/GBP"));
        let faults = read_watchlist("w", "a S/B\njdoe FEED\njdoe FEED/A 0x").expect_err("two");
        assert_eq!(faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [2, 3]);
    }
}
