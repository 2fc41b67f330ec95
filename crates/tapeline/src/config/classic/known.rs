//! The parameters of `rmds.cnf`, and what each is here.

use super::super::BUFFER_BYTES;

/// The programs that a key may be for, with all their names.
pub(super) const PROGRAMS: [(&str, Program); 5] = [
    ("src_dist", Program::Hub),
    ("adh", Program::Hub),
    ("p2ps", Program::Server),
    ("ads", Program::Server),
    ("rrcp", Program::Backbone),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    Hub,
    Server,
    Backbone,
}

/// How a classic value becomes one of ours.
#[derive(Clone, Copy)]
pub(super) enum How {
    /// As it is.
    Same,
    /// A number of buffers as bytes.
    Buffers,
    /// The first port of a list.
    Port,
    /// 0 none; 1 zlib and 2 LZ4 leave the choice to the client.
    Compression,
    /// `False` switches the key off; `True` changes nothing.
    OffUnless(&'static str),
    /// A number of KiB as bytes.
    Kibibytes,
}

/// Classic parameters with a counterpart: program, parameter, section, key.
pub(super) const KNOWN: [Known; 25] = [
    (Program::Server, "sslPort", "server", "rssl-port", How::Port),
    (Program::Server, "portList", "server", "rssl-port", How::Port),
    (Program::Server, "allowRSSLConnections", "server", "rssl-port", How::OffUnless("\"off\"")),
    (Program::Server, "allowCompMode", "server", "compression", How::Same),
    (Program::Server, "compressionType", "server", "compression", How::Compression),
    (Program::Server, "flushInterval", "server", "flush-interval-ms", How::Same),
    // Without a timer, output is not held back, whatever the interval is.
    (Program::Server, "timedWrites", "server", "flush-interval-ms", How::OffUnless("0")),
    (Program::Server, "tcpNoDelay", "server", "tcp-no-delay", How::Same),
    (Program::Server, "tcpSendBufSize", "server", "tcp-send-buffer-bytes", How::Same),
    (Program::Server, "maxOutputBuffers", "server", "output-max-bytes", How::Buffers),
    (Program::Server, "outputThresholdBreach", "server", "output-threshold-breach", How::Same),
    (Program::Server, "outputThresholdOK", "server", "output-threshold-ok", How::Same),
    (Program::Server, "itemLimit", "server", "item-limit", How::Same),
    (Program::Server, "aggregateItemLimit", "server", "item-limit", How::Same),
    (Program::Server, "itemLimitPerMount", "server", "item-limit-per-mount", How::Same),
    (Program::Server, "maxMounts", "server", "max-mounts", How::Same),
    (Program::Server, "minimumOpenWindow", "server", "open-window", How::Same),
    (Program::Server, "enableCache", "server", "cache", How::Same),
    (Program::Server, "pingTimeout", "server", "max-ping-timeout-s", How::Same),
    (Program::Server, "pingInterval", "server", "ping-interval-s", How::Same),
    (Program::Server, "clientToServerPings", "server", "client-to-server-pings", How::Same),
    (Program::Server, "serverToClientPings", "server", "server-to-client-pings", How::Same),
    (Program::Backbone, "udpRecvBufSize", "backbone", "socket-buffer-bytes", How::Kibibytes),
    (Program::Backbone, "udpSendBufSize", "backbone", "socket-send-buffer-bytes", How::Kibibytes),
    (Program::Backbone, "PacketTTL", "backbone", "ttl", How::Same),
];

/// What of these may be of one port, with the key of `[[server.port]]`.
pub(super) const OF_PORT: [&str; 9] = [
    "allowCompMode",
    "compressionType",
    "tcpNoDelay",
    "tcpSendBufSize",
    "maxOutputBuffers",
    "pingTimeout",
    "pingInterval",
    "clientToServerPings",
    "serverToClientPings",
];

/// What may be of one user, with the key of `[[server.user]]`.
pub(super) const OF_USER: [(&str, &str); 4] = [
    ("itemLimit", "item-limit"),
    ("aggregateItemLimit", "item-limit"),
    ("itemLimitPerMount", "item-limit-per-mount"),
    ("maxPriorityClass", "max-priority-class"),
];

/// Parameters of routes: they make sources.
pub(super) const ROUTE: [&str; 3] = ["hostList", "port", "serviceList"];

/// The parameter that fixes the number of a service, whose name is before it.
pub(super) const SERVICE_ID: &str = "serviceId";

/// Parameters of services, with the key of `[[service]]`.
pub(super) const SERVICE: [(&str, &str); 3] =
    [(SERVICE_ID, "id"), ("cacheType", "kind"), ("cacheLocation", "cache")];

/// How long the messages of a service wait for others on the backbone, in milliseconds.
pub(super) const SERVICE_FLUSH: &str = "rrmpFlushInterval";

/// The routes that there are, if it is said.
pub(super) const ROUTE_LIST: &str = "routeList";

/// The shared buffers of all mounts, and those that each has for itself.
pub(super) const POOL_SIZE: &str = "poolSize";
pub(super) const GUARANTEED: &str = "guaranteedOutputBuffers";

/// Parameters that say how the classic programs are built inside. They are
/// accepted, so that a site's file can be used, and change nothing.
pub(super) const WITHOUT_EFFECT: [&str; 40] = [
    "allowSSLConnections",
    "dataType",
    "disableHostLookup",
    "DisconnectOnGap",
    "hashTableSize",
    "HsmInterface",
    "HsmInterval",
    "HsmMultAddress",
    "HsmPort",
    "inputBias",
    "maxPktPoolSize",
    "ndata",
    "nmissing",
    "nrreq",
    "numInputBuffers",
    "numIpcInputBuffers",
    "numIpcOutputBuffers",
    "pktPoolLimitHigh",
    "pktPoolLimitLow",
    "portRoamRange",
    "RecvAddress",
    "RecvPort",
    "rrmpProtocols",
    "rsslMsgPacking",
    "SendAddress",
    "SendPort",
    "sessionStatsWindow",
    "sslMountVersion",
    "sslMsgPacking",
    "switchReorderFixEnabled",
    "tbchold",
    "tcpControlPort",
    "tdata",
    "tpphold",
    "trreq",
    "twait",
    "UnicastPort",
    "usePointToPointData",
    "userQLimit",
    "serverType",
];

/// A row of [`KNOWN`].
pub(super) type Known = (Program, &'static str, &'static str, &'static str, How);

impl How {
    /// The value as TOML; `None` if it changes nothing.
    pub(super) fn convert(self, value: &str) -> Result<Option<String>, String> {
        Ok(Some(match self {
            Self::Same => match flag(value) {
                Some(flag) => flag.to_string(),
                None => value.to_owned(),
            },
            Self::Buffers => match value.parse::<u64>() {
                Ok(count) => count.saturating_mul(BUFFER_BYTES as u64).to_string(),
                Err(_) => return Err(format!("`{value}` is no number of buffers")),
            },
            Self::Port => match list(value).first() {
                // The others are ports of their own.
                Some(port) => port.clone(),
                None => return Err("is empty; give ports".to_owned()),
            },
            Self::Kibibytes => match value.parse::<u64>() {
                Ok(count) => count.saturating_mul(1_024).to_string(),
                Err(_) => return Err(format!("`{value}` is no number of KiB")),
            },
            Self::Compression => match value {
                "0" => "false".to_owned(),
                "1" | "2" => "true".to_owned(),
                _ => return Err(format!("compression `{value}`: give 0 none, 1 zlib or 2 LZ4")),
            },
            Self::OffUnless(off) => match flag(value) {
                Some(true) => return Ok(None),
                Some(false) => off.to_owned(),
                None => return Err(format!("`{value}`: give True or False")),
            },
        }))
    }
}

pub(super) fn program(name: &str) -> Option<Program> {
    PROGRAMS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|found| found.1)
}

/// All names of a program.
pub(super) fn programs(program: Program) -> Vec<&'static str> {
    PROGRAMS.iter().filter(|(_, known)| *known == program).map(|(name, _)| *name).collect()
}

/// A list separated by blanks or commas.
pub(super) fn list(value: &str) -> Vec<String> {
    let names = value.split([' ', '\t', ',']).filter(|name| !name.is_empty());
    names.map(ToOwned::to_owned).collect()
}

fn flag(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}
