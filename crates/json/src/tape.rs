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
    open: Vec<u32>,
    lenient: bool,
}

impl Tape {
    /// Checks a text that holds one value.
    ///
    /// Leading zeros of numbers are taken, since old clients send them.
    pub(crate) fn parse(&mut self, text: &str, max_depth: usize) -> Result<(), SyntaxFault> {
        self.nodes.clear();
        self.open.clear();
        self.lenient = false;
        let mut parser = Parser { text: text.as_bytes(), at: 0, tape: self, max_depth };
        parser.document()
    }

    /// Whether the text was taken although it is not quite JSON.
    pub(crate) fn is_lenient(&self) -> bool {
        self.lenient
    }

    /// The value of the text that was parsed last, and successfully.
    pub(crate) fn root<'t>(&'t self, text: &'t str) -> Option<Value<'t>> {
        (!self.nodes.is_empty()).then_some(Value { nodes: &self.nodes, text, index: 0 })
    }
}

struct Parser<'p> {
    text: &'p [u8],
    at: usize,
    tape: &'p mut Tape,
    max_depth: usize,
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
    fn value(&mut self) -> Result<bool, SyntaxFault> {
        self.skip_space();
        let start = self.at;
        match self.peek()? {
            open @ (b'{' | b'[') => {
                self.at += 1;
                return self.begin(open, start);
            }
            b'"' => self.string()?,
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.literal(b"true", Kind::True)?,
            b'f' => self.literal(b"false", Kind::False)?,
            b'n' => self.literal(b"null", Kind::Null)?,
            _ => return Err(self.fault()),
        }
        Ok(false)
    }

    fn begin(&mut self, open: u8, start: usize) -> Result<bool, SyntaxFault> {
        if self.tape.open.len() >= self.max_depth {
            return Err(SyntaxFault::TooDeep { offset: start });
        }
        let kind = if open == b'{' { Kind::Object } else { Kind::Array };
        self.tape.open.push(self.tape.nodes.len() as u32);
        self.push(kind, start, start, false);
        self.skip_space();
        if self.peek()? == open + 2 {
            return Ok(false);
        }
        if kind == Kind::Object {
            self.key()?;
        }
        Ok(true)
    }

    /// Reads what is behind a value; says whether another one comes.
    fn behind_value(&mut self) -> Result<bool, SyntaxFault> {
        loop {
            self.skip_space();
            let Some(&index) = self.tape.open.last() else {
                return if self.at == self.text.len() { Ok(false) } else { Err(self.fault()) };
            };
            let is_object = self.tape.nodes[index as usize].kind == Kind::Object;
            match (self.peek()?, is_object) {
                (b',', _) => {
                    self.at += 1;
                    if is_object {
                        self.skip_space();
                        self.key()?;
                    }
                    return Ok(true);
                }
                (b'}', true) | (b']', false) => {
                    self.at += 1;
                    self.tape.open.pop();
                    let next = self.tape.nodes.len() as u32;
                    let node = &mut self.tape.nodes[index as usize];
                    (node.end, node.next) = (self.at as u32, next);
                }
                _ => return Err(self.fault()),
            }
        }
    }

    fn key(&mut self) -> Result<(), SyntaxFault> {
        if self.peek()? != b'"' {
            return Err(self.fault());
        }
        self.string()?;
        self.skip_space();
        if self.peek()? != b':' {
            return Err(self.fault());
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<(), SyntaxFault> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            let rest = &self.text[self.at..];
            let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1F);
            self.at += rest.iter().position(is_special).unwrap_or(rest.len());
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    escaped = true;
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
                }
                _ => return Err(self.fault()),
            }
        }
        self.push(Kind::String, start, self.at, escaped);
        self.at += 1;
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxFault> {
        let start = self.at;
        self.at += usize::from(self.text[start] == b'-');
        let first = self.at;
        self.digits()?;
        self.tape.lenient |= self.text[first] == b'0' && self.at > first + 1;
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.text.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        self.push(Kind::Number, start, self.at, false);
        Ok(())
    }

    fn digits(&mut self) -> Result<(), SyntaxFault> {
        if !self.peek()?.is_ascii_digit() {
            return Err(self.fault());
        }
        let rest = &self.text[self.at..];
        self.at += rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
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

    fn push(&mut self, kind: Kind, start: usize, end: usize, escaped: bool) {
        let next = self.tape.nodes.len() as u32 + 1;
        let (start, end) = (start as u32, end as u32);
        self.tape.nodes.push(Node { kind, escaped, start, end, next });
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Result<u8, SyntaxFault> {
        self.text.get(self.at).copied().ok_or(SyntaxFault::EndsTooEarly)
    }

    fn fault(&self) -> SyntaxFault {
        SyntaxFault::BadCharacter { offset: self.at }
    }
}

/// One value of a text.
#[derive(Clone, Copy)]
pub(crate) struct Value<'t> {
    nodes: &'t [Node],
    text: &'t str,
    index: u32,
}

