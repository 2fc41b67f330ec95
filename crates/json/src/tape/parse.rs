//! From a text to its nodes, in one pass.
//!
//! The place in the text goes from function to function as a value and not in
//! the parser: it then stays in a register, also across what is rare and
//! therefore not inlined.

use super::scan::{Magnitude, first_bytes, len_below, short_magnitude, specials, word_at};
use super::{Kind, LONG, MOST_DIGITS, NEGATIVE, Node};
use crate::error::SyntaxFault;

/// A place in the text, or what is wrong with the text.
type Place = Result<usize, SyntaxFault>;

const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// The index of the node around the outermost value.
const NOTHING: u64 = u64::MAX;

/// Appends the nodes of a text that is one value; returns whether that was
/// taken although it is not quite JSON.
pub(super) fn parse(
    text: &[u8],
    nodes: &mut Vec<Node>,
    max_depth: usize,
) -> Result<bool, SyntaxFault> {
    let mut parser =
        Parser { text, nodes, open: NOTHING, close: 0, depth: 0, max_depth, is_lenient: false };
    parser.document()?;
    Ok(parser.is_lenient)
}

struct Parser<'p> {
    text: &'p [u8],
    nodes: &'p mut Vec<Node>,
    /// The innermost object or array whose end has not come yet.
    open: u64,
    /// The bracket that ends it.
    close: u8,
    depth: usize,
    max_depth: usize,
    is_lenient: bool,
}

impl Parser<'_> {
    /// Keys and values that are strings are read in one place, so that this is
    /// one function.
    fn document(&mut self) -> Result<(), SyntaxFault> {
        let start = if self.text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let mut at = token(self.text, start)?;
        let mut wants_key = false;
        loop {
            let behind = match self.text.get(at) {
                Some(b'"') => {
                    let behind = self.string(at + 1)?;
                    if wants_key {
                        at = behind_colon(self.text, behind)?;
                        wants_key = false;
                        continue;
                    }
                    behind
                }
                _ if wants_key => return Err(bad(at)),
                Some(b'-' | b'0'..=b'9') => self.number(at)?,
                Some(open @ (b'{' | b'[')) => {
                    let inside = self.begin(*open, at)?;
                    if self.text.get(inside) != Some(&self.close) {
                        (at, wants_key) = (inside, self.close == b'}');
                        continue;
                    }
                    inside
                }
                _ => {
                    let (kind, end) = literal(self.text, at)?;
                    self.push(kind, at, end, 0, 0);
                    end
                }
            };
            match self.behind_value(behind)? {
                Some(next) => (at, wants_key) = (next, self.close == b'}'),
                None => return Ok(()),
            }
        }
    }

    /// Begins an object or an array; returns where what is in it begins.
    #[inline]
    fn begin(&mut self, bracket: u8, at: usize) -> Place {
        if self.depth >= self.max_depth {
            return Err(SyntaxFault::TooDeep { offset: at });
        }
        self.depth += 1;
        let around = std::mem::replace(&mut self.open, self.nodes.len() as u64);
        let kind;
        (kind, self.close) = match bracket {
            b'{' => (Kind::Object, b'}'),
            _ => (Kind::Array, b']'),
        };
        self.push(kind, at, at, around, 0);
        token(self.text, at + 1)
    }

    /// Reads what is behind a value; returns where the next value or key begins.
    #[inline]
    fn behind_value(&mut self, behind: usize) -> Result<Option<usize>, SyntaxFault> {
        let mut at = behind;
        while self.depth > 0 {
            at = token(self.text, at)?;
            match self.text.get(at) {
                Some(b',') => return token(self.text, at + 1).map(Some),
                Some(byte) if *byte == self.close => self.end(at + 1),
                _ => return Err(bad(at)),
            }
            at += 1;
        }
        match token(self.text, at) {
            Err(SyntaxFault::EndsTooEarly) => Ok(None),
            Ok(at) => Err(bad(at)),
            Err(fault) => Err(fault),
        }
    }

    /// Ends the innermost object or array.
    #[inline]
    fn end(&mut self, end: usize) {
        let next = self.nodes.len() as u64;
        if let Some(node) = self.nodes.get_mut(self.open as usize) {
            self.open = std::mem::replace(&mut node.word, next);
            node.end = end as u32;
        }
        self.depth -= 1;
        let is_object = |node: &Node| node.kind == Kind::Object;
        self.close = match self.nodes.get(self.open as usize).is_some_and(is_object) {
            true => b'}',
            false => b']',
        };
    }

    /// Reads a string from behind its first quote; returns where it ends.
    #[inline]
    fn string(&mut self, start: usize) -> Place {
        let first = word_at(self.text, start);
        let marks = specials(first);
        let head = first_bytes(first, marks);
        let mut at = match marks {
            0 => behind_plain(self.text, start + 8),
            _ => start + len_below(marks),
        };
        let is_escaped = self.text.get(at) != Some(&b'"');
        if is_escaped {
            at = escapes(self.text, at)?;
        }
        self.push(Kind::String, start, at, head, u8::from(is_escaped));
        Ok(at + 1)
    }

    #[inline]
    fn number(&mut self, start: usize) -> Place {
        let is_negative = self.text.get(start) == Some(&b'-');
        let first = start + usize::from(is_negative);
        let (magnitude, is_long) = match short_magnitude(word_at(self.text, first)) {
            Some(magnitude) => (magnitude, false),
            None => long_magnitude(self.text, first)?,
        };
        self.is_lenient |= magnitude.whole > 1 && self.text.get(first) == Some(&b'0');
        let sign = if is_negative { NEGATIVE } else { 0 };
        let detail = if is_long { LONG } else { magnitude.decimals as u8 | sign };
        let end = first + magnitude.len;
        self.push(Kind::Number, start, end, magnitude.digits, detail);
        Ok(end)
    }

    #[inline]
    fn push(&mut self, kind: Kind, start: usize, end: usize, word: u64, detail: u8) {
        let (start, end) = (start as u32, end as u32);
        self.nodes.push(Node { word, start, end, kind, detail });
    }
}

