//! The client's side of the handshake.

use crate::error::{CloseReason, ConfigError, ProtocolError};
use crate::handshake::{Answer, ConnectAck, ConnectRequest, KeyBlock, encode_client_key};
use crate::http::{
    check_tunnel_answer, check_upgraded, head_length, tunnel_request, websocket_request,
};
use crate::key_exchange::{power, secret};
use crate::limits::MAX_FRAGMENT_BYTES;
use crate::negotiated::{Carrier, Negotiated};
use crate::opening::{Agreed, Context, Progress, bare};
use crate::random::Random;
use crate::sender::Sender;
use crate::unwrap::Unwrap;
use crate::websocket::opening_key;
use crate::wrap::Wrap;
use crate::{ClientConfig, Compression, KeyExchange, Limit, Opening as Carry};

/// What is awaited.
enum Stage {
    /// The 101 that answers this key.
    Upgrade {
        key: String,
    },
    TunnelHead,
    TunnelAck,
    /// The ack or nak.
    Answer,
}

pub(crate) struct ClientOpening {
    pub(crate) config: ClientConfig,
    stage: Stage,
    unwrap: Unwrap,
}

/// Opcode of a new tunnel.
const TUNNEL_OPEN: u8 = 0x80;

impl ClientOpening {
    /// Starts the handshake: the first bytes are queued.
    pub(crate) fn start(
        config: ClientConfig,
        sender: &mut Sender,
        random: &mut Random,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let unwrap = bare(&config.limits);
        let mut opening = Self { config, stage: Stage::Answer, unwrap };
        opening.stage = match &opening.config.opening {
            Carry::Socket => {
                opening.request(sender);
                Stage::Answer
            }
            Carry::WebSocket { host, path } => {
                let key = opening_key(random.next_bytes16());
                let deflate = opening.config.compression == Compression::Zlib;
                sender.raw(websocket_request(host, path, &key, deflate).as_bytes());
                Stage::Upgrade { key }
            }
            Carry::HttpTunnel { host, path, process_id, address } => {
                sender.raw(tunnel_request(host, path).as_bytes());
                sender.frame(&tunnel_open(*process_id, *address));
                Stage::TunnelHead
            }
        };
        Ok(opening)
    }

    pub(crate) fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, CloseReason> {
        match &self.stage {
            Stage::Upgrade { .. } => self.await_upgrade(context),
            Stage::TunnelHead => self.await_tunnel_head(context),
            Stage::TunnelAck => self.await_tunnel_ack(context),
            Stage::Answer => self.await_answer(context),
        }
    }

    pub(crate) fn cut(&self) -> CloseReason {
        match self.stage {
            Stage::Answer => CloseReason::NoAnswer {
                asked: self.config.version,
                next: self.config.version.older(),
            },
            _ => CloseReason::HandshakeCut,
        }
    }

    fn offers_key(&self) -> bool {
        let is_wanted = match self.config.key_exchange {
            KeyExchange::WhereSafe => !matches!(self.config.opening, Carry::WebSocket { .. }),
            KeyExchange::Always => true,
            KeyExchange::Never => false,
        };
        is_wanted && self.config.version.has_key_exchange()
    }

    fn request(&self, sender: &mut Sender) {
        let config = &self.config;
        let request = ConnectRequest {
            version: config.version,
            offers_key: self.offers_key(),
            compression_bitmap: config.compression.bit(),
            ping_timeout_s: config.ping_timeout_s,
            protocol_type: config.protocol_type,
            major: config.major,
            minor: config.minor,
            host_name: config.host_name.clone(),
            address: config.address.clone(),
            component_version: config.component_version.clone(),
        };
        sender.frame(&request.encode());
    }

    fn await_upgrade(&mut self, context: &mut Context<'_>) -> Result<Progress, CloseReason> {
        let Stage::Upgrade { key } = &self.stage else { return Ok(Progress::Waiting) };
        let ready = context.input.ready();
        let Some(length) = head_length(ready, self.config.limits.http_head_bytes)? else {
            return Ok(Progress::Waiting);
        };
        check_upgraded(&ready[..length], key)?;
        context.input.take(length);
        self.unwrap = Unwrap::WebSocket { from_client: false };
        context.sender.set_wrap(Wrap::WebSocket { masks: Some(context.random.fork()) });
        self.request(context.sender);
        self.stage = Stage::Answer;
        Ok(Progress::Stepped)
    }

