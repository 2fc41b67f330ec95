//! Where hubs and servers meet: one string of the configuration becomes the
//! Aeron channels of each role.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use crate::engine::Buffers;
use crate::error::BackboneError;
use crate::frame::Role;
use crate::paths::PathId;
use crate::settings::{EngineSettings, check_mtu, check_term};

/// The stream of a hub's data unless the channel says another; requests have
/// the next number.
const DATA_STREAM: i32 = 1001;

/// Where hubs and servers meet.
///
/// | channel | data, hub to servers | requests, servers to hub |
/// |---|---|---|
/// | `aeron:ipc` | shared memory | shared memory |
/// | `aeron:udp?endpoint=GROUP:PORT` | multicast group | the same group, port + 1 |
/// | `aeron:udp?control=HOST:PORT` | unicast to each server that asks the hub at HOST:PORT | unicast to HOST, port + 1 |
///
/// The last octet of a multicast group must be odd: Aeron speaks back on the
/// next address. With `control`, a channel is one hub; servers name several,
/// separated by commas, and a hub among them is the first.
///
/// Further parameters, separated by `|`: `interface` (address of the network
/// interface, with or without `/bits`), `ttl`, `mtu`, `term-length` (bytes, of
/// data), `fc` (flow control of data: `max`, `min` or `tagged`, with Aeron's
/// arguments; default `max`), `stream-id` (of data, default 1001; requests have
/// the next one).
///
/// Several of these, separated by blanks, are networks that carry the same: each
/// frame goes over all of them, and the first copy is used.
///
/// Several channels, with a `+` between them, are networks among which services are
/// divided: a server meets the hubs of each, and a hub is on the first.
///
/// ```text
/// aeron:udp?A1 aeron:udp?A2 + aeron:udp?B
/// └────── channel 0 ──────┘   └ channel 1 ┘
///   network 0    network 1      network 0
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channels {
    text: String,
    channels: Vec<Vec<Network>>,
}

/// One of the networks over which they meet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Network {
    media: Media,
    interface: Option<String>,
    ttl: Option<u8>,
    mtu_bytes: Option<u32>,
    term_bytes: Option<u32>,
    flow_control: Option<String>,
    stream: i32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Media {
    Ipc,
    Multicast(Endpoint),
    /// Of the hubs.
    Unicast(Vec<Endpoint>),
}

/// Host and port; the port is below 65535, so that there is a next one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Endpoint {
    host: String,
    port: u16,
}

/// One Aeron stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) uri: String,
    pub(crate) id: i32,
}

/// The streams of one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Streams {
    pub(crate) publication: Stream,
    pub(crate) subscription: Stream,
    /// The longest message that the publication takes, in bytes.
    pub(crate) max_message_bytes: usize,
    /// A third of the publication's log.
    pub(crate) term_bytes: u32,
    /// A third of the log of a peer, if it has the same settings.
    pub(crate) peer_term_bytes: u32,
}

/// Aeron's own limit for a message.
const MAX_MESSAGE_BYTES: u32 = 16 << 20;

impl Channels {
    /// Reads a channel of the configuration.
    pub fn parse(text: &str) -> Result<Self, BackboneError> {
        read_all(text)
            .map_err(|problem| BackboneError::Channel { channel: text.to_owned(), problem })
    }

    /// Whether frames cross a network, where the driver has more to do.
    pub fn is_network(&self) -> bool {
        self.channels.iter().flatten().any(Network::is_network)
    }

    /// Whether services are divided among several channels.
    pub const fn are_several(&self) -> bool {
        self.channels.len() > 1
    }

    /// What a port of `role` opens: on each network of each channel that it has, and
    /// for each hub. `buffers` are what this host allows.
    pub(crate) fn streams(
        &self,
        role: Role,
        settings: &EngineSettings,
        buffers: Buffers,
    ) -> Vec<(PathId, Streams)> {
        let count = match role {
            Role::Hub => 1,
            Role::Server => self.channels.len(),
        };
        let mut all = Vec::new();
        for (channel, networks) in self.channels[..count].iter().enumerate() {
            for (network, place) in networks.iter().enumerate() {
                let ways = place.ways(role).into_iter();
                let path = PathId { channel, network };
                let term_bytes = settings.data_term_bytes_over(networks.len());
                let streams = |way: Network| way.streams(role, settings, term_bytes, buffers);
                all.extend(ways.map(|way| (path, streams(way))));
            }
        }
        all
    }
}

