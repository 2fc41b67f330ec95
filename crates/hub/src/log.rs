//! The words of the log for connections of non-interactive providers.

use tapeline_channel::{ConnectionLine, LeftOut};

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
