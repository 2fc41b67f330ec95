//! How a subcommand ends.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tapeline_inspect::capture::CaptureError;
use tapeline_omm::dictionary::TextError;
use thiserror::Error;

use crate::classic::UnknownOption;
use crate::config::Fault;

pub(crate) use tapeline_ending::Verdict;

const PROGRAM: &str = "tapeline";

/// Says something on standard error.
pub(crate) fn warn(text: &str) {
    tapeline_ending::warn(PROGRAM, text);
}

/// A subcommand could not do its work: exit status 2.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    /// A configuration file has faults.
    #[error("{}", lines(.0))]
    Config(Vec<Fault>),
    /// An option that there is not.
    #[error("{0}")]
    Option(#[from] UnknownOption),
    /// A setting cannot be.
    #[error("{0}")]
    Setting(String),
    /// The levels of the log make no sense.
    #[error("{0}")]
    Log(String),
    /// The ready file cannot be written.
    #[error("cannot write the ready file {}: {error}", path.display())]
    ReadyFile { path: PathBuf, error: io::Error },
    /// The backbone's settings cannot be.
    #[error("{0}")]
    Backbone(#[from] tapeline_backbone::BackboneError),
    /// The admin port cannot be.
    #[error(transparent)]
    AdminPort(#[from] tapeline_admin::AdminError),
    /// The admin port of a running process did not do what was asked.
    #[error("{0}")]
    Admin(String),
    /// Hub and server cannot start, or not go on.
    #[error("{0}")]
    Node(#[from] tapeline_node::NodeError),
    /// There is no edge thread, no policy, or no journal.
    #[error("{0}")]
    Edge(#[from] tapeline_edge::EdgeError),
    /// The latency file cannot be written.
    #[error("cannot write the latency file {}: {error}", path.display())]
    LatencyFile { path: PathBuf, error: io::Error },
    /// The source or the client cannot start.
    #[error("{0}")]
    Api(#[from] tapeline_api::ApiError),
    /// A subcommand that there is not, here or elsewhere.
    #[error("{0}")]
    Unknown(String),
    /// The data of a source cannot be used.
    #[error("{0}")]
    Feed(#[from] tapeline_feed::FeedError),
    /// A server does not want us.
    #[error("login refused: {0}")]
    LoginRefused(String),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// Signals cannot be caught.
    #[error("cannot catch signals: {0}")]
    Signals(io::Error),
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Write(#[from] io::Error),
    /// There is nothing to decode.
    #[error("{} is empty; give hexadecimal text, a message, frames or a capture", path.display())]
    Empty { path: PathBuf },
    /// A file is too large to be read at once.
    #[error(
        "{} has more than {limit} bytes; split it, or decode it as a capture, which may have any \
         size",
        path.display()
    )]
    TooLarge { path: PathBuf, limit: u64 },
    /// A dictionary has a fault.
    #[error("{}: {error}; correct the file, or leave the option out for the built-in dictionary", path.display())]
    Dictionary { path: PathBuf, error: Box<TextError> },
    /// A field dictionary without fields, which would name nothing.
    #[error(
        "no field in {}; name a field dictionary (RDMFieldDictionary), or leave the option out for \
         the built-in one",
        path.display()
    )]
    NoField { path: PathBuf },
    /// A type was given for what consists of messages.
    #[error(
        "--type is for hexadecimal and binary data, but {} is taken as {form}; leave --type out, \
         or give --input hex or --input message",
        path.display()
    )]
    Typed { path: PathBuf, form: &'static str },
    /// Hexadecimal text has a fault.
    #[error("{}: {error}", path.display())]
    Hex { path: PathBuf, error: tapeline_inspect::HexError },
    /// The input is JSON, which only vectors are.
    #[error("{} holds JSON; vectors are decoded with --vectors FILE", path.display())]
    Json { path: PathBuf },
    /// A capture cannot be read to its end.
    #[error("{}: {error}", path.display())]
    Capture { path: PathBuf, error: CaptureError },
    /// A capture holds nothing to show.
    #[error(
        "{}: no RSSL session in the capture ({connections} TCP connections of other kinds, \
         {packets} packets without readable TCP); capture whole packets from the start of the \
         connection, and without TLS",
        path.display()
    )]
    NoSession { path: PathBuf, connections: usize, packets: u64 },
}

/// One line for each fault.
fn lines(faults: &[Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

impl Failure {
    /// An error of reading a file.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Read { path, error }
    }

    /// Says on standard error what happened. That nobody reads the output any
    /// more is no failure.
    pub(crate) fn report(&self) -> ExitCode {
        let write = match self {
            Self::Write(error) => Some(error),
            _ => None,
        };
        tapeline_ending::report(PROGRAM, &self.to_string(), write)
    }
}
