//! Rows of all threads, asked for and put together.

use std::collections::VecDeque;
use std::mem::take;
use std::time::Duration;

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use tapeline_counters::{
    Act, Answer, Ask, Kind, Query, QueryError, QuerySender, Registry, Row, Rows, Scan, Value, View,
    Viewed,
};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::merge::{self, Order, Page};

/// Rows of an answer, if it is not said how many.
const ROWS: usize = 100;

/// Most rows of a view that are put together of several shards.
const MOST_MERGED: usize = 100_000;

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
    /// The mount whose rows are wanted, by its session.
    of: String,
    /// From which place on, as an answer before said of one that is asked with `at`.
    from: u32,
    /// Behind which row, as an answer before said: of a view in which rows of several
    /// shards are one.
    after: Option<String>,
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
        of: wanted.of.clone(),
        from: wanted.from,
        limit,
    };
    let mut first = ask(registry, &Ask::Rows(rows.clone()), patience).await;
    read(registry, &rows, &mut first);
    let after = wanted.after.as_deref();
    let (collected, is_whole) = together(registry, &rows, first, after, patience).await;
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
    let Collected { answers, unanswered } = collected;
    let order = Order { by: wanted.by.as_deref(), after, is_whole };
    (StatusCode::OK, shown(merge::page(known, answers, order, limit), known, &unanswered))
}

/// All rows of a view whose rows of several shards belong together: nothing less can be
/// put in order. `first` was asked for already.
async fn everything(
    registry: &Registry,
    rows: &Rows,
    mut first: Collected,
    patience: Duration,
) -> Collected {
    let mut all = Collected { answers: Vec::new(), unanswered: take(&mut first.unanswered) };
    let mut pages: VecDeque<Answer> = first.answers.into();
    let mut count = 0;
    while let Some(answer) = pages.pop_front() {
        count += answer.rows.len();
        let next = answer.next.filter(|_| count < MOST_MERGED);
        if let Some(from) = next {
            let more = Rows { at: answer.of.clone(), from, ..rows.clone() };
            let more = ask(registry, &Ask::Rows(more), patience).await;
            pages.extend(more.answers);
            all.unanswered.extend(more.unanswered);
        } else if answer.next.is_some() {
            all.unanswered.push(format!("{} has more than are put together", answer.of));
        }
        all.answers.push(answer);
    }
    all
}

/// What is put together of these rows, in order and cut.
///
/// Where rows of several shards belong together and there are more than were asked for,
/// the others are asked for, too.
pub(crate) async fn together(
    registry: &Registry,
    rows: &Rows,
    first: Collected,
    after: Option<&str>,
    patience: Duration,
) -> (Collected, bool) {
    let is_keyed = merge::is_keyed(&rows.view);
    let is_cut = |answer: &Answer| answer.next.is_some() || answer.rows.len() >= rows.limit;
    let is_several = first.answers.iter().filter(|answer| !answer.rows.is_empty()).count() > 1;
    let is_short = is_several && first.answers.iter().any(is_cut);
    if !is_keyed || !(is_short || after.is_some()) {
        return (first, is_keyed && is_several);
    }
    let whole = Rows { by: None, from: 0, limit: usize::MAX, ..rows.clone() };
    let first = ask(registry, &Ask::Rows(whole.clone()), patience).await;
    (everything(registry, &whole, first, patience).await, true)
}

/// Rows that were read as a whole, looked through like those of a hub.
struct ReadRows {
    views: &'static [&'static View],
    rows: Vec<Row>,
}

impl Viewed for ReadRows {
    fn views(&self) -> &'static [&'static View] {
        self.views
    }

    fn places(&self, _: &View) -> u32 {
        self.rows.len() as u32
    }

    fn row(&self, _: &View, place: u32) -> Option<Row> {
        self.rows.get(place as usize).cloned()
    }
}

/// What tables outside of hubs and servers have of a view, which this thread reads.
pub(crate) fn read(registry: &Registry, rows: &Rows, collected: &mut Collected) {
    for reader in registry.readers() {
        let view = reader.views().iter().find(|view| view.name == rows.view);
        let Some(view) = view.filter(|_| rows.at.is_empty() || rows.at == reader.name()) else {
            continue;
        };
        match reader.read(view) {
            Err(error) => collected.unanswered.push(error),
            Ok(read) => {
                let read = ReadRows { views: reader.views(), rows: read };
                let Some(mut scan) = Scan::new(rows, &read) else { continue };
                while !scan.step(&read, u32::MAX) {}
                collected.answers.push(scan.finish(reader.name(), &read));
            }
        }
    }
}