impl Network {
    const fn is_network(&self) -> bool {
        !matches!(self.media, Media::Ipc)
    }

    /// A network with one hub for each that `role` reaches.
    fn ways(&self, role: Role) -> Vec<Self> {
        let Media::Unicast(hubs) = &self.media else { return vec![self.clone()] };
        let count = match role {
            Role::Hub => 1,
            Role::Server => hubs.len(),
        };
        let way =
            |hub: &Endpoint| Self { media: Media::Unicast(vec![hub.clone()]), ..self.clone() };
        hubs.iter().take(count).map(way).collect()
    }

    /// What a port of `role` opens for the first hub, whose terms are of `data_term_bytes`
    /// if the channel does not say.
    fn streams(
        &self,
        role: Role,
        settings: &EngineSettings,
        data_term_bytes: u32,
        buffers: Buffers,
    ) -> Streams {
        let term_of = |role| match role {
            Role::Hub => self.term_bytes.unwrap_or(data_term_bytes),
            Role::Server => settings.request_term_bytes,
        };
        let term_bytes = term_of(role);
        let mtu_bytes = self.mtu_bytes.unwrap_or(match self.media {
            Media::Ipc => settings.ipc_mtu_bytes,
            _ => settings.mtu_bytes,
        });
        let mut publication = self.sending(role, settings);
        let _ = write!(publication, "mtu={mtu_bytes}|term-length={term_bytes}");
        if self.is_network() {
            let _ = write!(publication, "|so-sndbuf={}", buffers.send_bytes);
        }
        let mut subscription = self.receiving(role);
        // A reader that falls behind is left behind, and comes back by itself.
        subscription.push_str("tether=false|rejoin=true");
        if self.is_network() {
            let Buffers { receive_bytes, window_bytes, .. } = buffers;
            let _ = write!(subscription, "|so-rcvbuf={receive_bytes}|rcv-wnd={window_bytes}");
        }
        Streams {
            publication: Stream { uri: publication, id: self.stream_from(role) },
            subscription: Stream { uri: subscription, id: self.stream_from(role.other()) },
            max_message_bytes: (term_bytes / 8).min(MAX_MESSAGE_BYTES) as usize,
            term_bytes,
            peer_term_bytes: term_of(role.other()),
        }
    }

    const fn stream_from(&self, role: Role) -> i32 {
        match role {
            Role::Hub => self.stream,
            Role::Server => self.stream + 1,
        }
    }

    /// The channel on which `role` sends, open for more parameters.
    fn sending(&self, role: Role, settings: &EngineSettings) -> String {
        match (&self.media, role) {
            (Media::Ipc, _) => "aeron:ipc?".to_owned(),
            (Media::Multicast(group), _) => self.multicast(group, role, settings.ttl),
            (Media::Unicast(hubs), Role::Hub) => self.with_flow_control(format!(
                "aeron:udp?control={}|control-mode=dynamic|",
                hubs[0].at(0)
            )),
            (Media::Unicast(hubs), Role::Server) => {
                self.with_interface(format!("aeron:udp?endpoint={}|", hubs[0].at(1)))
            }
        }
    }

    /// The channel on which `role` receives, open for more parameters.
    fn receiving(&self, role: Role) -> String {
        match (&self.media, role) {
            (Media::Ipc, _) => "aeron:ipc?".to_owned(),
            (Media::Multicast(group), _) => {
                self.with_interface(format!("aeron:udp?endpoint={}|", group.of(role.other())))
            }
            (Media::Unicast(hubs), Role::Hub) => {
                format!("aeron:udp?endpoint={}|", hubs[0].at(1))
            }
            (Media::Unicast(hubs), Role::Server) => format!(
                "aeron:udp?endpoint={}:0|control={}|control-mode=dynamic|",
                self.own_address(&hubs[0]),
                hubs[0].at(0)
            ),
        }
    }

