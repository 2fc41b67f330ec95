//! `/metrics`: counts as text for Prometheus.

use std::fmt;
use std::sync::atomic::AtomicU64;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::exemplar::CounterWithExemplar;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry as Metrics, Unit as MetricUnit};
use tapeline_counters::{Block, Count, Kind, Registry, Table, Unit, Value, View};

use crate::merge::{self, Order};
use crate::process::Process;
use crate::series::{ASKED, Example, READ, SERIES, Series};
use crate::views::Collected;

/// Most characters of the labels of an exemplar, by the rules of `OpenMetrics`.
const MAX_EXEMPLAR_CHARS: usize = 128;

/// The type of what [`write()`] writes.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All that there is to tell.
pub(crate) fn write(
    registry: &Registry,
    views: Vec<Collected>,
    version: &'static str,
    top: usize,
) -> Result<String, fmt::Error> {
    let mut metrics = Metrics::default();
    let orders = ASKED.iter().map(|(_, by)| *by).chain(READ.map(|_| None));
    let rows = views.into_iter().zip(orders).filter_map(|(collected, by)| {
        let view = collected.answers.iter().find_map(|answer| answer.view)?;
        let limit = if by.is_some() { top } else { usize::MAX };
        let order = Order { by, ..Order::default() };
        Some((view, by, merge::page(view, collected.answers, order, limit).rows))
    });
    let snapshot = Snapshot {
        registry: registry.clone(),
        rows: rows
            .flat_map(|(view, by, rows)| {
                rows.into_iter().map(move |(of, row)| Line { view, by, of: of.to_string(), row })
            })
            .collect(),
        process: Process::look(),
        version,
    };
    metrics.register_collector(Box::new(snapshot));
    let mut text = String::new();
    encode(&mut text, &metrics)?;
    Ok(text)
}

#[derive(Debug)]
struct Line {
    view: &'static View,
    /// In which order it was asked for.
    by: Option<&'static str>,
    of: String,
    row: Vec<Value>,
}

#[derive(Debug)]
struct Snapshot {
    registry: Registry,
    rows: Vec<Line>,
    process: Process,
    version: &'static str,
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.program(&mut encoder)?;
        for table in tables(&self.registry) {
            for (index, count) in table.counts.iter().enumerate() {
                self.count(&mut encoder, table, index, count)?;
            }
        }
        for series in &SERIES {
            self.series(&mut encoder, series)?;
        }
        Ok(())
    }
}

/// The tables of the registry, each once.
fn tables(registry: &Registry) -> Vec<&'static Table> {
    let mut tables: Vec<&'static Table> = Vec::new();
    for block in registry.blocks() {
        if !tables.iter().any(|known| known.group == block.table().group) {
            tables.push(block.table());
        }
    }
    tables
}

/// A number as it is, or in the base unit.
fn in_unit(value: u64, unit: Unit) -> f64 {
    match unit {
        Unit::Milliseconds => value as f64 / 1e3,
        Unit::Nanoseconds => value as f64 / 1e9,
        Unit::None | Unit::Bytes => value as f64,
    }
}

const fn metric_unit(unit: Unit) -> Option<MetricUnit> {
    match unit {
        Unit::None => None,
        Unit::Bytes => Some(MetricUnit::Bytes),
        Unit::Milliseconds | Unit::Nanoseconds => Some(MetricUnit::Seconds),
    }
}

const fn metric_type(kind: Kind) -> MetricType {
    match kind {
        Kind::Total => MetricType::Counter,
        Kind::Now | Kind::Most => MetricType::Gauge,
    }
}

/// Writes one value: whole where it is.
fn put(
    encoder: prometheus_client::encoding::MetricEncoder<'_>,
    kind: Kind,
    value: u64,
    unit: Unit,
) -> fmt::Result {
    let is_whole = matches!(unit, Unit::None | Unit::Bytes);
    match (kind, is_whole) {
        (Kind::Total, true) => ConstCounter::new(value).encode(encoder),
        (Kind::Total, false) => ConstCounter::new(in_unit(value, unit)).encode(encoder),
        (_, true) => ConstGauge::new(value).encode(encoder),
        (_, false) => ConstGauge::new(in_unit(value, unit)).encode(encoder),
    }
}

