//! The words of the log for connections.

use tapeline_channel::{ConnectionLine, LeftOut};

/// Writes a line.
pub(crate) fn write(line: ConnectionLine<'_>) {
    use ConnectionLine as Line;
    match line {
        Line::Opened { session, peer, subprotocol: None } => {
            tracing::info!(?session, %peer, "a mount is open");
        }
        Line::Opened { session, peer, subprotocol: Some(subprotocol) } => {
            tracing::info!(?session, %peer, subprotocol, "a JSON mount is open");
        }
        Line::Closed { session, reason } => {
            tracing::info!(?session, %reason, "a mount is closed");
        }
        Line::Page { peer, reason } => tracing::debug!(%peer, %reason, "a page"),
        Line::Rejected { peer, reason } => {
            tracing::warn!(%peer, %reason, "a connection did not become a mount");
        }
        Line::NoneAccepted { peer: Some(peer), reason } => {
            tracing::error!(%peer, %reason, "no connection can be accepted");
        }
        Line::NoneAccepted { peer: None, reason } => {
            tracing::error!(error = %reason, "no connection can be accepted");
        }
        Line::MoreOpened(LeftOut { count, seconds }) => {
            tracing::info!(count, seconds, "more mounts are open");
        }
        Line::MoreClosed(LeftOut { count, seconds }) => {
            tracing::info!(count, seconds, "more mounts are closed");
        }
        Line::MoreRejected(LeftOut { count, seconds }) => {
            tracing::warn!(count, seconds, "more connections did not become mounts");
        }
        Line::MoreNotAccepted(LeftOut { count, seconds }) => {
            tracing::error!(count, seconds, "more connections could not be accepted");
        }
    }
}
