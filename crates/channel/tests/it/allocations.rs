//! No allocation for a message once sessions are warm.

use crate::support::World;
use allocation_counter::measure;
use std::time::Duration;
use tapeline_channel::{ConnectConfig, ListenConfig, Sent, SessionEvent, SessionId};

const FAN_OUT: usize = 8;

/// The client sends, the server answers the sender and tells all others.
fn round(world: &mut World, client: SessionId, sessions: &[SessionId], message: &[u8]) {
    assert_eq!(world.client.reactor.outbox().send(client, message), Sent::Queued);
    let mut got = 0;
    while got < FAN_OUT {
        // A busy loop asks the kernel by the time that goes by.
        let now = world.now();
        world.server.reactor.poll(now, Some(Duration::ZERO), |event, outbox| {
            let SessionEvent::Message { bytes, .. } = event else { return };
            for (at, session) in sessions.iter().enumerate() {
                let patch = |copy: &mut [u8]| copy[0] = at as u8;
                assert_eq!(outbox.send_with(*session, bytes, patch), Sent::Queued);
            }
        });
        world.client.reactor.poll(now, Some(Duration::ZERO), |event, _| {
            got += usize::from(matches!(event, SessionEvent::Message { .. }));
        });
    }
}

#[test]
fn a_warm_reactor_does_not_allocate() {
    let mut world = World::new(&ListenConfig::default());
    let pairs: Vec<_> = (0..FAN_OUT).map(|_| world.open(&ConnectConfig::default())).collect();
    let sessions: Vec<_> = pairs.iter().map(|(_, server)| *server).collect();
    for length in [120, 6_000, 20_000] {
        let message = vec![9; length];
        for _ in 0..20 {
            round(&mut world, pairs[0].0, &sessions, &message);
        }
        let counted = measure(|| {
            for _ in 0..200 {
                round(&mut world, pairs[0].0, &sessions, &message);
            }
        });
        assert_eq!(counted.count_total, 0, "messages of {length} bytes");
    }
}
