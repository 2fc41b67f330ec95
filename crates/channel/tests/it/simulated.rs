//! Sessions over a simulated network, and its faults.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_channel::sim::{Host, Network, Tape};
use tapeline_channel::{
    ConnectConfig, ListenConfig, Outbox, OutputLimits, Reactor, ReactorConfig, Sent, SessionEvent,
    SessionId, SessionOptions,
};

use crate::support::Told;

const MILLISECOND: Duration = Duration::from_millis(1);

/// Events with the milliseconds at which they came.
type Log = Vec<(u64, Told)>;

/// A server and a client.
struct Pair {
    network: Network,
    server: Reactor<Host>,
    client: Reactor<Host>,
    at: SocketAddr,
    session: SessionId,
    served: Log,
    heard: Log,
}

impl Pair {
    fn new(network: Network) -> Self {
        Self::with(network, &ListenConfig::default(), &ConnectConfig::default())
    }

    fn with(network: Network, listen: &ListenConfig, connect: &ConnectConfig) -> Self {
        let [mut server, mut client] = [[10, 0, 0, 1], [10, 0, 0, 2]]
            .map(|ip| Reactor::with_system(ReactorConfig::default(), network.host(ip)));
        let listener = server.listen("0.0.0.0:0".parse().unwrap(), listen).unwrap();
        let at = server.local_addr(listener).unwrap();
        let session = client.connect("10.0.0.1", at.port(), connect);
        Self { network, server, client, at, session, served: Vec::new(), heard: Vec::new() }
    }

    /// A pair whose session is open.
    fn open(network: Network) -> Self {
        let mut pair = Self::new(network);
        pair.until("open", |pair| {
            pair.client.outbox().is_open(pair.session) && !pair.served.is_empty()
        });
        pair
    }

    fn ms(&self) -> u64 {
        self.network.now().as_nanos() / 1_000_000
    }

    fn turn_server(&mut self) {
        let (ms, log) = (self.ms(), &mut self.served);
        self.server.poll(self.network.now(), None, |event, _| log.push((ms, event.into())));
    }

    fn turn_client(&mut self) {
        let (ms, log) = (self.ms(), &mut self.heard);
        self.client.poll(self.network.now(), None, |event, _| log.push((ms, event.into())));
    }

    /// Has the client send a message, at once.
    fn say(&mut self, message: &[u8]) {
        assert_eq!(self.client.outbox().send(self.session, message), Sent::Queued);
        self.client.flush(self.network.now());
    }

    fn pass(&mut self, milliseconds: u32) {
        for _ in 0..milliseconds {
            self.network.advance(MILLISECOND);
            self.turn_server();
            self.turn_client();
        }
    }

    fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        for _ in 0..200_000 {
            if holds(self) {
                return;
            }
            self.pass(1);
        }
        panic!("not {what} after {} ms: {:?} {:?}", self.ms(), self.served, self.heard);
    }

    /// The server's session.
    fn served_session(&self) -> SessionId {
        let opened = self.served.iter().find_map(|(_, told)| match told {
            Told::Opened(session, _) => Some(*session),
            _ => None,
        });
        opened.expect("a session")
    }
}

fn messages(log: &Log) -> Vec<Vec<u8>> {
    let message = |(_, told): &(u64, Told)| match told {
        Told::Message(_, bytes) => Some(bytes.clone()),
        _ => None,
    };
    log.iter().filter_map(message).collect()
}

/// When a session was closed, and why.
fn closed(log: &Log) -> Option<(u64, &str)> {
    log.iter().find_map(|(ms, told)| match told {
        Told::Closed(_, reason) => Some((*ms, reason.as_str())),
        _ => None,
    })
}

fn numbered(count: usize) -> Vec<Vec<u8>> {
    (0..count)
        .map(|number| format!("message {number} {}", "x".repeat(number % 90)).into())
        .collect()
}