    fn multicast(&self, group: &Endpoint, role: Role, ttl: Option<u8>) -> String {
        let mut uri = self.with_interface(format!("aeron:udp?endpoint={}|", group.of(role)));
        if let Some(ttl) = self.ttl.or(ttl) {
            let _ = write!(uri, "ttl={ttl}|");
        }
        match role {
            Role::Hub => self.with_flow_control(uri),
            Role::Server => uri + "fc=max|",
        }
    }

    fn with_flow_control(&self, uri: String) -> String {
        uri + "fc=" + self.flow_control.as_deref().unwrap_or("max") + "|"
    }

    fn with_interface(&self, uri: String) -> String {
        match &self.interface {
            Some(interface) => uri + "interface=" + interface + "|",
            None => uri,
        }
    }

    /// Where a server receives what a hub sends to it alone.
    fn own_address(&self, hub: &Endpoint) -> &str {
        let any = if hub.address().is_some_and(|hub| hub.is_ipv6()) { "[::]" } else { "0.0.0.0" };
        let interface = self.interface.as_deref().unwrap_or(any);
        interface.split_once('/').map_or(interface, |(address, _)| address)
    }
}

impl FromStr for Channels {
    type Err = BackboneError;

    fn from_str(text: &str) -> Result<Self, BackboneError> {
        Self::parse(text)
    }
}

impl std::fmt::Display for Channels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Endpoint {
    fn parse(text: &str) -> Result<Self, String> {
        let wanted = || format!("'{text}' is not HOST:PORT");
        let (host, port) = text.rsplit_once(':').ok_or_else(wanted)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let well_formed = match bare {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && !host.contains([':', '[', ']', '/']),
        };
        let port: u16 = port.parse().map_err(|_| wanted())?;
        if !well_formed {
            return Err(wanted());
        }
        if port == 0 || port == u16::MAX {
            return Err(format!(
                "port {port}: a port from 1 to 65534 is needed, as the next one is used too"
            ));
        }
        Ok(Self { host: host.to_owned(), port })
    }

    fn at(&self, offset: u16) -> String {
        format!("{}:{}", self.host, self.port + offset)
    }

    /// Where `role` sends.
    fn of(&self, role: Role) -> String {
        self.at(match role {
            Role::Hub => 0,
            Role::Server => 1,
        })
    }

    fn address(&self) -> Option<IpAddr> {
        self.host.trim_matches(['[', ']']).parse().ok()
    }

    fn check_group(&self) -> Result<(), String> {
        let Some(address) = self.address().filter(IpAddr::is_multicast) else {
            return Err(format!(
                "endpoint '{}' is no multicast address; for unicast, name the hub with control=HOST:PORT",
                self.host
            ));
        };
        let last = match address {
            IpAddr::V4(address) => address.octets()[3],
            IpAddr::V6(address) => address.octets()[15],
        };
        if last.is_multiple_of(2) {
            return Err(format!(
                "the last octet of multicast address {address} must be odd, as Aeron answers on the next address"
            ));
        }
        Ok(())
    }
}

/// Most networks that carry the same.
const MAX_NETWORKS: usize = 4;

/// Most channels among which services are divided.
const MAX_CHANNELS: usize = 8;

/// Most hubs of one network.
const MAX_HUBS: usize = 16;

fn read_all(text: &str) -> Result<Channels, String> {
    // Within a channel a `+` would be part of a name; between two it stands alone.
    let words: Vec<_> = text.split_whitespace().collect();
    let channels =
        words.split(|word| *word == "+").map(read_channel).collect::<Result<Vec<_>, _>>()?;
    if channels.len() > MAX_CHANNELS {
        return Err(format!("{} channels; at most {MAX_CHANNELS} are possible", channels.len()));
    }
    let twice = channels.iter().enumerate().find(|(at, channel)| channels[..*at].contains(channel));
    if let Some((at, _)) = twice {
        return Err(format!("channel {} is one of those before it", at + 1));
    }
    Ok(Channels { text: text.to_owned(), channels })
}

/// The networks of one channel.
fn read_channel(texts: &[&str]) -> Result<Vec<Network>, String> {
    if texts.len() > MAX_NETWORKS {
        return Err(format!("{} networks; at most {MAX_NETWORKS} carry the same", texts.len()));
    }
    let texts = if texts.is_empty() { &[""] } else { texts };
    let networks = texts.iter().map(|text| read(text)).collect::<Result<Vec<_>, _>>()?;
    if networks.len() > 1 && networks.iter().any(|network| !network.is_network()) {
        return Err("shared memory is no network beside others".to_owned());
    }
    Ok(networks)
}

