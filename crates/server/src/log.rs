//! The words of the log.

use tapeline_channel::{ConnectionLine, LeftOut, Throttles};
use tapeline_omm::Text;
use tapeline_time::Time;

use crate::Note;

/// Writes a line.
pub(crate) fn write(line: ConnectionLine<'_>) {
    use ConnectionLine as Line;
    match line {
        Line::Opened { session, peer, subprotocol: None } => {
            tracing::info!(%session, %peer, "a mount is open");
        }
        Line::Opened { session, peer, subprotocol: Some(subprotocol) } => {
            tracing::info!(%session, %peer, subprotocol, "a JSON mount is open");
        }
        Line::Closed { session, reason } => {
            tracing::info!(%session, %reason, "a mount is closed");
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

/// The log of what happens to users and mounts.
#[derive(Debug, Default)]
pub(crate) struct NoteLog {
    lines: Throttles<{ KINDS.len() }>,
}

/// Kinds of notes, in the order of their numbers, as they are told when some were
/// left out.
const KINDS: [&str; 13] = [
    "logins",
    "refused logins",
    "slow mounts",
    "mounts that caught up",
    "cut mounts",
    "services",
    "roles",
    "take-overs",
    "round trips",
    "memory",
    "logouts",
    "clients that left",
    "numbers of services",
];

const fn kind(note: &Note<'_>) -> usize {
    match note {
        Note::LoggedIn { .. } => 0,
        Note::LoginRefused { .. } => 1,
        Note::Slow { .. } => 2,
        Note::CaughtUp { .. } => 3,
        Note::Cut { .. } => 4,
        Note::Service { .. } => 5,
        Note::Role { .. } => 6,
        Note::TakenOver { .. } => 7,
        Note::RoundTrip { .. } => 8,
        Note::Memory { .. } => 9,
        Note::LoggedOut { .. } => 10,
        Note::LeftOut { .. } => 11,
        Note::Number { .. } => 12,
    }
}

/// A client for which the server stood by is gone too soon.
const LEFT_OUT: &str = "warm standby: a client has left right after it was told of services; where \
    it does not come back, it has left this server out of its group, as services are described \
    otherwise than at the first: compare their numbers and lists (`tapeline admin get services`)";

/// The configuration gives a service a number that its hub does not know of.
const FIXED_NUMBER: &str = "a service has the number of its [[service]], and not its hub's: clients \
    with warm standby leave out a server that has another one";

/// Which number a service has depends on which hub was first.
const OTHER_NUMBER: &str = "a service has another number at a hub: another server may have that \
    one, and clients with warm standby leave one of the two out; give the service the same `id` in \
    a [[service]] of each server";

fn word(text: Option<&Text>) -> String {
    text.map_or_else(String::new, ToString::to_string)
}

impl NoteLog {
    /// Writes a line, unless there were too many of its kind. `waiting` tells how
    /// much output waits for the mount.
    pub(crate) fn write(&mut self, now: Time, note: Note<'_>, waiting: impl FnOnce() -> usize) {
        if !self.lines.allows(kind(&note), now) {
            return;
        }
        match note {
            Note::LoggedIn { session, peer, user, application, position } => {
                let (application, position) = (word(application), word(position));
                tracing::info!(%session, %peer, %user, application, position, "a user has logged in");
            }
            Note::LoginRefused { session, peer, user, why } => {
                let reason = String::from_utf8_lossy(why.text);
                tracing::warn!(%session, %peer, %user, code = %why.code, %reason, "a login is refused");
            }
            Note::LoggedOut { session, peer, user, why } => {
                let reason = String::from_utf8_lossy(why.text);
                tracing::info!(%session, %peer, %user, code = %why.code, %reason, "a user is logged out");
            }
            Note::Memory { resident_bytes, max_bytes, is_short: true } => {
                tracing::warn!(resident_bytes, max_bytes, "memory is short; no items are opened");
            }
            Note::Memory { resident_bytes, max_bytes, is_short: false } => {
                tracing::info!(resident_bytes, max_bytes, "memory is enough again");
            }
            Note::Slow { session, user } => {
                let (user, backlog_bytes) = (word(user), waiting());
                tracing::warn!(%session, user, backlog_bytes, "a mount is slow");
            }
            Note::CaughtUp { session, user, after } => {
                let (user, after_ms) = (word(user), after.as_millis());
                tracing::info!(%session, user, after_ms, "a mount has caught up");
            }
            Note::Cut { session, user, reason } => {
                let (user, backlog_bytes) = (word(user), waiting());
                tracing::warn!(%session, user, reason, backlog_bytes, "a mount is cut");
            }
            Note::Role { session, user, service, role } => {
                let user = word(user);
                let service = match service {
                    None => "all".to_owned(),
                    Some((_, Some(name))) => name.to_string(),
                    Some((id, None)) => id.to_string(),
                };
                tracing::info!(%session, user, service, role, "warm standby: a client gave a role");
            }
            Note::TakenOver { session, user, streams, first, last } => {
                let user = word(user);
                let (first_ms, last_ms) = (first.as_millis(), last.as_millis());
                tracing::info!(%session, user, streams, first_ms, last_ms, "a client has taken over");
            }
            Note::LeftOut { session, user, after } => {
                let (user, after_ms) = (word(user), after.as_millis());
                tracing::warn!(%session, user, after_ms, "{LEFT_OUT}");
            }
            Note::Number { name, here: number, at_hub: hub_number, is_fixed: true } => {
                tracing::info!(service = %name, number, hub_number, "{FIXED_NUMBER}");
            }
            Note::Number { name, here: number, at_hub: hub_number, is_fixed: false } => {
                tracing::warn!(service = %name, number, hub_number, "{OTHER_NUMBER}");
            }
            Note::RoundTrip { session, user, took } => {
                let (user, took_us) = (word(user), took.as_micros());
                tracing::info!(%session, user, took_us, "a mount answers round trips");
            }
            Note::Service { name, is_up: true } => {
                tracing::info!(service = %name, "a service is up");
            }
            Note::Service { name, is_up: false } => {
                tracing::warn!(service = %name, "a service is down");
            }
        }
    }

    /// When [`report`](Self::report) has something to say.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.lines.deadline()
    }

    /// Writes how many lines were left out.
    pub(crate) fn report(&mut self, now: Time) {
        self.lines.report(now, |kind, LeftOut { count, seconds }| {
            tracing::info!(count, seconds, of = KINDS[kind], "more of the same were left out");
        });
    }
}