fn shown(page: Page, view: &View, unanswered: &[String]) -> Json {
    let rows: Vec<Json> = page
        .rows
        .into_iter()
        .map(|(of, row)| {
            let own = [("at".to_owned(), Json::from(&*of))];
            let cells = view.columns.iter().zip(row);
            let cells = cells.map(|(column, value)| (column.name.to_owned(), cell(value)));
            Json::Object(own.into_iter().chain(cells).collect())
        })
        .collect();
    let next: Map<String, Json> =
        page.next.into_iter().map(|(of, place)| (of.to_string(), place.into())).collect();
    let mut shown =
        json!({ "view": view.name, "rows": rows, "next": next, "unanswered": unanswered });
    if let Some(after) = page.after {
        shown["after"] = after.into();
    }
    shown
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
    if let Some(why) = collected.answers.iter().find_map(|answer| answer.refused.as_ref()) {
        return (StatusCode::CONFLICT, json!({ "error": why }));
    }
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
    use std::thread::{JoinHandle, spawn, yield_now};

    use super::*;
    use tapeline_counters::{QueryQueue, Rowed, TableReader, rows};

    const PATIENCE: Duration = Duration::from_secs(10);

    rows! {
        /// Users.
        struct UserRow = "users" {
            /// Name.
            "loginName" => login_name: String;
            /// Items.
            "total" => total: u64;
        }
    }

    /// So many users of a shard, of whom those with the highest numbers have most.
    struct Users(u64);

    impl Viewed for Users {
        fn views(&self) -> &'static [&'static View] {
            &[UserRow::VIEW]
        }

        fn places(&self, _: &View) -> u32 {
            self.0 as u32
        }

        fn row(&self, _: &View, place: u32) -> Option<Row> {
            let login_name = format!("user{place:05}");
            Some(UserRow { login_name, total: u64::from(place) }.into_row())
        }
    }

    /// A thread with one shard, which answers so many questions.
    fn shard(
        name: &'static str,
        queue: QueryQueue,
        users: u64,
        questions: usize,
    ) -> JoinHandle<()> {
        spawn(move || {
            let users = Users(users);
            for _ in 0..questions {
                let query = loop {
                    match queue.next() {
                        Some(query) => break query,
                        None => yield_now(),
                    }
                };
                let Ask::Rows(rows) = &query.ask else { panic!("rows are asked for") };
                let is_asked = rows.at.is_empty() || rows.at == name;
                let scan = Scan::new(rows, &users).filter(|_| is_asked);
                let answer = scan.map(|mut scan| {
                    while !scan.step(&users, 64) {}
                    scan.finish(name, &users)
                });
                query.answer(answer.into_iter().collect());
            }
        })
    }

    #[tokio::test]
    async fn threads_are_asked_and_one_that_is_silent_is_named() {
        let registry = Registry::default();
        let good = registry.open_queue("good").expect("room");
        let _silent = registry.open_queue("silent").expect("room");
        drop(registry.open_queue("ended").expect("room"));
        let thread = shard("server", good, 1, 1);
        let wanted = Wanted::default();
        let (status, json) = rows(&registry, "users", &wanted, Duration::from_millis(300)).await;
        thread.join().expect("no panic");
        assert_eq!(status, StatusCode::OK);
        assert_eq!(json["rows"][0]["loginName"], "user00000");
        assert_eq!(json["unanswered"], json!(["silent did not answer in time"]));
        assert_eq!(json["next"], json!({}));
    }

    #[tokio::test]
    async fn users_of_shards_are_put_together_before_they_are_cut() {
        let registry = Registry::default();
        let queues = ["a", "b"].map(|name| (name, registry.open_queue(name).expect("room")));
        // What is asked for, all of both, and twice the rest of the one with more.
        let [(a, to_a), (b, to_b)] = queues;
        let threads = [shard(a, to_a, 2_500, 4), shard(b, to_b, 900, 4)];
        let by = Some("total".to_owned());
        let wanted = Wanted { by, limit: Some(3), ..Wanted::default() };
        let (_, json) = rows(&registry, "users", &wanted, PATIENCE).await;
        for thread in threads {
            thread.join().expect("no panic");
        }
        let said: Vec<_> = json["rows"].as_array().expect("rows").iter().collect();
        let said: Vec<_> = said.iter().map(|row| (&row["loginName"], &row["total"])).collect();
        assert_eq!(said[0], (&json!("user02499"), &json!(2_499)));
        assert_eq!(said[2], (&json!("user02497"), &json!(2_497)));
        assert_eq!((said.len(), &json["unanswered"]), (3, &json!([])));
    }

    #[derive(Debug)]
    struct File(Result<u64, String>);

    impl TableReader for File {
        fn name(&self) -> &'static str {
            "file"
        }

        fn views(&self) -> &'static [&'static View] {
            &[UserRow::VIEW]
        }

        fn read(&self, view: &View) -> Result<Vec<Row>, String> {
            let users = Users(self.0.clone()?);
            Ok((0..users.places(view)).filter_map(|place| users.row(view, place)).collect())
        }
    }

    #[tokio::test]
    async fn tables_in_files_are_looked_through_like_others() {
        let registry = Registry::default();
        registry.show(File(Ok(9))).expect("room");
        let (by, filter) = (Some("total".to_owned()), "user0000".to_owned());
        let wanted = Wanted { by, filter, limit: Some(2), ..Wanted::default() };
        let (_, json) = rows(&registry, "users", &wanted, PATIENCE).await;
        assert_eq!(json["rows"][1], json!({ "at": "file", "loginName": "user00007", "total": 7 }));
        assert_eq!(json["rows"].as_array().map(Vec::len), Some(2));
    }

    #[tokio::test]
    async fn tables_that_cannot_be_read_say_why() {
        let registry = Registry::default();
        registry.show(File(Err("it is gone".to_owned()))).expect("room");
        let (status, json) = rows(&registry, "users", &Wanted::default(), PATIENCE).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(json["unanswered"], json!(["it is gone"]));
    }
}
