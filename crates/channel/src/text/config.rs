//! What text sessions are told.

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
