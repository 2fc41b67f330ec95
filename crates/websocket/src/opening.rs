//! The client's half of a WebSocket opening.

use tapeline_rssl::websocket::{Masks, check_answer, request_opening};
use tapeline_rssl::{ConfigError, ProtocolError};
use tapeline_time::Time;

use crate::incoming::Fault;
use crate::{TextClient, close_code};

/// A request that was sent and is not answered yet.
pub(crate) struct Opening {
    key: String,
    subprotocols: Vec<String>,
    max_head_bytes: usize,
    /// When it has waited too long.
    pub(crate) deadline: Time,
}

impl Opening {
    /// What is awaited, and the request to send.
    ///
    /// Errors: the configuration has something that cannot be in a request.
    pub(crate) fn new(
        config: &TextClient,
        host: &str,
        masks: &mut Masks,
        now: Time,
    ) -> Result<(Self, String), ConfigError> {
        let key = masks.opening_key();
        let subprotocols = config.text.subprotocols.clone();
        let request = request_opening(host, &config.path, &key, &subprotocols)?;
        let max_head_bytes = config.max_head_bytes;
        let deadline = now.after(config.opening_timeout());
        Ok((Self { key, subprotocols, max_head_bytes, deadline }, request))
    }

    /// The subprotocol that the server grants, and the length of its answer;
    /// `None` while that is not complete.
    pub(crate) fn answer(&self, received: &[u8]) -> Result<Option<(String, usize)>, Fault> {
        check_answer(received, &self.key, &self.subprotocols, self.max_head_bytes)
            .map_err(|reason| Fault { reason, code: close_code::PROTOCOL_ERROR })
    }
}

/// The server hung up instead of answering.
pub(crate) const CUT: ProtocolError = ProtocolError::Http(
    "the server hung up without an answer; check that it speaks WebSocket on this port",
);

/// It neither answered nor hung up.
pub(crate) const LATE: ProtocolError =
    ProtocolError::Http("no answer in time; check that the server speaks WebSocket on this port");
