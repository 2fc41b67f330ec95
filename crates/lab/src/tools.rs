//! The tools that judge a host, by their subcommands and by the names of the
//! classic tools.

use std::env;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};

use tapeline_ending::Stop;
use tapeline_gauge::pingpong::{self, StartServer};
use tapeline_gauge::{
    GaugeError, Output, aio, compare, disk, env as machine, jitter, mcast, nwtool, tune,
};
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
        "sfnt-stream" => Some(stream(&with_options_of_environment(arguments))),
        "sysjitter" => Some(jitter(&arguments, true)),
        "AIO" => Some(aio(&arguments, true)),
        "DTool" => Some(disk(&arguments, true)),
        "MCastNwTool" => Some(mcast(&arguments, true)),
        "NwTool" => Some(nwtool(&arguments, true)),
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

impl Output for Terminal {
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

/// Runs a tool that comes back when a signal asks for it: what it started goes
/// with it. Whether all was good is its status.
fn interruptible(tool: impl FnOnce(&mut Terminal) -> Result<bool, GaugeError>) -> Done {
    let stop = Stop::on_signals(None).map_err(Failure::Signals)?;
    interrupt_when(stop.flag());
    told(tool)
}

/// A side that was started by this program's other process, which asks it to
/// end by a signal and has been told what went wrong: it says nothing itself.
fn serving(side: impl FnOnce() -> Result<(), GaugeError>) -> Done {
    let stop = Stop::on_signals(None).map_err(Failure::Signals)?;
    interrupt_when(stop.flag());
    Ok(Verdict::of(side().is_err()))
}

fn told(tool: impl FnOnce(&mut Terminal) -> Result<bool, GaugeError>) -> Done {
    let mut out = Terminal { error: None };
    let done = tool(&mut out);
    match (done, out.error) {
        (_, Some(error)) => Err(error.into()),
        (Ok(is_good), None) => Ok(Verdict::of(!is_good)),
        (Err(error), None) => Err(error.into()),
    }
}

pub(crate) fn pingpong(arguments: &[String], is_classic: bool) -> Done {
    if arguments == ["--child"] {
        return serving(pingpong::serve_parent);
    }
    let start = StartServer::Process(&|connection| child("pingpong", connection));
    interruptible(|out| pingpong::run(arguments, is_classic, &start, out))
}

pub(crate) fn jitter(arguments: &[String], is_classic: bool) -> Done {
    interruptible(|out| jitter::run(arguments, is_classic, out).map(|()| true))
}

pub(crate) fn compare(arguments: &[String]) -> Done {
    told(|out| compare::run(arguments, out))
}

pub(crate) fn nwtool(arguments: &[String], is_classic: bool) -> Done {
    if arguments == ["--child"] {
        return serving(nwtool::serve_parent);
    }
    let start = |connection| child("nwtool", connection);
    interruptible(|out| nwtool::run(arguments, is_classic, &start, out))
}

pub(crate) fn aio(arguments: &[String], is_classic: bool) -> Done {
    if arguments == ["--child"] {
        return serving(aio::serve_parent);
    }
    let start = |connection| child("aio", connection);
    interruptible(|out| aio::run(arguments, is_classic, &start, out))
}

pub(crate) fn mcast(arguments: &[String], is_classic: bool) -> Done {
    interruptible(|out| mcast::run(arguments, is_classic, out))
}

pub(crate) fn disk(arguments: &[String], is_classic: bool) -> Done {
    interruptible(|out| disk::run(arguments, is_classic, out))
}

pub(crate) fn env(arguments: &[String]) -> Done {
    told(|out| machine::run(arguments, out))
}

pub(crate) fn tune(arguments: &[String]) -> Done {
    interruptible(|out| tune::run(arguments, out))
}

fn stream(arguments: &[String]) -> Done {
    let start = |connection| child("nwtool", connection);
    interruptible(|out| nwtool::stream(arguments, &start, out))
}

/// The other side on this host, which serves over its standard input.
fn child(tool: &str, connection: OwnedFd) -> io::Result<Child> {
    Command::new(env::current_exe()?)
        .args([tool, "--child"])
        .stdin(Stdio::from(connection))
        .stdout(Stdio::null())
        // Of its own group, so that a signal of the terminal goes to the client
        // alone, which ends it.
        .process_group(0)
        .spawn()
}
