//! The words of one line, with their places for error messages.

use std::borrow::Cow;
use std::str::FromStr;

use super::super::builder::is_acronym;
use super::super::{DefinitionError, DictionaryType, Tags, TextError, TextErrorKind};
use super::NO_RIPPLE;

/// Characters of the file shown in an error message.
const SHOWN: usize = 24;

/// One line of a dictionary file, read word by word.
pub(super) struct Line<'a> {
    dictionary: DictionaryType,
    number: u32,
    bytes: &'a [u8],
    position: usize,
    /// Where the last word begins: the place of an error about it.
    word_start: usize,
}

/// The lines that hold definitions; tags are put into `tags`, comments and
/// empty lines left out.
pub(super) fn definitions<'a>(
    dictionary: DictionaryType,
    text: &'a [u8],
    tags: &mut Tags,
) -> Result<Vec<Line<'a>>, TextError> {
    let mut lines = Vec::new();
    for (bytes, number) in text.split(|byte| *byte == b'\n').zip(1..) {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let mut line = Line { dictionary, number, bytes, position: 0, word_start: 0 };
        match line.peek() {
            None => {}
            Some(b'!') => line.tag(tags)?,
            Some(_) => lines.push(line),
        }
    }
    Ok(lines)
}

impl<'a> Line<'a> {
    /// The line's number, from 1.
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// An error at the last word.
    pub(super) fn error(&self, kind: TextErrorKind) -> TextError {
        let column = self.word_start as u32 + 1;
        TextError { dictionary: self.dictionary, line: self.number, column, kind }
    }

    /// An error about the line as a whole.
    pub(super) fn error_at_start(&self, kind: TextErrorKind) -> TextError {
        let blanks = self.bytes.len() - self.bytes.trim_ascii_start().len();
        TextError { column: blanks as u32 + 1, ..self.error(kind) }
    }

    /// An error at the last word, which makes a definition contradict `first`.
    pub(super) fn contradiction(&self, error: DefinitionError, first: Option<u32>) -> TextError {
        self.error(TextErrorKind::Definition { error, first })
    }

    /// The last word is not `what` is expected.
    pub(super) fn unexpected(&self, what: &'static str) -> TextError {
        let rest = &self.bytes[self.word_start..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let found = match text(&rest[..end]) {
            empty if empty.is_empty() => "the end of the line".into(),
            word if word.chars().count() > SHOWN => {
                format!("{:?}...", word.chars().take(SHOWN).collect::<String>()).into()
            }
            word => format!("{word:?}").into(),
        };
        self.error(TextErrorKind::Expected { what, found })
    }

    /// Skips blanks; the byte that the next word begins with.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.bytes[self.position..];
        let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        self.position += blanks;
        self.word_start = self.position;
        self.bytes.get(self.position).copied()
    }

