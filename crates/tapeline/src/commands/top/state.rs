//! What `tapeline top` shows, and what keys do to it.

use std::time::Instant;

use ratatui::crossterm::event::KeyCode;
use serde_json::Value as Json;

use crate::commands::admin::{columns, part};

/// A view as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) name: &'static str,
    /// The column with the highest values first, until another one is chosen.
    by: &'static str,
    /// The columns, those that tell most first; the others are in the detail.
    pub(super) columns: &'static [&'static str],
}

/// The views, each so that what needs a person comes first.
pub(super) const VIEWS: [Shown; 8] = [
    Shown {
        name: "services",
        by: "stale",
        columns: &[
            "name",
            "State",
            "accepting",
            "stale",
            "active",
            "pending",
            "items",
            "updatesPerS",
            "hubs",
            "QoS",
        ],
    },
    Shown {
        name: "sources",
        by: "losses",
        columns: &[
            "name",
            "phase",
            "losses",
            "lastLossSeconds",
            "upSeconds",
            "items",
            "inWindow",
            "unsent",
            "services",
            "lastLoss",
        ],
    },
    Shown {
        name: "mounts",
        by: "backlogBytes",
        columns: &[
            "at",
            "channel",
            "loginName",
            "backlogBytes",
            "slow",
            "slowSeconds",
            "slowCount",
            "mergedBytes",
            "items",
            "hostname",
            "applicationName",
        ],
    },
    Shown {
        name: "users",
        by: "total",
        columns: &["loginName", "total", "channels", "aggregateItemLimit", "itemLimitPerMount"],
    },
    Shown {
        name: "items",
        by: "messages",
        columns: &[
            "name",
            "service",
            "state",
            "watchers",
            "messages",
            "messagesPerS",
            "imageBytes",
            "mergedBytes",
            "request",
            "text",
        ],
    },
    Shown { name: "servers", by: "requests", columns: &["name", "incarnation", "requests"] },
    Shown {
        name: "peers",
        by: "lost",
        columns: &["at", "name", "up", "lost", "gaps", "position", "silentMs", "incarnation"],
    },
    Shown {
        name: "hops",
        by: "worstNs",
        columns: &["service", "hop", "p50Ns", "p99Ns", "worstNs", "worstItem", "samples", "at"],
    },
];

/// What a key wants done outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    None,
    /// To ask again at once.
    Ask,
    /// To have something done, at this path.
    Post(String),
    End,
}

/// What is typed into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Rows,
    Detail,
    Filter,
    /// An act is to be confirmed.
    Confirm,
}

/// Rates between the last two looks, and what there is now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) updates_in_per_s: f64,
    pub(super) updates_out_per_s: f64,
    pub(super) bytes_out_per_s: f64,
    pub(super) output_bytes: u64,
    pub(super) busiest_percent: f64,
}

/// All of it.
pub(super) struct State {
    pub(super) address: String,
    pub(super) health: String,
    pub(super) view: Shown,
    pub(super) filter: String,
    pub(super) mode: Mode,
    pub(super) rows: Vec<Json>,
    pub(super) chosen: usize,
    pub(super) is_held: bool,
    pub(super) note: String,
    pub(super) totals: Totals,
    by: Option<String>,
    before: Option<(Instant, Json)>,
}

