//! The output of a text session: messages packed into frames, where they lie.

use tapeline_rssl::websocket::{FrameHeader, HEADER_BYTES, Masks, TEXT, apply_mask};

/// Room for the header of a frame whose length is not known yet: one of 126 to
/// 65,535 bytes. A shorter frame is moved to the front, a longer one is known
/// to be long from its beginning.
const HEADER_ROOM: usize = 4;

/// The same for a frame that is masked.
const MASKED_HEADER_ROOM: usize = HEADER_ROOM + 4;

/// The longest frame that is begun before its length is known.
const MOST_PACKED: usize = 0xFFFF;

/// Frames in order, the last one perhaps still open for more messages.
///
/// ```text
///   | sent | frame | frame | header room | [ message , message  |  free
///   0     head           sealed                                len
/// ```
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    head: usize,
    sealed: usize,
    frame_bytes: usize,
    retained_bytes: usize,
    /// A client masks what it sends.
    masks: Option<Masks>,
    header_room: usize,
    pub(crate) frames: u64,
}

impl Outgoing {
    pub(crate) const fn new(frame_bytes: usize, retained_bytes: usize) -> Self {
        let frame_bytes = if frame_bytes < MOST_PACKED { frame_bytes } else { MOST_PACKED };
        Self {
            bytes: Vec::new(),
            head: 0,
            sealed: 0,
            frame_bytes,
            retained_bytes,
            masks: None,
            header_room: HEADER_ROOM,
            frames: 0,
        }
    }

    /// The same, masked as a client's frames have to be.
    pub(crate) fn masked(self, masks: Masks) -> Self {
        Self { masks: Some(masks), header_room: MASKED_HEADER_ROOM, ..self }
    }

    /// Bytes that wait, the open frame included.
    pub(crate) const fn queued_bytes(&self) -> usize {
        self.bytes.len() - self.head
    }

    /// Bytes as they are, which are no frame: of the handshake, and pages.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.seal();
        self.bytes.extend_from_slice(bytes);
        self.sealed = self.bytes.len();
    }

    /// A control frame.
    pub(crate) fn control(&mut self, opcode: u8, payload: &[u8]) {
        self.seal();
        self.make_room(HEADER_BYTES + payload.len());
        let mask = self.header(opcode, payload.len());
        self.bytes.extend_from_slice(payload);
        self.complete(mask, payload.len());
    }

    /// A message that is in one or more pieces.
    pub(crate) fn push(&mut self, pieces: &[&[u8]]) {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        // With the bracket or comma before it, and the bracket that may follow.
        let open_bytes = self.open_bytes();
        if open_bytes > 0 && open_bytes - self.header_room + length + 2 > self.frame_bytes {
            self.seal();
        }
        if length + 2 > self.frame_bytes {
            return self.push_long(pieces, length);
        }
        self.make_room(length + HEADER_BYTES + 2);
        if self.open_bytes() == 0 {
            self.bytes.extend_from_slice(&[0; MASKED_HEADER_ROOM][..self.header_room]);
            self.bytes.push(b'[');
        } else {
            self.bytes.push(b',');
        }
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
    }

    /// A message that has a frame for itself, since it is long.
    fn push_long(&mut self, pieces: &[&[u8]], length: usize) {
        self.make_room(length + HEADER_BYTES + 2);
        let mask = self.header(TEXT, length + 2);
        self.bytes.push(b'[');
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
        self.bytes.push(b']');
        self.complete(mask, length + 2);
    }

    fn open_bytes(&self) -> usize {
        self.bytes.len() - self.sealed
    }

    /// Ends the open frame, if there is one.
    pub(crate) fn seal(&mut self) {
        if self.open_bytes() == 0 {
            return;
        }
        self.bytes.push(b']');
        let (start, room) = (self.sealed, self.header_room);
        let payload = self.bytes.len() - start - room;
        let mask = self.masks.as_mut().map(Masks::mask);
        let (header, length) = header(TEXT, payload, mask);
        if length < room {
            self.bytes.copy_within(start + room.., start + length);
            self.bytes.truncate(start + length + payload);
        }
        self.bytes[start..start + length].copy_from_slice(&header[..length]);
        self.complete(mask, payload);
    }

    /// Writes a header; its mask is for the payload that is written next.
    fn header(&mut self, opcode: u8, payload: usize) -> Option<[u8; 4]> {
        let mask = self.masks.as_mut().map(Masks::mask);
        let (header, length) = header(opcode, payload, mask);
        self.bytes.extend_from_slice(&header[..length]);
        mask
    }

    /// The last `payload` bytes are those of a frame that is now whole.
    fn complete(&mut self, mask: Option<[u8; 4]>, payload: usize) {
        if let Some(mask) = mask {
            let start = self.bytes.len() - payload;
            apply_mask(&mut self.bytes[start..], mask);
        }
        self.sealed = self.bytes.len();
        self.frames += 1;
    }

    /// Moves what waits to the front rather than growing, where the move pays
    /// for itself.
    fn make_room(&mut self, count: usize) {
        if self.bytes.capacity() - self.bytes.len() < count && self.head >= self.bytes.len() / 4 {
            self.bytes.copy_within(self.head.., 0);
            self.bytes.truncate(self.bytes.len() - self.head);
            self.sealed -= self.head;
            self.head = 0;
        }
    }

    /// The bytes of whole frames.
    pub(crate) fn sendable(&self) -> &[u8] {
        &self.bytes[self.head..self.sealed]
    }

    /// Takes note of `count` sent bytes.
    pub(crate) fn sent(&mut self, count: usize) {
        self.head += count.min(self.sealed - self.head);
        if self.head == self.bytes.len() {
            self.discard();
        }
    }

    /// Drops all that waits.
    pub(crate) fn discard(&mut self) {
        self.bytes.clear();
        (self.head, self.sealed) = (0, 0);
        if self.bytes.capacity() > self.retained_bytes {
            self.bytes = Vec::new();
        }
    }
}

