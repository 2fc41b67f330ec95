//! Hexadecimal text, one message, the frames of one side.

use serde_json::{Map, Value, json};
use tapeline_inspect::capture::{Frame, Seen, Session, Side};
use tapeline_inspect::{Form, Ink, read_hex};
use tapeline_rwf::DataType;

use super::input::InputStream;
use super::output::Output;
use crate::failure::{Failure, Verdict};

pub(super) fn show_hex(
    input: InputStream,
    given_type: Option<DataType>,
    output: &mut Output<'_>,
) -> Result<Verdict, Failure> {
    let data_type = given_type.unwrap_or(DataType::MSG);
    let path = input.path.clone();
    let bytes = input.bytes()?;
    if bytes.trim_ascii_start().starts_with(b"{") {
        return Err(Failure::Json { path });
    }
    let text = String::from_utf8_lossy(&bytes);
    let pieces = read_hex(&text, data_type);
    match pieces.as_slice() {
        [] => return Err(Failure::Empty { path }),
        [Err(error)] => return Err(Failure::Hex { path, error: *error }),
        [Ok(piece)] if given_type.is_none() && Form::detect(piece) == Form::Frames => {
            return frames(piece, output);
        }
        _ => {}
    }
    let is_numbered = pieces.len() > 1 && !output.is_json;
    for (number, piece) in (1..).zip(&pieces) {
        if is_numbered {
            output.line(Ink::Aside, &format!("#{number}"))?;
        }
        match piece {
            Ok(bytes) => message(number, bytes, data_type, output)?,
            Err(error) => show_fault(&error.to_string(), 0, numbered(number), output)?,
        }
    }
    Ok(Verdict::of(output.has_faults))
}

pub(super) fn show_message(
    input: InputStream,
    given_type: Option<DataType>,
    output: &mut Output<'_>,
) -> Result<Verdict, Failure> {
    let data_type = given_type.unwrap_or(DataType::MSG);
    message(1, &input.bytes()?, data_type, output)?;
    Ok(Verdict::of(output.has_faults))
}

fn message(
    number: u64,
    bytes: &[u8],
    data_type: DataType,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    Ok(output.data(data_type, bytes, 0, || numbered(number))?)
}

/// What the JSON object of a message begins with.
fn numbered(number: u64) -> Map<String, Value> {
    Map::from_iter([("message".to_owned(), json!(number))])
}

pub(super) fn show_frames(input: InputStream, output: &mut Output<'_>) -> Result<Verdict, Failure> {
    frames(&input.bytes()?, output)
}

fn frames(bytes: &[u8], output: &mut Output<'_>) -> Result<Verdict, Failure> {
    let mut session = Session::new();
    for (number, seen) in (1_u64..).zip(session.feed(Side::Client, bytes)) {
        let envelope = Map::from_iter([("frame".to_owned(), json!(number))]);
        show_frame(&format!("#{number}"), &seen, &envelope, output)?;
    }
    let waiting = session.waiting_bytes(Side::Client);
    if waiting > 0 {
        let text = format!("the last frame is cut off after {waiting} bytes");
        show_fault(&text, 1, Map::new(), output)?;
    }
    Ok(Verdict::of(output.has_faults))
}

/// A frame with its messages; `head` is what the text begins with, `envelope`
/// what each JSON object does.
pub(super) fn show_frame(
    head: &str,
    seen: &Seen,
    envelope: &Map<String, Value>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    if !output.is_json
        && let Some(frame) = &seen.frame
    {
        let bytes = if seen.length == 1 { "byte" } else { "bytes" };
        output.line(Ink::Aside, &format!("{head} {frame}, {} {bytes}", seen.length))?;
        if let Frame::Text(text) = frame {
            for line in text.lines() {
                output.text(&format!("  {line}\n"))?;
            }
        }
    }
    for message in &seen.messages {
        output.data(DataType::MSG, message, 1, || envelope.clone())?;
    }
    match &seen.fault {
        Some(fault) => show_fault(fault, 1, envelope.clone(), output),
        None => Ok(()),
    }
}

fn show_fault(
    fault: &str,
    indent: usize,
    mut envelope: Map<String, Value>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    if output.is_json {
        output.has_faults = true;
        envelope.insert("error".to_owned(), json!(fault));
        output.object(&envelope.into())?;
    } else {
        output.fault(indent, &format!("fault: {fault}"))?;
    }
    Ok(())
}