impl State {
    pub(super) fn new(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            health: String::new(),
            view: VIEWS[2],
            filter: String::new(),
            mode: Mode::Rows,
            rows: Vec::new(),
            chosen: 0,
            is_held: false,
            note: String::new(),
            totals: Totals::default(),
            by: None,
            before: None,
        }
    }

    /// Shows a view. Whether there is one of this name.
    pub(super) fn show(&mut self, name: &str) -> bool {
        let Some(view) = VIEWS.iter().find(|view| view.name == name) else { return false };
        (self.view, self.by, self.chosen, self.mode) = (*view, None, 0, Mode::Rows);
        self.rows.clear();
        self.note.clear();
        true
    }

    /// Has rows in the order of the first column whose name begins so. Whether the view
    /// has one.
    pub(super) fn order_by(&mut self, beginning: &str) -> bool {
        let beginning = beginning.to_ascii_lowercase();
        let begins = |name: &&&str| name.to_ascii_lowercase().starts_with(&beginning);
        let Some(column) = self.view.columns.iter().find(begins) else { return false };
        self.by = Some((*column).to_owned());
        true
    }

    /// The column by which rows are in order.
    pub(super) fn by(&self) -> &str {
        self.by.as_deref().unwrap_or(self.view.by)
    }

    /// The row that keys mean.
    pub(super) fn chosen_row(&self) -> Option<&Json> {
        self.rows.get(self.chosen)
    }

    /// Takes over what was answered.
    pub(super) fn take(&mut self, health: &str, counters: Json, rows: &Json) {
        health.clone_into(&mut self.health);
        let now = Instant::now();
        if let Some((then, before)) = &self.before {
            let seconds = now.duration_since(*then).as_secs_f64();
            self.totals = totals(before, &counters, seconds);
        }
        self.before = Some((now, counters));
        self.rows = rows["rows"].as_array().cloned().unwrap_or_default();
        self.chosen = self.chosen.min(self.rows.len().saturating_sub(1));
        let silent = rows["unanswered"].as_array().into_iter().flatten();
        let silent: Vec<_> = silent.filter_map(Json::as_str).collect();
        if !silent.is_empty() {
            self.note = silent.join("; ");
        }
    }

    /// Nothing is answered.
    pub(super) fn lost(&mut self, why: &str) {
        "no answer".clone_into(&mut self.health);
        why.clone_into(&mut self.note);
    }

    /// Does what a key means.
    pub(super) fn key(&mut self, key: KeyCode) -> Act {
        match self.mode {
            Mode::Filter => self.key_in_filter(key),
            Mode::Confirm => self.key_to_confirm(key),
            Mode::Rows | Mode::Detail => self.key_in_rows(key),
        }
    }

    fn key_in_filter(&mut self, key: KeyCode) -> Act {
        match key {
            KeyCode::Char(letter) => self.filter.push(letter),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Enter => self.mode = Mode::Rows,
            KeyCode::Esc => {
                self.filter.clear();
                self.mode = Mode::Rows;
            }
            _ => return Act::None,
        }
        Act::Ask
    }

    fn key_to_confirm(&mut self, key: KeyCode) -> Act {
        self.mode = Mode::Rows;
        self.note.clear();
        match (key, self.act()) {
            (KeyCode::Char('y'), Some((_, path))) => Act::Post(path),
            _ => Act::None,
        }
    }

    fn key_in_rows(&mut self, key: KeyCode) -> Act {
        let last = self.rows.len().saturating_sub(1);
        match key {
            KeyCode::Char('q') => return Act::End,
            KeyCode::Char(digit @ '1'..='9') => {
                let at = digit as usize - '1' as usize;
                if let Some(view) = VIEWS.get(at) {
                    self.show(view.name);
                    return Act::Ask;
                }
            }
            KeyCode::Down | KeyCode::Char('j') => self.chosen = (self.chosen + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Home => self.chosen = 0,
            KeyCode::End => self.chosen = last,
            KeyCode::Enter if self.mode == Mode::Rows => self.mode = Mode::Detail,
            KeyCode::Enter | KeyCode::Esc => self.mode = Mode::Rows,
            KeyCode::Char('/') => self.mode = Mode::Filter,
            KeyCode::Char('h') => self.is_held = !self.is_held,
            KeyCode::Char('s') => {
                self.by = self.next_order();
                return Act::Ask;
            }
            KeyCode::Char('c') => {
                if let Some((words, _)) = self.act() {
                    self.note = format!("{words}? y for yes");
                    self.mode = Mode::Confirm;
                }
            }
            _ => {}
        }
        Act::None
    }

    /// The next column of numbers.
    fn next_order(&self) -> Option<String> {
        let first = self.rows.first()?;
        let numbers: Vec<_> =
            columns(&self.rows).into_iter().filter(|name| first[name].is_number()).collect();
        let now = numbers.iter().position(|name| name == self.by()).map_or(0, |at| at + 1);
        numbers.get(now % numbers.len().max(1)).cloned()
    }

    /// What can be done with the chosen row: in words, and where.
    fn act(&self) -> Option<(String, String)> {
        let row = self.chosen_row()?;
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        match self.view.name {
            "mounts" => {
                let (at, channel, user) = (text("at"), text("channel"), text("loginName"));
                let path = format!("/v1/mounts/{}/{}/close", part(at), part(channel));
                Some((format!("close mount {channel} of {user} at {at}"), path))
            }
            "users" => {
                let user = text("loginName");
                Some((format!("log out {user}"), format!("/v1/users/{}/logout", part(user))))
            }
            _ => None,
        }
    }
}