/// Hubs by their names, separated by commas.
fn hubs(text: &str) -> Result<Vec<Endpoint>, String> {
    let hubs = text.split(',').map(Endpoint::parse).collect::<Result<Vec<_>, _>>()?;
    if hubs.len() > MAX_HUBS {
        return Err(format!("{} hubs; at most {MAX_HUBS} can be named", hubs.len()));
    }
    let twice = hubs.iter().enumerate().find(|(at, hub)| hubs[..*at].contains(hub));
    match twice {
        Some((_, hub)) => Err(format!("hub {} is named twice", hub.at(0))),
        None => Ok(hubs),
    }
}

fn read(text: &str) -> Result<Network, String> {
    let (media, parameters) = text.split_once('?').unwrap_or((text, ""));
    let mut endpoint = None;
    let mut control = None;
    let mut network = Network {
        media: Media::Ipc,
        interface: None,
        ttl: None,
        mtu_bytes: None,
        term_bytes: None,
        flow_control: None,
        stream: DATA_STREAM,
    };
    for parameter in parameters.split('|').filter(|parameter| !parameter.is_empty()) {
        let Some((key, value)) = parameter.split_once('=') else {
            return Err(format!("'{parameter}' is not key=value"));
        };
        match key {
            "endpoint" => endpoint = Some(Endpoint::parse(value)?),
            "control" => control = Some(hubs(value)?),
            _ => network.set(key, value)?,
        }
    }
    network.media = match (media, endpoint, control) {
        ("aeron:ipc", None, None) => Media::Ipc,
        ("aeron:ipc", ..) => return Err("shared memory has neither endpoint nor control".into()),
        ("aeron:udp", Some(group), None) => {
            group.check_group()?;
            Media::Multicast(group)
        }
        ("aeron:udp", None, Some(hubs)) => Media::Unicast(hubs),
        ("aeron:udp", ..) => {
            return Err(
                "either endpoint=GROUP:PORT (multicast) or control=HUBHOST:PORT (unicast) is needed"
                    .into(),
            );
        }
        _ => return Err("it must begin with aeron:ipc or aeron:udp?".into()),
    };
    Ok(network)
}

impl Network {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let bad = |wanted: &str| Err(format!("{key}={value}: {wanted}"));
        match key {
            "interface" => {
                let (address, bits) = value.split_once('/').unwrap_or((value, "32"));
                let is_address = address.parse::<Ipv4Addr>().is_ok()
                    || address.trim_matches(['[', ']']).parse::<std::net::Ipv6Addr>().is_ok();
                if !is_address || bits.parse::<u8>().is_err() {
                    return bad(
                        "the address of a network interface is needed, as 10.1.0.5 or 10.1.0.0/24",
                    );
                }
                self.interface = Some(value.to_owned());
            }
            "ttl" => match value.parse() {
                Ok(ttl) => self.ttl = Some(ttl),
                Err(_) => return bad("a number from 0 to 255 is needed"),
            },
            "mtu" => match value.parse() {
                Ok(bytes) if check_mtu("mtu", bytes).is_ok() => self.mtu_bytes = Some(bytes),
                _ => return bad("a multiple of 32 from 1024 to 65504 is needed"),
            },
            "term-length" => match value.parse() {
                Ok(bytes) if check_term("term", bytes).is_ok() => self.term_bytes = Some(bytes),
                _ => return bad("a power of two from 65536 to 1073741824 bytes is needed"),
            },
            "fc" => match value.split(',').next() {
                Some("max" | "min" | "tagged") => self.flow_control = Some(value.to_owned()),
                _ => return bad("max, min or tagged is needed"),
            },
            "stream-id" => match value.parse() {
                Ok(stream) if (1..i32::MAX).contains(&stream) => self.stream = stream,
                _ => return bad("a number from 1 to 2147483646 is needed"),
            },
            _ => {
                return Err(format!(
                    "'{key}' is none of endpoint, control, interface, ttl, mtu, term-length, fc, stream-id"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
