//! The screen of `tapeline top`.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph, Row, Table, TableState, Wrap};
use serde_json::Value as Json;

use super::state::{Mode, State, VIEWS};
use crate::commands::admin::cell;

/// The keys that mean something now, and what.
fn keys(state: &State) -> String {
    let act = match state.view.name {
        "mounts" => "  c close",
        "users" => "  c log out",
        _ => "",
    };
    match state.mode {
        Mode::Detail => format!("Enter/Esc all rows{act}  h hold  q end"),
        _ => {
            let views = VIEWS.len();
            format!("1-{views} view  j/k move  Enter open  s order  / filter{act}  h hold  q end")
        }
    }
}

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State) {
    let [head, totals, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(head_line(state)), head);
    frame.render_widget(Paragraph::new(totals_line(state)), totals);
    match state.mode {
        Mode::Detail => detail(frame, state, body),
        _ => rows(frame, state, body),
    }
    frame.render_widget(Paragraph::new(foot_line(state)), foot);
}

fn head_line(state: &State) -> Line<'_> {
    let health = match &*state.health {
        "good" => Style::new().fg(Color::Green),
        _ => Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
    };
    let mut spans = vec![
        Span::raw("tapeline top  "),
        Span::raw(&*state.address),
        Span::raw("  "),
        Span::styled(&*state.health, health),
        Span::raw(" "),
    ];
    for (number, view) in (1..).zip(VIEWS) {
        let style = match view == state.view {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => Style::new(),
        };
        spans.push(Span::raw(" "));
        spans.push(Span::styled(format!(" {number} {} ", view.name), style));
    }
    Line::from(spans)
}

fn totals_line(state: &State) -> Line<'_> {
    let totals = &state.totals;
    Line::from(format!(
        "updates in {}/s  out {}/s  sent {}B/s  waiting {}B  busiest thread {:.0} %{}",
        short(totals.updates_in_per_s),
        short(totals.updates_out_per_s),
        short(totals.bytes_out_per_s),
        short(totals.output_bytes as f64),
        totals.busiest_percent,
        if state.is_held { "  HELD" } else { "" },
    ))
}

/// A number in few letters.
fn short(number: f64) -> String {
    match number {
        n if n >= 1e9 => format!("{:.1}G", n / 1e9),
        n if n >= 1e6 => format!("{:.1}M", n / 1e6),
        n if n >= 1e4 => format!("{:.1}k", n / 1e3),
        n => format!("{n:.0}"),
    }
}

fn foot_line(state: &State) -> Line<'_> {
    match state.mode {
        Mode::Filter => Line::from(format!("filter: {}_", state.filter)),
        _ if !state.note.is_empty() => Line::from(&*state.note),
        _ => Line::from(keys(state)).style(Style::new().fg(Color::DarkGray)),
    }
}

fn rows(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let names = state.view.columns;
    let cells: Vec<Vec<String>> =
        state.rows.iter().map(|row| names.iter().map(|name| cell(&row[*name])).collect()).collect();
    let title = |name: &str| match name == state.by() {
        true => format!("{name}▾"),
        false => name.to_owned(),
    };
    let heads: Vec<String> = names.iter().map(|name| title(name)).collect();
    let widths = (0..names.len()).map(|at| match at + 1 == names.len() {
        // Where there is too little room, the last one is cut.
        true => Constraint::Fill(1),
        false => {
            let widest = cells.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
            Constraint::Length(widest.max(heads[at].chars().count()) as u16)
        }
    });
    let lines = state
        .rows
        .iter()
        .zip(cells.clone())
        .map(|(row, cells)| Row::new(cells).style(Style::new().fg(colour(row))));
    let filter = match state.filter.is_empty() {
        true => String::new(),
        false => format!(" with `{}`", state.filter),
    };
    let title =
        format!(" {}: {} rows by {}{filter} ", state.view.name, state.rows.len(), state.by());
    let table = Table::new(lines, widths)
        .header(Row::new(heads).style(Style::new().add_modifier(Modifier::BOLD)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED))
        .column_spacing(2)
        .block(Block::bordered().title(title));
    let mut chosen = TableState::default().with_selected(Some(state.chosen));
    frame.render_stateful_widget(table, area, &mut chosen);
}

/// What needs a person is red, what may need one yellow.
fn colour(row: &Json) -> Color {
    let is_bad = row["slow"] == true || row["up"] == false || row["State"] == "Down";
    let is_odd = ["stale", "lost", "losses"].iter().any(|name| row[*name].as_u64() > Some(0));
    match (is_bad, is_odd) {
        (true, _) => Color::Red,
        (false, true) => Color::Yellow,
        (false, false) => Color::Reset,
    }
}

fn detail(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let row = state.chosen_row().and_then(Json::as_object);
    let widest = row.into_iter().flatten().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: Vec<Line<'_>> = row
        .into_iter()
        .flatten()
        .map(|(name, value)| Line::from(format!("{name:widest$}  {}", cell(value))))
        .collect();
    let block = Block::bordered().title(format!(" one of {}: Esc for all ", state.view.name));
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_foot_has_the_keys_that_mean_something() {
        let mut state = State::new("x");
        let said = keys(&state);
        assert!(said.starts_with("1-8 view") && said.contains("c close"), "{said}");
        state.show("users");
        assert!(keys(&state).contains("c log out"));
        state.show("hops");
        assert!(!keys(&state).contains("  c "));
        state.mode = Mode::Detail;
        assert_eq!(keys(&state), "Enter/Esc all rows  h hold  q end");
    }
}
