//! The rows of the wire benchmark: its messages, and the work that is done on
//! them. Shared by the timer, the instruction counter and the allocation check.

mod decode;
mod encode;
mod load;

use std::hint::black_box;

use decode::Decoder;
use load::Message;

/// Size of the buffer that messages are encoded into, in bytes.
const OUTPUT_LEN: usize = 65_536;

/// What a row does with its message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Decodes the header alone.
    Header,
    /// Decodes header and payload.
    Decode,
    /// Encodes it.
    Encode,
}

/// Name, work and message of every row. The names are those of the Java side.
#[allow(dead_code, reason = "the instruction counter has to name its rows in attributes")]
pub(crate) const ROWS: [(&str, Work, &str); 12] = [
    ("header", Work::Header, "update_8"),
    ("header_key", Work::Header, "update_8_key"),
    ("decode_update_8", Work::Decode, "update_8"),
    ("decode_update_30", Work::Decode, "update_30"),
    ("decode_refresh_120", Work::Decode, "refresh_120"),
    ("decode_book_50", Work::Decode, "book_50"),
    ("decode_book_50_set", Work::Decode, "book_50_set"),
    ("encode_update_8", Work::Encode, "update_8"),
    ("encode_update_30", Work::Encode, "update_30"),
    ("encode_refresh_120", Work::Encode, "refresh_120"),
    ("encode_book_50", Work::Encode, "book_50"),
    ("encode_book_50_set", Work::Encode, "book_50_set"),
];

/// Everything a row needs, loaded before measuring.
pub(crate) struct Fixture {
    decoder: Decoder,
    message: Message,
    output: Vec<u8>,
}

impl Fixture {
    /// A message by its name, after both directions have been found right.
    ///
    /// # Panics
    ///
    /// When a sum is not what the messages' file says.
    pub(crate) fn new(message_name: &str) -> Self {
        let messages = load::messages();
        let decoder = Decoder::new(&messages);
        let message = messages.into_iter().find(|message| message.name == message_name);
        let message = message.expect("a message of the file");
        let mut fixture = Self { decoder, message, output: vec![0; OUTPUT_LEN] };
        let (header, all) = (fixture.message.header_checksum, fixture.message.checksum);
        assert_eq!(fixture.run(Work::Header), header, "{message_name}: header");
        assert_eq!(fixture.run(Work::Decode), all, "{message_name}: decoded");
        let len = fixture.run(Work::Encode) as usize;
        let again = fixture.decoder.message(&fixture.output[..len]);
        assert_eq!(again, Ok(all), "{message_name}: encoded");
        fixture
    }

    /// Does the work of a row once; gives the sum of what was decoded or the
    /// length of what was encoded.
    #[inline]
    pub(crate) fn run(&mut self, work: Work) -> i64 {
        match work {
            Work::Header => decode::header(black_box(&self.message.bytes)).expect("well-formed"),
            Work::Decode => {
                self.decoder.message(black_box(&self.message.bytes)).expect("well-formed")
            }
            Work::Encode => {
                let output = black_box(self.output.as_mut_slice());
                let len = encode::message(black_box(&self.message), output);
                len.expect("the buffer is large") as i64
            }
        }
    }
}
