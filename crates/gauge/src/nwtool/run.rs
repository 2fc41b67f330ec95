//! From a command line to a side.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use super::options::{Options, Task, known};
use super::pair::same_version;
use super::{matrix, receive, send};
use crate::control::Control;
use crate::local::StartProcess;
use crate::output::Output;
use crate::{GaugeError, arguments};

/// Runs a side, or a matrix, as its command line has it. Returns whether all
/// that was measured counts and is within its bounds.
///
/// Errors: the command line is wrong, a side ended, or nothing can be measured.
pub fn run(
    command_line: &[String],
    is_classic: bool,
    start: &StartProcess<'_>,
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    if command_line.first().is_some_and(|word| word == "stream") {
        return super::stream(&command_line[1..], start, out);
    }
    let options = Options::read(command_line, is_classic)?;
    for warning in &options.common.warnings {
        out.say(warning);
    }
    match &options.task {
        Task::Help => {
            out.text(&help());
            Ok(true)
        }
        Task::Send => send::run(&options, out),
        Task::Forward(from) => receive::forward(&options, from.as_ref(), out),
        Task::Receive(host, port) => receive::receive(&options, (host, *port), out),
        Task::Matrix(at) => matrix::run(&options, at.as_ref(), start, out),
    }
}

/// Follows the process that started this one, over its standard input.
pub fn serve_parent() -> Result<(), GaugeError> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input: OwnedFd = input.map_err(GaugeError::io("standard input"))?;
    let mut control = Control::over_unix(UnixStream::from(input));
    same_version(&mut control)?;
    receive::serve_all(&mut control)
}

fn help() -> String {
    format!(
        "nwtool send                       side 1: sends at a rate, measures the way there and back\n\
         nwtool forward [HOST[:PORT]]      side 2: answers side 1 at HOST, passes on with --listen;\n\
         {:34}without HOST it serves a matrix\n\
         nwtool receive HOST[:PORT]        side 3: counts what side 2 passes on\n\
         nwtool matrix [HOST[:PORT]]       sizes x rates, with melting points and a verdict\n\
         nwtool stream [OPTIONS] TRANSPORT [HOST]   one way at rising rates, as sfnt-stream\n\n{}",
        "",
        arguments::help(&known())
    )
}
