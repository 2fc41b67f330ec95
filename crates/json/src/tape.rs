//! A JSON text, checked once and then walked.
//!
//! The tape is a flat list of the text's values in the order they come, each
//! with its place in the text and the index of what follows it. Nothing of the
//! text is copied: numbers keep all their digits, strings their escapes until
//! they are asked for.

use std::borrow::Cow;

use crate::error::SyntaxFault;

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

#[derive(Clone, Copy, Debug)]
struct Node {
    kind: Kind,
    /// Whether a string has escapes.
    escaped: bool,
    /// Where the value is in the text; a string without its quotes.
    start: u32,
    end: u32,
    /// The index of the first node that is not inside this one.
    next: u32,
}

/// The nodes of a text; used again for the next one.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    nodes: Vec<Node>,
    open: Vec<Open>,
}

/// An object or an array whose end has not come yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its node.
    index: u32,
    /// The bracket that ends it.
    close: u8,
}

impl Tape {
    /// Checks a text that holds one value.
    ///
    /// Leading zeros of numbers are taken, since old clients send them.
    pub(crate) fn parse<'t>(
        &'t mut self,
        text: &'t str,
        max_depth: usize,
    ) -> Result<Document<'t>, SyntaxFault> {
        self.nodes.clear();
        self.open.clear();
        let text_bytes = text.as_bytes();
        let mut parser =
            Parser { text: text_bytes, at: 0, tape: self, max_depth, is_lenient: false };
        parser.document()?;
        let is_lenient = parser.is_lenient;
        Ok(Document { text, nodes: &self.nodes, is_lenient })
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
        Value { document: self, index: 0 }
    }
}

