//! A JSON text, checked once and then walked.
//!
//! The tape is a flat list of the text's values in the order they come, each
//! with its place in the text. Nothing of the text is copied: strings keep their
//! escapes until they are asked for, and of a number all digits stay to be had.

#[cfg(test)]
mod agreement;
mod escape;
mod parse;
mod scan;
mod value;

use crate::error::SyntaxFault;
pub(crate) use value::{ShortNumber, Value};

/// The kind of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    True,
    False,
    Null,
}

/// One value. What the parser has had in its hands anyway is kept in `word` and
/// `detail`, so that nobody has to read it from the text once more.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// * Of an object or array: the index of the first node behind it, and while
    ///   it is open that of the one around it.
    /// * Of a string: its first eight bytes, the first one lowest; zeros behind
    ///   its end, or behind its first escape.
    /// * Of a number: its digits as one integer, without sign and point.
    word: u64,
    /// Where the value is in the text; a string without its quotes.
    start: u32,
    end: u32,
    kind: Kind,
    /// * Of a string: whether it has escapes.
    /// * Of a number: how many of its digits are decimals, [`NEGATIVE`] if it
    ///   is that, or [`LONG`] if `word` does not say it.
    detail: u8,
}

/// Marks numbers below zero.
const NEGATIVE: u8 = 0x40;
/// Stands for numbers of so many digits that they may not fit, and for those
/// with an exponent.
const LONG: u8 = 0x80;
/// Most digits of a number that always fit into 64 bits.
const MOST_DIGITS: usize = 19;
/// How many nodes have their room kept for the next text: 768 KiB. A text of
/// short values has a node for every two bytes, and so twelve times its size.
const MOST_NODES_KEPT: usize = 1 << 15;

/// The nodes of a text; used again for the next one.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    nodes: Vec<Node>,
}

impl Tape {
    /// Checks a text that holds one value.
    ///
    /// Leading zeros of numbers are taken, since old clients send them. A byte
    /// order mark in front is no part of the value, but counts in offsets.
    pub(crate) fn parse<'t>(
        &'t mut self,
        text: &'t str,
        max_depth: usize,
    ) -> Result<Document<'t>, SyntaxFault> {
        self.nodes.clear();
        let is_lenient = parse::parse(text.as_bytes(), &mut self.nodes, max_depth)?;
        Ok(Document { text, nodes: &self.nodes, is_lenient })
    }

    /// Forgets the text, and gives back the room of one that was unusually large.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.nodes.shrink_to(MOST_NODES_KEPT);
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.nodes.capacity()
    }
}

/// A text that is JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Document<'t> {
    text: &'t str,
    /// Not empty.
    nodes: &'t [Node],
    /// Whether the text was taken although it is not quite JSON.
    pub(crate) is_lenient: bool,
}

impl Document<'_> {
    /// The value of the text.
    pub(crate) fn root(&self) -> Value<'_> {
        Value::new(self, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a text is JSON, and whether it is quite that.
    fn parse(text: &str) -> Result<bool, SyntaxFault> {
        Tape::default().parse(text, 8).map(|document| document.is_lenient)
    }

    #[test]
    fn objects_and_arrays_are_walked() {
        let text = r#" {"A":[1,{"x":[]},"s"],"B":{},"A":-1.50e3} "#;
        let mut tape = Tape::default();
        let document = tape.parse(text, 8).expect("JSON");
        let root = document.root();
        let keys: Vec<&str> = root.members().map(|(key, _)| key.raw()).collect();
        assert_eq!(keys, ["A", "B", "A"]);
        let (_, last) = root.members().last().expect("a member");
        assert_eq!(last.number(), Some(&b"-1.50e3"[..]));
        let (_, first) = root.members().next().expect("a member");
        let kinds: Vec<Kind> = first.items().map(|item| item.kind()).collect();
        assert_eq!(kinds, [Kind::Number, Kind::Object, Kind::String]);
        assert_eq!(first.raw(), r#"[1,{"x":[]},"s"]"#);
    }

    #[test]
    fn escapes_are_resolved() {
        let text = r#""a\"\\\/\n\u00e9\ud83d\ude00\ud83dx\u0041""#;
        let mut tape = Tape::default();
        let document = tape.parse(text, 8).expect("JSON");
        let string = document.root().string().expect("a string");
        assert_eq!(string, "a\"\\/\n\u{e9}\u{1f600}\u{FFFD}xA");
    }

    #[test]
    fn faults_tell_whether_text_is_missing_or_wrong() {
        for text in ["", "{", "{\"a\"", "{\"a\":", "[1,", "\"x", "tru", "-", "1.", "1e", "\"\\u12"]
        {
            assert_eq!(parse(text).err(), Some(SyntaxFault::EndsTooEarly), "{text}");
        }
        for (text, offset) in [
            ("hello", 0),
            ("{'a':1}", 1),
            ("{\"a\":1,}", 7),
            ("[1,]", 3),
            ("[1}", 2),
            ("{} {}", 3),
            ("\"\\x\"", 2),
            ("\"\t\"", 1),
            ("+1", 0),
            (".5", 0),
        ] {
            assert_eq!(parse(text).err(), Some(SyntaxFault::BadCharacter { offset }), "{text}");
        }
    }

    #[test]
    fn leading_zeros_are_taken_and_told() {
        assert_eq!(parse("000"), Ok(true));
        assert_eq!(parse("-01.5"), Ok(true));
        assert_eq!(parse("[0,0.5,-0]"), Ok(false));
    }

    #[test]
    fn depth_is_bounded() {
        assert_eq!(parse(&"[".repeat(8)), Err(SyntaxFault::EndsTooEarly));
        let deep = "[".repeat(100_000);
        assert_eq!(parse(&deep).err(), Some(SyntaxFault::TooDeep { offset: 8 }));
    }
}
