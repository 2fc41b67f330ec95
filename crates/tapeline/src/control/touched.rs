//! Whom a change would touch.

use tapeline_admin::Vitals;

use crate::config::{Class, Difference};

/// How keys of a source begin.
const SOURCE: &str = "hub.source ";

/// Whom a change touches, in words, and how many at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Touched {
    pub(super) text: String,
    /// Mounts that have to connect again.
    pub(super) mounts: u64,
    /// Items that have to be opened again.
    pub(super) items: u64,
}

impl Touched {
    /// By these differences, of what there is now.
    pub(super) fn by(differences: &[Difference], now: Vitals) -> Self {
        let all = format!("{} and {}", counted(now.mounts, "mount"), counted(now.items, "item"));
        let nobody = |text| Self { text, mounts: 0, items: 0 };
        match differences.iter().map(|it| it.class).max() {
            None => nobody("nothing is different".to_owned()),
            Some(Class::Live) => nobody(format!("nobody: {all} stay as they are")),
            Some(Class::Reconnect) => {
                let sources = sources(differences);
                if sources.is_empty() {
                    return nobody(format!("who connects from then on; {all} stay as they are"));
                }
                let text = format!(
                    "sources {}: what they have of {} goes to others, or is opened there anew; \
                     {} stay",
                    sources.join(", "),
                    counted(now.items, "item"),
                    counted(now.mounts, "mount"),
                );
                Self { text, mounts: 0, items: now.items }
            }
            Some(Class::Restart) => {
                let text = format!("everybody: {all} come again after a restart");
                Self { text, mounts: now.mounts, items: now.items }
            }
        }
    }
}

/// The sources that connect anew, come or go.
fn sources(differences: &[Difference]) -> Vec<&str> {
    let of = |it: &Difference| it.class == Class::Reconnect;
    let keys = differences.iter().filter(|it| of(it));
    let rest = keys.filter_map(|it| it.key.strip_prefix(SOURCE));
    let mut names: Vec<&str> =
        rest.map(|rest| rest.rsplit_once('.').map_or(rest, |(name, _)| name)).collect();
    names.dedup();
    names
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Vitals = Vitals { mounts: 3, items: 12, ..Vitals::NONE };

    fn by(changes: &[(&str, Class)]) -> (String, u64, u64) {
        let (before, after) = (String::new(), String::new());
        let of = |(key, class): &(&str, Class)| Difference {
            key: (*key).to_owned(),
            before: before.clone(),
            after: after.clone(),
            class: *class,
        };
        let differences: Vec<_> = changes.iter().map(of).collect();
        let Touched { text, mounts, items } = Touched::by(&differences, NOW);
        (text, mounts, items)
    }

    #[test]
    fn mounts_and_items_are_told_by_number() {
        let live = ("server.max-mounts", Class::Live);
        let port = ("server.rssl-port", Class::Reconnect);
        let shards = ("server.shards", Class::Restart);
        let cases = [
            (by(&[]), "nothing is different", 0, 0),
            (by(&[live]), "nobody: 3 mounts and 12 items stay as they are", 0, 0),
            (
                by(&[live, port]),
                "who connects from then on; 3 mounts and 12 items stay as they are",
                0,
                0,
            ),
            (
                by(&[port, shards]),
                "everybody: 3 mounts and 12 items come again after a restart",
                3,
                12,
            ),
        ];
        for (found, text, mounts, items) in cases {
            assert_eq!(found, (text.to_owned(), mounts, items));
        }
    }

    #[test]
    fn items_of_a_source_that_becomes_another_one_are_touched() {
        let changes = [
            ("hub.source east.port", Class::Reconnect),
            ("hub.source east.services", Class::Reconnect),
            ("hub.source west.weight", Class::Live),
            ("hub.source a.example.com", Class::Reconnect),
        ];
        assert_eq!(
            by(&changes[..3]),
            (
                "sources east: what they have of 12 items goes to others, or is opened there \
                 anew; 3 mounts stay"
                    .to_owned(),
                0,
                12
            )
        );
    }
}
