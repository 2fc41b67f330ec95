//! Why bytes are no message.

use thiserror::Error;

use crate::frame::MAX_MESSAGE;

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FixError {
    /// What comes does not begin as every message does.
    #[error("a message begins with other bytes than `8=FIXT.1.1|9=`: the stream is out of step")]
    Start,
    /// The body length is no number.
    #[error("the body length of a message is no number: the stream is out of step")]
    Length,
    /// A message is longer than may be.
    #[error("a message of {0} bytes: at most {MAX_MESSAGE} are read")]
    Long(usize),
    /// The body does not end where its length says.
    #[error("no `10=` where the body length says ({0} bytes on): the stream is out of step")]
    End(usize),
    /// A message was damaged, and can be passed over.
    #[error("a message of {len} bytes has checksum {found}, and says {said}")]
    Checksum {
        /// How long it is.
        len: usize,
        /// What its bytes add up to.
        found: u8,
        /// What it says that they add up to.
        said: u16,
    },
    /// The third field is not the type, and the message is passed over.
    #[error("the third field of a message is not its type, 35")]
    Type,
    /// There are more bytes than one message, or fewer.
    #[error("{0} bytes are not one whole message")]
    Whole(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_is_wrong_with_what() {
        for (error, text) in [
            (FixError::Long(9000), "a message of 9000 bytes: at most 8192 are read"),
            (
                FixError::End(5),
                "no `10=` where the body length says (5 bytes on): the stream is out of step",
            ),
            (
                FixError::Checksum { len: 27, found: 241, said: 164 },
                "a message of 27 bytes has checksum 241, and says 164",
            ),
            (FixError::Type, "the third field of a message is not its type, 35"),
            (FixError::Whole(3), "3 bytes are not one whole message"),
        ] {
            assert_eq!(error.to_string(), text);
        }
    }
}
