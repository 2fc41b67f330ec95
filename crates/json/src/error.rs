//! What can be wrong with a JSON text, and the Error message that says so.

use core::fmt;

use tapeline_rwf::{DecodeError, EncodeError};
use thiserror::Error;

use crate::tape::Kind;
use crate::write::number::{push_int, push_uint};
use crate::write::text::push_str;

/// Why an RWF message could not be written as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The message is malformed.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// The text would be longer than [`Limits::json_bytes`](crate::Limits).
    #[error("the message takes more than {max} bytes in JSON; it is not converted")]
    TooLong {
        /// The limit in bytes.
        max: usize,
    },
}

/// Why a text is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyntaxFault {
    BadCharacter { offset: usize },
    EndsTooEarly,
    TooDeep { offset: usize },
}

/// The kind of a JSON value, in the words of the error texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A number, `true`, `false` or `null`.
    Primitive,
    /// A string.
    String,
    /// An object.
    Object,
    /// An array.
    Array,
}

impl From<Kind> for TokenKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Object => Self::Object,
            Kind::Array => Self::Array,
            Kind::String => Self::String,
            Kind::Number | Kind::True | Kind::False | Kind::Null => Self::Primitive,
        }
    }
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Primitive => "PRIMITIVE",
            Self::String => "STRING",
            Self::Object => "OBJECT",
            Self::Array => "ARRAY",
        })
    }
}

/// A JSON message that could not be converted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{fault}")]
pub struct JsonError {
    /// The message's `ID`, 0 if it could not be read.
    pub id: i32,
    /// What is wrong.
    pub fault: Fault,
    /// Byte position in the frame of what is wrong, where there is one.
    pub offset: Option<u32>,
}

/// What is wrong with a message.
///
/// The texts are those that users of the vendor's servers know.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// The text is no JSON: -2 for a bad character, -3 for a text that ends too
    /// early, also -2 for one that is nested too deep.
    #[error("JSON parser error: {code}")]
    Syntax {
        /// The vendor's number.
        code: i8,
    },
    /// The frame is longer than allowed.
    #[error("JSON message of {len} bytes is too long, {max} are the most")]
    TooLong {
        /// Length in bytes.
        len: usize,
        /// The most bytes that a frame may have.
        max: usize,
    },
    /// A value of the wrong kind.
    #[error(
        "JSON Converter Token Type error: Expected '{expected}' for key '{key}' Received \
         '{received}'"
    )]
    TokenType {
        /// The kind that is wanted.
        expected: TokenKind,
        /// The key of the value.
        key: String,
        /// The kind that came.
        received: TokenKind,
    },
    /// A name or number that is not known or out of range.
    #[error("JSON Unexpected Value. Received '{value}' for key '{key}'")]
    UnexpectedValue {
        /// What came.
        value: String,
        /// The key of the value.
        key: String,
    },
    /// The name of a service that does not exist. This calls for a status and
    /// no Error: see [`JsonError::is_unknown_service`].
    #[error("JSON Unexpected Value. Received '{name}' for key 'Service'")]
    UnknownService {
        /// The name.
        name: String,
    },
    /// A member is missing.
    #[error("JSON Missing required key '{key}'{}", parent.map(|parent| format!(" for '{parent}'")).unwrap_or_default())]
    MissingKey {
        /// The key.
        key: &'static str,
        /// The object it is missing from, if that is not the message.
        parent: Option<&'static str>,
    },
    /// A key that is not known, or a second payload.
    #[error("JSON Unexpected Key. Received '{key}'")]
    UnexpectedKey {
        /// The key.
        key: String,
    },
    /// A field that the dictionary lacks.
    #[error("JSON Unexpected FID. Received '{field}' for key 'Fields'")]
    UnexpectedField {
        /// Name or number of the field.
        field: String,
    },
    /// Items of different kinds in an array.
    #[error("JSON Mixed Types in OMM Array: Received '{first}' and '{other}' for key 'Data'")]
    MixedArray {
        /// The kind of the first item that is not null.
        first: TokenKind,
        /// The kind that differs.
        other: TokenKind,
    },
    /// A type name where one of a primitive is wanted.
    #[error("JSON invalid primitive type. Received '{name}'")]
    InvalidPrimitive {
        /// What came.
        name: String,
    },
    /// A type name that is none.
    #[error("JSON invalid container type. Received '{name}'")]
    InvalidContainer {
        /// What came.
        name: String,
    },
    /// A value does not fit into RWF.
    #[error("JSON RSSL Conversion Error. RSSL error code : -1")]
    Conversion(
        /// What did not fit.
        EncodeError,
    ),
    /// The message would be longer than allowed in RWF.
    #[error("JSON RSSL Conversion Error. RSSL error code : -21")]
    RwfTooLong {
        /// The most bytes that it may have.
        max: usize,
    },
}