#[test]
fn a_message_takes_as_long_as_the_way() {
    let network = Network::new(1);
    network.set_delay(Duration::from_millis(10));
    let mut pair = Pair::open(network);
    let start = pair.ms();
    pair.say(b"hello");
    assert_eq!(pair.network.next_arrival(), Some(pair.network.now().after(10 * MILLISECOND)));
    pair.pass(9);
    assert_eq!(messages(&pair.served), [b""; 0]);
    pair.pass(1);
    assert_eq!(messages(&pair.served), [b"hello"]);
    assert_eq!(pair.ms(), start + 10);
    pair.network.set_path_delay(pair.at, 3 * MILLISECOND);
    pair.say(b"sooner");
    pair.pass(2);
    assert_eq!(messages(&pair.served).len(), 1);
    pair.pass(1);
    assert_eq!(messages(&pair.served).len(), 2);
}

/// What came, and what went over the wire, of messages in pieces over a way
/// that shakes.
fn shaken(seed: u64) -> (Log, Vec<Tape>) {
    let network = Network::new(seed);
    network.set_delay(2 * MILLISECOND);
    network.set_jitter(5 * MILLISECOND);
    network.set_segment_bytes(7);
    network.record();
    let mut pair = Pair::open(network);
    let (session, sent) = (pair.session, numbered(60));
    for message in &sent {
        assert_eq!(pair.client.outbox().send(session, message), Sent::Queued);
    }
    pair.until("all there", |pair| messages(&pair.served).len() == 60);
    assert_eq!(messages(&pair.served), sent);
    (pair.served, pair.network.tapes())
}

#[test]
fn pieces_arrive_in_order_and_two_runs_are_the_same() {
    let (first, tapes) = shaken(1);
    assert_eq!(shaken(1), (first.clone(), tapes.clone()));
    let (other, same_tapes) = shaken(2);
    assert_ne!(other, first, "another seed, other times");
    let times = |log: &Log| log.iter().map(|(ms, _)| *ms).collect::<Vec<_>>();
    assert!(times(&first).windows(2).any(|pair| pair[0] < pair[1]), "not all at once");
    assert_eq!(same_tapes, tapes, "the same bytes");
    assert_eq!(tapes.len(), 1);
    assert!(tapes[0].to_server.len() > 2000 && !tapes[0].to_client.is_empty());
}

#[test]
fn a_client_that_does_not_read_fills_its_session_and_drains_it_again() {
    let output = OutputLimits { breach_bytes: 3000, ok_bytes: 1000, max_bytes: 6000 };
    let session = SessionOptions { output, ..SessionOptions::default() };
    let listen = ListenConfig { session, ..ListenConfig::default() };
    let mut pair = Pair::with(Network::new(1), &listen, &ConnectConfig::default());
    pair.until("open", |pair| !pair.served.is_empty());
    pair.network.set_window(pair.at, 2000);
    let session = pair.served_session();
    let (mut queued, mut answers) = (Vec::new(), Vec::new());
    for message in numbered(400) {
        let sent = pair.server.outbox().send(session, &message);
        match sent {
            Sent::Queued | Sent::Slow => queued.push(message),
            Sent::Full => {}
            other => panic!("{other:?}"),
        }
        answers.push(sent);
        pair.server.flush(pair.network.now());
    }
    answers.dedup();
    assert_eq!(answers[..2], [Sent::Queued, Sent::Slow]);
    assert!(answers.contains(&Sent::Full), "{answers:?}");
    // One window under way, and the most that may wait behind it.
    let held: usize = queued.iter().map(Vec::len).sum();
    assert!((6000..8500).contains(&held), "{held}");
    for _ in 0..100 {
        pair.network.advance(MILLISECOND);
        pair.turn_server();
    }
    assert!(!pair.served.iter().any(|(_, told)| matches!(told, Told::Drained(_))));
    pair.until("drained", |pair| {
        pair.served.iter().any(|(_, told)| matches!(told, Told::Drained(_)))
    });
    pair.until("all there", |pair| messages(&pair.heard).len() == queued.len());
    assert_eq!(messages(&pair.heard), queued);
}

