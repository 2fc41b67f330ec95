//! No row of the wire benchmark allocates, in either direction.

#[path = "../../benches/support/mod.rs"]
mod support;

use allocation_counter::measure;
use support::{Fixture, ROWS};

#[test]
fn the_counter_sees_an_allocation() {
    let counted = measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn decoding_and_encoding_do_not_allocate() {
    for (name, work, message_name) in ROWS {
        let mut fixture = Fixture::new(message_name);
        let counted = measure(|| {
            fixture.run(work);
        });
        assert_eq!(counted.count_total, 0, "{name}");
    }
}
