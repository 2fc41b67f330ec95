//! From a session's bytes and deadlines to the program's events.

use tapeline_rssl::Event;

use crate::live::{Live, Origin, Read, Stage};
use crate::table::{Notice, Table};
use crate::{CloseReason, Outbox, SessionEvent};

/// What the program does with an event.
pub(crate) trait Handler: FnMut(SessionEvent<'_>, &mut Outbox<'_>) {}

impl<F: FnMut(SessionEvent<'_>, &mut Outbox<'_>)> Handler for F {}

/// Reads a session that is out of the table, up to its share of this poll.
pub(crate) fn read(table: &mut Table, live: &mut Live, handler: &mut impl Handler) {
    let mut left = live.options.read_bytes_per_poll;
    while live.is_readable && left > 0 {
        if live.stage == Stage::Closing {
            left = left.saturating_sub(read_away(live));
            continue;
        }
        match live.read(table.now) {
            Read::Bytes(count) => {
                left = left.saturating_sub(count.max(1));
                events(table, live, handler);
            }
            Read::End => {
                live.connection.peer_closed();
                events(table, live, handler);
            }
            Read::Blocked => blocked(table, live),
            Read::Failed(error) => failed(table, live, &error, handler),
        }
    }
}

/// What a closed session's peer still sends is read, lest the kernel answers
/// it with a reset that overtakes our last bytes.
fn read_away(live: &mut Live) -> usize {
    let mut scratch = [0; 4096];
    match live.read_away(&mut scratch) {
        Read::Bytes(count) => count,
        Read::Blocked | Read::End | Read::Failed(_) => 0,
    }
}

/// All is read of a session; one that cannot be written to ends here.
fn blocked(table: &mut Table, live: &mut Live) {
    if let Some(error) = &live.broken {
        let reason = CloseReason::socket("writing to", error);
        table.end(live, reason);
    }
}

fn failed(table: &mut Table, live: &mut Live, error: &std::io::Error, handler: &mut impl Handler) {
    if live.stage == Stage::Handshake {
        // An old server may refuse a new generation with a reset.
        live.connection.peer_closed();
        events(table, live, handler);
    }
    table.end(live, CloseReason::socket("reading from", error));
}

/// Has the connection see to its deadlines.
pub(crate) fn timeout(table: &mut Table, live: &mut Live, handler: &mut impl Handler) {
    if live.stage != Stage::Closing {
        live.connection.handle_timeout(table.now);
        events(table, live, handler);
        live.flush(table.now);
    }
}

/// Delivers the events of a session that is out of the table.
fn events(table: &mut Table, live: &mut Live, handler: &mut impl Handler) {
    table.deferred.begin(live);
    let session = live.id;
    while live.stage != Stage::Closing {
        let Some(event) = live.connection.poll_event() else { break };
        match event {
            Event::Message(bytes) => {
                handler(SessionEvent::Message { session, bytes }, &mut Outbox::new(table));
            }
            Event::Connected(negotiated) => {
                live.stage = Stage::Open;
                table.counters.opened += 1;
                table.deferred.open();
                let (via, peer) = (live.origin.via(), live.peer);
                let opened = SessionEvent::Opened { session, via, peer, negotiated };
                handler(opened, &mut Outbox::new(table));
            }
            Event::OtherSubprotocol(name) => {
                let reason = CloseReason::Subprotocol(name.to_owned());
                table.end(live, reason);
            }
            Event::Closed(reason) => closed(table, live, CloseReason::Rssl(reason)),
        }
        if table.deferred.has_work() {
            table.apply_deferred(live);
            table.deferred.begin(live);
        }
    }
    table.deferred.end();
}

fn closed(table: &mut Table, live: &mut Live, reason: CloseReason) {
    if let Origin::Connect(dial) = &live.origin
        && dial.config.fallback
        && live.stage == Stage::Handshake
        && let Some(version) = reason.fallback()
    {
        live.redial = Some(version);
        live.start_closing(table.now);
        return;
    }
    table.end(live, reason);
}

/// Delivers what was noted, but not what is noted meanwhile.
pub(crate) fn notices(table: &mut Table, handler: &mut impl Handler) -> usize {
    let count = table.notices.len();
    for _ in 0..count {
        let Some(notice) = table.notices.pop_front() else { break };
        match notice {
            Notice::Drained(session) => {
                if table.live(session).is_some_and(|live| live.stage == Stage::Open) {
                    handler(SessionEvent::Drained { session }, &mut Outbox::new(table));
                }
            }
            Notice::Closed(session, reason) => {
                table.counters.closed += 1;
                let closed = SessionEvent::Closed { session, reason: &reason };
                handler(closed, &mut Outbox::new(table));
            }
            Notice::Rejected(listener, peer, reason) => {
                let rejected = SessionEvent::Rejected { listener, peer, reason: &reason };
                handler(rejected, &mut Outbox::new(table));
            }
        }
    }
    count
}