struct Parser<'p> {
    text: &'p [u8],
    at: usize,
    tape: &'p mut Tape,
    max_depth: usize,
    is_lenient: bool,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<(), SyntaxFault> {
        loop {
            let begun = self.value()?;
            if !begun && !self.behind_value()? {
                return Ok(());
            }
        }
    }

    /// Reads a value, of an object or array only its start; says whether a
    /// value comes next.
    #[inline]
    fn value(&mut self) -> Result<bool, SyntaxFault> {
        match self.token()? {
            b'"' => self.string()?,
            b'-' | b'0'..=b'9' => self.number()?,
            b'{' => return self.begin(Kind::Object, b'}'),
            b'[' => return self.begin(Kind::Array, b']'),
            b't' => self.literal(b"true", Kind::True)?,
            b'f' => self.literal(b"false", Kind::False)?,
            b'n' => self.literal(b"null", Kind::Null)?,
            _ => return Err(self.fault()),
        }
        Ok(false)
    }

    fn begin(&mut self, kind: Kind, close: u8) -> Result<bool, SyntaxFault> {
        let start = self.at;
        if self.tape.open.len() >= self.max_depth {
            return Err(SyntaxFault::TooDeep { offset: start });
        }
        self.at += 1;
        self.tape.open.push(Open { index: self.tape.nodes.len() as u32, close });
        self.push(kind, start, start, false);
        if self.token()? == close {
            return Ok(false);
        }
        if kind == Kind::Object {
            self.key()?;
        }
        Ok(true)
    }

    /// Reads what is behind a value; says whether another one comes.
    #[inline]
    fn behind_value(&mut self) -> Result<bool, SyntaxFault> {
        loop {
            let Some(&Open { index, close }) = self.tape.open.last() else {
                return match self.token() {
                    Err(SyntaxFault::EndsTooEarly) => Ok(false),
                    _ => Err(self.fault()),
                };
            };
            let byte = self.token()?;
            if byte == b',' {
                self.at += 1;
                if close == b'}' {
                    self.key()?;
                }
                return Ok(true);
            }
            if byte != close {
                return Err(self.fault());
            }
            self.at += 1;
            self.tape.open.pop();
            let next = self.tape.nodes.len() as u32;
            let node = &mut self.tape.nodes[index as usize];
            (node.end, node.next) = (self.at as u32, next);
        }
    }

    fn key(&mut self) -> Result<(), SyntaxFault> {
        if self.token()? != b'"' {
            return Err(self.fault());
        }
        self.string()?;
        if self.token()? != b':' {
            return Err(self.fault());
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn string(&mut self) -> Result<(), SyntaxFault> {
        self.at += 1;
        let start = self.at;
        self.at += plain_len(&self.text[start..]);
        let escaped = self.peek()? != b'"';
        if escaped {
            self.escapes()?;
        }
        self.push(Kind::String, start, self.at, escaped);
        self.at += 1;
        Ok(())
    }

    /// Goes on from the first character that does not stand for itself to the
    /// quote at the end.
    #[cold]
    fn escapes(&mut self) -> Result<(), SyntaxFault> {
        loop {
            match self.peek()? {
                b'"' => return Ok(()),
                b'\\' => self.escape()?,
                _ => return Err(self.fault()),
            }
            self.at += plain_len(&self.text[self.at..]);
        }
    }

    fn escape(&mut self) -> Result<(), SyntaxFault> {
        self.at += 1;
        match self.peek()? {
            b'u' => {
                for _ in 0..4 {
                    self.at += 1;
                    if !self.peek()?.is_ascii_hexdigit() {
                        return Err(self.fault());
                    }
                }
            }
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
            _ => return Err(self.fault()),
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn number(&mut self) -> Result<(), SyntaxFault> {
        let start = self.at;
        self.at += usize::from(self.text[start] == b'-');
        let first = self.at;
        self.digits()?;
        self.is_lenient |= self.text[first] == b'0' && self.at > first + 1;
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.exponent()?;
        }
        self.push(Kind::Number, start, self.at, false);
        Ok(())
    }

    #[cold]
    fn exponent(&mut self) -> Result<(), SyntaxFault> {
        self.at += 1;
        if let Some(b'+' | b'-') = self.text.get(self.at) {
            self.at += 1;
        }
        self.digits()
    }

    /// One digit or more.
    #[inline]
    fn digits(&mut self) -> Result<(), SyntaxFault> {
        let mut end = self.at;
        while let Some(b'0'..=b'9') = self.text.get(end) {
            end += 1;
        }
        if end == self.at {
            return Err(self.peek().map_or_else(|ended| ended, |_| self.fault()));
        }
        self.at = end;
        Ok(())
    }

    fn literal(&mut self, literal: &[u8], kind: Kind) -> Result<(), SyntaxFault> {
        let start = self.at;
        for expected in literal {
            if self.peek()? != *expected {
                return Err(self.fault());
            }
            self.at += 1;
        }
        self.push(kind, start, self.at, false);
        Ok(())
    }

    #[inline]
    fn push(&mut self, kind: Kind, start: usize, end: usize, escaped: bool) {
        let next = self.tape.nodes.len() as u32 + 1;
        let (start, end) = (start as u32, end as u32);
        self.tape.nodes.push(Node { kind, escaped, start, end, next });
    }

    /// The first byte that is no space.
    #[inline]
    fn token(&mut self) -> Result<u8, SyntaxFault> {
        loop {
            match self.peek()? {
                byte if byte > b' ' => return Ok(byte),
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                _ => return Err(self.fault()),
            }
        }
    }

    #[inline]
    fn peek(&self) -> Result<u8, SyntaxFault> {
        self.text.get(self.at).copied().ok_or(SyntaxFault::EndsTooEarly)
    }

    #[cold]
    fn fault(&self) -> SyntaxFault {
        SyntaxFault::BadCharacter { offset: self.at }
    }
}

/// How many bytes from the start on stand for themselves in a string: they are
/// no quote, no backslash and no control character.
#[inline]
fn plain_len(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x80 * ONES;
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1F);
    let mut rest = text;
    // A byte that is less than what is subtracted borrows and sets its highest
    // bit. Those above it may then be wrong, but only the lowest one counts.
    while let Some((chunk, behind)) = rest.split_first_chunk() {
        let word = u64::from_le_bytes(*chunk);
        let control = word.wrapping_sub(u64::from(b' ') * ONES);
        let quote = (word ^ (u64::from(b'"') * ONES)).wrapping_sub(ONES);
        let backslash = (word ^ (u64::from(b'\\') * ONES)).wrapping_sub(ONES);
        let special = (control | quote | backslash) & !word & HIGHS;
        if special != 0 {
            return text.len() - rest.len() + special.trailing_zeros() as usize / 8;
        }
        rest = behind;
    }
    text.len() - rest.len() + rest.iter().position(is_special).unwrap_or(rest.len())
}

/// One value of a text.
#[derive(Clone, Copy)]
pub(crate) struct Value<'t> {
    document: &'t Document<'t>,
    index: u32,
}