/// Writes a total with the part of it that was greatest.
fn put_with_exemplar(
    encoder: prometheus_client::encoding::MetricEncoder<'_>,
    total: u64,
    (label, name, part): (&'static str, String, u64),
    unit: Unit,
) -> fmt::Result {
    let name: String = name.chars().take(MAX_EXEMPLAR_CHARS - label.len()).collect();
    // An exemplar is what was added last.
    let counter = CounterWithExemplar::<_, f64, AtomicU64>::default();
    counter.inc_by(in_unit(total.saturating_sub(part), unit), None, None);
    counter.inc_by(in_unit(part, unit), Some(vec![(label, name)]), None);
    counter.encode(encoder)
}

impl Snapshot {
    fn count(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        table: &Table,
        index: usize,
        count: &Count,
    ) -> fmt::Result {
        let stem = count.metric_stem(table.group);
        let help = count.help();
        self.family(encoder, table, (&stem, &help, count.kind, count.unit), |block| {
            Some(block.value(index))
        })?;
        if count.bound.is_none() || count.kind != Kind::Now {
            return Ok(());
        }
        let (peak, limit) = (format!("{stem}_peak"), format!("{stem}_limit"));
        let about = (&*peak, "The most that was published of it.", Kind::Most, count.unit);
        self.family(encoder, table, about, |block| block.peak(index))?;
        let about = (&*limit, "The bound of it.", Kind::Now, count.unit);
        self.family(encoder, table, about, |block| block.limit(index))
    }

    fn family(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        table: &Table,
        (stem, help, kind, unit): (&str, &str, Kind, Unit),
        value: impl Fn(&Block) -> Option<u64>,
    ) -> fmt::Result {
        let blocks = self.registry.blocks().filter(|block| block.table().group == table.group);
        let metric_unit = metric_unit(unit);
        let help = help.trim_end_matches('.');
        let mut metric =
            encoder.encode_descriptor(stem, help, metric_unit.as_ref(), metric_type(kind))?;
        for block in blocks {
            if let Some(value) = value(block) {
                let labels = [("name", block.name())];
                put(metric.encode_family(&labels)?, kind, value, unit)?;
            }
        }
        Ok(())
    }

    fn series(&self, encoder: &mut DescriptorEncoder<'_>, series: &Series) -> fmt::Result {
        let Series { view, by, stem, help, column, unit, kind, per, labels, exemplar } = *series;
        let is_of_it = |line: &&Line| (line.view.name, line.by) == (view, by);
        let lines: Vec<_> = self.rows.iter().filter(is_of_it).collect();
        if lines.is_empty() {
            return Ok(());
        }
        let metric_unit = metric_unit(unit);
        let help = help.trim_end_matches('.');
        let mut metric =
            encoder.encode_descriptor(stem, help, metric_unit.as_ref(), metric_type(kind))?;
        for Line { view, of, row, .. } in lines {
            let at = |column: &str| view.column(column).and_then(|place| row.get(place));
            let value = match at(column) {
                Some(Value::Text(text)) => u64::from(text == "Up"),
                None | Some(Value::None) => continue,
                Some(value) => value.rank() * per,
            };
            let text = |column: &str| match at(column) {
                Some(Value::Text(text)) => text.to_string(),
                _ => String::new(),
            };
            let mut all = vec![("name", of.clone())];
            all.extend(labels.iter().map(|(label, column)| (*label, text(column))));
            let metric = metric.encode_family(&all)?;
            match exemplar {
                None => put(metric, kind, value, unit)?,
                Some(Example { label, named, column }) => {
                    let part = at(column).map_or(0, Value::rank) * per;
                    put_with_exemplar(metric, value, (label, text(named), part), unit)?;
                }
            }
        }
        Ok(())
    }

    /// What is the same for all programs, under the names that all have.
    fn program(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Process { resident_bytes, cpu_s, descriptors, max_descriptors, datagrams_dropped } =
            self.process;
        let labels = [("version", self.version)];
        let mut info = encoder.encode_descriptor(
            "tapeline_build_info",
            "The program",
            None,
            MetricType::Gauge,
        )?;
        put(info.encode_family(&labels)?, Kind::Now, 1, Unit::None)?;
        let seconds = MetricUnit::Seconds;
        let about = ("process_cpu", "Time of processors", Some(&seconds));
        let cpu = ConstCounter::new(cpu_s);
        cpu.encode(encoder.encode_descriptor(about.0, about.1, about.2, MetricType::Counter)?)?;
        let about = "Datagrams that the kernel dropped at sockets of the process";
        let stem = "tapeline_datagrams_dropped";
        let dropped = encoder.encode_descriptor(stem, about, None, MetricType::Counter)?;
        ConstCounter::new(datagrams_dropped).encode(dropped)?;
        for (stem, help, unit, value) in [
            ("process_resident_memory", "Memory", Unit::Bytes, resident_bytes),
            ("process_open_fds", "Files and sockets", Unit::None, descriptors),
            ("process_max_fds", "The most of them that there may be", Unit::None, max_descriptors),
        ] {
            let unit_of = metric_unit(unit);
            let metric =
                encoder.encode_descriptor(stem, help, unit_of.as_ref(), MetricType::Gauge)?;
            put(metric, Kind::Now, value, unit)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tapeline_counters::{Answer, Rowed};

    use super::*;

    tapeline_counters::counts! {
        /// For tests.
        struct Tested = "tested" {
            /// Bytes that wait.
            output_bytes: usize = now(bytes), at most "output-pool-bytes";
            /// Time at work.
            busy_ns: u64 = total(ns);
            /// Messages.
            messages: u64 = total;
        }
    }

    #[test]
    fn counts_are_written_as_the_convention_has_it() {
        let registry = Registry::default();
        for name in ["a", "b\"c"] {
            let mut writer =
                registry.enter::<Tested>(name, &[("output_bytes", 100)]).expect("room");
            writer.publish(&Tested { output_bytes: 50, busy_ns: 1_500_000_000, messages: 3 });
            writer.publish(&Tested { output_bytes: 7, busy_ns: 1_500_000_000, messages: 3 });
        }
        let text = write(&registry, Vec::new(), "1.2.3", 20).expect("text");
        for line in [
            "# TYPE tapeline_tested_output_bytes gauge",
            "# UNIT tapeline_tested_output_bytes bytes",
            "# HELP tapeline_tested_output_bytes Bytes that wait",
            "tapeline_tested_output_bytes{name=\"a\"} 7",
            "tapeline_tested_output_peak_bytes{name=\"a\"} 50",
            "tapeline_tested_output_limit_bytes{name=\"b\\\"c\"} 100",
            "tapeline_tested_busy_seconds_total{name=\"a\"} 1.5",
            "# TYPE tapeline_tested_messages counter",
            "tapeline_tested_messages_total{name=\"a\"} 3",
            "tapeline_build_info{version=\"1.2.3\"} 1",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"), "{text}");
    }

    tapeline_counters::rows! {
        /// For tests.
        struct HopRow = "hops" {
            /// The service.
            "service" => service: String;
            /// The hop.
            "hop" => hop: &'static str;
            /// The worst one.
            "worstNs" => worst_ns: u64;
            /// Its item.
            "worstItem" => worst_item: String;
            /// The time of all.
            "timeTotalNs" => time_total_ns: u64;
        }
    }

    #[test]
    fn the_worst_item_is_an_exemplar_and_no_label() {
        let worst_item = format!("TRI.N{}", "x".repeat(200));
        let service = "FEED".to_owned();
        let (hop, worst_ns, time_total_ns) = ("hub", 1_500_000_000, 2_000_000_000);
        let row = HopRow { service, hop, worst_ns, worst_item, time_total_ns }.into_row();
        let (of, view) = ("server".to_owned(), Some(HopRow::VIEW));
        let (rows, places) = (vec![row], vec![0]);
        let answer = Answer { of, view, rows, places, next: None, done: 0, refused: None };
        let collected = ASKED.iter().map(|(view, _)| Collected {
            answers: (*view == "hops").then(|| answer.clone()).into_iter().collect(),
            ..Collected::default()
        });
        let text = write(&Registry::default(), collected.collect(), "1.2.3", 20).expect("text");
        let hop = "{name=\"server\",service=\"FEED\",hop=\"hub\"}";
        let item = &format!("TRI.N{}", "x".repeat(200))[..124];
        let total = format!("tapeline_hop_seconds_total{hop} 2.0 # {{item=\"{item}\"}} 1.5");
        let worst = format!("tapeline_hop_worst_seconds{hop} 1.5");
        for line in [total, worst] {
            assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
        }
    }
}
