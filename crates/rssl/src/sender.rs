//! From messages to frames: pack, fragment, compress, wrap, queue.

use crate::compression::Compressor;
use crate::copies::{CopyOf, Originals};
use crate::error::{CloseReason, SendError};
use crate::frame::{
    COMPRESSED, DATA, EXTENDED, FIRST_FRAGMENT, HEADER_BYTES, NEXT_FRAGMENT, PACKED,
    first_fragment_header_bytes, next_fragment_header_bytes,
};
use crate::output::Output;
use crate::queue::Queue;
use crate::random::Random;
use crate::websocket::{PONG, apply_mask};
use crate::wrap::{Wrap, websocket_header};
use crate::{FlushOrder, Limits, Priority, Version};

/// The frame limit of the tunnel's downward direction is lower by this.
const CHUNK_OVERHEAD_BYTES: usize = 8;

/// More than any wrapping and header around one frame's body.
const FRAME_OVERHEAD_BYTES: usize = 32;

pub(crate) const PING: [u8; 3] = [0, 3, DATA];

/// The sending half of a connection.
pub(crate) struct Sender {
    pub(crate) output: Output,
    wrap: Wrap,
    compressor: Option<Compressor>,
    /// The one priority whose frames are in the zlib stream: frames of others
    /// may overtake, and the stream must be on the wire in its own order.
    stream_priority: Option<Priority>,
    id_bytes: usize,
    /// Fragmented messages so far, by priority.
    fragmented: [u16; 3],
    /// Largest body of a frame.
    body_limit: usize,
    /// Largest body of a packed frame.
    pack_limit: usize,
    /// How far the packed frame that is being filled may reach in its queue, by
    /// priority; 0: there is none.
    pack_ends: [usize; 3],
    /// How far it may with [granted](Self::grant) messages.
    granted_ends: [usize; 3],
    send_bytes: usize,
    output_bytes: usize,
    /// Bytes that leave before the last pong has, at the most.
    before_pong: usize,
    /// Payload of the newest ping that is not answered yet.
    unanswered: Option<Vec<u8>>,
    is_active: bool,
    /// The compressor broke its promise; the stream cannot go on.
    failed: bool,
    pub(crate) frames: u64,
    pub(crate) messages: u64,
}

impl Sender {
    pub(crate) fn new(order: FlushOrder, limits: &Limits) -> Self {
        Self {
            output: Output::new(order, limits.retained_output_bytes),
            wrap: Wrap::Nothing,
            compressor: None,
            stream_priority: None,
            id_bytes: 0,
            fragmented: [0; 3],
            body_limit: 0,
            pack_limit: 0,
            pack_ends: [0; 3],
            granted_ends: [0; 3],
            send_bytes: limits.send_bytes,
            output_bytes: limits.output_bytes,
            before_pong: 0,
            unanswered: None,
            is_active: false,
            failed: false,
            frames: 0,
            messages: 0,
        }
    }

    pub(crate) fn set_wrap(&mut self, wrap: Wrap) {
        self.wrap = wrap;
    }

    pub(crate) const fn is_websocket(&self) -> bool {
        matches!(self.wrap, Wrap::WebSocket { .. })
    }

    /// The handshake is over: messages may be sent.
    pub(crate) fn activate(
        &mut self,
        version: Version,
        fragment_bytes: u16,
        compressor: Option<Compressor>,
    ) {
        let mut body_limit = usize::from(fragment_bytes);
        if let Wrap::Chunks { padded } = &mut self.wrap {
            *padded = true;
            body_limit -= CHUNK_OVERHEAD_BYTES;
        }
        self.body_limit = body_limit;
        self.pack_limit = match &compressor {
            Some(compressor) => nonzero_or(compressor.longest_body(body_limit), body_limit),
            None => body_limit,
        };
        self.id_bytes = version.fragment_id_bytes();
        self.compressor = compressor;
        self.is_active = true;
    }

    pub(crate) fn deactivate(&mut self) {
        self.seal_all();
        self.unanswered = None;
        self.is_active = false;
    }