impl<'t> Value<'t> {
    #[inline]
    fn node(&self) -> &'t Node {
        &self.document.nodes[self.index as usize]
    }

    /// The value of the same text that has this index on the tape.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> Self {
        Self { index, ..*self }
    }

    /// The index on the tape.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.node().kind
    }

    pub(crate) fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    /// Where the value begins in the text.
    pub(crate) fn offset(&self) -> u32 {
        self.node().start
    }

    /// The text of the value as it came; of a string what is between the quotes.
    pub(crate) fn raw(&self) -> &'t str {
        let node = self.node();
        &self.document.text[node.start as usize..node.end as usize]
    }

    /// What [`raw`](Self::raw) gives, cut without a look at where characters
    /// begin: for comparisons and digits.
    #[inline]
    pub(crate) fn bytes(&self) -> &'t [u8] {
        let node = self.node();
        &self.document.text.as_bytes()[node.start as usize..node.end as usize]
    }

    /// The bytes of a string without escapes.
    #[inline]
    pub(crate) fn plain(&self) -> Option<&'t [u8]> {
        let node = self.node();
        (node.kind == Kind::String && !node.escaped).then(|| self.bytes())
    }

    /// A string, its escapes resolved; half a surrogate pair is U+FFFD.
    #[inline]
    pub(crate) fn string(&self) -> Option<Cow<'t, str>> {
        let node = self.node();
        match (node.kind, node.escaped) {
            (Kind::String, false) => Some(Cow::Borrowed(self.raw())),
            (Kind::String, true) => Some(Cow::Owned(unescape(self.raw()))),
            _ => None,
        }
    }

    /// The digits of a number.
    #[inline]
    pub(crate) fn number(&self) -> Option<&'t [u8]> {
        (self.kind() == Kind::Number).then(|| self.bytes())
    }

    /// The keys and values of an object, none of anything else.
    #[inline]
    pub(crate) fn members(&self) -> impl Iterator<Item = (Value<'t>, Value<'t>)> + use<'t> {
        let whole = *self;
        let mut index = self.index + 1;
        let end = if self.kind() == Kind::Object { self.node().next } else { index };
        std::iter::from_fn(move || {
            (index < end).then(|| {
                let (key, value) = (whole.at(index), whole.at(index + 1));
                index = value.node().next;
                (key, value)
            })
        })
    }

    /// The items of an array, none of anything else.
    pub(crate) fn items(&self) -> impl Iterator<Item = Value<'t>> + use<'t> {
        let whole = *self;
        let mut index = self.index + 1;
        let end = if self.kind() == Kind::Array { self.node().next } else { index };
        std::iter::from_fn(move || {
            (index < end).then(|| {
                let item = whole.at(index);
                index = item.node().next;
                item
            })
        })
    }

    #[cold]
    fn is_escaped(&self, text: &str) -> bool {
        self.string().is_some_and(|string| string == text)
    }

    /// Whether this is a string that says `text`.
    #[inline]
    pub(crate) fn is(&self, text: &str) -> bool {
        match self.plain() {
            Some(plain) => plain == text.as_bytes(),
            None => self.is_escaped(text),
        }
    }
}

/// Resolves the escapes of a string that has been checked.
#[cold]
fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.push_str(plain);
        let mut after = escape.chars();
        let character = match after.next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let (character, used) = unicode(escape);
                after = escape[used..].chars();
                character
            }
            Some(other) => other,
            None => break,
        };
        text.push(character);
        rest = after.as_str();
    }
    text.push_str(rest);
    text
}

/// The character of `uXXXX`, or of two of them that are a surrogate pair, and
/// how many bytes it takes.
fn unicode(escape: &str) -> (char, usize) {
    let unit = |at: usize| {
        let digits = escape.get(at..at + 4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(1) else { return (char::REPLACEMENT_CHARACTER, escape.len()) };
    let second = match escape.get(5..7) {
        Some("\\u") => unit(7),
        _ => None,
    };
    let pair = [first, second.unwrap_or(0)];
    match char::decode_utf16(pair).next() {
        Some(Ok(character)) => (character, if character.len_utf16() == 2 { 11 } else { 5 }),
        _ => (char::REPLACEMENT_CHARACTER, 5),
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
    fn the_end_of_a_plain_run_is_found_wherever_it_is() {
        for special in 0..=u8::MAX {
            let is_plain = special >= b' ' && special != b'"' && special != b'\\';
            for at in 0..20 {
                for behind in [b'"', b'a', 0x80, 0xFF] {
                    let mut text = [b'a'; 20];
                    text[at..].fill(behind);
                    text[at] = special;
                    let end = if is_plain && behind != b'"' { 20 } else { at };
                    let end = if is_plain && behind == b'"' { (at + 1).min(20) } else { end };
                    assert_eq!(plain_len(&text), end, "{special:#x} at {at}");
                }
            }
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
