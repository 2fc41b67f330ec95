//! RWF to JSON.

mod container;
mod list;
mod msg;
pub(crate) mod number;
mod primitive;
pub(crate) mod text;

use std::sync::Arc;

use tapeline_rwf::Msg;

use crate::error::WriteError;
use crate::names::Quoted;
use crate::tape::Tape;
use crate::{Options, Services, Vocabulary};
use number::{push_int, push_uint};

/// Converts RWF messages to JSON.
///
/// The text is written straight from the bytes into the buffer of the caller;
/// once that has grown, nothing is allocated.
///
/// ```
/// use std::sync::Arc;
/// use tapeline_json::{NoServices, Options, ToJson, Vocabulary};
/// use tapeline_omm::dictionary::FieldDictionary;
///
/// let vocabulary = Arc::new(Vocabulary::new(FieldDictionary::builtin()));
/// let mut to_json = ToJson::new(vocabulary, Options::default());
/// // An update of field 22, BID, to 15.00.
/// let rwf = [0, 9, 4, 6, 0, 0, 0, 5, 0, 4, 0, 8, 0, 1, 0, 22, 3, 12, 5, 0xDC];
/// let mut text = Vec::new();
/// to_json.message(&rwf, &NoServices, &mut text)?;
/// assert_eq!(
///     String::from_utf8_lossy(&text),
///     r#"{"ID":5,"Type":"Update","UpdateType":"Unspecified","Fields":{"BID":15.00}}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ToJson {
    vocabulary: Arc<Vocabulary>,
    options: Options,
    scratch: Scratch,
    left_out: u64,
}

/// What is used again for each message.
#[derive(Debug)]
struct Scratch {
    /// One bit for each field id, to find those that come twice. All clear
    /// between two lists.
    seen: Box<[u64; 1024]>,
    /// The words of `seen` that are to be cleared again, 1024 at most.
    touched: Vec<u16>,
    /// For payloads that are JSON.
    tape: Tape,
}

impl Scratch {
    /// Whether this is the first time that a field id is seen.
    #[inline]
    fn is_new(&mut self, field_id: i16) -> bool {
        let fid = field_id as u16;
        let (word, bit) = (fid / 64, 1_u64 << (fid % 64));
        let seen = &mut self.seen[usize::from(word)];
        if *seen == 0 {
            self.touched.push(word);
        }
        let is_new = *seen & bit == 0;
        *seen |= bit;
        is_new
    }

    /// Makes all field ids new again.
    fn forget(&mut self) {
        self.touched.drain(..).for_each(|word| self.seen[usize::from(word)] = 0);
    }
}

impl ToJson {
    /// A converter with the fields of a vocabulary.
    pub fn new(vocabulary: Arc<Vocabulary>, options: Options) -> Self {
        let scratch =
            Scratch { seen: Box::new([0; 1024]), touched: Vec::new(), tape: Tape::default() };
        Self { vocabulary, options, scratch, left_out: 0 }
    }

    /// Appends a message as one JSON object.
    ///
    /// Errors: the message is malformed, or too long in JSON; `out` is then as before. A field or an
    /// element whose value alone is malformed is left out instead, as is a
    /// field that the vocabulary lacks: see [`left_out`](Self::left_out).
    pub fn message(
        &mut self,
        rwf: &[u8],
        services: &dyn Services,
        out: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        // By reference: a message is large to move out of the result.
        match &Msg::decode(rwf) {
            Ok(msg) => self.attempt(services, out, |writer| writer.msg(msg)),
            Err(error) => Err((*error).into()),
        }
    }

    /// Appends what comes behind the `ID` of a message: the same for all
    /// streams, so that an update is converted once for all who get it. With
    /// [`push_prefix`] before it, it is the message.
    ///
    /// Errors: as of [`message`](Self::message).
    pub fn message_body(
        &mut self,
        rwf: &[u8],
        services: &dyn Services,
        out: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        match &Msg::decode(rwf) {
            Ok(msg) => self.msg_body(msg, services, out),
            Err(error) => Err((*error).into()),
        }
    }

    /// Does what [`message_body`](Self::message_body) does for a message that
    /// is decoded already.
    ///
    /// Errors: as of [`message`](Self::message).
    pub fn msg_body(
        &mut self,
        msg: &Msg<'_>,
        services: &dyn Services,
        out: &mut Vec<u8>,
    ) -> Result<(), WriteError> {
        self.attempt(services, out, |writer| writer.msg_body(msg))
    }

