//! What this machine does without us.

mod aeron;
mod paced;
mod tcp;

use std::time::Duration;

use hdrhistogram::Histogram;
use tapeline_measure::processor::Pinned;
use tapeline_measure::stop;

use crate::BenchError;
use crate::setup::Setup;

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

/// Bytes a second over bare TCP to many sockets, on the cores of the system.
pub(crate) fn tcp_fan_out(
    setup: &Setup,
    sockets: usize,
    time: Duration,
) -> Result<f64, BenchError> {
    let _pinned = Pinned::to(setup.our_cores());
    whole(tcp::fan_out(sockets, time, setup.their_cores())?)
}

/// Half round trips over bare Aeron in shared memory, in nanoseconds.
pub(crate) fn aeron_ping_pong(setup: &Setup, time: Duration) -> Result<Histogram<u64>, BenchError> {
    let _pinned = Pinned::to(setup.our_cores());
    whole(aeron::ping_pong(time, setup.their_cores())?)
}
