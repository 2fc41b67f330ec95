/// Bounds on everything a peer controls, and on what may wait for it.
///
/// Two more bounds follow from the negotiated fragment size M: a frame is at
/// most M + 3 bytes, and a frame's body is at most M bytes after
/// decompression. A violation of any of them closes the connection with
/// [`CloseReason::Limit`](crate::CloseReason::Limit), which names it; only a
/// message that is too long is passed over and told of
/// ([`Event::TooLong`](crate::Event::TooLong)).
///
/// Memory held for received bytes is at most
/// [`Limits::receive_memory_bytes`]. Memory for output follows what is queued,
/// at most [`Limits::output_bytes`]: a queue's buffer grows to at most about
/// three times the most that ever waited in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Milliseconds from the start of the connection to the end of the
    /// handshake, HTTP opening included. Default 60,000.
    pub handshake_ms: u32,
    /// Bytes of one handshake frame (connect request, ack, nak, client key).
    /// Default 1,024; the vendor's servers read at most 255.
    pub handshake_frame_bytes: usize,
    /// Bytes of an HTTP request or response head. Default 8,192. A head has at
    /// most 64 header lines besides.
    pub http_head_bytes: usize,
    /// Bytes of a chunk size line in the HTTP tunnel, extensions included.
    /// Default 64.
    pub chunk_line_bytes: usize,
    /// Bytes of the receive buffer, and so of one read. Default 16,384, which
    /// suits a server of many quiet clients; a busy consumer gains from more.
    /// The buffer is never smaller than the largest thing that must be there
    /// whole: a frame, an HTTP head.
    pub receive_buffer_bytes: usize,
    /// Largest fragment size M that a client accepts from a server.
    /// Default (and largest possible) 65,532.
    pub fragment_bytes: u16,
    /// Bytes of one message that is received. Default 64 MiB and 32 KiB: an
    /// image of 64 MiB with its header.
    pub message_bytes: usize,
    /// Bytes of one message that is sent. Default 64 MiB and 128 KiB: one that
    /// was received, with what is added to its header.
    pub send_bytes: usize,
    /// Bytes announced by all messages in reassembly together. Default: three
    /// messages of the longest, one a priority.
    pub reassembly_bytes: usize,
    /// Messages in reassembly at one time. Default 64; the vendor's peers use
    /// at most one a priority.
    pub reassembly_count: usize,
    /// Bytes that may wait for the socket in all three queues together. A write
    /// beyond it fails with [`SendError::OutputFull`](crate::SendError).
    /// Default 8 MiB.
    pub output_bytes: usize,
    /// Bytes of memory that each of the three queues keeps when it is empty,
    /// so that the next burst of this size allocates nothing.
    /// Default 256 KiB.
    pub retained_output_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            handshake_ms: 60_000,
            handshake_frame_bytes: 1024,
            http_head_bytes: 8192,
            chunk_line_bytes: 64,
            receive_buffer_bytes: 16 * 1024,
            fragment_bytes: MAX_FRAGMENT_BYTES,
            message_bytes: MESSAGE_BYTES,
            send_bytes: (64 << 20) + (128 << 10),
            reassembly_bytes: 3 * MESSAGE_BYTES,
            reassembly_count: 64,
            output_bytes: 8 << 20,
            retained_output_bytes: 256 << 10,
        }
    }
}

const MESSAGE_BYTES: usize = (64 << 20) + (32 << 10);

/// Largest fragment size M: a frame of M + 3 bytes fills the 16-bit length.
pub(crate) const MAX_FRAGMENT_BYTES: u16 = u16::MAX - 3;

/// Smallest fragment size M: a fragment in the HTTP tunnel still has a byte of
/// payload.
pub(crate) const MIN_FRAGMENT_BYTES: u16 = 16;

/// A reassembly buffer of at most this many bytes is kept for the next
/// message; a larger one is given back.
pub(crate) const RETAINED_REASSEMBLY_BYTES: usize = 64 * 1024;

/// Wrapping around one frame in the receive buffer: a WebSocket header is at
/// most 14 bytes, a chunk has a size line and two line ends.
const WRAPPING_BYTES: usize = 16;

impl Limits {
    /// Size of the receive buffer during the handshake.
    pub(crate) fn opening_capacity(&self) -> usize {
        let frame = self.handshake_frame_bytes + WRAPPING_BYTES + self.chunk_line_bytes;
        // A byte more than a head may have shows that it has too many.
        (self.http_head_bytes + 1).max(frame)
    }

    /// Size of the receive buffer once the fragment size is known.
    pub(crate) fn receive_capacity(&self, fragment_bytes: u16) -> usize {
        let frame = usize::from(fragment_bytes) + 3 + WRAPPING_BYTES + self.chunk_line_bytes;
        self.receive_buffer_bytes.max(frame).max(self.opening_capacity())
    }

    /// The most that a connection with fragment size `fragment_bytes` holds
    /// for received bytes: receive buffer, decompressed body, split compressed
    /// body and messages in reassembly. The inflater's fixed window (about
    /// 48 KiB, only with zlib) comes on top.
    pub fn receive_memory_bytes(&self, fragment_bytes: u16) -> usize {
        let frame = usize::from(fragment_bytes) + 3;
        self.receive_capacity(fragment_bytes)
            + frame
            + 2 * frame
            + self.reassembly_bytes
            + self.reassembly_count * RETAINED_REASSEMBLY_BYTES
    }
}

/// Names one of the bounds of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::handshake_frame_bytes`].
    HandshakeFrame,
    /// [`Limits::http_head_bytes`].
    HttpHead,
    /// [`Limits::chunk_line_bytes`].
    ChunkLine,
    /// [`Limits::fragment_bytes`].
    FragmentSize,
    /// Frame of at most M + 3 bytes.
    Frame,
    /// Decompressed body of at most M bytes.
    DecompressedBody,
    /// Bytes of a text message: a WebSocket's that speaks no RSSL.
    Message,
    /// [`Limits::reassembly_count`].
    ReassemblyCount,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::HandshakeFrame => "bytes of a handshake frame (handshake_frame_bytes)",
            Self::HttpHead => "bytes of an HTTP head (http_head_bytes)",
            Self::ChunkLine => "bytes of a chunk size line (chunk_line_bytes)",
            Self::FragmentSize => "fragment size offered by the server (fragment_bytes)",
            Self::Frame => "bytes of a frame (negotiated fragment size + 3)",
            Self::DecompressedBody => "bytes of a decompressed body (negotiated fragment size)",
            Self::Message => "bytes of a message (max_message_bytes)",
            Self::ReassemblyCount => "messages in reassembly (reassembly_count)",
        })
    }
}
