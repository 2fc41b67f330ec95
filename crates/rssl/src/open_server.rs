//! The server's side of the handshake.

use crate::error::{CloseReason, ConfigError, ProtocolError};
use crate::handshake::{ConnectAck, ConnectRequest, KeyBlock, encode_nak, parse_client_key};
use crate::http::{
    TUNNEL_ANSWER, Upgrade, check_origin, check_tunnel_request, head_length, refusal,
};
use crate::key_exchange::{GENERATOR, power, prime, secret};
use crate::negotiated::{Carrier, Negotiated};
use crate::opening::{Agreed, Context, Progress, bare};
use crate::unwrap::Unwrap;
use crate::websocket::{PLAIN_HTTP, RSSL_SUBPROTOCOL};
use crate::wrap::Wrap;
use crate::{Compression, ServerConfig, Version};

/// What is awaited.
enum Stage {
    /// Enough bytes to tell HTTP from RIPC.
    FirstBytes,
    WebSocketHead,
    TunnelHead,
    TunnelOpen,
    Request,
    /// The client's key; the ack is out.
    Key(Box<PendingKey>),
}

struct PendingKey {
    modulus: u64,
    secret: u64,
    negotiated: Negotiated,
}

pub(crate) struct ServerOpening {
    pub(crate) config: ServerConfig,
    stage: Stage,
    unwrap: Unwrap,
    carrier: Carrier,
}

const REFUSED: &str = "Connection refused.";

/// The acknowledgement of a tunnel: length, 0, and its number. Tunnels of one
/// connection need no numbers to tell them apart.
const TUNNEL_ACK: [u8; 7] = [0, 7, 0, 0, 0, 0, 1];

impl ServerOpening {
    pub(crate) fn new(config: ServerConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let unwrap = bare(&config.limits);
        Ok(Self { config, stage: Stage::FirstBytes, unwrap, carrier: Carrier::Socket })
    }

    pub(crate) fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, CloseReason> {
        match self.stage {
            Stage::FirstBytes => Ok(self.sniff(context.input.ready())),
            Stage::WebSocketHead => self.http(context, Self::open_websocket),
            Stage::TunnelHead => self.http(context, Self::open_tunnel),
            Stage::TunnelOpen => self.await_tunnel_open(context),
            Stage::Request => self.await_request(context),
            Stage::Key(_) => self.await_key(context),
        }
    }

    /// A RIPC request begins with a length; neither `G` nor `P` can be the
    /// high byte of one that is short enough.
    fn sniff(&mut self, ready: &[u8]) -> Progress {
        self.stage = match ready {
            b"" | b"G" | b"GE" | b"GET" | b"P" | b"PO" | b"POS" => return Progress::Waiting,
            [b'G', b'E', b'T', b' ', ..] => Stage::WebSocketHead,
            [b'P', b'O', b'S', b'T', ..] => Stage::TunnelHead,
            _ => Stage::Request,
        };
        Progress::Stepped
    }