    /// Has other bounds hold from here on.
    pub(crate) fn set_limits(&mut self, limits: &Limits) {
        self.send_bytes = limits.send_bytes;
        self.output_bytes = limits.output_bytes;
    }

    pub(crate) const fn is_active(&self) -> bool {
        self.is_active
    }

    /// Whether the connection must end because the compressor failed.
    pub(crate) const fn failure(&self) -> Option<CloseReason> {
        if self.failed { Some(CloseReason::Compressor) } else { None }
    }

    /// Whether there is a [`Self::failure`].
    pub(crate) const fn has_failed(&self) -> bool {
        self.failed
    }

    /// The longest message that can be packed.
    pub(crate) const fn pack_limit(&self) -> usize {
        self.pack_limit.saturating_sub(2)
    }

    /// Bytes of HTTP, ahead of all framing.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.seal_packed(Priority::High);
        let queue = self.output.queue(Priority::High);
        queue.reserve(bytes.len());
        queue.extend(bytes.len()).copy_from_slice(bytes);
        queue.seal();
    }

    /// A whole RIPC frame: handshake or ping.
    pub(crate) fn frame(&mut self, frame: &[u8]) {
        self.seal_packed(Priority::High);
        self.begin(Priority::High, frame.len());
        self.output.queue(Priority::High).extend(frame.len()).copy_from_slice(frame);
        self.seal(Priority::High);
    }

    /// Answers a WebSocket ping. While an answer waits for the socket, only the
    /// newest ping is kept to be answered after it (RFC 6455, 5.5.3): who pings
    /// and does not read has nothing grow.
    pub(crate) fn answer_ping(&mut self, payload: &[u8]) {
        if self.before_pong > 0 && self.output.queued_bytes() > 0 {
            let newest = self.unanswered.get_or_insert_default();
            newest.clear();
            newest.extend_from_slice(payload);
        } else {
            self.pong(payload);
        }
    }

    fn pong(&mut self, payload: &[u8]) {
        self.websocket_control(PONG, payload);
        self.before_pong = self.output.queued_bytes();
    }

    /// Takes note that the first `count` offered bytes were sent.
    pub(crate) fn sent(&mut self, count: usize) {
        self.output.sent(count);
        self.before_pong = self.before_pong.saturating_sub(count);
        if self.unanswered.is_some() && (self.before_pong == 0 || self.output.queued_bytes() == 0) {
            let payload = self.unanswered.take().unwrap_or_default();
            self.pong(&payload);
        }
    }

    /// Drops all that waits: nobody is there to take it.
    pub(crate) fn discard(&mut self) {
        self.output.clear();
        self.unanswered = None;
    }

    /// A WebSocket control frame; nothing on other connections.
    pub(crate) fn websocket_control(&mut self, opcode: u8, payload: &[u8]) {
        let Wrap::WebSocket { masks } = &mut self.wrap else { return };
        let mask = masks.as_mut().map(Random::next_bytes4);
        let (header, length) = websocket_header(opcode, mask, payload.len());
        self.seal_packed(Priority::High);
        let queue = self.output.queue(Priority::High);
        queue.reserve(length + payload.len());
        queue.extend(length).copy_from_slice(&header[..length]);
        let body = queue.extend(payload.len());
        body.copy_from_slice(payload);
        if let Some(mask) = mask {
            apply_mask(body, mask);
        }
        queue.seal();
    }

    /// Room for a message of exactly `length` bytes in a packed frame.
    #[inline]
    pub(crate) fn pack(
        &mut self,
        priority: Priority,
        length: usize,
    ) -> Result<&mut [u8], SendError> {
        self.make_room(priority, length)?;
        self.messages += 1;
        let (prefix, body) = self.output.queue(priority).extend(2 + length).split_at_mut(2);
        prefix.copy_from_slice(&(length as u16).to_be_bytes());
        Ok(body)
    }

    /// The same without a look at anything else, for as long as
    /// [`grant`](Self::grant) allows it.
    #[inline]
    pub(crate) fn pack_granted(&mut self, priority: Priority, length: usize) -> Option<&mut [u8]> {
        if length == 0 {
            return None;
        }
        let end = self.granted_ends[priority.index()];
        let packed = self.output.queue(priority).extend_before(end, 2 + length)?;
        let (prefix, body) = packed.split_first_chunk_mut()?;
        *prefix = (length as u16).to_be_bytes();
        self.messages += 1;
        Some(body)
    }

    /// Bytes that [`pack_granted`](Self::pack_granted) still adds, the lengths of
    /// messages included.
    #[inline]
    pub(crate) fn granted_bytes(&mut self, priority: Priority) -> usize {
        let end = self.granted_ends[priority.index()];
        self.output.queue(priority).room_before(end).len()
    }

    /// Packs copies, as many as are granted; how many that are.
    #[inline]
    pub(crate) fn pack_copies(
        &mut self,
        priority: Priority,
        originals: &Originals,
        copies: &[CopyOf],
    ) -> usize {
        let end = self.granted_ends[priority.index()];
        let queue = self.output.queue(priority);
        let (bytes, count) = originals.copy_to(copies, queue.room_before(end));
        queue.extend(bytes);
        self.messages += count as u64;
        count
    }

    /// Lets `bytes` more be added by [`pack_granted`](Self::pack_granted) to the
    /// packed frame that is being filled, or as many as it has room for; none when
    /// there is no such frame. It holds until that frame ends.
    pub(crate) fn grant(&mut self, priority: Priority, bytes: usize) {
        let index = priority.index();
        let end = self.output.queue(priority).position().saturating_add(bytes);
        self.granted_ends[index] = end.min(self.pack_ends[index]);
    }

    /// Has no message be added but with a look at everything.
    #[inline]
    pub(crate) const fn revoke(&mut self, priority: Priority) {
        self.granted_ends[priority.index()] = 0;
    }

    /// Room for a message of up to `most` bytes in a packed frame.
    pub(crate) fn pack_room(
        &mut self,
        priority: Priority,
        most: usize,
    ) -> Result<PackedRoom<'_>, SendError> {
        self.make_room(priority, most)?;
        let queue = self.output.queue(priority);
        Ok(PackedRoom { queue, most, messages: &mut self.messages })
    }

    /// Has a packed frame with room for a message of `length` bytes.
    ///
    /// A frame is admitted with all that it may hold, so that the messages
    /// packed into it cost no more than their copy.
    #[inline]
    fn make_room(&mut self, priority: Priority, length: usize) -> Result<(), SendError> {
        let end = self.output.queue(priority).position() + 2 + length;
        if length > 0 && end <= self.pack_ends[priority.index()] {
            return Ok(());
        }
        self.begin_packed(priority, length)
    }

    #[cold]
    fn begin_packed(&mut self, priority: Priority, length: usize) -> Result<(), SendError> {
        self.check_length(length, self.pack_limit())?;
        self.seal_packed(priority);
        self.check_room(self.pack_limit + FRAME_OVERHEAD_BYTES)?;
        self.begin(priority, HEADER_BYTES + self.pack_limit);
        let queue = self.output.queue(priority);
        queue.extend(HEADER_BYTES)[2] = DATA | PACKED;
        self.pack_ends[priority.index()] = queue.position() + self.pack_limit;
        Ok(())
    }

    /// Queues one message whose bytes are all parts together, in frames of
    /// its own.
    pub(crate) fn send(&mut self, priority: Priority, parts: &[&[u8]]) -> Result<(), SendError> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        self.check_length(total, self.send_bytes.min(u32::MAX as usize))?;
        let frames = total / self.smallest_full_payload() + 2;
        self.check_room(total + frames * FRAME_OVERHEAD_BYTES)?;
        self.seal_packed(priority);
        self.messages += 1;
        let mut gather = Gather { parts, offset: 0 };
        if total > self.body_limit {
            self.send_fragments(priority, total, &mut gather);
            return Ok(());
        }
        self.begin(priority, HEADER_BYTES + total);
        self.output.queue(priority).extend(HEADER_BYTES)[2] = DATA;
        self.finish(priority, HEADER_BYTES, total, &mut gather);
        Ok(())
    }

    fn send_fragments(&mut self, priority: Priority, total: usize, gather: &mut Gather<'_>) {
        let id = self.next_fragment_id(priority);
        let mut left = total;
        while left > 0 {
            let is_first = left == total;
            let header = if is_first {
                first_fragment_header_bytes(self.id_bytes)
            } else {
                next_fragment_header_bytes(self.id_bytes)
            };
            let payload = self.fragment_payload(priority, header).min(left);
            left -= payload;
            self.begin(priority, header + payload);
            let fields = self.output.queue(priority).extend(header);
            fields[2] = DATA | EXTENDED;
            fields[3] = if is_first { FIRST_FRAGMENT } else { NEXT_FRAGMENT };
            if is_first {
                fields[4..8].copy_from_slice(&(total as u32).to_be_bytes());
            }
            let id_bytes = &id.to_be_bytes()[2 - self.id_bytes..];
            fields[header - self.id_bytes..].copy_from_slice(id_bytes);
            self.finish(priority, header, payload, gather);
        }
    }

    /// The most payload of a fragment behind a header of `header` bytes.
    fn fragment_payload(&self, priority: Priority, header: usize) -> usize {
        let room = self.body_limit + HEADER_BYTES - header;
        match &self.compressor {
            Some(compressor) if self.may_compress(priority) => {
                nonzero_or(compressor.longest_body(room), room)
            }
            _ => room,
        }
    }

    /// The least payload of a fragment that is not a message's last.
    fn smallest_full_payload(&self) -> usize {
        let header = first_fragment_header_bytes(self.id_bytes);
        let room = (self.body_limit + HEADER_BYTES).saturating_sub(header);
        let compressed = self.compressor.as_ref().map_or(room, |c| c.longest_body(room));
        nonzero_or(compressed, room).max(1)
    }

    /// Ids of one priority never meet those of another, and within a priority
    /// messages follow each other; so an id is never in use twice, however
    /// few there are. 0 is not used.
    fn next_fragment_id(&mut self, priority: Priority) -> u16 {
        let highest: u16 = if self.id_bytes == 1 { 255 } else { u16::MAX };
        let counter = &mut self.fragmented[priority.index()];
        let id = 1 + priority.index() as u16 + 3 * *counter;
        *counter = (*counter + 1) % (highest / 3);
        id
    }

    /// Seals every packed frame that is being filled.
    pub(crate) fn seal_all(&mut self) {
        for priority in Priority::ALL {
            self.seal_packed(priority);
        }
    }

    fn seal_packed(&mut self, priority: Priority) {
        self.revoke(priority);
        if std::mem::take(&mut self.pack_ends[priority.index()]) == 0 {
            return;
        }
        let start = self.wrap.prefix_bytes() + HEADER_BYTES;
        let queue = self.output.queue(priority);
        if queue.open_bytes() == start {
            queue.truncate_open(0);
            return;
        }
        self.compress_open(priority, start);
        self.seal(priority);
    }

    fn check_length(&self, length: usize, max: usize) -> Result<(), SendError> {
        match length {
            _ if !self.is_active => Err(SendError::NotActive),
            0 => Err(SendError::Empty),
            _ if length > max => Err(SendError::TooLong { length, max }),
            _ => Ok(()),
        }
    }

    /// Whether `bytes` more may wait.
    fn check_room(&self, bytes: usize) -> Result<(), SendError> {
        let (queued, max) = (self.output.queued_bytes(), self.output_bytes);
        if queued + bytes > max { Err(SendError::OutputFull { queued, max }) } else { Ok(()) }
    }

    /// Starts a frame and reserves room for `bytes` of it, and for what
    /// compression may add.
    fn begin(&mut self, priority: Priority, bytes: usize) {
        let slack = self.compressor.as_ref().map_or(0, |c| c.worst_case(bytes) - bytes);
        let prefix = self.wrap.prefix_bytes();
        let reserved = prefix + bytes + slack + self.wrap.suffix_bytes();
        let queue = self.output.queue(priority);
        queue.reserve(reserved);
        queue.extend(prefix);
    }

    /// Fills in the body of the open frame behind its header, and seals it.
    fn finish(&mut self, priority: Priority, header: usize, body: usize, gather: &mut Gather<'_>) {
        gather.fill(self.output.queue(priority).extend(body));
        self.compress_open(priority, self.wrap.prefix_bytes() + header);
        self.seal(priority);
    }

    fn may_compress(&self, priority: Priority) -> bool {
        match &self.compressor {
            None => false,
            Some(compressor) if !compressor.is_stream() => true,
            Some(_) => self.stream_priority.is_none_or(|stream| stream == priority),
        }
    }

    /// Compresses the body of the open frame, which starts at `start`, where
    /// the rules allow.
    fn compress_open(&mut self, priority: Priority, start: usize) {
        if !self.may_compress(priority) {
            return;
        }
        let Some(compressor) = &mut self.compressor else { return };
        let prefix = self.wrap.prefix_bytes();
        let queue = self.output.queue(priority);
        let room = self.body_limit + HEADER_BYTES - (start - prefix);
        let body = &queue.open()[start..];
        if body.len() < compressor.threshold() || compressor.worst_case(body.len()) > room {
            return;
        }
        let length = body.len();
        match compressor.compress(body) {
            Ok(None) => {}
            Ok(Some(compressed)) => {
                queue.truncate_open(start + compressed.len());
                queue.extend(compressed.len().saturating_sub(length));
                let open = queue.open();
                open[start..].copy_from_slice(compressed);
                open[prefix + 2] = open[prefix + 2] & !DATA | COMPRESSED;
                self.stream_priority = Some(priority);
            }
            Err(_) => self.failed = true,
        }
    }

    /// Writes the length of the open frame, wraps and seals it.
    fn seal(&mut self, priority: Priority) {
        let prefix = self.wrap.prefix_bytes();
        let queue = self.output.queue(priority);
        let frame = &mut queue.open()[prefix..];
        let length = frame.len() as u16;
        frame[..2].copy_from_slice(&length.to_be_bytes());
        self.wrap.seal(queue);
        self.frames += 1;
    }
}

