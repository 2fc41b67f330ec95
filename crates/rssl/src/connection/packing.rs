//! Messages to send: packed, or in frames of their own.

use super::Connection;
use crate::error::SendError;
use crate::sender::PackedRoom;
use crate::{CopyOf, Originals, Priority};

impl Connection {
    /// The longest message, in bytes, that [`pack`](Self::pack) takes; 0
    /// before the connection is active. M − 2, less where a compressed body
    /// must surely fit a frame.
    pub fn pack_limit(&self) -> usize {
        self.sender.pack_limit()
    }

    /// Appends a copy of `message` to the packed frame being filled for
    /// `priority`, and returns the copy, to be patched in place. This is the
    /// fan-out path: one copy, no allocation.
    ///
    /// The frame goes out when it is full, or at [`flush`](Self::flush). A
    /// message beyond [`pack_limit`](Self::pack_limit) is for
    /// [`send_parts`](Self::send_parts), which takes the patch as a part.
    #[inline]
    pub fn pack(&mut self, priority: Priority, message: &[u8]) -> Result<&mut [u8], SendError> {
        let copy = self.sender.pack(priority, message.len())?;
        copy.copy_from_slice(message);
        Ok(copy)
    }

    /// The same for as long as [`grant`](Self::grant) allows it, with nothing looked
    /// at but that; `None` when it does not.
    #[inline]
    pub fn pack_granted(&mut self, priority: Priority, message: &[u8]) -> Option<&mut [u8]> {
        let copy = self.sender.pack_granted(priority, message.len())?;
        copy.copy_from_slice(message);
        Some(copy)
    }

    /// Bytes of messages, lengths included, that
    /// [`pack_granted`](Self::pack_granted) takes before another grant.
    #[inline]
    pub fn granted_bytes(&mut self, priority: Priority) -> usize {
        self.sender.granted_bytes(priority)
    }

    /// Appends copies to the packed frame being filled for `priority`, in this order,
    /// as [`pack_granted`](Self::pack_granted) does with each: as many as are granted.
    /// How many that are.
    #[inline]
    pub fn pack_copies(
        &mut self,
        priority: Priority,
        originals: &Originals,
        copies: &[CopyOf],
    ) -> usize {
        self.sender.pack_copies(priority, originals, copies)
    }

    /// Lets `bytes` more be added with [`pack_granted`](Self::pack_granted) to the
    /// packed frame that is being filled for `priority`, lengths of messages
    /// included, or as many as it has room for; none when there is no such frame.
    /// That holds until the frame ends, or another grant.
    pub fn grant(&mut self, priority: Priority, bytes: usize) {
        self.sender.grant(priority, bytes);
    }

    /// Takes a [`grant`](Self::grant) back.
    #[inline]
    pub const fn revoke(&mut self, priority: Priority) {
        self.sender.revoke(priority);
    }

    /// Room for a message of up to `most` bytes in the packed frame being
    /// filled for `priority`, to encode the message in place.
    pub fn pack_room(
        &mut self,
        priority: Priority,
        most: usize,
    ) -> Result<PackedRoom<'_>, SendError> {
        self.sender.pack_room(priority, most)
    }

    /// Queues `message` in a frame of its own, or in fragments when it is
    /// longer than the fragment size.
    pub fn send(&mut self, priority: Priority, message: &[u8]) -> Result<(), SendError> {
        self.sender.send(priority, &[message])
    }

    /// Queues one message whose bytes are all `parts` together: for a message
    /// that is too long to pack and gets some bytes of its own (a stream id)
    /// on the way.
    pub fn send_parts(&mut self, priority: Priority, parts: &[&[u8]]) -> Result<(), SendError> {
        self.sender.send(priority, parts)
    }

    /// Ends the packed frames being filled, so that they can be sent.
    pub fn flush(&mut self) {
        self.sender.seal_all();
    }
}