    fn attempt(
        &mut self,
        services: &dyn Services,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let before = out.len();
        let mut writer = Writer {
            vocabulary: &self.vocabulary,
            options: &self.options,
            services,
            scratch: &mut self.scratch,
            left_out: &mut self.left_out,
            start: before,
            out,
        };
        let written = write(&mut writer);
        if written.is_err() {
            out.truncate(before);
        }
        written
    }

    /// How many fields, elements and payloads were left out so far, since the
    /// vocabulary lacks them or their value is malformed.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

/// Appends the start of a message that [`ToJson::message_body`] goes on with:
/// `{"ID":5,`.
pub fn push_prefix(out: &mut Vec<u8>, stream_id: i32) {
    out.extend_from_slice(b"{\"ID\":");
    push_int(out, stream_id.into());
    out.push(b',');
}

/// One conversion under way.
///
/// A comma is written behind each value, and [`close`](Self::close) takes the
/// last one back: no state says whether an object has begun.
struct Writer<'w> {
    vocabulary: &'w Vocabulary,
    options: &'w Options,
    services: &'w dyn Services,
    scratch: &'w mut Scratch,
    left_out: &'w mut u64,
    /// Where in `out` the message begins.
    start: usize,
    out: &'w mut Vec<u8>,
}

impl Writer<'_> {
    /// Text that is known here, so that copying it is a few moves.
    #[inline]
    fn raw<const N: usize>(&mut self, text: &[u8; N]) {
        self.out.extend_from_slice(text);
    }

    /// Ends an object or an array and goes on behind it.
    #[inline]
    fn close(&mut self, bracket: u8) {
        if let Some(last @ b',') = self.out.last_mut() {
            *last = bracket;
        } else {
            self.out.push(bracket);
        }
        self.comma();
    }

    #[inline]
    fn comma(&mut self) {
        self.out.push(b',');
    }

    /// A member whose value is a number; `key` has its quotes and colon.
    #[inline]
    fn uint<const N: usize>(&mut self, key: &[u8; N], value: impl Into<u64>) {
        self.raw(key);
        push_uint(self.out, value.into());
        self.comma();
    }

    /// A member whose value is a name, or the number if it has none.
    #[inline]
    fn named<const N: usize>(&mut self, key: &[u8; N], name: Option<&Quoted>, code: u8) {
        self.raw(key);
        match name {
            Some(name) => name.push_to(self.out),
            None => push_uint(self.out, code.into()),
        }
        self.comma();
    }

    /// A member that is there if `condition` holds; `text` is all of it.
    #[inline]
    fn flag<const N: usize>(&mut self, condition: bool, text: &[u8; N]) {
        if condition {
            self.raw(text);
            self.comma();
        }
    }

    /// A member whose value is bytes in base64, if there are any.
    #[inline]
    fn base64<const N: usize>(&mut self, key: &[u8; N], bytes: Option<&[u8]>) {
        if let Some(bytes) = bytes {
            self.raw(key);
            text::push_base64(self.out, bytes);
            self.comma();
        }
    }

    /// A string; `push` writes its inside.
    #[inline]
    fn quoted(&mut self, push: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(b'"');
        push(self.out);
        self.out.push(b'"');
    }

    /// A string and the comma behind it.
    #[inline]
    fn string(&mut self, push: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(b'"');
        push(self.out);
        self.raw(b"\",");
    }

    /// Writes something that may be left out alone: if it is malformed, what
    /// was written of it is taken back, and it is counted.
    #[inline]
    fn or_leave_out(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let before = self.out.len();
        match write(self) {
            Err(WriteError::Malformed(_)) => {
                self.out.truncate(before);
                *self.left_out += 1;
                Ok(())
            }
            written => written,
        }
    }

    /// Called for each entry that takes no bytes in RWF: without a bound a
    /// small message would become a text of any length.
    fn check_len(&self) -> Result<(), WriteError> {
        let max = self.options.limits.json_bytes;
        if self.out.len() - self.start > max {
            return Err(WriteError::TooLong { max });
        }
        Ok(())
    }
}
