//! `tapeline decode`: RWF bytes as text or JSON.

mod capture;
mod input;
mod output;
mod pieces;
mod vectors;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use tapeline_inspect::{Form, Limits};
use tapeline_rwf::DataType;

use crate::console::palette;
use crate::dictionary;
use crate::failure::{Failure, Verdict};
use input::InputStream;
use output::Output;

/// Show RWF messages, RSSL frames and captured sessions as text or JSON
///
/// The input may be hexadecimal text (one message a line, or one over several
/// lines), one binary message, the RSSL frames of one side, or a pcap or pcapng
/// capture of whole sessions: over TCP, WebSocket (rssl.rwf) or the HTTP tunnel,
/// compressed or not, on any port. It is told from its bytes.
///
/// Exit status: 0 if all was decoded (or passed its check), 1 if some of it was
/// not or there was nothing to check, 2 if the command could not be carried
/// out. With --vectors and without --check, what is wrong with a vector is part
/// of the output, and the status is 0.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Input file, `-` for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,

    /// What the input holds
    #[arg(long, value_enum, default_value_t = Input::Auto, value_name = "FORM")]
    input: Input,

    #[arg(help = "Type of hexadecimal and binary data, as in FIELD_LIST, REAL [default: MSG]")]
    #[arg(long = "type", value_name = "TYPE", value_parser = data_type)]
    data_type: Option<DataType>,

    /// Write one JSON object a message instead of text
    #[arg(long)]
    json: bool,

    #[arg(help = "Field dictionary in the classic format (RDMFieldDictionary)")]
    #[arg(long, value_name = "FILE", requires = "enums")]
    dictionary: Option<PathBuf>,

    /// Enumeration tables in the classic format (enumtype.def)
    #[arg(long, value_name = "FILE", requires = "dictionary")]
    enums: Option<PathBuf>,

    /// Decode golden vectors: JSON lines with name, type, hex and context; `-` for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "input", "data_type"])]
    vectors: Option<PathBuf>,

    /// Compare vectors with their value, encode them again and compare the bytes
    #[arg(long, requires = "vectors", conflicts_with = "json")]
    check: bool,

    /// Most entries and values shown of one message
    #[arg(long, default_value_t = Limits::default().max_nodes, value_name = "COUNT")]
    max_nodes: usize,
}

/// What the input holds.
#[derive(Clone, Copy, ValueEnum)]
enum Input {
    /// Told from its bytes
    Auto,
    /// Hexadecimal text
    Hex,
    /// One binary message or container
    Message,
    /// RSSL frames of one side
    Frames,
    /// A pcap or pcapng file
    Capture,
}

fn data_type(name: &str) -> Result<DataType, String> {
    let found = DataType::from_name(&name.to_ascii_uppercase());
    found.ok_or_else(|| "not a data type; use a name like MSG, FIELD_LIST, MAP or REAL".to_owned())
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let dictionary = dictionary::load(args.dictionary.as_deref(), args.enums.as_deref())?;
    let mut out = BufWriter::new(io::stdout().lock());
    let limits = Limits { max_nodes: args.max_nodes };
    let mut output = Output::new(&mut out, &dictionary, limits, palette(), args.json);
    let verdict = match &args.vectors {
        Some(path) if args.check => vectors::check(path, &mut output),
        Some(path) => vectors::show(path, &mut output),
        None => decode(args, &mut output),
    };
    // What was found before a failure is worth having.
    let flushed = out.flush();
    let verdict = verdict?;
    flushed?;
    Ok(verdict)
}

fn decode(args: &Args, output: &mut Output<'_>) -> Result<Verdict, Failure> {
    let mut input = InputStream::open(&args.file)?;
    let form = match args.input {
        Input::Auto => input.form(args.data_type.is_some())?,
        Input::Hex => Form::Hex,
        Input::Message => Form::Message,
        Input::Frames => Form::Frames,
        Input::Capture => Form::Capture,
    };
    let path = || input.path.clone();
    match form {
        Form::Capture if args.data_type.is_some() => {
            Err(Failure::Typed { path: path(), form: "a capture" })
        }
        Form::Frames if args.data_type.is_some() => {
            Err(Failure::Typed { path: path(), form: "frames" })
        }
        Form::Capture => capture::show(input, output),
        Form::Hex => pieces::show_hex(input, args.data_type, output),
        Form::Message => pieces::show_message(input, args.data_type, output),
        Form::Frames => pieces::show_frames(input, output),
    }
}
