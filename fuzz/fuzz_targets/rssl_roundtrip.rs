//! Whatever is written by one side, in whatever way and cut by the socket
//! wherever, is read by the other: whole, and in order within its priority.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::rssl::{ACTIVE, CLIENT, carry, ends, feed};
use tapeline_rssl::{Event, Priority, SendError};
use tapeline_time::Time;

fuzz_target!(|data: &[u8]| {
    let Some((choice, steps)) = data.split_first() else { return };
    let (mut client, mut server) = ends(*choice & !ACTIVE);
    let mut quiet = |_: Event<'_>| ();
    while carry(&mut client, &mut server, &mut quiet) | carry(&mut server, &mut client, &mut quiet)
    {
    }
    let (from, to) =
        if choice & CLIENT == 0 { (&mut server, &mut client) } else { (&mut client, &mut server) };

    let mut written: [Vec<Vec<u8>>; 3] = Default::default();
    let mut read: [Vec<Vec<u8>>; 3] = Default::default();
    let mut deliver = |event: Event<'_>| match event {
        Event::Message(bytes) => read[usize::from(bytes[0] % 3)].push(bytes.to_vec()),
        other => panic!("{other:?}"),
    };
    for step in steps.chunks_exact(3) {
        let queue = usize::from(step[0] % 3);
        let priority = Priority::ALL[queue];
        // Mostly short, up to several fragments; regular or noisy.
        let length = 1 + (usize::from(step[1]) << (step[2] & 7)).min(19_000);
        let noise = step[2] & 8 != 0;
        let mut state = u32::from(step[1]);
        let mut message: Vec<u8> = (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(u32::from(noise));
                (state >> 24) as u8
            })
            .collect();
        message[0] = queue as u8;
        let result = match step[0] >> 4 {
            0..4 => from.send(priority, &message),
            4..10 => from.pack(priority, &message).map(|_| ()),
            10..12 => from.pack_room(priority, length).map(|mut room| {
                room.copy_from_slice(&message);
                room.commit(length);
            }),
            12 => {
                from.flush();
                continue;
            }
            _ => {
                let Some(transmit) = from.poll_transmit() else { continue };
                let count = (usize::from(step[1]) * 40 + 1).min(transmit.total_bytes());
                let wire: Vec<u8> =
                    transmit.iter().flat_map(|slice| slice.to_vec()).take(count).collect();
                from.sent(count, Time::ZERO);
                feed(to, &wire, &mut deliver);
                continue;
            }
        };
        match result {
            Ok(()) => written[queue].push(message),
            Err(SendError::TooLong { .. } | SendError::OutputFull { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    from.flush();
    carry(from, to, &mut deliver);
    assert!(written == read);
});
