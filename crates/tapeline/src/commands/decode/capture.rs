//! Captured sessions.

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;

use serde_json::{Map, Value, json};
use tapeline_inspect::Ink;
use tapeline_inspect::capture::{CaptureError, Captured, TcpLimits, try_read_capture, utc};

use super::input::InputStream;
use super::output::Output;
use super::pieces::show_frame;
use crate::failure::{Failure, Verdict, warn};

pub(super) fn show(input: InputStream, output: &mut Output<'_>) -> Result<Verdict, Failure> {
    let path = input.path.clone();
    // A reader of a live session waits for each frame, not for a full buffer.
    let is_live = input.is_live || io::stdout().is_terminal();
    let mut written = Ok(());
    let mut known = 0;
    let limits = TcpLimits::default();
    let (totals, read) = try_read_capture(input.reader(), limits, &mut |captured| {
        written = frame(captured, &mut known, output).and_then(|()| match is_live {
            true => Ok(output.flush()?),
            false => Ok(()),
        });
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    written?;
    match read {
        Err(error @ CaptureError::NotACapture) => return Err(Failure::Capture { path, error }),
        Err(error) => {
            output.has_faults = true;
            warn(&format!("{}: {error}", path.display()));
        }
        Ok(()) => {}
    }
    if totals.unfollowed_packets > 0 {
        warn(&format!(
            "{}: {} packets belong to more connections than are followed ({}); split the capture",
            path.display(),
            totals.unfollowed_packets,
            limits.max_connections
        ));
    }
    if totals.sessions == 0 {
        let (connections, packets) = (totals.other_connections, totals.other_packets);
        return Err(Failure::NoSession { path, connections, packets });
    }
    Ok(Verdict::of(output.has_faults))
}

/// One frame; a connection is introduced with its first one.
fn frame(
    captured: &Captured<'_>,
    known: &mut usize,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let Captured { connection, client, server, side, number, time_ns, seen } = captured;
    let time = utc(*time_ns);
    let direction = side.direction();
    if !output.is_json && *connection > *known {
        *known = *connection;
        output.line(Ink::Head, &format!("connection {connection}: {client} to {server}"))?;
    }
    let head = format!("{time} {connection}#{number} {direction}");
    let envelope = Map::from_iter([
        ("connection".to_owned(), json!(connection)),
        ("client".to_owned(), json!(client.to_string())),
        ("server".to_owned(), json!(server.to_string())),
        ("direction".to_owned(), json!(direction)),
        ("frame".to_owned(), json!(number)),
        ("time".to_owned(), Value::from(time)),
    ]);
    show_frame(&head, seen, &envelope, output)
}