#[test]
fn a_narrow_way_takes_so_many_bytes_a_second() {
    let mut pair = Pair::open(Network::new(1));
    pair.network.set_bandwidth(pair.at, 10_000);
    let start = pair.ms();
    let sent = numbered(20);
    for message in &sent {
        pair.say(message);
    }
    pair.until("all there", |pair| messages(&pair.served).len() == 20);
    let bytes: usize = sent.iter().map(|message| message.len() + 5).sum();
    let (took_ms, wanted_ms) = (pair.ms() - start, bytes as u64 / 10);
    assert!(took_ms.abs_diff(wanted_ms) <= 12, "{took_ms} and not {wanted_ms} ms");
}

#[test]
fn a_reset_closes_both_sides_and_takes_what_is_under_way() {
    let mut pair = Pair::open(Network::new(1));
    pair.network.set_path_delay(pair.at, 10 * MILLISECOND);
    pair.say(b"lost");
    pair.pass(5);
    assert_eq!(pair.network.reset(pair.at), 1);
    pair.pass(20);
    assert_eq!(messages(&pair.served), [b""; 0]);
    for log in [&pair.served, &pair.heard] {
        let (_, reason) = closed(log).expect("closed");
        assert_eq!(reason, "reading from the socket failed: connection reset");
    }
    assert_eq!((pair.server.session_count(), pair.client.session_count()), (0, 0));
    assert_eq!(pair.network.reset(pair.at), 0);
}

#[test]
fn who_listens_and_who_refuses() {
    let mut pair = Pair::new(Network::new(1));
    pair.network.set_refusing(pair.at, true);
    pair.pass(2);
    let refused = format!("cannot connect to {}: connection refused", pair.at);
    assert_eq!(closed(&pair.heard).map(|(_, reason)| reason), Some(refused.as_str()));
    pair.network.set_refusing(pair.at, false);
    let port = pair.at.port();
    pair.session = pair.client.connect("10.0.0.1", port, &ConnectConfig::default());
    pair.until("open", |pair| pair.client.outbox().is_open(pair.session));
    let taken = pair.server.listen(pair.at, &ListenConfig::default()).unwrap_err();
    assert!(taken.to_string().contains("address in use"), "{taken}");
    pair.heard.clear();
    pair.client.connect("10.0.0.1", port + 1, &ConnectConfig::default());
    pair.pass(2);
    assert!(closed(&pair.heard).is_some_and(|(_, reason)| reason.contains("refused")));
}

#[test]
fn a_way_that_is_cut_is_noticed_by_its_silence() {
    let mut pair = Pair::open(Network::new(1));
    pair.network.cut(pair.at);
    let start = pair.ms();
    pair.say(b"late");
    pair.pass(1000);
    assert_eq!(messages(&pair.served), [b""; 0]);
    pair.network.heal(pair.at);
    pair.pass(2);
    assert_eq!(messages(&pair.served), [b"late"], "it was only held up");
    pair.network.cut(pair.at);
    pair.until("missed", |pair| closed(&pair.heard).is_some() && closed(&pair.served).is_some());
    let limit_ms = u64::from(tapeline_rssl::ClientConfig::default().ping_timeout_s) * 1000;
    let (ms, reason) = closed(&pair.heard).unwrap();
    assert!(reason.contains("ping"), "{reason}");
    assert!((limit_ms - 1000..limit_ms + 3000).contains(&(ms - start)), "{ms} {start}");
    // Nor is it decided whether one connects.
    pair.heard.clear();
    let connect = ConnectConfig { connect_ms: 700, ..ConnectConfig::default() };
    let start = pair.ms();
    pair.client.connect("10.0.0.1", pair.at.port(), &connect);
    pair.until("given up", |pair| closed(&pair.heard).is_some());
    let (ms, reason) = closed(&pair.heard).unwrap();
    assert!(reason.contains("no answer from"), "{reason}");
    assert!((700..=702).contains(&(ms - start)), "{ms} {start}");
    pair.session = pair.client.connect("10.0.0.1", pair.at.port(), &connect);
    pair.pass(100);
    pair.network.heal(pair.at);
    pair.until("open", |pair| pair.client.outbox().is_open(pair.session));
}

