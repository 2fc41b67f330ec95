//! Messages out of a stream.

use crate::error::FixError;
use crate::message::Message;
use crate::value::unsigned;

/// What ends every field.
pub const SOH: u8 = 1;

/// The longest message that is read or written.
pub const MAX_MESSAGE: usize = 8192;

/// How every message begins.
pub(crate) const START: &[u8] = b"8=FIXT.1.1\x019=";

/// Bytes of the checksum's field: `10=123|`.
pub(crate) const TRAILER: usize = 7;

/// Digits of a body length; some write zeros in front.
const MAX_DIGITS: usize = 6;

/// Where things are in a whole message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Where the body begins.
    pub(crate) body: usize,
    /// How long all of it is.
    pub(crate) len: usize,
}

/// The length of the first whole message at the start of `bytes`; `None` if more of
/// it is to come.
pub fn frame_len(bytes: &[u8]) -> Result<Option<usize>, FixError> {
    Ok(measure(bytes)?.map(|shape| shape.len))
}

/// Measures the first message, and compares its checksum.
pub(crate) fn measure(bytes: &[u8]) -> Result<Option<Shape>, FixError> {
    let head = bytes.len().min(START.len());
    if bytes[..head] != START[..head] {
        return Err(FixError::Start);
    }
    let behind = &bytes[head..];
    let digits = behind.iter().take(MAX_DIGITS).take_while(|byte| byte.is_ascii_digit()).count();
    match behind.get(digits) {
        Some(&SOH) => {}
        None => return Ok(None),
        Some(_) => return Err(FixError::Length),
    }
    let body = START.len() + digits + 1;
    let said = unsigned(&behind[..digits]).ok_or(FixError::Length)?;
    let len = body + said as usize + TRAILER;
    if len > MAX_MESSAGE {
        return Err(FixError::Long(len));
    }
    let Some(frame) = bytes.get(..len) else { return Ok(None) };
    let (summed, trailer) = frame.split_at(len - TRAILER);
    let (Some(&SOH), Some(claimed)) = (summed.last(), trailer_sum(trailer)) else {
        return Err(FixError::End(said as usize));
    };
    let found = sum(summed);
    if u16::from(found) == claimed {
        Ok(Some(Shape { body, len }))
    } else {
        Err(FixError::Checksum { len, found, said: claimed })
    }
}

/// What a trailer says.
fn trailer_sum(trailer: &[u8]) -> Option<u16> {
    match trailer {
        [b'1', b'0', b'=', digits @ .., SOH] => Some(unsigned(digits)? as u16),
        _ => None,
    }
}

/// Where the first field ends. Values are short: eight bytes at a time find most of
/// them in one step.
#[inline]
pub(crate) fn find_end(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([SOH; 8]);
    const HIGH: u64 = ONES << 7;
    let mut chunks = bytes.chunks_exact(8);
    let mut at = 0;
    for chunk in &mut chunks {
        let [a, b, c, d, e, f, g, h] = *chunk else { break };
        let word = u64::from_le_bytes([a, b, c, d, e, f, g, h]) ^ ONES;
        // The lowest bit that is left is that of the first byte that is zero now.
        let zeros = word.wrapping_sub(ONES) & !word & HIGH;
        if zeros != 0 {
            return Some(at + zeros.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = chunks.remainder().iter().position(|&byte| byte == SOH)?;
    Some(at + rest)
}

/// What bytes add up to.
pub(crate) fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, &byte| sum.wrapping_add(byte))
}

/// Cuts a stream of bytes, as it comes, into messages.
///
/// What is damaged (a wrong checksum, no type where it must be) is passed over and
/// counted, and its number is asked for again like any that is missing. Of a stream
/// half a message is kept, no more.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    /// A message whose end has not come.
    part: Vec<u8>,
    garbled: u64,
}

impl Frames {
    /// Takes bytes; `each` gets every whole message, and says whether to go on. What
    /// is behind a message with which it stopped is dropped.
    ///
    /// # Errors
    /// What comes is no message; nothing behind it can be understood.
    pub fn read(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&Message<'_>) -> bool,
    ) -> Result<(), FixError> {
        let garbled = &mut self.garbled;
        if self.part.is_empty() {
            let rest = cut(bytes, garbled, &mut each)?;
            self.part.extend_from_slice(rest);
            return Ok(());
        }
        self.part.extend_from_slice(bytes);
        let left = cut(&self.part, garbled, &mut each)?.len();
        self.part.drain(..self.part.len() - left);
        Ok(())
    }

    /// How many messages were passed over because they were damaged.
    pub const fn garbled(&self) -> u64 {
        self.garbled
    }
}

