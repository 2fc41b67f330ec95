//! Rows of all threads, asked for and put together.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use tapeline_counters::{
    Act, Answer, Ask, Kind, Query, QueryError, QuerySender, Registry, Row, Rows, Value, View,
};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Rows of an answer, if it is not said how many.
const ROWS: usize = 100;

/// What a request for a view says behind its `?`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Wanted {
    /// The column with the highest values first.
    by: Option<String>,
    /// Text that some cell has to have.
    filter: String,
    /// The hub or server whose rows are wanted.
    at: String,
    /// From which place on, as an answer before said.
    from: u32,
    /// Most rows.
    limit: Option<usize>,
}

/// What all threads said.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// What hubs and servers answered.
    pub(crate) answers: Vec<Answer>,
    /// Threads without an answer, and why.
    pub(crate) unanswered: Vec<String>,
}

/// Asks all threads, and waits for their answers for so long.
pub(crate) async fn ask(registry: &Registry, ask: &Ask, patience: Duration) -> Collected {
    Asked::put(registry, ask).answers(patience).await
}

/// What was asked of every thread, and may be answered by now.
#[derive(Debug)]
pub(crate) struct Asked(Vec<Question>);

/// A question to one thread, by its name.
type Question = (String, Result<oneshot::Receiver<Vec<Answer>>, QueryError>);

impl Asked {
    /// Asks every thread.
    pub(crate) fn put(registry: &Registry, ask: &Ask) -> Self {
        let put = |queue: &QuerySender| {
            let (reply, answer) = oneshot::channel();
            // Nobody may wait for it any more.
            let query = Query::new(ask.clone(), move |answers| drop(reply.send(answers)));
            (queue.name().to_owned(), queue.ask(query).map(|()| answer))
        };
        Self(registry.queues().map(put).collect())
    }

    /// What they say within so long.
    pub(crate) async fn answers(self, patience: Duration) -> Collected {
        let mut all = Collected::default();
        for (name, answer) in self.0 {
            match answer {
                Err(QueryError::Ended(_)) => {}
                Err(error) => all.unanswered.push(error.to_string()),
                Ok(answer) => match timeout(patience, answer).await {
                    Ok(Ok(answers)) => all.answers.extend(answers),
                    Ok(Err(_)) => {}
                    Err(_) => all.unanswered.push(format!("{name} did not answer in time")),
                },
            }
        }
        all
    }
}

/// The rows of a view, as JSON.
pub(crate) async fn rows(
    registry: &Registry,
    view: &str,
    wanted: &Wanted,
    patience: Duration,
) -> (StatusCode, Json) {
    let limit = wanted.limit.unwrap_or(ROWS);
    let rows = Rows {
        view: view.to_owned(),
        filter: wanted.filter.clone(),
        by: wanted.by.clone(),
        at: wanted.at.clone(),
        from: wanted.from,
        limit,
    };
    let collected = ask(registry, &Ask::Rows(rows), patience).await;
    let Some(known) = collected.answers.iter().find_map(|answer| answer.view) else {
        if collected.unanswered.is_empty() {
            let error = format!("there is no view `{view}` in this process");
            return (StatusCode::NOT_FOUND, json!({ "error": error }));
        }
        return (StatusCode::SERVICE_UNAVAILABLE, json!({ "unanswered": collected.unanswered }));
    };
    if let Some(by) = &wanted.by
        && known.column(by).is_none()
    {
        let columns: Vec<_> = known.columns.iter().map(|column| column.name).collect();
        let error = format!("`{view}` has no column `{by}`; it has {}", columns.join(", "));
        return (StatusCode::BAD_REQUEST, json!({ "error": error }));
    }
    (StatusCode::OK, shown(known, collected, wanted.by.as_deref(), limit))
}

/// Rows of one view with whose they are, the highest first if there is an order.
pub(crate) fn merged(
    view: &View,
    answers: Vec<Answer>,
    by: Option<&str>,
    limit: usize,
) -> Vec<(Arc<str>, Row)> {
    let mut rows: Vec<(Arc<str>, Row)> = Vec::new();
    for answer in answers {
        let of: Arc<str> = answer.of.into();
        rows.extend(answer.rows.into_iter().map(|row| (Arc::clone(&of), row)));
    }
    if view.name == "users" {
        rows = one_of_each_user(view, rows);
    }
    if let Some(column) = by.and_then(|by| view.column(by)) {
        rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.get(column).map_or(0, Value::rank)));
        rows.truncate(limit);
    }
    rows
}

/// Bounds of a user, which are the same at each shard. Of what was the most of all shards
/// the largest counts; all other numbers are added up.
const BOUNDS: [&str; 3] = ["aggregateItemLimit", "itemLimitPerMount", "maxPriorityClass"];

/// What shards count of one user is added up.
fn one_of_each_user(view: &View, rows: Vec<(Arc<str>, Row)>) -> Vec<(Arc<str>, Row)> {
    let Some(name) = view.column("loginName") else { return rows };
    let mut users: Vec<(Arc<str>, Row)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (of, row) in rows {
        let Value::Text(user) = row[name].clone() else { continue };
        match places.get(&user) {
            None => {
                places.insert(user, users.len());
                users.push((of, row));
            }
            Some(place) => {
                let known = users[*place].1.iter_mut().zip(row).zip(view.columns);
                for ((known, more), column) in known {
                    let (Value::Number(known), Value::Number(more)) = (known, more) else {
                        continue;
                    };
                    match column.name {
                        name if BOUNDS.contains(&name) => {}
                        name if name.ends_with("Most") => *known = (*known).max(more),
                        _ => *known += more,
                    }
                }
            }
        }
    }
    users
}

