//! What text sessions are told.

use std::time::Duration;

/// Text sessions: WebSocket subprotocols whose messages are texts, in frames
/// that are arrays of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextConfig {
    /// The subprotocols, as clients name them. Default `tr_json2` and
    /// `rssl.json.v2`, two names of one protocol.
    pub subprotocols: Vec<String>,
    /// Seconds of silence after which the client is dead, 1..=255; after a
    /// third of them it is sent [`ping`](Self::ping). Default 30.
    pub ping_timeout_s: u8,
    /// The message that asks for a sign of life. Default `{"Type":"Ping"}`.
    pub ping: &'static str,
    /// Most bytes of one message from the client; a longer one ends the
    /// session with close code 1009. Default 61,440.
    pub max_message_bytes: usize,
    /// Messages share a frame up to this many bytes; a longer message has a
    /// frame of its own. Default 61,440.
    pub frame_bytes: usize,
    /// Bytes of memory that the output of a session keeps when it is empty.
    /// Default 262,144.
    pub retained_output_bytes: usize,
}

impl Default for TextConfig {
    fn default() -> Self {
        Self {
            subprotocols: vec!["tr_json2".to_owned(), "rssl.json.v2".to_owned()],
            ping_timeout_s: 30,
            ping: "{\"Type\":\"Ping\"}",
            max_message_bytes: 61_440,
            frame_bytes: 61_440,
            retained_output_bytes: 256 * 1024,
        }
    }
}

/// A text session of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextClient {
    /// What holds for the session; its subprotocols are offered in this order.
    /// [`TextConfig::max_message_bytes`] is the longest frame from the server:
    /// here 16,777,216 by default, since a server sends a dictionary in one.
    pub text: TextConfig,
    /// Path of the request. Default `/WebSocket`; the vendor's servers want
    /// `websocket` in it.
    pub path: String,
    /// Milliseconds for the server to answer it. Default 60,000.
    pub opening_ms: u32,
    /// Bytes of the head of its answer. Default 8,192.
    pub max_head_bytes: usize,
}

impl Default for TextClient {
    fn default() -> Self {
        Self {
            text: TextConfig { max_message_bytes: 16 << 20, ..TextConfig::default() },
            path: "/WebSocket".to_owned(),
            opening_ms: 60_000,
            max_head_bytes: 8192,
        }
    }
}

impl TextClient {
    pub(crate) const fn opening_timeout(&self) -> Duration {
        Duration::from_millis(self.opening_ms as u64)
    }
}
