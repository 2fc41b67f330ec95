//! The floor alone.

use hdrhistogram::Histogram;
use tapeline_measure::table::{Table, micros, rate};

use super::floor_measurement;
use crate::floor::{self, MESSAGE_BYTES};
use crate::record::{Distribution, Measurement};
use crate::{BenchError, Options, Output};

/// Bytes of a write of the fan-out: a few updates, a packed frame, many of them.
const WRITE_BYTES: [usize; 3] = [512, 6_144, 65_536];

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
    fan_out(options, out)
}

/// Writes of several sizes to many sockets, and copies without sockets.
fn fan_out(options: &Options, out: &mut dyn Output) -> Result<(), BenchError> {
    let (setup, seconds) = (&options.setup, options.time.as_secs_f64());
    let head = ["fan-out", "bytes a visit", "updates/CPU s", "/s", "writer", "reader"];
    let mut table = Table::new(&head);
    for write_bytes in WRITE_BYTES {
        out.progress(&format!("floor: bare TCP, fan-out in writes of {write_bytes} bytes"));
        let work = (options.mounts, write_bytes);
        let found = floor::fan_out_writes(setup, work, options.time)?;
        table.row(vec![
            format!("bare TCP, {} sockets", options.mounts),
            write_bytes.to_string(),
            rate(found.per_busy_cpu_second),
            rate(found.updates_per_s),
            format!("{:.0} %", found.writer_share * 100.0),
            format!("{:.0} %", found.reader_share * 100.0),
        ]);
        let copies = floor::fan_out_copies(setup, work, options.time)?;
        let what = format!("copies into {} buffers", options.mounts);
        let dash = "-".to_owned();
        let cells = [write_bytes.to_string(), rate(copies), dash.clone(), dash.clone(), dash];
        table.row([what].into_iter().chain(cells).collect());
        out.record(Measurement {
            mounts: Some(options.mounts as u64),
            valid: true,
            write_bytes: Some(write_bytes as u64),
            floor_out_per_s: Some(found.updates_per_s),
            floor_per_busy_cpu_second: Some(found.per_busy_cpu_second),
            memory_copies_per_s: Some(copies),
            ..floor_measurement("bare TCP fan-out", seconds, None)
        });
    }
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