fn header(opcode: u8, payload: usize, mask: Option<[u8; 4]>) -> ([u8; HEADER_BYTES], usize) {
    let payload = payload as u64;
    FrameHeader { fin: true, reserved: 0, opcode, mask, payload }.encode()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frames that are ready: opcodes and payloads.
    fn frames(out: &mut Outgoing) -> Vec<(u8, String)> {
        let mut rest = out.sendable();
        let mut all = Vec::new();
        while let Some((header, length)) = FrameHeader::parse(rest) {
            let end = length + header.payload as usize;
            assert!(header.fin && header.mask.is_some() == out.masks.is_some());
            assert_eq!(header.encode().1, length, "the shortest form");
            let mut payload = rest[length..end].to_vec();
            apply_mask(&mut payload, header.mask.unwrap_or_default());
            all.push((header.opcode, String::from_utf8(payload).unwrap()));
            rest = &rest[end..];
        }
        let count = out.sendable().len();
        out.sent(count);
        all
    }

    #[test]
    fn messages_share_a_frame_until_it_is_sealed() {
        let mut out = Outgoing::new(61_440, 1000);
        out.push(&[b"{\"ID\":5,", b"1}"]);
        assert_eq!(frames(&mut out), []);
        out.push(&[b"{2}"]);
        out.seal();
        out.push(&[b"{3}"]);
        out.seal();
        out.seal();
        let texts = ["[{\"ID\":5,1},{2}]", "[{3}]"];
        assert_eq!(frames(&mut out), texts.map(|text| (TEXT, text.to_owned())));
        assert_eq!(out.queued_bytes(), 0);
    }

    #[test]
    fn frames_of_every_length_have_the_shortest_header() {
        let lengths = [1, 123, 124, 125, 200, 997, 998, 999, 70_000];
        for (length, is_masked) in
            lengths.map(|length| [(length, false), (length, true)]).as_flattened()
        {
            let length = *length;
            let mut out = Outgoing::new(1000, 1000);
            if *is_masked {
                out = out.masked(Masks::new(5));
            }
            let message = vec![b'x'; length];
            out.push(&[b"{1}"]);
            out.push(&[&message]);
            out.seal();
            let all = frames(&mut out);
            let joined: String = all.iter().map(|(_, text)| text.as_str()).collect();
            let x = "x".repeat(length);
            // With both brackets, the comma and the first message of 3 bytes.
            let fits = length + 6 <= 1000;
            let expected = if fits { format!("[{{1}},{x}]") } else { format!("[{{1}}][{x}]") };
            assert_eq!(joined, expected, "{length}");
            assert!(all.iter().all(|(_, text)| text.len() <= 1000 || text.len() == length + 2));
        }
    }

    #[test]
    fn each_frame_of_a_client_has_a_mask_of_its_own() {
        let mut out = Outgoing::new(1000, 1000).masked(Masks::new(5));
        for _ in 0..2 {
            out.push(&[b"{1}"]);
            out.seal();
            out.control(9, b"p");
        }
        let bytes = out.sendable().to_vec();
        assert!(!bytes.windows(3).any(|text| text == b"{1}"), "{bytes:?}");
        let (first, second) = bytes.split_at(bytes.len() / 2);
        assert_ne!(first, second);
        let expected = [(TEXT, "[{1}]".to_owned()), (9, "p".to_owned())];
        assert_eq!(frames(&mut out), [&expected[..], &expected].concat());
    }

    #[test]
    fn control_frames_and_partly_sent_frames_keep_the_order() {
        let mut out = Outgoing::new(1000, 1000);
        out.push(&[b"{1}"]);
        out.control(9, b"x");
        out.push(&[b"{2}"]);
        out.sent(3);
        assert_eq!(out.sendable(), b"{1}]\x89\x01x");
        assert_eq!(out.queued_bytes(), 4 + 3 + 4 + 4);
        out.sent(usize::MAX);
        out.seal();
        assert_eq!(out.sendable(), b"\x81\x05[{2}]");
    }

    #[test]
    fn room_is_used_again_and_a_burst_given_back() {
        let mut out = Outgoing::new(1000, 4096);
        for _ in 0..1000 {
            out.push(&[&[b'x'; 500]]);
            out.seal();
            out.push(&[&[b'y'; 100]]);
            let count = out.sendable().len();
            out.sent(count);
        }
        assert!(out.bytes.capacity() <= 4096, "{}", out.bytes.capacity());
        out.push(&[&vec![b'x'; 100_000]]);
        out.sent(usize::MAX);
        assert_eq!(out.bytes.capacity(), 0);
    }
}