/// Gives each whole message away. Returns what is left.
fn cut<'b>(
    bytes: &'b [u8],
    garbled: &mut u64,
    each: &mut impl FnMut(&Message<'_>) -> bool,
) -> Result<&'b [u8], FixError> {
    let mut rest = bytes;
    loop {
        let (len, message) = match measure(rest) {
            Ok(Some(shape)) => {
                let (frame, _) = rest.split_at(shape.len);
                (shape.len, Message::of(frame, shape).ok())
            }
            Ok(None) => return Ok(rest),
            Err(FixError::Checksum { len, .. }) => (len, None),
            Err(error) => return Err(error),
        };
        rest = &rest[len..];
        let goes_on = match message {
            Some(message) => each(&message),
            None => {
                *garbled += 1;
                true
            }
        };
        if !goes_on {
            return Ok(&[]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::wire;

    #[test]
    fn a_message_is_as_long_as_its_body_says() {
        let heartbeat = wire("35=0|34=2|49=A|52=20261126-21:11:13|56=B|");
        assert!(heartbeat.starts_with(b"8=FIXT.1.1\x019=41\x0135=0\x01"));
        let mut stream = heartbeat.clone();
        stream.extend(b"8=FIX");
        assert_eq!(frame_len(&stream), Ok(Some(heartbeat.len())));
        for cut in 0..heartbeat.len() {
            assert_eq!(frame_len(&heartbeat[..cut]), Ok(None), "{cut}");
        }
    }

    #[test]
    fn each_way_to_be_no_message_has_its_name() {
        let of = |text: &str| frame_len(&text.bytes().map(bar).collect::<Vec<u8>>());
        assert_eq!(of("GET /"), Err(FixError::Start));
        assert_eq!(of("8=FIX.4.4|9=5|"), Err(FixError::Start));
        assert_eq!(of("8=FIXT.1.1|35=0|"), Err(FixError::Start));
        assert_eq!(of("8=FIXT.1.1|9=|"), Err(FixError::Length));
        assert_eq!(of("8=FIXT.1.1|9=-5|"), Err(FixError::Length));
        assert_eq!(of("8=FIXT.1.1|9=0000005"), Err(FixError::Length));
        assert_eq!(of("8=FIXT.1.1|9=999999|"), Err(FixError::Long(1_000_026)));
        assert_eq!(of("8=FIXT.1.1|9=8167|"), Ok(None));
        assert_eq!(of("8=FIXT.1.1|9=8168|"), Err(FixError::Long(8193)));
        assert_eq!(of("8=FIXT.1.1|9=4|35=0|10=163|"), Err(FixError::End(4)));
        assert_eq!(of("8=FIXT.1.1|9=5|35=0|10=1x3|"), Err(FixError::End(5)));
        let damaged = FixError::Checksum { len: 27, found: 241, said: 164 };
        assert_eq!(of("8=FIXT.1.1|9=5|35=0|10=164|"), Err(damaged));
        assert_eq!(of("8=FIXT.1.1|9=5|35=0|10=241|"), Ok(Some(27)));
        assert_eq!(of("8=FIXT.1.1|9=000005|35=0|10=225|"), Ok(Some(32)));
    }

    fn bar(byte: u8) -> u8 {
        if byte == b'|' { SOH } else { byte }
    }

    #[test]
    fn what_is_damaged_is_passed_over_and_counted() {
        let mut stream = wire("35=0|34=1|");
        let damaged_at = stream.len() + 19;
        stream.extend(wire("35=0|34=2|"));
        stream[damaged_at] ^= 4;
        stream.extend(wire("34=3|35=0|"));
        stream.extend(wire("35=0|34=4|"));
        let (mut frames, mut numbers) = (Frames::default(), Vec::new());
        let read = frames.read(&stream, |message| {
            numbers.extend(message.get(34).map(<[u8]>::to_vec));
            true
        });
        assert_eq!((read, frames.garbled()), (Ok(()), 2));
        assert_eq!(numbers, [b"1", b"4"]);
    }

    #[test]
    fn behind_a_message_with_which_it_stopped_nothing_is_read() {
        let mut stream = wire("35=0|34=1|");
        stream.extend(wire("35=0|34=2|"));
        let (mut frames, mut count) = (Frames::default(), 0);
        let mut read = |bytes: &[u8]| {
            frames.read(bytes, |_| {
                count += 1;
                false
            })
        };
        assert_eq!((read(&stream), read(&wire("35=0|34=3|"))), (Ok(()), Ok(())));
        assert_eq!(count, 2);
    }

    proptest! {
        #[test]
        fn the_end_of_a_field_is_the_first_one(bytes in prop::collection::vec(0..4_u8, 0..40)) {
            let first = bytes.iter().position(|&byte| byte == SOH);
            prop_assert_eq!(find_end(&bytes), first);
        }

        #[test]
        fn frames_come_whole_however_the_stream_is_cut(
            cuts in prop::collection::vec(1..40_usize, 1..60),
        ) {
            let sent = [wire("35=0|34=1|"), wire("35=D|34=2|11=C1|58=words|"), wire("35=1|112=x|")];
            let stream = sent.concat();
            let (mut frames, mut found, mut rest) = (Frames::default(), Vec::new(), &stream[..]);
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                let read = frames.read(now, |message| {
                    found.push(message.frame().to_vec());
                    true
                });
                prop_assert_eq!(read, Ok(()));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(found, sent);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut behind_start = START.to_vec();
            behind_start.extend(&bytes);
            let mut frames = Frames::default();
            for stream in [&bytes, &behind_start] {
                let _ = frame_len(stream);
                let _ = frames.read(stream, |message| message.fields().count() < 1000);
            }
        }
    }
}