impl From<EncodeError> for Fault {
    fn from(error: EncodeError) -> Self {
        Self::Conversion(error)
    }
}

impl JsonError {
    pub(crate) fn syntax(fault: SyntaxFault) -> Self {
        let (code, offset) = match fault {
            SyntaxFault::BadCharacter { offset } | SyntaxFault::TooDeep { offset } => {
                (-2, Some(offset as u32))
            }
            SyntaxFault::EndsTooEarly => (-3, None),
        };
        Self { id: 0, fault: Fault::Syntax { code }, offset }
    }

    /// Whether the one fault is a service that is not known. Clients wait for
    /// a status (`ClosedRecover`, `Suspect`, `SourceUnknown`) on the stream of
    /// [`id`](Self::id) then: on an Error some wait for ever, others reconnect
    /// and ask again.
    pub fn is_unknown_service(&self) -> bool {
        matches!(self.fault, Fault::UnknownService { .. })
    }

    /// Appends the Error message for this, as one JSON object; `message` is the
    /// text that failed, as it came, by which clients find what they had sent.
    ///
    /// ```text
    /// {"ID":2,"Type":"Error","Text":"…","Debug":{"Offset":23,"Message":"{\"ID\":2,…}"}}
    /// ```
    pub fn push_message(&self, message: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"ID\":");
        push_int(out, self.id.into());
        out.extend_from_slice(b",\"Type\":\"Error\",\"Text\":\"");
        push_str(out, &self.to_string());
        out.extend_from_slice(b"\",\"Debug\":{");
        if let Some(offset) = self.offset {
            out.extend_from_slice(b"\"Offset\":");
            push_uint(out, offset.into());
            out.push(b',');
        }
        out.extend_from_slice(b"\"Message\":\"");
        push_str(out, message);
        out.extend_from_slice(b"\"}}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_message_repeats_what_came() {
        let fault = Fault::UnexpectedValue { value: "ExtraInfo".into(), key: "Type".into() };
        let error = JsonError { id: 2, fault, offset: Some(15) };
        let mut out = Vec::new();
        error.push_message("{\"ID\":2,\"Type\":\"ExtraInfo\"}", &mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            r#"{"ID":2,"Type":"Error","Text":"JSON Unexpected Value. Received 'ExtraInfo' for key 'Type'","Debug":{"Offset":15,"Message":"{\"ID\":2,\"Type\":\"ExtraInfo\"}"}}"#
        );
    }

    #[test]
    fn texts_are_those_that_users_know() {
        let missing = Fault::MissingKey { key: "Count", parent: Some("Priority") };
        assert_eq!(missing.to_string(), "JSON Missing required key 'Count' for 'Priority'");
        let fault = Fault::TokenType {
            expected: TokenKind::Primitive,
            key: "ID".into(),
            received: TokenKind::String,
        };
        assert_eq!(
            fault.to_string(),
            "JSON Converter Token Type error: Expected 'PRIMITIVE' for key 'ID' Received 'STRING'"
        );
    }
}