const fn nonzero_or(value: usize, otherwise: usize) -> usize {
    if value == 0 { otherwise } else { value }
}

/// Takes bytes from parts one after the other.
struct Gather<'a> {
    parts: &'a [&'a [u8]],
    offset: usize,
}

impl Gather<'_> {
    fn fill(&mut self, mut out: &mut [u8]) {
        while let (false, Some((part, rest))) = (out.is_empty(), self.parts.split_first()) {
            let from = &part[self.offset..];
            let count = from.len().min(out.len());
            let (now, later) = out.split_at_mut(count);
            now.copy_from_slice(&from[..count]);
            out = later;
            if count == from.len() {
                self.parts = rest;
                self.offset = 0;
            } else {
                self.offset += count;
            }
        }
    }
}

/// Room in a packed frame for a message that is encoded in place.
///
/// The room's bytes are whatever was there before. Nothing is written until
/// [`PackedRoom::commit`]; dropping the room leaves no trace.
pub struct PackedRoom<'a> {
    queue: &'a mut Queue,
    most: usize,
    messages: &'a mut u64,
}

impl PackedRoom<'_> {
    /// Makes the first `length` bytes of the room a message. A length of 0
    /// writes nothing; one beyond the room is taken as the whole room.
    pub fn commit(self, length: usize) {
        let length = length.min(self.most);
        if length > 0 {
            self.queue.extend(2).copy_from_slice(&(length as u16).to_be_bytes());
            self.queue.extend(length);
            *self.messages += 1;
        }
    }
}

impl std::ops::Deref for PackedRoom<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.queue.room_ref(2 + self.most)[2..]
    }
}

impl std::ops::DerefMut for PackedRoom<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.queue.room(2 + self.most)[2..]
    }
}

impl std::fmt::Debug for PackedRoom<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackedRoom({} bytes)", self.most)
    }
}
