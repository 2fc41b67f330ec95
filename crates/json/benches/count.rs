//! Converts one row of the JSON benchmark so often, for callgrind to count the
//! instructions of a conversion as the difference of two runs:
//!
//! ```text
//! cargo bench -p tapeline-json --bench count --no-run
//! valgrind --tool=callgrind target/release/deps/count-* read_request 1000   # and 2000
//! ```

mod support;

use support::Fixture;

fn main() {
    let arguments: Vec<String> =
        std::env::args().filter(|argument| argument != "--bench").collect();
    let [_, row, times] = &arguments[..] else {
        // Also what `cargo bench` without a row comes to.
        return eprintln!("usage: count write_MESSAGE|read_MESSAGE TIMES");
    };
    let (direction, message) = row.split_once('_').expect("a direction and a message");
    let times: u32 = times.parse().expect("a number of times");
    let mut fixtures = Fixture::all();
    let fixture = fixtures.iter_mut().find(|fixture| fixture.name == message);
    let fixture = fixture.expect("a message of that name");
    for _ in 0..times {
        match direction {
            "write" => fixture.write(),
            "read" => fixture.read(),
            other => panic!("no direction: {other}"),
        }
    }
}
