//! What is spoken with a server.

use tapeline_channel::ConnectConfig;
use tapeline_rssl::Opening;

use crate::Server;

/// Path of WebSocket openings; the vendor's servers want `websocket` in it.
const WEBSOCKET_PATH: &str = "/WebSocket";

/// What is spoken with the servers. Events and requests are the same whichever
/// it is.
///
/// ```text
///  Rssl             RWF messages in RSSL frames on a TCP connection
///  RsslWebSocket    the same in binary WebSocket frames, subprotocol rssl.rwf
///  Json             JSON messages in WebSocket texts, subprotocol tr_json2,
///                   also called rssl.json.v2
/// ```
///
/// # JSON
///
/// Messages are converted where they come in and go out, with the fields of
/// the [dictionary](crate::DictionarySource): the given one, the downloaded one
/// as soon as it is there, the built-in one with neither. A field that it lacks
/// is left out of what comes; a post with one is not sent, and its ack, if it
/// wants one, says so.
///
/// What JSON has no place for is lost on the way: item groups, the difference
/// of blank and empty, which of several numbers with one display text an
/// enumeration was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// RSSL on a TCP connection.
    #[default]
    Rssl,
    /// RSSL over WebSocket.
    RsslWebSocket,
    /// JSON over WebSocket.
    Json,
}

impl Protocol {
    /// The configuration of a connection to a server. A path of an opening that
    /// it has already stays.
    pub(crate) fn configured(self, connect: &ConnectConfig, server: &Server) -> ConnectConfig {
        let mut connect = connect.clone();
        match self {
            Self::Rssl => connect.text = None,
            Self::RsslWebSocket => {
                let path = match connect.rssl.opening {
                    Opening::WebSocket { path, .. } => path,
                    _ => WEBSOCKET_PATH.to_owned(),
                };
                connect.text = None;
                connect.rssl.opening = Opening::WebSocket { host: server.to_string(), path };
            }
            Self::Json => {
                connect.text.get_or_insert_default();
            }
        }
        connect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_a_text_session() {
        let server = Server::new("::1", 15000);
        let of = |protocol: Protocol| protocol.configured(&ConnectConfig::default(), &server);
        assert_eq!(of(Protocol::Rssl), ConnectConfig::default());
        assert_eq!(of(Protocol::Json).text.map(|text| text.path), Some(WEBSOCKET_PATH.to_owned()));
        let opening = of(Protocol::RsslWebSocket).rssl.opening;
        let host = "[::1]:15000".to_owned();
        assert_eq!(opening, Opening::WebSocket { host, path: "/WebSocket".to_owned() });
    }
}
