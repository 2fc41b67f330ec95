//! Rows of several shards as those of one: put together, in order, then cut.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use tapeline_counters::{Answer, Row, Value, View};

/// Views in which rows of several shards are one, with the columns that say which.
const KEYED: [(&str, &[&str]); 2] =
    [("users", &["loginName"]), ("products", &["name", "exchange", "service"])];

/// Numbers that are the same at each shard. Of what was the most of all shards the largest
/// counts; all others are added up.
const BOUNDS: [&str; 3] = ["aggregateItemLimit", "itemLimitPerMount", "maxPriorityClass"];

/// A row, and whose it is.
pub(crate) type Owned = (Arc<str>, Row);

/// Whether rows of several shards are one in a view.
pub(crate) fn is_keyed(view: &str) -> bool {
    KEYED.iter().any(|(name, _)| *name == view)
}

/// In which order rows are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Order<'a> {
    /// The column with the highest values first.
    pub(crate) by: Option<&'a str>,
    /// Only rows behind this key.
    pub(crate) after: Option<&'a str>,
    /// Whether rows are of several shards, and those that belong together are one.
    pub(crate) is_whole: bool,
}

/// What is answered, and how to go on.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) rows: Vec<Owned>,
    /// From which place on whose rows go on.
    pub(crate) next: Vec<(Arc<str>, u32)>,
    /// The key behind which rows go on.
    pub(crate) after: Option<String>,
}

/// Rows of one view with whose they are, the highest first if there is an order, and
/// no more than these.
pub(crate) fn page(view: &View, answers: Vec<Answer>, order: Order<'_>, limit: usize) -> Page {
    if let Some(column) = order.by.and_then(|by| view.column(by)) {
        let mut rows = united(view, all(answers));
        rows.sort_by_key(|(_, row)| Reverse(row.get(column).map_or(0, Value::rank)));
        rows.truncate(limit);
        return Page { rows, ..Page::default() };
    }
    if order.is_whole {
        return by_key(view, answers, order.after, limit);
    }
    let (mut rows, mut next) = (Vec::new(), Vec::new());
    for answer in answers {
        let of: Arc<str> = answer.of.into();
        let taken = answer.rows.len().min(limit - rows.len());
        let cut = answer.places.get(taken).copied();
        next.extend(cut.or(answer.next).map(|place| (Arc::clone(&of), place)));
        rows.extend(answer.rows.into_iter().take(taken).map(|row| (Arc::clone(&of), row)));
    }
    Page { rows: united(view, rows), next, after: None }
}

/// In the order of their keys, so that it is known where to go on whoever comes and
/// goes meanwhile.
fn by_key(view: &View, answers: Vec<Answer>, after: Option<&str>, limit: usize) -> Page {
    let keys = key_columns(view);
    let rows = united(view, all(answers));
    let mut rows: Vec<_> = rows.into_iter().map(|row| (key(&keys, &row.1), row)).collect();
    rows.retain(|(key, _)| after.is_none_or(|after| key.as_str() > after));
    rows.sort_by(|(left, _), (right, _)| left.cmp(right));
    let is_more = rows.len() > limit;
    rows.truncate(limit);
    let after = rows.last().filter(|_| is_more).map(|(key, _)| key.clone());
    Page { rows: rows.into_iter().map(|(_, row)| row).collect(), next: Vec::new(), after }
}

/// All rows with whose they are.
fn all(answers: Vec<Answer>) -> Vec<Owned> {
    let mut rows = Vec::new();
    for answer in answers {
        let of: Arc<str> = answer.of.into();
        rows.extend(answer.rows.into_iter().map(|row| (Arc::clone(&of), row)));
    }
    rows
}

fn key_columns(view: &View) -> Vec<usize> {
    let columns = KEYED.iter().find(|(name, _)| *name == view.name).map(|(_, columns)| *columns);
    columns.unwrap_or_default().iter().filter_map(|name| view.column(name)).collect()
}

/// What of a row says which it is.
fn key(columns: &[usize], row: &Row) -> String {
    let cell = |column: &usize| match row.get(*column) {
        Some(Value::Text(text)) => text.to_string(),
        _ => String::new(),
    };
    columns.iter().map(cell).collect::<Vec<_>>().join("\u{1f}")
}

/// What shards count of what is one is added up, if the view has such rows.
fn united(view: &View, rows: Vec<Owned>) -> Vec<Owned> {
    let keys = key_columns(view);
    if keys.is_empty() {
        return rows;
    }
    let mut one_of_each: Vec<Owned> = Vec::new();
    let mut places = HashMap::new();
    for (of, row) in rows {
        let place = *places.entry(key(&keys, &row)).or_insert(one_of_each.len());
        match one_of_each.get_mut(place) {
            None => one_of_each.push((of, row)),
            Some((_, known)) => add(view, known, row),
        }
    }
    one_of_each
}

