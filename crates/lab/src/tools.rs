//! The tools that judge a host, by their subcommands and by the names of the
//! classic tools.

use std::env;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use tapeline_ending::Stop;
use tapeline_gauge::compare;
use tapeline_gauge::jitter;
use tapeline_gauge::pingpong::{self, StartServer};
use tapeline_measure::stop::interrupt_when;

use crate::failure::{Failure, Verdict, warn};

type Done = Result<Verdict, Failure>;

/// Runs the tool whose name this program was called by, if it was by one.
pub(crate) fn by_classic_name() -> Option<Done> {
    let called = env::args_os().next()?;
    let name = Path::new(&called).file_name()?.to_str()?.to_owned();
    let arguments: Vec<String> =
        env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    match name.as_str() {
        "sfnt-pingpong" => Some(pingpong(&with_options_of_environment(arguments), true)),
        "sysjitter" => Some(jitter(&arguments, true)),
        _ => None,
    }
}

/// `SFNT_OPTS` goes before what was typed.
fn with_options_of_environment(typed: Vec<String>) -> Vec<String> {
    let variable = env::var("SFNT_OPTS").unwrap_or_default();
    variable.split_whitespace().map(str::to_owned).chain(typed).collect()
}

pub(crate) fn ended(done: Done) -> ExitCode {
    match done {
        Ok(verdict) => verdict.into(),
        Err(failure) => failure.report(),
    }
}

struct Terminal {
    error: Option<io::Error>,
}

impl pingpong::Output for Terminal {
    fn text(&mut self, text: &str) {
        let mut out = io::stdout().lock();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.error.get_or_insert(error);
        }
    }

    fn say(&mut self, text: &str) {
        warn(text);
    }
}

pub(crate) fn pingpong(arguments: &[String], is_classic: bool) -> Done {
    if arguments == ["--child"] {
        // Its parent ends it: it has the other end of its connection.
        return Ok(pingpong::serve_parent().map(|()| Verdict::Good)?);
    }
    // A server that is a process goes with its client, which has to come back.
    let stop = Stop::on_signals(None).map_err(Failure::Signals)?;
    interrupt_when(stop.flag());
    let mut out = Terminal { error: None };
    let measured =
        pingpong::run(arguments, is_classic, &StartServer::Process(&local_server), &mut out);
    match (measured, out.error) {
        (_, Some(error)) => Err(error.into()),
        (Ok(true), None) => Ok(Verdict::Good),
        (Ok(false), None) => Ok(Verdict::Bad),
        (Err(error), None) => Err(error.into()),
    }
}

pub(crate) fn jitter(arguments: &[String], is_classic: bool) -> Done {
    let stop = Stop::on_signals(None).map_err(Failure::Signals)?;
    interrupt_when(stop.flag());
    let mut out = Terminal { error: None };
    jitter::run(arguments, is_classic, &mut out)?;
    out.error.map_or(Ok(Verdict::Good), |error| Err(error.into()))
}

pub(crate) fn compare(arguments: &[String]) -> Done {
    let mut out = Terminal { error: None };
    let is_within = compare::run(arguments, &mut out)?;
    out.error.map_or(Ok(Verdict::of(!is_within)), |error| Err(error.into()))
}

/// A server on this host, which serves over its standard input.
fn local_server(connection: OwnedFd) -> io::Result<Child> {
    Command::new(env::current_exe()?)
        .args(["pingpong", "--child"])
        .stdin(Stdio::from(connection))
        .stdout(Stdio::null())
        // Of its own group, so that a signal of the terminal goes to the client
        // alone, which ends it.
        .process_group(0)
        .spawn()
}