    /// The next word: everything up to a blank.
    fn word(&mut self) -> &'a [u8] {
        self.peek();
        let rest = &self.bytes[self.position..];
        let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(rest.len());
        self.position += end;
        &rest[..end]
    }

    /// The next word, if `parse` understands it as what is expected.
    pub(super) fn parsed<T>(
        &mut self,
        what: &'static str,
        parse: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T, TextError> {
        let word = str::from_utf8(self.word()).ok();
        word.and_then(parse).ok_or_else(|| self.unexpected(what))
    }

    /// The next word, a decimal number in the range of its type.
    pub(super) fn integer<T: FromStr>(&mut self, what: &'static str) -> Result<T, TextError> {
        self.parsed(what, |word| word.parse().ok())
    }

    /// The next word, a field id.
    pub(super) fn fid(&mut self) -> Result<i16, TextError> {
        self.parsed("a field id from -32768 to 32767, not 0,", |word| {
            word.parse().ok().filter(|fid| *fid != 0)
        })
    }

    /// The next word, an acronym.
    pub(super) fn acronym(&mut self) -> Result<&'a str, TextError> {
        self.parsed("an acronym", |word| is_acronym(word.as_bytes()).then_some(word))
    }

    /// The next word, the acronym of a field to ripple to, or none.
    pub(super) fn ripple(&mut self) -> Result<Option<&'a str>, TextError> {
        self.parsed("an acronym or NULL", |word| match word {
            NO_RIPPLE => Some(None),
            _ => is_acronym(word.as_bytes()).then_some(Some(word)),
        })
    }

    /// Whether the next word begins with `byte`.
    pub(super) fn begins_with(&mut self, byte: u8) -> bool {
        self.peek() == Some(byte)
    }

    /// Whether the next word is a number without sign.
    pub(super) fn has_number(&self) -> bool {
        let mut ahead = Self { ..*self };
        let word = ahead.word();
        !word.is_empty() && word.iter().all(u8::is_ascii_digit)
    }

    /// Steps over one byte that must be there, blanks or not around it.
    pub(super) fn symbol(&mut self, byte: u8, what: &'static str) -> Result<(), TextError> {
        if !self.begins_with(byte) {
            return Err(self.unexpected(what));
        }
        self.position += 1;
        Ok(())
    }

    /// A number that may be followed by `)` without a blank.
    pub(super) fn number_in_parentheses(&mut self, what: &'static str) -> Result<u8, TextError> {
        self.symbol(b'(', "an opening parenthesis")?;
        self.peek();
        let rest = &self.bytes[self.position..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = str::from_utf8(&rest[..digits]).ok().and_then(|digits| digits.parse().ok());
        let number = number.ok_or_else(|| self.unexpected(what))?;
        self.position += digits;
        self.symbol(b')', "a closing parenthesis")?;
        Ok(number)
    }

    /// What is between two `delimiter`s.
    pub(super) fn delimited(
        &mut self,
        delimiter: u8,
        what: &'static str,
    ) -> Result<&'a [u8], TextError> {
        self.symbol(delimiter, what)?;
        let rest = &self.bytes[self.position..];
        let Some(len) = rest.iter().position(|byte| *byte == delimiter) else {
            return Err(self.error(TextErrorKind::Unterminated(char::from(delimiter))));
        };
        self.position += len + 1;
        Ok(&rest[..len])
    }

    /// The rest of the line without blanks around it.
    pub(super) fn rest(&mut self) -> Cow<'a, str> {
        self.peek();
        let rest = self.bytes[self.position..].trim_ascii_end();
        self.position = self.bytes.len();
        text(rest)
    }

    /// Makes sure that nothing or a comment follows.
    pub(super) fn end(&mut self) -> Result<(), TextError> {
        match self.peek() {
            None | Some(b'!') => Ok(()),
            Some(_) => Err(self.unexpected("the end of the line")),
        }
    }

    /// Reads a line that begins with `!`, which is a tag or a comment.
    fn tag(&mut self, tags: &mut Tags) -> Result<(), TextError> {
        if self.word() != b"!tag" {
            return Ok(());
        }
        let name = self.parsed("the name of a tag", |word| (!word.is_empty()).then_some(word))?;
        self.peek();
        let value = self.rest();
        match name {
            Tags::TYPE => self.check_type(&value)?,
            Tags::DICTIONARY_ID if value.parse::<i64>().is_err() => {
                return Err(self.unexpected("a dictionary id"));
            }
            _ => {}
        }
        tags.set(name, &value);
        Ok(())
    }

    fn check_type(&self, value: &str) -> Result<(), TextError> {
        let wanted = self.dictionary.code();
        match value.parse() {
            Ok(found) if found == wanted => Ok(()),
            Ok(found) => Err(self.error(TextErrorKind::FileType { wanted, found })),
            Err(_) => Err(self.unexpected("a file type")),
        }
    }
}

/// Text of a file: UTF-8, or Latin-1 as in files that are older than that.
pub(in super::super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}
