//! Why bytes are no packet, or a part of one is no message.

use thiserror::Error;

/// Why bytes are no packet of MDP 3.0, or a part of one is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MdpError {
    /// Too short for the head of a packet.
    #[error("{0} bytes are too few for the head of a packet, which has 12")]
    Short(usize),
    /// Where a message should begin there is none; what follows cannot be found.
    #[error("a message that says it has {size} bytes is no message of the {left} that are left")]
    Size {
        /// By its first two bytes, if there are two.
        size: u16,
        /// Of the packet.
        left: usize,
    },
    /// Templates of another schema mean something else. The next message can be read.
    #[error("schema {0} is not that of MDP 3.0, which is 1")]
    Schema(u16),
    /// A block is too short for the fields without which the message, or the entry,
    /// says nothing. The next message can be read.
    #[error("template {template}: a block of {block} bytes, where {least} are needed")]
    Block {
        /// Of the message.
        template: u16,
        /// As it says.
        block: usize,
        /// Up to the last field that is read.
        least: usize,
    },
    /// A block or a group is longer than the message. The next message can be read.
    #[error("template {template}: {needed} bytes do not fit into the {left} that are left of it")]
    End {
        /// Of the message.
        template: u16,
        /// By the head, or by the group's.
        needed: usize,
        /// In fact.
        left: usize,
    },
}