fn sum(counters: &Json, group: &str, name: &str) -> u64 {
    let all = counters[group].as_object().into_iter().flatten();
    all.filter_map(|(_, counts)| counts[name].as_u64()).sum()
}

fn totals(before: &Json, now: &Json, seconds: f64) -> Totals {
    let rate = |group: &str, name: &str| {
        let more = sum(now, group, name).saturating_sub(sum(before, group, name));
        more as f64 / seconds.max(0.001)
    };
    let busiest = now["thread"].as_object().into_iter().flatten();
    let busiest = busiest.filter_map(|(_, counts)| counts["busiest_permille"].as_u64()).max();
    Totals {
        updates_in_per_s: rate("server", "updates_in"),
        updates_out_per_s: rate("server", "updates_out"),
        bytes_out_per_s: rate("channel", "bytes_sent"),
        output_bytes: sum(now, "server", "output_bytes"),
        busiest_percent: busiest.unwrap_or(0) as f64 / 10.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state() -> State {
        let mut state = State::new("x");
        let row = |channel: &str| {
            json!({
                "at": "server",
                "channel": channel,
                "loginName": "ann",
                "items": 3,
                "backlogBytes": 9,
            })
        };
        state.take("good", Json::Null, &json!({ "rows": [row("1.1"), row("2.1")] }));
        state
    }

    #[test]
    fn a_mount_is_closed_only_when_it_is_confirmed() {
        let mut state = state();
        assert_eq!(state.key(KeyCode::Char('j')), Act::None);
        assert_eq!(state.key(KeyCode::Char('c')), Act::None);
        assert_eq!(state.note, "close mount 2.1 of ann at server? y for yes");
        assert_eq!(state.key(KeyCode::Char('n')), Act::None);
        state.key(KeyCode::Char('c'));
        let path = "/v1/mounts/server/2.1/close".to_owned();
        assert_eq!(state.key(KeyCode::Char('y')), Act::Post(path));
    }

    #[test]
    fn the_order_goes_round_the_columns_of_numbers() {
        let mut state = state();
        assert_eq!(state.by(), "backlogBytes");
        assert_eq!(state.key(KeyCode::Char('s')), Act::Ask);
        assert_eq!(state.by(), "items");
        state.key(KeyCode::Char('s'));
        assert_eq!(state.by(), "backlogBytes");
    }

    #[test]
    fn the_order_is_by_a_column_whose_name_begins_so() {
        let mut state = state();
        assert!(state.order_by("slow") && state.by() == "slow");
        assert!(state.order_by("backlog") && state.by() == "backlogBytes");
        assert!(!state.order_by("price") && state.by() == "backlogBytes");
    }

    #[test]
    fn letters_go_into_the_filter_until_enter() {
        let mut state = state();
        for key in ['/', 'q', '1'] {
            assert_ne!(state.key(KeyCode::Char(key)), Act::End);
        }
        state.key(KeyCode::Enter);
        assert_eq!((&*state.filter, state.mode), ("q1", Mode::Rows));
        assert_eq!(state.key(KeyCode::Char('4')), Act::Ask);
        assert_eq!(state.view.name, "users");
        assert_eq!(state.key(KeyCode::Char('q')), Act::End);
    }

    #[test]
    fn rates_are_of_the_time_between_two_looks() {
        let at = |updates: u64| json!({ "server": { "a": { "updates_in": updates }, "b": { "updates_in": 5 } } });
        let totals = totals(&at(100), &at(300), 2.0);
        assert!((totals.updates_in_per_s - 100.0).abs() < 1e-9, "{totals:?}");
    }
}
