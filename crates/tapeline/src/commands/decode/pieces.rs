//! Hexadecimal text, one message, the frames of one side.

use serde_json::{Map, json};
use tapeline_inspect::capture::{Frame, Seen, Session, Side};
use tapeline_inspect::{Ink, read_hex};
use tapeline_rwf::DataType;

use super::output::Output;
use super::source::Source;
use crate::failure::{Failure, Verdict};

pub(super) fn show_hex(
    source: Source,
    data_type: DataType,
    output: &mut Output<'_>,
) -> Result<Verdict, Failure> {
    let path = source.path.clone();
    let bytes = source.bytes()?;
    if bytes.trim_ascii_start().starts_with(b"{") {
        return Err(Failure::Json { path });
    }
    let text = String::from_utf8_lossy(&bytes);
    let pieces = read_hex(&text, data_type).map_err(|error| Failure::Hex { path, error })?;
    if let [piece] = pieces.as_slice()
        && data_type == DataType::MSG
        && tapeline_inspect::Form::detect(piece) == tapeline_inspect::Form::Frames
    {
        return frames(piece, output);
    }
    let is_numbered = pieces.len() > 1 && !output.is_json;
    for (number, piece) in (1..).zip(&pieces) {
        if is_numbered {
            output.line(Ink::Aside, &format!("#{number}"))?;
        }
        message(number, piece, data_type, output)?;
    }
    Ok(Verdict::of(output.has_faults))
}

pub(super) fn show_message(
    source: Source,
    data_type: DataType,
    output: &mut Output<'_>,
) -> Result<Verdict, Failure> {
    message(1, &source.bytes()?, data_type, output)?;
    Ok(Verdict::of(output.has_faults))
}

fn message(
    number: u64,
    bytes: &[u8],
    data_type: DataType,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let envelope = || Map::from_iter([("message".to_owned(), json!(number))]);
    Ok(output.data(data_type, bytes, 0, envelope)?)
}

pub(super) fn show_frames(source: Source, output: &mut Output<'_>) -> Result<Verdict, Failure> {
    frames(&source.bytes()?, output)
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
        show_fault(&text, Map::new(), output)?;
    }
    Ok(Verdict::of(output.has_faults))
}

/// A frame with its messages; `head` is what the text begins with, `envelope`
/// what each JSON object does.
pub(super) fn show_frame(
    head: &str,
    seen: &Seen,
    envelope: &Map<String, serde_json::Value>,
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
        Some(fault) => show_fault(fault, envelope.clone(), output),
        None => Ok(()),
    }
}

fn show_fault(
    fault: &str,
    mut envelope: Map<String, serde_json::Value>,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    if output.is_json {
        output.has_faults = true;
        envelope.insert("error".to_owned(), json!(fault));
        output.object(&envelope.into())?;
    } else {
        output.fault(1, &format!("fault: {fault}"))?;
    }
    Ok(())
}