/// From behind a key to its value.
#[inline]
fn behind_colon(text: &[u8], behind: usize) -> Place {
    let colon = token(text, behind)?;
    match text.get(colon) {
        Some(b':') => token(text, colon + 1),
        _ => Err(bad(colon)),
    }
}

#[inline(never)]
fn literal(text: &[u8], at: usize) -> Result<(Kind, usize), SyntaxFault> {
    let (literal, kind) = match text.get(at) {
        Some(b't') => (&b"true"[..], Kind::True),
        Some(b'f') => (&b"false"[..], Kind::False),
        Some(b'n') => (&b"null"[..], Kind::Null),
        _ => return Err(bad(at)),
    };
    for (offset, expected) in literal.iter().enumerate() {
        require(text, at + offset, |byte| byte == *expected)?;
    }
    Ok((kind, at + literal.len()))
}

/// The first byte from a place on that is no space. There is one space at most
/// in what programs write, unless they indent it.
#[inline]
fn token(text: &[u8], at: usize) -> Place {
    match text.get(at) {
        Some(byte) if *byte > b' ' => Ok(at),
        Some(b' ') if text.get(at + 1).is_some_and(|byte| *byte > b' ') => Ok(at + 1),
        _ => behind_spaces(text, at),
    }
}

#[cold]
fn behind_spaces(text: &[u8], from: usize) -> Place {
    let mut at = from;
    loop {
        match text.get(at) {
            None => return Err(SyntaxFault::EndsTooEarly),
            Some(b' ' | b'\t' | b'\n' | b'\r') => at += 1,
            Some(0..b' ') => return Err(bad(at)),
            Some(_) => return Ok(at),
        }
    }
}

/// The first byte from a place on that does not stand for itself in a string.
#[inline(never)]
fn behind_plain(text: &[u8], from: usize) -> usize {
    let mut at = from;
    loop {
        // Zeros behind the text are special, so that this ends.
        match specials(word_at(text, at)) {
            0 => at += 8,
            marks => return at + len_below(marks),
        }
    }
}

/// Goes on from the first character that does not stand for itself to the quote
/// at the end.
#[cold]
fn escapes(text: &[u8], from: usize) -> Place {
    let mut at = from;
    loop {
        match text.get(at) {
            None => return Err(SyntaxFault::EndsTooEarly),
            Some(b'"') => return Ok(at),
            Some(b'\\') => at = behind_escape(text, at + 1)?,
            Some(_) => return Err(bad(at)),
        }
        at = behind_plain(text, at);
    }
}

fn behind_escape(text: &[u8], at: usize) -> Place {
    match text.get(at) {
        Some(b'u') => {
            for digit in at + 1..at + 5 {
                require(text, digit, |byte| byte.is_ascii_hexdigit())?;
            }
            Ok(at + 5)
        }
        _ => require(text, at, |byte| b"\"\\/bfnrt".contains(&byte)),
    }
}

/// A byte that has to be there and of a kind; returns what is behind it.
fn require(text: &[u8], at: usize, is_right: impl Fn(u8) -> bool) -> Place {
    match text.get(at) {
        None => Err(SyntaxFault::EndsTooEarly),
        Some(byte) if is_right(*byte) => Ok(at + 1),
        Some(_) => Err(bad(at)),
    }
}

/// Any number behind its sign, and whether its digits do not say it.
#[inline(never)]
fn long_magnitude(text: &[u8], first: usize) -> Result<(Magnitude, bool), SyntaxFault> {
    let mut value = 0;
    let mut end = digits(text, first, &mut value)?;
    let (whole, mut decimals) = (end - first, 0);
    if text.get(end) == Some(&b'.') {
        let point = end;
        end = digits(text, point + 1, &mut value)?;
        decimals = end - point - 1;
    }
    let has_exponent = matches!(text.get(end), Some(b'e' | b'E'));
    if has_exponent {
        let is_signed = matches!(text.get(end + 1), Some(b'+' | b'-'));
        end = digits(text, end + 1 + usize::from(is_signed), &mut 0)?;
    }
    let is_long = has_exponent || whole + decimals > MOST_DIGITS;
    Ok((Magnitude { digits: value, len: end - first, whole, decimals }, is_long))
}

/// One digit or more, which are appended to a value.
#[inline]
fn digits(text: &[u8], from: usize, value: &mut u64) -> Place {
    let mut at = from;
    while let Some(digit @ b'0'..=b'9') = text.get(at) {
        *value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    if at == from { require(text, at, |byte| byte.is_ascii_digit()) } else { Ok(at) }
}

#[cold]
fn bad(offset: usize) -> SyntaxFault {
    SyntaxFault::BadCharacter { offset }
}