    fn await_tunnel_head(&mut self, context: &mut Context<'_>) -> Result<Progress, CloseReason> {
        let ready = context.input.ready();
        let Some(length) = head_length(ready, self.config.limits.http_head_bytes)? else {
            return Ok(Progress::Waiting);
        };
        check_tunnel_answer(&ready[..length])?;
        context.input.take(length);
        context.input.start_dechunking();
        self.stage = Stage::TunnelAck;
        Ok(Progress::Stepped)
    }

    fn await_tunnel_ack(&mut self, context: &mut Context<'_>) -> Result<Progress, CloseReason> {
        let Some(frame) = context.take_frame(self.unwrap, &self.config.limits)? else {
            return Ok(Progress::Waiting);
        };
        // Length, 0, and the server's number for this tunnel.
        if !matches!(context.input.slice(frame), [0, 7, 0, ..]) {
            return Err(ProtocolError::Tunnel("the server did not acknowledge it").into());
        }
        self.request(context.sender);
        self.stage = Stage::Answer;
        Ok(Progress::Stepped)
    }

    fn await_answer(&mut self, context: &mut Context<'_>) -> Result<Progress, CloseReason> {
        let Some(frame) = context.take_frame(self.unwrap, &self.config.limits)? else {
            return Ok(Progress::Waiting);
        };
        let frame = context.input.slice(frame);
        match Answer::parse(frame, self.config.version, self.offers_key())? {
            Answer::Nak { text } => Err(CloseReason::Refused { text }),
            Answer::Ack(ack) => self.agree(ack, context),
        }
    }

    fn agree(
        &self,
        mut ack: ConnectAck,
        context: &mut Context<'_>,
    ) -> Result<Progress, CloseReason> {
        // The vendor's servers announce what they are configured with and cap
        // the frame.
        ack.fragment_bytes = ack.fragment_bytes.min(MAX_FRAGMENT_BYTES);
        let most = self.config.limits.fragment_bytes;
        if ack.fragment_bytes > most {
            let (value, max) = (usize::from(ack.fragment_bytes), usize::from(most));
            return Err(CloseReason::limit(Limit::FragmentSize, value, max));
        }
        let shared_key = match ack.key {
            KeyBlock::None => None,
            KeyBlock::Unknown => {
                context.sender.frame(&encode_client_key(None));
                None
            }
            KeyBlock::Known { modulus, generator, key } => {
                let secret = secret(context.random);
                let ours = power(generator, secret, modulus);
                context.sender.frame(&encode_client_key(Some(ours)));
                Some(power(key, secret, modulus))
            }
        };
        let negotiated = Negotiated {
            version: ack.version,
            carrier: match self.config.opening {
                Carry::Socket => Carrier::Socket,
                Carry::WebSocket { .. } => Carrier::WebSocket,
                Carry::HttpTunnel { .. } => Carrier::HttpTunnel,
            },
            fragment_bytes: ack.fragment_bytes,
            ping_timeout_s: ack.ping_timeout_s,
            compression: ack.compression,
            compression_level: ack.compression_level.min(9),
            compression_forced: ack.forced,
            protocol_type: self.config.protocol_type,
            major: ack.major,
            minor: ack.minor,
            peer_component_version: ack.component_version,
            peer_host_name: String::new(),
            peer_address: String::new(),
            shared_key,
        };
        Ok(Progress::Done(Box::new(Agreed { negotiated, unwrap: self.unwrap })))
    }
}

/// `u16 13, u8 0x80, u32 0 (no tunnel yet), u16 process id, 4 bytes address`,
/// the address last byte first.
fn tunnel_open(process_id: u16, address: [u8; 4]) -> [u8; 13] {
    let [p, q] = process_id.to_be_bytes();
    let [a, b, c, d] = address;
    [0, 13, TUNNEL_OPEN, 0, 0, 0, 0, p, q, d, c, b, a]
}
