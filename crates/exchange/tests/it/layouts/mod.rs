//! Bytes of the native gateway and of market data, for readers that others wrote
//! (`interop/layouts`): each message with other values in each field, and all that goes
//! over the sockets of a trading day. Beside the bytes are the values that are in them.

mod day;
mod fields;
mod samples;

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use serde_json::{Map, json};
use tapeline_mitch::{Message as Mitch, Unit, UnitHead};
use tapeline_ntg::{Frames, Message};

use fields::{Named, mitch, native};

/// Where the bytes are kept; without it they are only looked through.
const FOLDER: &str = "TAPELINE_LAYOUTS";

/// What the definitions are called.
const GATEWAY: &str = "NativeTradingGateway";
const RECOVERY: &str = "NativeTradingGatewayRecovery";
const LINES: &str = "Level2";
const REPLAY: &str = "Level2Replay";
const SNAPSHOT: &str = "Level2Recovery";

/// Bytes that one definition reads from their first to their last.
#[derive(Default)]
struct Recording {
    lines: String,
    /// The messages that are in it, each with the definition that reads it.
    kinds: BTreeSet<(&'static str, &'static str)>,
}

impl Recording {
    fn add(&mut self, protocol: &'static str, whose: &str, bytes: &[u8], messages: &[Named]) {
        self.kinds.extend(messages.iter().map(|(kind, _)| (protocol, *kind)));
        let mut hex = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            let _ = write!(hex, "{byte:02x}");
        }
        let piece =
            json!({"protocol": protocol, "whose": whose, "bytes": hex, "messages": messages});
        self.lines.push_str(&piece.to_string());
        self.lines.push('\n');
    }

    /// Writes it to the folder, if there is one.
    fn keep(&self, name: &str) {
        let Some(folder) = env::var_os(FOLDER).map(PathBuf::from) else { return };
        fs::write(folder.join(name), &self.lines).expect("room");
    }
}

/// The messages of a stream of the native gateway, which ends behind one.
fn of_gateway(bytes: &[u8]) -> Vec<Named> {
    let (mut messages, mut len) = (Vec::new(), 0);
    let read = Frames::default().read(bytes, |frame| {
        len += frame.len();
        messages.push(native::named(&Message::read(frame).expect("a message")));
        true
    });
    read.expect("messages");
    assert_eq!(len, bytes.len(), "half of a message is left");
    messages
}

/// The units of a stream or a datagram, which ends behind one, and their messages.
fn of_units(mut bytes: &[u8]) -> Vec<Named> {
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let len = Unit::len_of(bytes).expect("a head");
        let (unit, behind) = bytes.split_at_checked(len).expect("half of a unit is left");
        let unit = Unit::read(unit).expect("a unit");
        messages.push(head(&unit.head));
        messages.extend(
            unit.messages()
                .map(|(_, message)| mitch::named(&Mitch::read(message).expect("a message"))),
        );
        bytes = behind;
    }
    messages
}

/// A unit's head, as one more message.
fn head(head: &UnitHead) -> Named {
    let UnitHead { length, count, group, sequence } = *head;
    let mut values = Map::new();
    for (name, value) in [
        ("length", u32::from(length)),
        ("message_count", u32::from(count)),
        ("market_data_group", u32::from(group)),
        ("sequence_number", sequence),
    ] {
        values.insert(name.to_owned(), json!(value));
    }
    ("unit_header", values)
}
