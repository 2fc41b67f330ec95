//! The words of the log for connections of non-interactive providers, and for servers.

use tapeline_backbone::{BusEvent, Incarnation};
use tapeline_channel::{ConnectionLine, LeftOut};

use crate::Core;

/// Writes a line.
pub(crate) fn write(line: ConnectionLine<'_>) {
    use ConnectionLine as Line;
    match line {
        Line::Opened { session, peer, .. } => {
            tracing::info!(%session, %peer, "a provider connected");
        }
        Line::Closed { session, reason } => {
            tracing::info!(%session, %reason, "a provider is gone");
        }
        Line::Page { peer, reason } | Line::Rejected { peer, reason } => {
            tracing::warn!(%peer, %reason, "a provider was refused");
        }
        Line::NoneAccepted { peer: Some(peer), reason } => {
            tracing::error!(%peer, %reason, "no provider can be accepted");
        }
        Line::NoneAccepted { peer: None, reason } => {
            tracing::error!(error = %reason, "no provider can be accepted");
        }
        Line::MoreOpened(LeftOut { count, seconds }) => {
            tracing::info!(count, seconds, "more providers connected");
        }
        Line::MoreClosed(LeftOut { count, seconds }) => {
            tracing::info!(count, seconds, "more providers are gone");
        }
        Line::MoreRejected(LeftOut { count, seconds }) => {
            tracing::warn!(count, seconds, "more providers were refused");
        }
        Line::MoreNotAccepted(LeftOut { count, seconds }) => {
            tracing::error!(count, seconds, "more providers could not be accepted");
        }
    }
}

/// Logs servers that come and go, before the core hears of it.
pub(crate) fn server(event: &BusEvent<'_>, core: &Core, servers: &mut Vec<(Incarnation, String)>) {
    match *event {
        BusEvent::PeerUp { peer, name } => {
            servers.push((peer, name.to_owned()));
            tracing::info!(server = name, incarnation = %peer, servers = servers.len(), "a server is there");
        }
        BusEvent::PeerDown { peer } => {
            let place = servers.iter().position(|(server, _)| *server == peer);
            let name = place.map(|place| servers.swap_remove(place).1).unwrap_or_default();
            let requests = core.requests_of(peer);
            tracing::warn!(server = name, incarnation = %peer, requests, servers = servers.len(), "a server is gone");
        }
        BusEvent::Gap { peer, name, lost } => {
            tracing::warn!(server = name, incarnation = %peer, lost, "frames of a server were lost; asking what it wants");
        }
        BusEvent::Frame { .. } => {}
    }
}
