//! From a session's bytes and deadlines to the program's events.

use tapeline_rssl::Event;
use tapeline_rssl::websocket::{PLAIN_HTTP, accept_opening, cookies};
use tapeline_websocket::{TextConnection, TextInput};

use crate::config::{DELIVERY_BYTES, TEXT_DELIVERY_BYTES};
use crate::link::Link;
use crate::listener::REFUSAL;
use crate::live::{Live, Origin, Read, Stage};
use crate::pages;
use crate::system::System;
use crate::table::{ListenRules, Notice, Table};
use crate::{CloseReason, Outbox, SessionEvent, TextEvent};

/// What the program does with an event.
pub(crate) trait Handler<S: System>: FnMut(SessionEvent<'_>, &mut Outbox<'_, S>) {}

impl<S: System, F: FnMut(SessionEvent<'_>, &mut Outbox<'_, S>)> Handler<S> for F {}

/// Reads a session that is out of the table, up to its share of this poll.
/// Whether anything came of it.
pub(crate) fn read<S: System>(
    table: &mut Table<S>,
    live: &mut Live<S>,
    handler: &mut impl Handler<S>,
) -> bool {
    if !live.has_to_be_read() {
        live.is_expected = false;
        return false;
    }
    table.grant(live);
    let mut has_come = live.has_undelivered;
    if live.has_undelivered {
        events(table, live, handler);
    }
    let mut left = live.options.read_bytes_per_poll;
    while live.is_readable && live.has_to_be_read() && !live.has_undelivered && left > 0 {
        if live.stage == Stage::Closing {
            left = left.saturating_sub(read_away(live));
            has_come = true;
            continue;
        }
        let read = live.read(table.now);
        has_come |= !matches!(read, Read::Blocked) || live.broken.is_some();
        match read {
            Read::Bytes(count) => {
                left = left.saturating_sub(count.max(1));
                table.note_active(live);
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
    live.is_expected = false;
    has_come
}

/// What a closed session's peer still sends is read, lest the kernel answers
/// it with a reset that overtakes our last bytes.
fn read_away<S: System>(live: &mut Live<S>) -> usize {
    let mut scratch = [0; 4096];
    match live.read_away(&mut scratch) {
        Read::Bytes(count) => count,
        Read::Blocked | Read::End | Read::Failed(_) => 0,
    }
}

/// All is read of a session; one that cannot be written to ends here.
fn blocked<S: System>(table: &mut Table<S>, live: &mut Live<S>) {
    if let Some(error) = &live.broken {
        let reason = CloseReason::socket("writing to", error);
        table.end(live, reason);
    }
}

fn failed<S: System>(
    table: &mut Table<S>,
    live: &mut Live<S>,
    error: &std::io::Error,
    handler: &mut impl Handler<S>,
) {
    let is_nonsense = error.kind() == std::io::ErrorKind::InvalidData;
    if live.stage == Stage::Handshake && !is_nonsense {
        // An old server may refuse a new generation with a reset.
        live.connection.peer_closed();
        events(table, live, handler);
    }
    table.end(live, CloseReason::socket("reading from", error));
}

/// Has the connection see to its deadlines.
pub(crate) fn timeout<S: System>(
    table: &mut Table<S>,
    live: &mut Live<S>,
    handler: &mut impl Handler<S>,
) {
    if live.stage != Stage::Closing {
        table.left_of_session = live.options.messages_per_poll;
        live.connection.handle_timeout(table.now);
        events(table, live, handler);
        live.flush(table.now);
    }
}

/// Delivers the events of a session that is out of the table, as many as it may
/// have in this poll.
fn events<S: System>(table: &mut Table<S>, live: &mut Live<S>, handler: &mut impl Handler<S>) {
    live.has_undelivered = false;
    table.deferred.begin(live);
    rssl_events(table, live, handler);
    text_events(table, live, handler);
    table.deferred.end();
}

fn rssl_events<S: System>(table: &mut Table<S>, live: &mut Live<S>, handler: &mut impl Handler<S>) {
    let session = live.id;
    while live.stage != Stage::Closing && !is_enough(table, live) {
        let Link::Rssl(connection) = &mut live.connection else { return };
        let mut packed = connection.packed();
        for bytes in &mut packed {
            handler(SessionEvent::Message { session, bytes }, &mut Outbox::new(table));
            let goes_on = table.count_delivery(1 + bytes.len() / DELIVERY_BYTES);
            if table.deferred.has_work() || !goes_on {
                break;
            }
        }
        let taken = packed.taken();
        connection.take_packed(taken);
        if table.deferred.has_work() {
            table.apply_deferred(live);
            table.deferred.begin(live);
            continue;
        }
        if table.left_of_session == 0 {
            continue;
        }
        let Some(event) = connection.poll_event() else { return };
        match event {
            Event::Message(bytes) => {
                handler(SessionEvent::Message { session, bytes }, &mut Outbox::new(table));
                table.count_delivery(1 + bytes.len() / DELIVERY_BYTES);
            }
            Event::TooLong { head, length, max } => {
                let too_long = SessionEvent::TooLong { session, head, length, max };
                handler(too_long, &mut Outbox::new(table));
            }
            Event::Connected(_) => {
                if !table.greet(live) {
                    return;
                }
                let Link::Rssl(connection) = &live.connection else { return };
                let Some(negotiated) = connection.negotiated() else { return };
                live.stage = Stage::Open;
                table.counters.opened += 1;
                table.deferred.open();
                let (via, peer) = (live.origin.via(), live.peer);
                let opened = SessionEvent::Opened { session, via, peer, negotiated };
                handler(opened, &mut Outbox::new(table));
            }
            Event::OtherSubprotocol(name) => {
                let name = name.to_owned();
                hand_over(table, live, &name, handler);
            }
            Event::Closed(reason) => closed(table, live, CloseReason::Rssl(reason)),
        }
        if table.deferred.has_work() {
            table.apply_deferred(live);
            table.deferred.begin(live);
        }
    }
}

/// Whether a session delivers no more in this poll.
fn is_enough<S: System>(table: &mut Table<S>, live: &mut Live<S>) -> bool {
    let is_spent = table.left_of_session == 0;
    live.has_undelivered = is_spent || live.is_held;
    table.counters.postponed += u64::from(is_spent);
    live.has_undelivered
}

fn text_events<S: System>(table: &mut Table<S>, live: &mut Live<S>, handler: &mut impl Handler<S>) {
    let session = live.id;
    while live.stage != Stage::Closing && !live.has_undelivered && !is_enough(table, live) {
        let Link::Text(connection) = &mut live.connection else { return };
        let Some(input) = connection.poll() else { return };
        match input {
            TextInput::Opened(subprotocol) => {
                live.stage = Stage::Open;
                table.counters.opened += 1;
                table.deferred.open();
                let (via, peer) = (live.origin.via(), live.peer);
                let opened = TextEvent::Opened { session, via, peer, subprotocol, cookies: "" };
                handler(SessionEvent::Text(opened), &mut Outbox::new(table));
            }
            TextInput::Text(text) => {
                let cost = 1 + text.len() / TEXT_DELIVERY_BYTES;
                let frame = TextEvent::Frame { session, text };
                handler(SessionEvent::Text(frame), &mut Outbox::new(table));
                table.count_delivery(cost);
            }
            TextInput::Closed(reason) => table.end(live, CloseReason::Rssl(reason)),
        }
        if table.deferred.has_work() {
            table.apply_deferred(live);
            table.deferred.begin(live);
        }
    }
}

/// A client chose something else than RSSL: a text session, or a page.
fn hand_over<S: System>(
    table: &mut Table<S>,
    live: &mut Live<S>,
    name: &str,
    handler: &mut impl Handler<S>,
) {
    table.counters.traffic += live.take_traffic();
    let Link::Rssl(connection) = &live.connection else { return };
    let unread = connection.unread();
    let now = table.now;
    let only = |answer: &[u8]| Link::Text(TextConnection::answer_only(answer, now));
    let rules = live.origin.listener().and_then(|listener| table.rules.get(listener.index()));
    if let Origin::Refused(_) = live.origin {
        live.go_on_as(only(&pages::unavailable(REFUSAL)));
        let text = REFUSAL.to_owned();
        return table.end(live, tapeline_rssl::CloseReason::RefusedClient { text }.into());
    }
    if let Some(pages) = rules.and_then(|rules| rules.pages.as_deref())
        && name == PLAIN_HTTP
    {
        live.go_on_as(only(&pages.answer(unread)));
        table.counters.pages += 1;
        return table.end(live, CloseReason::Page);
    }
    let opening = accept_opening(unread, name);
    let config = rules.and_then(ListenRules::text_of_strangers);
    let (Some(config), Some((answer, length))) = (config, opening) else {
        return table.end(live, CloseReason::Subprotocol(name.to_owned()));
    };
    let cookies = cookies(&unread[..length]);
    let session = TextConnection::new(&config, &answer, &unread[length..], now);
    live.go_on_as(Link::Text(session));
    live.message_limit = live.options.output.max_bytes;
    if !table.greet(live) {
        return;
    }
    live.stage = Stage::Open;
    table.counters.opened += 1;
    table.deferred.begin(live);
    let (session, via, peer) = (live.id, live.origin.via(), live.peer);
    let opened = TextEvent::Opened { session, via, peer, subprotocol: name, cookies: &cookies };
    handler(SessionEvent::Text(opened), &mut Outbox::new(table));
}

fn closed<S: System>(table: &mut Table<S>, live: &mut Live<S>, reason: CloseReason) {
    if let Origin::Connect(dial) = &live.origin
        && dial.config.fallback
        && live.stage == Stage::Handshake
        && let Some(version) = reason.fallback()
    {
        live.redial = Some(version);
        live.start_closing(table.now, &reason);
        return;
    }
    table.end(live, reason);
}

/// Delivers what was noted, `most` of it, but not what is noted meanwhile. One
/// has its turn also when the program has had enough.
pub(crate) fn notices<S: System>(
    table: &mut Table<S>,
    most: usize,
    handler: &mut impl Handler<S>,
) -> usize {
    let most = table.notices.len().min(most);
    let mut count = 0;
    while count < most && (count == 0 || !table.has_enough) {
        let Some(notice) = table.notices.pop_front() else { break };
        count += 1;
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
            Notice::AcceptFailed(listener, text) => {
                let failed = SessionEvent::AcceptFailed { listener, text: &text };
                handler(failed, &mut Outbox::new(table));
            }
            Notice::Rejected(listener, peer, reason) => {
                let rejected = SessionEvent::Rejected { listener, peer, reason: &reason };
                handler(rejected, &mut Outbox::new(table));
            }
        }
    }
    count
}
