//! Nothing is allocated for a message once all buffers have been used.

use allocation_counter::measure;
use tapeline_fix::{
    Acceptor, Admission, CompIds, Limits, Logon, Message, Outputs, Rejection, Store, Verdict,
    decimal, timestamp_ns,
};
use tapeline_time::Time;

use crate::support::{LOGON, NOON_NS, ORDER, client};

/// As a gateway is: reads each order, and writes each report into its own buffer.
struct Gateway {
    store: Store,
    sent: u64,
    sum: i64,
}

impl Outputs for Gateway {
    fn admit(&mut self, _: &Logon<'_>) -> Admission {
        Admission::Granted
    }

    fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    fn request(&mut self, message: &Message<'_>) -> Result<(), Rejection> {
        let price = message.get(44).and_then(decimal).unwrap_or(0);
        let parties = message.group(453, 448).filter(|party| party.get(452).is_some()).count();
        self.sum += price + parties as i64;
        assert!(message.get(60).and_then(timestamp_ns).is_some());
        Err(Rejection::Business { reason: 0, tag: 0, text: "no" })
    }

    fn send(&mut self, bytes: &[u8]) {
        self.sent += bytes.len() as u64;
    }
}

#[test]
fn nothing_is_allocated_for_a_message() {
    let (mut now_ns, ids) = (NOON_NS, CompIds::new(b"FGW", b"CLIENT"));
    let mut gateway = Gateway { store: Store::new(50), sent: 0, sum: 0 };
    let limits = Limits { throttle_per_s: u32::MAX, ..Limits::default() };
    let mut acceptor = Acceptor::new(Time::from_nanos(now_ns), b"FGW", limits);
    // All that is to come, as bytes, in two parts each.
    let mut wire = vec![client("A", 1, LOGON)];
    for number in (2..2000).step_by(4) {
        wire.push(client("D", number, &format!("11=C1|{ORDER}")));
        wire.push(client("1", number + 1, "112=T|"));
        wire.push(client("2", number + 2, "7=1|16=0|"));
        wire.push(client("D", number + 3, &format!("11=C1|{ORDER}9999=1|")));
    }
    let mut frame = Vec::new();
    let mut turn = |bytes: &[u8]| {
        now_ns += 1_000_000_000;
        let now = Time::from_nanos(now_ns);
        let (first, second) = bytes.split_at(70);
        for part in [first, second] {
            let verdict = acceptor.received(now, now_ns, part, &mut gateway);
            assert_eq!(verdict, Verdict::Open);
        }
        let body = |writer: &mut tapeline_fix::Writer<'_>| {
            writer.text(17, b"E1").decimal(31, 1_025_000_000).number(32, 10).time(60, now_ns);
        };
        gateway.store.write(&ids, now_ns, b"8", false, body, &mut frame);
        let later = Time::from_nanos(now_ns + 31_000_000_000);
        assert_eq!(acceptor.timeout(later, now_ns, &mut gateway), Verdict::Open);
    };
    let (warm_up, counted) = wire.split_at(100);
    for bytes in warm_up {
        turn(bytes);
    }
    let allocations = measure(|| {
        for bytes in counted {
            turn(bytes);
        }
    });
    assert_eq!((allocations.count_total, counted.len()), (0, 1901));
    assert!(gateway.sent > 1_000_000 && gateway.sum > 0);
}
