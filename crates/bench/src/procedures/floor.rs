//! The floor alone.

use hdrhistogram::Histogram;
use tapeline_measure::table::{Table, micros};

use super::floor_measurement;
use crate::floor::{self, MESSAGE_BYTES};
use crate::record::{Distribution, Measurement};
use crate::{BenchError, Options, Output};

/// Half round trips of small messages, and large writes to many sockets.
pub(crate) fn floor(options: &Options, out: &mut dyn Output) -> Result<(), BenchError> {
    let (setup, seconds) = (&options.setup, options.time.as_secs_f64());
    let head =
        ["half round trip", "mean µs", "stdev", "max", "min", "points", "p50", "p99", "p99.9"];
    let mut table = Table::new(&head);
    let mut show = |name: &str, halves: &Histogram<u64>, out: &mut dyn Output| {
        let figures = Distribution::of(halves);
        if let Some(figures) = &figures {
            table.row(row(&format!("{name}, {MESSAGE_BYTES} bytes"), figures));
        }
        out.record(floor_measurement(name, seconds, figures));
    };
    out.progress("floor: bare TCP, half a round trip");
    show("bare TCP", &floor::tcp_ping_pong(setup, options.time)?, out);
    show("bare TCP, paced", &floor::tcp_paced(setup, options.time)?, out);
    out.progress("floor: bare Aeron, half a round trip");
    show("bare Aeron IPC", &floor::aeron_ping_pong(setup, options.time)?, out);
    out.table(&table.to_string());
    out.progress("floor: bare TCP, fan-out of large writes");
    let bytes_per_s = floor::tcp_fan_out(setup, options.mounts, options.time)?;
    let mut table = Table::new(&["fan-out", "MB/s"]);
    let text = format!("bare TCP, large writes to {} sockets", options.mounts);
    table.row(vec![text, format!("{:.0}", bytes_per_s / 1e6)]);
    out.record(Measurement {
        mounts: Some(options.mounts as u64),
        valid: true,
        bytes: [("per second".to_owned(), bytes_per_s)].into(),
        ..floor_measurement("bare TCP fan-out", seconds, None)
    });
    out.table(&table.to_string());
    Ok(())
}

fn row(name: &str, figures: &Distribution) -> Vec<String> {
    vec![
        name.to_owned(),
        micros(figures.mean_ns),
        micros(figures.stddev_ns),
        micros(figures.max_ns as f64),
        micros(figures.min_ns as f64),
        figures.count.to_string(),
        micros(figures.p50_ns as f64),
        micros(figures.p99_ns as f64),
        micros(figures.p999_ns as f64),
    ]
}