impl<'t> Value<'t> {
    fn node(&self) -> &'t Node {
        &self.nodes[self.index as usize]
    }

    fn at(&self, index: u32) -> Self {
        Self { index, ..*self }
    }

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
        &self.text[node.start as usize..node.end as usize]
    }

    /// A string, its escapes resolved; half a surrogate pair is U+FFFD.
    pub(crate) fn string(&self) -> Option<Cow<'t, str>> {
        let node = self.node();
        match (node.kind, node.escaped) {
            (Kind::String, false) => Some(Cow::Borrowed(self.raw())),
            (Kind::String, true) => Some(Cow::Owned(unescape(self.raw()))),
            _ => None,
        }
    }

    /// The digits of a number.
    pub(crate) fn number(&self) -> Option<&'t str> {
        (self.kind() == Kind::Number).then(|| self.raw())
    }

    /// The keys and values of an object, none of anything else.
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

    /// The member of a name; of several the last.
    pub(crate) fn get(&self, name: &str) -> Option<Value<'t>> {
        self.members().filter(|(key, _)| key.is(name)).last().map(|(_, value)| value)
    }

    /// Whether this is a string that says `text`.
    pub(crate) fn is(&self, text: &str) -> bool {
        match self.node().escaped {
            false => self.kind() == Kind::String && self.raw() == text,
            true => self.string().is_some_and(|string| string == text),
        }
    }
}

/// Resolves the escapes of a string that has been checked.
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

    fn parse(text: &str) -> Result<Tape, SyntaxFault> {
        let mut tape = Tape::default();
        tape.parse(text, 8).map(|()| tape)
    }

    #[test]
    fn objects_and_arrays_are_walked() {
        let text = r#" {"A":[1,{"x":[]},"s"],"B":{},"A":-1.50e3} "#;
        let tape = parse(text).expect("JSON");
        let root = tape.root(text).expect("a value");
        let keys: Vec<&str> = root.members().map(|(key, _)| key.raw()).collect();
        assert_eq!(keys, ["A", "B", "A"]);
        assert_eq!(root.get("A").and_then(|last| last.number()), Some("-1.50e3"));
        let (_, first) = root.members().next().expect("a member");
        let kinds: Vec<Kind> = first.items().map(|item| item.kind()).collect();
        assert_eq!(kinds, [Kind::Number, Kind::Object, Kind::String]);
        assert_eq!(first.raw(), r#"[1,{"x":[]},"s"]"#);
    }

    #[test]
    fn escapes_are_resolved() {
        let text = r#""a\"\\\/\n\u00e9\ud83d\ude00\ud83dx\u0041""#;
        let tape = parse(text).expect("JSON");
        let string = tape.root(text).and_then(|root| root.string()).expect("a string");
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
        assert!(parse("000").is_ok_and(|tape| tape.is_lenient()));
        assert!(parse("-01.5").is_ok_and(|tape| tape.is_lenient()));
        assert!(parse("[0,0.5,-0]").is_ok_and(|tape| !tape.is_lenient()));
    }

    #[test]
    fn depth_is_bounded() {
        assert!(parse(&"[".repeat(8)).is_err_and(|fault| fault == SyntaxFault::EndsTooEarly));
        let deep = "[".repeat(100_000);
        assert_eq!(parse(&deep).err(), Some(SyntaxFault::TooDeep { offset: 8 }));
    }
}