    /// Waits for a whole head and opens with it; what is wrong with the head
    /// is told in HTTP.
    fn http(
        &mut self,
        context: &mut Context<'_>,
        open: fn(&mut Self, &mut Context<'_>, usize) -> Result<Progress, ProtocolError>,
    ) -> Result<Progress, CloseReason> {
        let max = self.config.limits.http_head_bytes;
        let Some(length) = head_length(context.input.ready(), max)? else {
            return Ok(Progress::Waiting);
        };
        open(self, context, length).map_err(|error| {
            context.sender.raw(refusal(&error).as_bytes());
            error.into()
        })
    }

    fn open_websocket(
        &mut self,
        context: &mut Context<'_>,
        length: usize,
    ) -> Result<Progress, ProtocolError> {
        let head = &context.input.ready()[..length];
        let upgrade = Upgrade::parse(head)?;
        check_origin(head, &self.config.origins)?;
        let others = &self.config.other_subprotocols;
        let chosen = upgrade
            .subprotocols
            .iter()
            .find(|name| *name == RSSL_SUBPROTOCOL || others.contains(name));
        match chosen {
            None if upgrade.subprotocols == [PLAIN_HTTP] => {
                return Err(ProtocolError::Http("the request asks for no upgrade to WebSocket"));
            }
            None => {
                return Err(ProtocolError::Subprotocol {
                    offered: upgrade.subprotocols.join(", "),
                });
            }
            Some(name) if name != RSSL_SUBPROTOCOL => {
                return Ok(Progress::OtherSubprotocol(name.clone()));
            }
            Some(_) => {}
        }
        let zlib = self.config.compression == Compression::Zlib;
        context.sender.raw(upgrade.accept(zlib).as_bytes());
        context.sender.set_wrap(Wrap::WebSocket { masks: None });
        context.input.take(length);
        self.unwrap = Unwrap::WebSocket { from_client: true };
        self.carrier = Carrier::WebSocket;
        self.stage = Stage::Request;
        Ok(Progress::Stepped)
    }

    fn open_tunnel(
        &mut self,
        context: &mut Context<'_>,
        length: usize,
    ) -> Result<Progress, ProtocolError> {
        check_tunnel_request(&context.input.ready()[..length])?;
        context.input.take(length);
        self.carrier = Carrier::HttpTunnel;
        self.stage = Stage::TunnelOpen;
        Ok(Progress::Stepped)
    }

    fn await_tunnel_open(&mut self, context: &mut Context<'_>) -> Result<Progress, CloseReason> {
        let Some(frame) = context.take_frame(self.unwrap, &self.config.limits)? else {
            return Ok(Progress::Waiting);
        };
        match context.input.slice(frame) {
            [0, 13, 0x80, ..] => {}
            [0, 13, 0x84, ..] => {
                return Err(ProtocolError::Tunnel("a broken tunnel cannot be resumed").into());
            }
            _ => return Err(ProtocolError::Tunnel("no tunnel opening message").into()),
        }
        context.sender.raw(TUNNEL_ANSWER.as_bytes());
        context.sender.set_wrap(Wrap::Chunks { padded: false });
        context.sender.frame(&TUNNEL_ACK);
        self.stage = Stage::Request;
        Ok(Progress::Stepped)
    }

    fn await_request(&mut self, context: &mut Context<'_>) -> Result<Progress, CloseReason> {
        let Some(frame) = context.take_frame(self.unwrap, &self.config.limits)? else {
            return Ok(Progress::Waiting);
        };
        let request = ConnectRequest::parse(context.input.slice(frame))?;
        let refusal = match &self.config.refusal {
            Some(text) => Some(text.as_str()),
            None => (request.protocol_type != self.config.protocol_type).then_some(REFUSED),
        };
        if let Some(text) = refusal {
            context.sender.frame(&encode_nak(text));
            return Err(CloseReason::RefusedClient { text: text.to_owned() });
        }
        Ok(self.answer(request, context))
    }

    fn answer(&mut self, request: ConnectRequest, context: &mut Context<'_>) -> Progress {
        let config = &self.config;
        let (compression, forced) = choose_compression(config, &request);
        let exchange = request.offers_key.then(|| {
            let modulus = prime(context.random);
            (modulus, secret(context.random))
        });
        let ack = ConnectAck {
            version: request.version,
            forced,
            fragment_bytes: config.fragment_bytes,
            ping_timeout_s: request
                .ping_timeout_s
                .clamp(config.min_ping_timeout_s, config.max_ping_timeout_s),
            major: request.major.min(config.major),
            minor: request.minor.min(config.minor),
            compression,
            compression_level: config.compression_level,
            key: exchange.map_or(KeyBlock::None, |(modulus, secret)| KeyBlock::Known {
                modulus,
                generator: GENERATOR,
                key: power(GENERATOR, secret, modulus),
            }),
            component_version: config.component_version.clone(),
        };
        context.sender.frame(&ack.encode());
        let negotiated = Negotiated {
            version: ack.version,
            carrier: self.carrier,
            fragment_bytes: ack.fragment_bytes,
            ping_timeout_s: ack.ping_timeout_s,
            compression,
            compression_level: ack.compression_level,
            compression_forced: forced,
            protocol_type: request.protocol_type,
            major: ack.major,
            minor: ack.minor,
            peer_component_version: request.component_version,
            peer_host_name: request.host_name,
            peer_address: request.address,
            shared_key: None,
        };
        match exchange {
            None => self.done(negotiated),
            Some((modulus, secret)) => {
                let pending = PendingKey { modulus, secret, negotiated };
                self.stage = Stage::Key(Box::new(pending));
                Progress::Stepped
            }
        }
    }

    fn await_key(&mut self, context: &mut Context<'_>) -> Result<Progress, CloseReason> {
        let Some(frame) = context.take_frame(self.unwrap, &self.config.limits)? else {
            return Ok(Progress::Waiting);
        };
        let key = parse_client_key(context.input.slice(frame))?;
        let Stage::Key(pending) = &self.stage else { return Ok(Progress::Waiting) };
        let mut negotiated = pending.negotiated.clone();
        negotiated.shared_key = key.map(|key| power(key, pending.secret, pending.modulus));
        Ok(self.done(negotiated))
    }

    fn done(&self, negotiated: Negotiated) -> Progress {
        Progress::Done(Box::new(Agreed { negotiated, unwrap: self.unwrap }))
    }
}

/// The compression that a request gets, and whether it is forced upon it.
///
/// A server with any type configured lets the client's bitmap decide. Before
/// RIPC 13 only force brings compression.
fn choose_compression(config: &ServerConfig, request: &ConnectRequest) -> (Compression, bool) {
    let asked = [Compression::Zlib, Compression::Lz4]
        .into_iter()
        .find(|one| request.compression_bitmap & one.bit() != 0);
    let is_recent = request.version >= Version::V13;
    match config.compression {
        Compression::None => (Compression::None, false),
        own if config.force_compression && is_recent => (own, true),
        _ if config.force_compression => (asked.unwrap_or(Compression::Zlib), true),
        _ if is_recent => (asked.unwrap_or(Compression::None), false),
        _ => (Compression::None, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Compression::{Lz4, None, Zlib};
    use Version::{V12, V14};

    #[test]
    fn compression_follows_the_clients_bitmap_unless_forced() {
        let choose = |own, force, version, bitmap| {
            let config = ServerConfig {
                compression: own,
                force_compression: force,
                ..ServerConfig::default()
            };
            let request = ConnectRequest {
                version,
                offers_key: false,
                compression_bitmap: bitmap,
                ping_timeout_s: 60,
                protocol_type: 0,
                major: 14,
                minor: 1,
                host_name: String::new(),
                address: String::new(),
                component_version: String::new(),
            };
            choose_compression(&config, &request)
        };
        assert_eq!(choose(Lz4, false, V14, 1), (Zlib, false));
        assert_eq!(choose(Zlib, false, V14, 3), (Zlib, false));
        assert_eq!(choose(Zlib, false, V14, 2), (Lz4, false));
        assert_eq!(choose(Zlib, false, V14, 0), (None, false));
        assert_eq!(choose(None, true, V14, 1), (None, false));
        assert_eq!(choose(Lz4, true, V14, 0), (Lz4, true));
        assert_eq!(choose(Lz4, true, V14, 1), (Lz4, true));
        assert_eq!(choose(Zlib, false, V12, 1), (None, false));
        assert_eq!(choose(Lz4, true, V12, 0), (Zlib, true));
        assert_eq!(choose(Zlib, true, V12, 2), (Lz4, true));
    }

    #[test]
    fn the_first_bytes_tell_http_from_ripc() {
        let mut opening = ServerOpening::new(ServerConfig::default()).unwrap();
        for part in [&b"G"[..], b"GET", b"POS"] {
            assert!(matches!(opening.sniff(part), Progress::Waiting));
        }
        assert!(matches!(opening.sniff(b"GEx"), Progress::Stepped));
        assert!(matches!(opening.stage, Stage::Request));
        opening.sniff(b"GET ");
        assert!(matches!(opening.stage, Stage::WebSocketHead));
        opening.sniff(b"POST");
        assert!(matches!(opening.stage, Stage::TunnelHead));
    }
}
