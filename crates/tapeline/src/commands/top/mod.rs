//! `tapeline top`: the views of a running hub or server on a terminal.
//!
//! [`State`] is what is shown and what keys do, without a terminal; [`screen`] draws
//! it; here are the terminal and the admin port.

mod screen;
mod state;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::{DefaultTerminal, Terminal};

use self::state::{Act, State, VIEWS};
use crate::commands::admin::{Client, Where, part};
use crate::failure::{Failure, Verdict};

/// Rows that are asked for.
const ROWS: usize = 200;

/// Watch services, sources, mounts, users and items of a running hub or server
///
/// Each view has what needs a person first. Keys: 1 to 8 views, arrows or j and k move, Enter
/// opens a row, s changes the order, / filters, c closes the chosen mount or logs the chosen
/// user out (and asks first), h holds, q ends.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    at: Where,
    /// The view to begin with
    #[arg(long, value_name = "VIEW", default_value = "mounts")]
    view: String,
    /// The column by which rows are in order, the highest first, or the beginning of its
    /// name: `backlog` for backlogBytes
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// How often to ask, in milliseconds
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000,
        value_parser = clap::value_parser!(u64).range(100..=60_000)
    )]
    interval_ms: u64,
    /// Print one screen as text and end: for scripts
    #[arg(long)]
    once: bool,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let client = args.at.client()?;
    let mut state = State::new(&args.at.admin);
    if !state.show(&args.view) {
        let known = VIEWS.map(|view| view.name).join(", ");
        let text = format!("there is no view `{}`; give one of {known}", args.view);
        return Err(Failure::Setting(text));
    }
    if let Some(column) = args.by.as_ref().filter(|column| !state.order_by(column)) {
        let (view, known) = (state.view.name, state.view.columns.join(", "));
        let text = format!("the view {view} has no column `{column}`; give one of {known}");
        return Err(Failure::Setting(text));
    }
    if args.once {
        return once(&client, &mut state);
    }
    ask(&client, &mut state)?;
    let mut terminal = ratatui::try_init()?;
    let ended = turn(&mut terminal, &client, &mut state, Duration::from_millis(args.interval_ms));
    ratatui::restore();
    ended.map(|()| Verdict::Good)
}

/// One screen, of two looks a moment apart so that there are rates.
fn once(client: &Client, state: &mut State) -> Result<Verdict, Failure> {
    ask(client, state)?;
    std::thread::sleep(Duration::from_millis(300));
    ask(client, state)?;
    let mut terminal = Terminal::new(TestBackend::new(140, 30)).map_err(io::Error::other)?;
    terminal.draw(|frame| screen::draw(frame, state)).map_err(io::Error::other)?;
    let buffer = terminal.backend().buffer();
    let mut out = io::stdout().lock();
    for line in buffer.content().chunks(usize::from(buffer.area.width)) {
        let text: String = line.iter().map(ratatui::buffer::Cell::symbol).collect();
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(Verdict::Good)
}

fn turn(
    terminal: &mut DefaultTerminal,
    client: &Client,
    state: &mut State,
    interval: Duration,
) -> Result<(), Failure> {
    let mut asked = Instant::now();
    loop {
        terminal.draw(|frame| screen::draw(frame, state))?;
        let rest = interval.saturating_sub(asked.elapsed());
        let mut is_due = rest.is_zero();
        if event::poll(rest)?
            && let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
        {
            match state.key(key.code) {
                Act::None => {}
                Act::Ask => is_due = true,
                Act::End => return Ok(()),
                Act::Post(path) => {
                    state.note = match client.act(&path) {
                        Ok(count) => format!("mounts closed: {count}"),
                        Err(failure) => failure.to_string(),
                    };
                    is_due = true;
                }
            }
        }
        if is_due && !state.is_held {
            asked = Instant::now();
            // What runs may end and come back: the screen says so meanwhile.
            if let Err(failure) = ask(client, state) {
                state.lost(&failure.to_string());
            }
        } else if is_due {
            asked = Instant::now();
        }
    }
}

/// Asks for what is shown.
fn ask(client: &Client, state: &mut State) -> Result<(), Failure> {
    let (_, ready) = client.text("/readyz")?;
    let counters = client.get("/v1/counters", &[])?;
    let limit = ROWS.to_string();
    let query = [("by", state.by()), ("filter", &*state.filter), ("limit", &*limit)];
    let rows = client.get(&format!("/v1/{}", part(state.view.name)), &query);
    // A hub has no mounts, and a server no sources.
    let rows = match rows {
        Ok(rows) => rows,
        Err(failure) => {
            state.note = failure.to_string();
            serde_json::Value::Null
        }
    };
    state.take(ready.trim(), counters, &rows);
    Ok(())
}