#[test]
fn the_last_words_arrive_before_the_end() {
    let mut pair = Pair::open(Network::new(1));
    pair.network.set_path_delay(pair.at, 4 * MILLISECOND);
    let (session, start) = (pair.served_session(), pair.ms());
    assert_eq!(pair.server.outbox().send(session, b"goodbye"), Sent::Queued);
    pair.server.outbox().close(session, "enough");
    pair.until("closed", |pair| closed(&pair.heard).is_some());
    assert_eq!(messages(&pair.heard), [b"goodbye"]);
    assert!(pair.ms() - start <= 6, "{} {start}", pair.ms());
    pair.pass(10);
    assert_eq!((pair.server.session_count(), pair.client.session_count()), (0, 0));
}

#[test]
fn names_have_the_addresses_that_they_were_given() {
    let mut pair = Pair::open(Network::new(1));
    let network = pair.network.clone();
    // Nobody is at the first.
    network.name("market.example", [[10, 0, 0, 9].into(), [10, 0, 0, 1].into()]);
    pair.session = pair.client.connect("market.example", pair.at.port(), &ConnectConfig::default());
    pair.until("open", |pair| pair.client.outbox().is_open(pair.session));
    pair.client.connect("nobody.example", 1, &ConnectConfig::default());
    pair.until("unknown", |pair| closed(&pair.heard).is_some());
    assert!(closed(&pair.heard).is_some_and(|(_, reason)| reason.contains("nobody.example")));
}

/// The events of one exchange, without the moments at which they came.
fn exchange<S: tapeline_channel::System>(
    mut server: Reactor<S>,
    mut client: Reactor<S>,
    mut now: impl FnMut() -> tapeline_time::Time,
) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let listener = server.listen(crate::support::LOOPBACK, &ListenConfig::default()).unwrap();
    let port = server.local_addr(listener).unwrap().port();
    let session = client.connect("127.0.0.1", port, &ConnectConfig::default());
    let (mut served, mut heard) = (Vec::new(), Vec::new());
    while heard.len() < 5 {
        server.poll(now(), Some(Duration::ZERO), |event, outbox: &mut Outbox<'_, S>| {
            if let SessionEvent::Message { session, bytes } = event {
                served.push(bytes.to_vec());
                let sent = outbox.send_with(session, bytes, <[u8]>::reverse);
                assert_eq!(sent, Sent::Queued);
            }
        });
        client.poll(now(), Some(MILLISECOND), |event, outbox| match event {
            SessionEvent::Opened { .. } => {
                for message in numbered(5) {
                    assert_eq!(outbox.send(session, &message), Sent::Queued);
                }
            }
            SessionEvent::Message { bytes, .. } => heard.push(bytes.to_vec()),
            other => panic!("{other:?}"),
        });
    }
    (served, heard)
}

#[test]
fn a_reactor_is_the_same_on_both_systems() {
    let clock = tapeline_time::MonotonicClock::start();
    let [server, client] = [(); 2].map(|()| Reactor::new(ReactorConfig::default()).unwrap());
    let real = exchange(server, client, || clock.now());
    let network = Network::new(1);
    let [server, client] = [(); 2]
        .map(|()| Reactor::with_system(ReactorConfig::default(), network.host([127, 0, 0, 1])));
    let simulated = exchange(server, client, || {
        network.advance(MILLISECOND);
        network.now()
    });
    assert_eq!(simulated, real);
}