fn shown(view: &View, collected: Collected, by: Option<&str>, limit: usize) -> Json {
    let next: Map<String, Json> = collected
        .answers
        .iter()
        .filter_map(|answer| Some((answer.of.clone(), answer.next?.into())))
        .collect();
    let rows: Vec<Json> = merged(view, collected.answers, by, limit)
        .into_iter()
        .map(|(of, row)| {
            let own = [("at".to_owned(), Json::from(&*of))];
            let cells = view.columns.iter().zip(row);
            let cells = cells.map(|(column, value)| (column.name.to_owned(), cell(value)));
            Json::Object(own.into_iter().chain(cells).collect())
        })
        .collect();
    json!({ "view": view.name, "rows": rows, "next": next, "unanswered": collected.unanswered })
}

fn cell(value: Value) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Number(number) => number.into(),
        Value::Signed(number) => number.into(),
        Value::Flag(flag) => flag.into(),
        Value::Text(text) => text.into(),
    }
}

/// All counts as they were published last, as JSON: by part, then by whose they
/// are.
pub(crate) fn counters(registry: &Registry) -> Json {
    let mut all = Map::new();
    for block in registry.blocks() {
        let counts = block.counts().enumerate().flat_map(|(index, count)| {
            let mut cells = vec![(count.name.to_owned(), Json::from(block.value(index)))];
            if let (Some(peak), Kind::Now) = (block.peak(index), count.kind) {
                cells.push((format!("{}_peak", count.name), peak.into()));
            }
            if let Some(limit) = block.limit(index) {
                cells.push((format!("{}_limit", count.name), limit.into()));
            }
            cells
        });
        let counts = Json::Object(counts.collect());
        let group = all.entry(block.table().group).or_insert_with(|| Json::Object(Map::new()));
        if let Json::Object(group) = group {
            group.insert(block.name().to_owned(), counts);
        }
    }
    Json::Object(all)
}

/// Has something done.
pub(crate) async fn act(registry: &Registry, act: Act, patience: Duration) -> (StatusCode, Json) {
    let collected = ask(registry, &Ask::Act(act), patience).await;
    let done: usize = collected.answers.iter().map(|answer| answer.done).sum();
    let status = match (done, collected.unanswered.is_empty()) {
        (0, true) => StatusCode::NOT_FOUND,
        (_, true) => StatusCode::OK,
        (_, false) => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, json!({ "done": done, "unanswered": collected.unanswered }))
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
            /// Streams that were opened.
            "opens" => opens: u64;
            /// The most items.
            "totalMost" => total_most: u64;
        }
    }

    fn answer(of: &str, users: &[(&str, u64, u64)]) -> Answer {
        let row = |(name, channels, total): &(&str, u64, u64)| {
            let (login_name, opens) = ((*name).to_owned(), 2 * total);
            let (channels, total, total_most) = (*channels, *total, total + 20);
            let aggregate_item_limit = 100;
            UserRow { login_name, channels, total, aggregate_item_limit, opens, total_most }
                .into_row()
        };
        Answer {
            of: of.to_owned(),
            view: Some(UserRow::VIEW),
            rows: users.iter().map(row).collect(),
            next: None,
            done: 0,
        }
    }

    #[test]
    fn a_user_of_several_shards_is_one_and_the_greediest_comes_first() {
        let answers = vec![
            answer("server", &[("ann", 1, 10), ("bob", 2, 15)]),
            answer("server.1", &[("ann", 1, 7), ("cat", 1, 3)]),
        ];
        let rows = merged(UserRow::VIEW, answers, Some("total"), 2);
        let numbers = |row: &Row| [1, 2, 3, 4, 5].map(|column| row[column].rank());
        let shown: Vec<_> = rows.iter().map(|(of, row)| (&**of, numbers(row))).collect();
        let expected = [("server", [2, 17, 100, 34, 30]), ("server", [2, 15, 100, 30, 35])];
        assert_eq!(shown, expected);
    }

    #[tokio::test]
    async fn threads_are_asked_and_one_that_is_silent_is_named() {
        let registry = Registry::default();
        let good = registry.open_queue("good").expect("room");
        let _silent = registry.open_queue("silent").expect("room");
        drop(registry.open_queue("ended").expect("room"));
        let thread = std::thread::spawn(move || {
            loop {
                if let Some(query) = good.next() {
                    query.answer(vec![answer("server", &[("ann", 1, 2)])]);
                    return;
                }
                std::thread::yield_now();
            }
        });
        let wanted = Wanted::default();
        let (status, json) = rows(&registry, "users", &wanted, Duration::from_millis(300)).await;
        thread.join().expect("no panic");
        assert_eq!(status, StatusCode::OK);
        assert_eq!(json["rows"][0]["loginName"], "ann");
        assert_eq!(json["unanswered"], json!(["silent did not answer in time"]));
        assert_eq!(json["next"], json!({}));
    }
}
