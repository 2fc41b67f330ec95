//! What outlives a connection.

use tapeline_layout::Text;

use crate::writer::Writer;

/// The longest name of a side.
pub const MAX_COMP_ID: usize = 20;

/// The names of both sides of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompIds {
    /// This side.
    pub own: Text<MAX_COMP_ID>,
    /// The other.
    pub peer: Text<MAX_COMP_ID>,
}

impl CompIds {
    /// Names, cut to [`MAX_COMP_ID`] bytes.
    pub fn new(own: &[u8], peer: &[u8]) -> Self {
        Self { own: Text::from_bytes(own), peer: Text::from_bytes(peer) }
    }
}

/// What outlives a connection: both numbers, and what was sent, so that it can be sent
/// again.
#[derive(Clone, Debug)]
pub struct Store {
    next_out: u32,
    next_in: u32,
}

impl Store {
    /// Keeps the last `messages` application messages; what is older is filled by gap
    /// fills.
    pub fn new(messages: usize) -> Self {
        let _ = messages;
        Self { next_out: 1, next_in: 1 }
    }

    /// The number of the next message that goes out.
    pub const fn next_out(&self) -> u32 {
        self.next_out
    }

    /// The number of the next message that is to come.
    pub const fn next_in(&self) -> u32 {
        self.next_in
    }

    /// Takes an application message and gives it the next number; `frame` is all of it
    /// then, and nothing else.
    ///
    /// With `is_absent` nobody is connected: it gets no number yet and `frame` is
    /// empty, and it goes out with `PossResend` behind the next logon.
    pub fn write(
        &mut self,
        session: &CompIds,
        now_ns: u64,
        msg_type: &[u8],
        is_absent: bool,
        body: impl FnOnce(&mut Writer<'_>),
        frame: &mut Vec<u8>,
    ) {
        let _ = (session, now_ns, msg_type, is_absent, body, frame);
        todo!()
    }

    /// Numbers begin again: at 1 on a new day, for both sides. Behind a failover at a
    /// `first` above all that the other side may have seen; its own number is then
    /// taken as its next logon has it.
    pub fn restart(&mut self, first: u32) {
        let _ = first;
        todo!()
    }
}