/// Adds what another shard says of the same.
fn add(view: &View, known: &mut Row, more: Row) {
    for ((known, more), column) in known.iter_mut().zip(more).zip(view.columns) {
        match (known, more) {
            (Value::Number(_), Value::Number(_)) if BOUNDS.contains(&column.name) => {}
            (Value::Number(known), Value::Number(more)) if column.name.ends_with("Most") => {
                *known = (*known).max(more);
            }
            (Value::Number(known), Value::Number(more)) => *known += more,
            (known @ Value::None, more) => *known = more,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_counters::{Rowed, rows};

    rows! {
        /// Users.
        struct UserRow = "users" {
            /// Name.
            "loginName" => login_name: String;
            /// Mounts.
            "channels" => channels: u64;
            /// Items.
            "total" => total: u64;
            /// Most of them.
            "aggregateItemLimit" => aggregate_item_limit: u64;
            /// What is known at one shard.
            "contract" => contract: Option<String>;
            /// The most items.
            "totalMost" => total_most: u64;
        }
    }

    rows! {
        /// Mounts.
        struct MountRow = "mounts" {
            /// Session.
            "channel" => channel: String;
            /// Bytes.
            "backlogBytes" => backlog_bytes: u64;
        }
    }

    fn users(of: &str, users: &[(&str, u64, u64)]) -> Answer {
        let row = |(name, channels, total): &(&str, u64, u64)| {
            let contract = (of == "server.1").then(|| "every".to_owned());
            let (login_name, channels, total) = ((*name).to_owned(), *channels, *total);
            let (aggregate_item_limit, total_most) = (100, total + 20);
            UserRow { login_name, channels, total, aggregate_item_limit, contract, total_most }
                .into_row()
        };
        let rows: Vec<_> = users.iter().map(row).collect();
        let places = (0..rows.len() as u32).collect();
        let (of, view) = (of.to_owned(), Some(UserRow::VIEW));
        Answer { of, view, rows, places, next: None, done: 0, refused: None }
    }

    fn mounts(of: &str, backlogs: &[u64], next: Option<u32>) -> Answer {
        let row = |backlog: &u64| {
            MountRow { channel: format!("{of}/{backlog}"), backlog_bytes: *backlog }.into_row()
        };
        let rows: Vec<_> = backlogs.iter().map(row).collect();
        // Each other place is empty.
        let places = (0..rows.len() as u32).map(|place| 2 * place).collect();
        let (of, view) = (of.to_owned(), Some(MountRow::VIEW));
        Answer { of, view, rows, places, next, done: 0, refused: None }
    }

    fn names(page: &Page) -> Vec<String> {
        let name = |row: &Row| key(&[0], row);
        page.rows.iter().map(|(_, row)| name(row)).collect()
    }

    fn shards() -> Vec<Answer> {
        vec![
            users("server", &[("ann", 1, 10), ("bob", 2, 15)]),
            users("server.1", &[("ann", 1, 7), ("cat", 1, 3)]),
        ]
    }

    #[test]
    fn a_user_of_several_shards_is_one_and_the_greediest_comes_first() {
        let order = Order { by: Some("total"), ..Order::default() };
        let page = page(UserRow::VIEW, shards(), order, 2);
        let numbers = |row: &Row| [1, 2, 3, 5].map(|column| row[column].rank());
        let shown: Vec<_> = page.rows.iter().map(|(of, row)| (&**of, numbers(row))).collect();
        assert_eq!(shown, [("server", [2, 17, 100, 30]), ("server", [2, 15, 100, 35])]);
        assert_eq!(page.rows[0].1[4], Value::Text("every".into()));
    }

    #[test]
    fn users_of_several_shards_are_gone_on_with_behind_a_name() {
        let order = |after| Order { by: None, after, is_whole: true };
        let first = page(UserRow::VIEW, shards(), order(None), 2);
        assert_eq!(
            (names(&first), first.after.as_deref()),
            (vec!["ann".into(), "bob".into()], Some("bob"))
        );
        let last = page(UserRow::VIEW, shards(), order(first.after.as_deref()), 2);
        assert_eq!((names(&last), last.after), (vec!["cat".to_owned()], None));
    }

    #[test]
    fn the_highest_of_all_shards_come_first() {
        let answers = vec![mounts("a", &[9, 2], None), mounts("b", &[7, 5], None)];
        let order = Order { by: Some("backlogBytes"), ..Order::default() };
        assert_eq!(names(&page(MountRow::VIEW, answers, order, 3)), ["a/9", "b/7", "b/5"]);
    }

    #[test]
    fn what_is_cut_is_gone_on_with_where_it_is() {
        let answers = || vec![mounts("a", &[1, 2, 3], Some(9)), mounts("b", &[4, 5], None)];
        let at = |limit| {
            let page = page(MountRow::VIEW, answers(), Order::default(), limit);
            let next: Vec<_> = page.next.iter().map(|(of, at)| (of.to_string(), *at)).collect();
            (page.rows.len(), next)
        };
        let next = |all: &[(&str, u32)]| -> Vec<_> {
            all.iter().map(|(of, at)| ((*of).to_owned(), *at)).collect()
        };
        assert_eq!(at(2), (2, next(&[("a", 4), ("b", 0)])));
        assert_eq!(at(4), (4, next(&[("a", 9), ("b", 2)])));
        assert_eq!(at(100), (5, next(&[("a", 9)])));
    }
}
