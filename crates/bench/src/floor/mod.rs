//! What this machine does without us.

mod aeron;
mod fan_out;
mod paced;
mod tcp;

use std::time::Duration;

use hdrhistogram::Histogram;
use tapeline_measure::processor::Pinned;
use tapeline_measure::stop;

use crate::BenchError;
use crate::setup::Setup;
pub(crate) use fan_out::Writes;

/// Bytes of a message of the ping-pong.
pub(crate) const MESSAGE_BYTES: usize = 120;

/// Messages a second of the floor that latencies are held against.
pub(crate) const RATE_PER_S: u64 = 50_000;

/// A figure, unless the measurement was cut short.
fn whole<T>(figure: T) -> Result<T, BenchError> {
    stop::check()?;
    Ok(figure)
}

/// Half round trips over bare TCP at [`RATE_PER_S`], on the cores of the
/// system, from the moment at which each was due, in nanoseconds.
pub(crate) fn tcp_paced(setup: &Setup, time: Duration) -> Result<Histogram<u64>, BenchError> {
    let _pinned = Pinned::to(setup.our_cores());
    whole(paced::ping_pong(RATE_PER_S, time, setup.their_cores())?)
}

/// Half round trips over bare TCP as fast as it goes, on the cores of the
/// system, in nanoseconds.
pub(crate) fn tcp_ping_pong(setup: &Setup, time: Duration) -> Result<Histogram<u64>, BenchError> {
    let _pinned = Pinned::to(setup.our_cores());
    whole(tcp::ping_pong(time, setup.their_cores())?)
}

/// Updates over bare TCP to many sockets, in writes of so many bytes, on the cores of the
/// system.
pub(crate) fn fan_out_writes(
    setup: &Setup,
    (sockets, write_bytes): (usize, usize),
    time: Duration,
) -> Result<Writes, BenchError> {
    let _pinned = Pinned::to(setup.our_cores());
    whole(fan_out::writes((sockets, write_bytes), time, setup.their_cores())?)
}

/// Copies of an update a CPU second into many buffers, so many bytes of each in a visit,
/// on a core of the system.
pub(crate) fn fan_out_copies(
    setup: &Setup,
    (buffers, visit_bytes): (usize, usize),
    time: Duration,
) -> Result<f64, BenchError> {
    let _pinned = Pinned::to(setup.their_cores());
    whole(fan_out::copies((buffers, visit_bytes), time))
}

/// Half round trips over bare Aeron in shared memory, in nanoseconds.
pub(crate) fn aeron_ping_pong(setup: &Setup, time: Duration) -> Result<Histogram<u64>, BenchError> {
    let _pinned = Pinned::to(setup.our_cores());
    whole(aeron::ping_pong(time, setup.their_cores())?)
}
