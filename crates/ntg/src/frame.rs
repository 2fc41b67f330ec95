//! Any message, and messages out of a stream.

use crate::client::{Cancel, CancelReplace, MassCancel, NewOrder, NewQuote};
use crate::error::NtgError;
use crate::exchange::{BusinessReject, CancelReject, ExecutionReport, MassCancelReport};
use crate::session::{
    Heartbeat, Logon, LogonReply, Logout, MissedMessageAck, MissedMessageReport,
    MissedMessageRequest, Reject, SystemStatus,
};

/// The first byte of every message.
pub const START: u8 = 2;

/// Bytes in front of the fields.
pub const HEAD: usize = 4;

/// What the length in a head does not count.
const NOT_COUNTED: usize = 3;

/// The longest message.
const LONGEST: usize = ExecutionReport::LEN;

macro_rules! messages {
    ($($(#[$doc:meta])* $kind:literal $name:ident,)*) => {
        /// Any message.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(clippy::large_enum_variant, reason = "lives on the stack for a moment")]
        pub enum Message {
            $($(#[$doc])* $name($name),)*
        }

        impl Message {
            /// Its type.
            pub const fn kind(&self) -> u8 {
                match self { $(Self::$name(_) => $kind,)* }
            }

            /// Appends its bytes.
            pub fn append(&self, out: &mut Vec<u8>) {
                let start = out.len();
                match self { $(Self::$name(message) => out.extend_from_slice(&message.to_bytes()),)* }
                let length = (out.len() - start - NOT_COUNTED) as u16;
                let [low, high] = length.to_le_bytes();
                out[start..start + HEAD].copy_from_slice(&[START, low, high, self.kind()]);
            }

            /// Reads a whole frame. `None` for a type that is not known, or a
            /// length that is not its.
            pub fn read(frame: &[u8]) -> Option<Self> {
                match frame.get(HEAD - 1)? {
                    $($kind => $name::read(frame).map(Self::$name),)*
                    _ => None,
                }
            }

            /// How long messages of a type are.
            pub const fn len_of(kind: u8) -> Option<usize> {
                match kind { $($kind => Some($name::LEN),)* _ => None }
            }
        }
    };
}

messages! {
    /// Who wants in.
    b'A' Logon,
    /// The answer.
    b'B' LogonReply,
    /// The end.
    b'5' Logout,
    /// Still there.
    b'0' Heartbeat,
    /// What was missed.
    b'M' MissedMessageRequest,
    /// Whether it comes.
    b'N' MissedMessageAck,
    /// It came.
    b'P' MissedMessageReport,
    /// A message that cannot be.
    b'3' Reject,
    /// A partition goes or comes.
    b'n' SystemStatus,
    /// An order.
    b'D' NewOrder,
    /// Both sides.
    b'S' NewQuote,
    /// An amendment.
    b'G' CancelReplace,
    /// A cancel.
    b'F' Cancel,
    /// Many cancels.
    b'q' MassCancel,
    /// What became of an order.
    b'8' ExecutionReport,
    /// A cancel that is refused.
    b'9' CancelReject,
    /// Whether a mass cancel is taken.
    b'r' MassCancelReport,
    /// An order that nobody can take.
    b'j' BusinessReject,
}

/// Cuts a stream of bytes, as it comes, into messages.
///
/// It allocates for the longest half of a message, once.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    /// A message whose end has not come.
    part: Vec<u8>,
}

impl Frames {
    /// Takes bytes; `each` gets every whole frame, head included, and says whether
    /// to go on. What is behind a frame with which it stopped is dropped.
    ///
    /// # Errors
    /// What comes is no message; nothing behind it can be understood.
    pub fn read(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), NtgError> {
        if self.part.is_empty() {
            let rest = cut(bytes, &mut each)?;
            self.part.extend_from_slice(rest);
            return Ok(());
        }
        self.part.extend_from_slice(bytes);
        let left = cut(&self.part, &mut each)?.len();
        self.part.drain(..self.part.len() - left);
        Ok(())
    }
}

/// Gives each whole frame away. Returns what is left.
fn cut<'b>(bytes: &'b [u8], each: &mut impl FnMut(&[u8]) -> bool) -> Result<&'b [u8], NtgError> {
    let mut rest = bytes;
    while let Some(len) = frame_len(rest)? {
        let Some((frame, behind)) = rest.split_at_checked(len) else { break };
        rest = behind;
        if !each(frame) {
            return Ok(&[]);
        }
    }
    Ok(rest)
}

/// How long the first message is; `None` if its head is not there yet.
fn frame_len(bytes: &[u8]) -> Result<Option<usize>, NtgError> {
    match *bytes {
        [start, ..] if start != START => Err(NtgError::Start(start)),
        [_, low, high, ..] => {
            let len = usize::from(u16::from_le_bytes([low, high])) + NOT_COUNTED;
            let len = len.max(HEAD);
            if len > LONGEST { Err(NtgError::Long(len)) } else { Ok(Some(len)) }
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tapeline_layout::Text;

    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(pair).collect()
    }

    /// Buy 1,000 at 10.25, of the day, for a client.
    #[test]
    fn an_order_as_it_is_on_the_wire() {
        let order = NewOrder {
            cl_ord_id: Text::new("C000000001"),
            clearing_account: 1,
            instrument_id: 133_215,
            order_type: 2,
            side: 1,
            quantity: 1000,
            display: 1000,
            limit: 1_025_000_000,
            capacity: 2,
            auto_cancel: 1,
            executing_trader: 3,
            ..NewOrder::default()
        };
        let mut wire = bytes("02 7a00 44");
        wire.extend(b"C000000001");
        wire.extend([0; 31]);
        wire.extend(bytes("01 5f080200 00 00 02 00 00000000 01 e8030000 e8030000"));
        wire.extend(bytes("4042183d00000000 02 01 00 00"));
        wire.extend([0; 22]);
        wire.extend(bytes("03000000"));
        wire.extend([0; 20]);
        let mut written = Vec::new();
        Message::NewOrder(order).append(&mut written);
        assert_eq!(written, wire);
        assert_eq!(Message::read(&wire), Some(Message::NewOrder(order)));
    }

    /// The lengths of MIT203's table of messages.
    #[test]
    fn messages_are_as_long_as_the_document_says() {
        for (kind, len) in [
            (b'A', 80),
            (b'B', 38),
            (b'5', 24),
            (b'0', 4),
            (b'M', 9),
            (b'N', 5),
            (b'P', 5),
            (b'3', 59),
            (b'n', 6),
            (b'D', 125),
            (b'S', 81),
            (b'G', 116),
            (b'F', 73),
            (b'q', 46),
            (b'8', 155),
            (b'9', 63),
            (b'r', 56),
            (b'j', 63),
        ] {
            assert_eq!(Message::len_of(kind), Some(len), "{}", char::from(kind));
        }
        assert_eq!(Message::len_of(b'a'), None);
    }

    #[test]
    fn a_stream_out_of_step_is_an_error() {
        let read = |bytes: &[u8]| Frames::default().read(bytes, |_| true);
        assert_eq!(read(&[3]), Err(NtgError::Start(3)));
        assert_eq!(read(&[2, 0xff, 0xff]), Err(NtgError::Long(65_538)));
        assert_eq!(read(&[2, 0]), Ok(()));
    }

    proptest! {
        #[test]
        fn frames_come_whole_however_the_stream_is_cut(
            cuts in prop::collection::vec(1..40_usize, 1..60),
        ) {
            let mut wire = Vec::new();
            let logout = Logout { reason: Text::new("bye") };
            let messages = [
                Message::Heartbeat(Heartbeat {}),
                Message::NewOrder(NewOrder::default()),
                Message::Logout(logout),
                Message::ExecutionReport(ExecutionReport::default()),
            ];
            for message in &messages {
                message.append(&mut wire);
            }
            let (mut frames, mut found, mut rest) = (Frames::default(), Vec::new(), &wire[..]);
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                let read = frames.read(now, |frame| {
                    found.extend(Message::read(frame));
                    true
                });
                prop_assert_eq!(read, Ok(()));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(found, messages);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Frames::default().read(&bytes, |frame| {
                let _ = Message::read(frame);
                true
            });
            let mut with_start = vec![START];
            with_start.extend(&bytes);
            let _ = Frames::default().read(&with_start, |frame| {
                let _ = Message::read(frame);
                true
            });
        }
    }
}
