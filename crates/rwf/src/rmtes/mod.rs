//! RMTES, the text encoding of market data: partial updates of a cached value
//! and conversion to Unicode.
//!
//! A value is a byte string in the manner of ISO 2022: nearly always plain
//! ASCII, now and then Latin letters, katakana, or two-byte Japanese and
//! Chinese reached by escape sequences. Two jobs are done with it, and they
//! know nothing of each other:
//!
//! * [`apply`] keeps the *bytes* of a field up to date. A publisher may send
//!   only the changed part, addressed by cursor commands.
//! * [`chars`] and [`decode_into`] turn the bytes into Unicode.
//!
//! ```
//! use tapeline_rwf::rmtes;
//!
//! let mut cached = b"ABCDEFGH".to_vec();
//! rmtes::apply(&mut cached, b"\x1b[3`xy", rmtes::DEFAULT_MAX_CACHE_LEN)?;
//! assert_eq!(cached, b"ABCxyFGH");
//!
//! let mut text = String::new();
//! rmtes::decode_into(b"Caf\xe9", &mut text)?;
//! assert_eq!(text, "Café");
//! # Ok::<(), rmtes::RmtesError>(())
//! ```

mod convert;
mod partial;
mod tables;

pub use convert::{Chars, chars, decode_into, plain_text};
pub use partial::{DEFAULT_MAX_CACHE_LEN, apply, has_cursor_command};

/// ESC, which introduces every command and every change of character set.
const ESCAPE: u8 = 0x1B;

/// Why an RMTES value could not be applied or converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RmtesError {
    /// The value ends inside a cursor command, so it was cut somewhere on its
    /// way. The cached value is unchanged.
    #[error("RMTES value ends inside a cursor command at byte {at}; the cached value is kept")]
    CommandCutOff {
        /// Offset of the command's ESC in the value.
        at: usize,
    },
    /// The cached value would outgrow its limit, or repetitions ask for more
    /// bytes than the limit. The cached value is unchanged.
    #[error(
        "RMTES value asks for {len} cached bytes, the limit is {limit}; the cached value is kept"
    )]
    TooLong {
        /// Bytes asked for; saturates at the largest `usize`.
        len: usize,
        /// The limit given to [`apply`].
        limit: usize,
    },
    /// ESC is followed by bytes that name no character set or shift, also when
    /// the value ends too early to tell. Cursor commands count as such: they
    /// have no meaning outside [`apply`].
    #[error("RMTES text has an unknown or cut-off escape sequence at byte {at}")]
    UnknownEscape {
        /// Offset of the ESC in the value.
        at: usize,
    },
    /// A byte that no 94-character set contains: A0 or FF.
    #[error("RMTES text has byte {byte:#04x} at byte {at}, which is in no character set")]
    InvalidByte {
        /// Offset of the byte in the value.
        at: usize,
        /// The byte.
        byte: u8,
    },
}
