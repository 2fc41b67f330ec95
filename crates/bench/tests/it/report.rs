//! Records in, one HTML file out.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use hdrhistogram::Histogram;
use quick_xml::Reader;
use quick_xml::events::Event;
use tapeline_bench::record::{
    Cpu, Distribution, Environment, Interface, Load, Measurement, Record, to_hdr,
};
use tapeline_bench::report;
use tapeline_measure::record::{Hop, Noise, Setting, Tool, ToolLine};

const RATES: [u64; 12] = [
    1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 400_000, 600_000, 800_000, 1_000_000,
    1_200_000,
];

/// Latencies around `middle_us` with a tail, the same at each run.
fn latencies(middle_us: f64, seed: u64) -> Histogram<u64> {
    let mut nanos = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    let mut state = seed;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    for _ in 0..6_000 {
        let bell: f64 = (0..4).map(|_| random()).sum::<f64>() / 4.0;
        let tail = if random() < 0.01 { -middle_us * (1.0 - random()).ln() } else { 0.0 };
        let micros = middle_us * (0.6 + 0.8 * bell) + tail;
        nanos.record((micros * 1000.0) as u64).unwrap();
    }
    nanos
}

/// A run whose latencies are `shift` times those of a machine of today.
fn run(topology: &str, rate: u64, shift: f64) -> Measurement {
    let middle_us = shift * (9.0 + (rate as f64 / 60_000.0).powf(1.4));
    let nanos = latencies(middle_us, rate);
    let seconds = 30;
    let warming = [rate / 3, rate * 9 / 10];
    Measurement {
        procedure: "latency".to_owned(),
        topology: topology.to_owned(),
        pacing: "even".to_owned(),
        profile: "latency".to_owned(),
        round: Some(1),
        rate_per_s: Some(rate),
        achieved_per_s: Some(rate as f64 * 0.9998),
        items: Some(100_000),
        mounts: Some(1),
        fan_out: Some(1.0),
        seconds: f64::from(seconds),
        warm_up_dropped_s: 4.0,
        valid: true,
        from_schedule: Distribution::of(&nanos),
        from_send: Distribution::of(&latencies(middle_us * 0.9, rate + 1)),
        floor: Distribution::of(&latencies(4.2, 3)),
        cpu_seconds: BTreeMap::from([("hub".to_owned(), 3.25), ("server".to_owned(), 6.5)]),
        hdr: to_hdr(&nanos),
        series: warming.into_iter().chain((0..seconds as u64 + 2).map(|n| rate - n % 3)).collect(),
        ..Measurement::default()
    }
}

fn fan_out() -> Measurement {
    Measurement {
        procedure: "fanout".to_owned(),
        topology: "thread".to_owned(),
        profile: "throughput".to_owned(),
        achieved_per_s: Some(242_424.0),
        items: Some(50_500),
        mounts: Some(100),
        fan_out: Some(50.5),
        update_bytes: Some(87),
        updates_out_per_s: Some(12_242_412.0),
        floor_out_per_s: Some(29_876_543.0),
        updates_per_cpu_second: Some(9_123_456.0),
        stopped_by: Some("the source sent 97.1 % of what was due at 255 k/s".to_owned()),
        valid: true,
        ..Measurement::default()
    }
}

fn environment() -> Environment {
    Environment {
        version: "0.1.0".to_owned(),
        git_commit: Some("0123456789ab".to_owned()),
        command_line: ["tapeline", "bench", "<script>alert('x')</script>", "a&b"]
            .map(str::to_owned)
            .into(),
        started_utc: "2026-11-22T04:15:02Z".to_owned(),
        kernel: Some("6.1.0-rt #1 SMP PREEMPT_RT".to_owned()),
        kernel_parameters: vec!["isolcpus=2-3".to_owned()],
        cpu: Cpu {
            model: Some("Sample CPU".to_owned()),
            online: Some("0-3".to_owned()),
            flags: ["avx2", "constant_tsc", "nonstop_tsc"].map(str::to_owned).into(),
            ..Cpu::default()
        },
        hypervisor: Some("kvm".to_owned()),
        memory_kib: Some(24_684_096),
        interfaces: vec![Interface {
            name: "eth0".to_owned(),
            driver: Some("sfc".to_owned()),
            speed_mbit_per_s: Some(10_000),
            ..Interface::default()
        }],
        clock_source: Some("tsc".to_owned()),
        clock_read_ns: Some(23.4),
        before: Load {
            average: Some([0.5, 0.25, 0.1]),
            stolen_percent: Some(0.02),
            ..Load::default()
        },
        ..Environment::default()
    }
}

fn samples() -> Vec<Record> {
    let throughput = Measurement {
        procedure: "throughput".to_owned(),
        mounts: Some(1),
        updates_out_per_s: Some(3_141_592.0),
        achieved_per_s: Some(3_141_592.0),
        floor_out_per_s: None,
        ..fan_out()
    };
    let memory = Measurement {
        procedure: "memory".to_owned(),
        topology: "two processes".to_owned(),
        valid: true,
        bytes: BTreeMap::from([("per mount".to_owned(), 61_234.0)]),
        ..Measurement::default()
    };
    let floor = Measurement {
        procedure: "floor".to_owned(),
        topology: "bare TCP".to_owned(),
        valid: true,
        floor: Distribution::of(&latencies(4.2, 3)),
        ..Measurement::default()
    };
    let mut records = vec![Record::from(environment()), floor.into()];
    records.extend(RATES.map(|rate| run("thread", rate, 1.0).into()));
    records.extend(RATES[..10].iter().map(|rate| run("multicast", *rate, 2.3).into()));
    records.push(
        Measurement {
            valid: false,
            why_invalid: Some("the source sent 91.7 % of what was due".to_owned()),
            ..run("thread", 1_300_000, 1.0)
        }
        .into(),
    );
    records.extend([throughput.into(), fan_out().into(), memory.into()]);
    let during = Load { busy_percent: Some(88.5), stolen_percent: Some(1.75), ..Load::default() };
    records.push(Environment { during: Some(during), ..environment() }.into());
    records
}

/// What a document consists of; fails unless it is well-formed.
#[derive(Debug, Default)]
struct Document {
    /// All text outside of styles.
    text: String,
    elements: BTreeMap<String, usize>,
    ids: Vec<String>,
    /// Places that links within the page lead to.
    links: Vec<String>,
    /// Whatever would be fetched.
    fetched: Vec<String>,
}

fn parse(html: &str) -> Document {
    let mut reader = Reader::from_str(html);
    reader.config_mut().check_end_names = true;
    let (mut document, mut open) = (Document::default(), Vec::new());
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error}")) {
            Event::Eof => break,
            Event::Start(start) => {
                let name = String::from_utf8(start.name().as_ref().to_vec()).unwrap();
                attributes(&start, &mut document);
                *document.elements.entry(name.clone()).or_default() += 1;
                open.push(name);
            }
            Event::Empty(start) => attributes(&start, &mut document),
            Event::End(_) => _ = open.pop(),
            Event::Text(text) if open.last().is_some_and(|name| name != "style") => {
                document.text.push_str(&text.decode().unwrap());
            }
            Event::GeneralRef(of) => {
                let name = of.decode().unwrap();
                let known = ["amp", "lt", "gt", "quot", "#39"].contains(&&*name);
                assert!(known, "no such entity in XML: {name}");
                document.text.push_str(match &*name {
                    "lt" => "<",
                    "gt" => ">",
                    "amp" => "&",
                    _ => "'",
                });
            }
            _ => {}
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    document
}

fn attributes(start: &quick_xml::events::BytesStart<'_>, document: &mut Document) {
    for attribute in start.attributes() {
        let attribute = attribute.unwrap();
        let value = String::from_utf8(attribute.value.to_vec()).unwrap();
        match attribute.key.as_ref() {
            b"id" => document.ids.push(value),
            b"href" => match value.strip_prefix('#') {
                Some(id) => document.links.push(id.to_owned()),
                None => document.fetched.push(value),
            },
            b"src" | b"srcset" | b"xlink:href" | b"data" | b"action" => {
                document.fetched.push(value);
            }
            _ => {}
        }
    }
}

#[test]
fn the_page_is_well_formed_and_has_the_numbers_of_the_records() {
    let records = samples();
    let html = report::html(&records);
    let document = parse(&html);
    let figures = [
        "12,242,412",
        "29,876,543",
        "0.41 ×",
        "9,123,456",
        "3,141,592",
        "61,234",
        "10,100,000",
        "hub 3.25, server 6.50",
        "6.1.0-rt #1 SMP PREEMPT_RT",
        "23.5 GiB",
        "10,000 Mbit/s",
        "stolen 1.75 %",
        "busy 88.5 %",
        "IBM 2011",
        "STAC 2008",
        "Red Hat 2008",
        "Highest sustained rate: 1,200,000 updates/s",
    ];
    for figure in figures {
        assert!(document.text.contains(figure), "{figure} is not in the page");
    }
    for record in &records {
        let Record::Result(run) = record else { continue };
        let Some(figures) = run.from_schedule.filter(|_| run.valid) else { continue };
        for ns in [figures.mean_ns, figures.p99_ns as f64, figures.p9999_ns as f64] {
            let micros = match ns / 1e3 {
                us @ ..9.995 => format!("{us:.2}"),
                us @ ..99.95 => format!("{us:.1}"),
                us => format!("{us:.0}"),
            };
            let plain = document.text.replace(',', "");
            assert!(plain.contains(&micros), "{micros} µs of {:?} is missing", run.rate_per_s);
        }
    }
}

#[test]
fn there_are_all_figures() {
    let document = parse(&report::html(&samples()));
    for name in [
        "Mean latency against rate",
        "Largest latency against rate",
        "Standard deviation against rate",
        "Percentiles, thread",
        "Percentiles, multicast",
        "Latencies in 10 µs buckets",
        "Updates in each second",
        "Fan-out: updates out",
    ] {
        assert!(document.text.contains(name), "no figure: {name}");
    }
    // Three against the rate, two of percentiles, two of bars, each for wide
    // and narrow pages with a key for five; histograms and seconds of four
    // rates of two series.
    let keys = document.text.matches("floor: bare TCP").count();
    assert!(keys >= 6, "{keys}");
    assert!(document.elements["svg"] >= 7 * 2 + 4 * 2 * 2, "{:?}", document.elements);
}

#[test]
fn nothing_is_fetched_and_every_link_leads_somewhere() {
    let html = report::html(&samples());
    let document = parse(&html);
    assert_eq!(document.fetched, [""; 0]);
    assert!(!html.contains("url(") && !html.contains("@import"), "the style fetches something");
    assert!(!document.elements.contains_key("script"), "{:?}", document.elements);
    for link in &document.links {
        assert!(document.ids.contains(link), "#{link} leads nowhere");
    }
    let mut ids = document.ids.clone();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), document.ids.len(), "an id is there twice: {:?}", document.ids);
}

#[test]
fn what_is_in_a_record_is_never_markup() {
    let evil = "</td><script>alert(1)</script>\"'&\u{0}\u{1b}";
    let of_all = |mut run: Measurement| {
        run.topology = evil.to_owned();
        run.pacing = evil.to_owned();
        run.profile = evil.to_owned();
        run.stopped_by = Some(evil.to_owned());
        run.cpu_seconds = BTreeMap::from([(evil.to_owned(), 1.0)]);
        run.bytes = BTreeMap::from([(evil.to_owned(), 1.0)]);
        run
    };
    let invalid = Measurement { valid: false, why_invalid: Some(evil.to_owned()), ..fan_out() };
    let procedures = ["latency", "throughput", "fanout", "floor", "memory", evil];
    let mut records: Vec<Record> = vec![environment().into()];
    for procedure in procedures {
        let procedure = procedure.to_owned();
        let slow = Measurement { procedure: procedure.clone(), ..of_all(run("x", 1_000, 1.0)) };
        let set = Measurement { rate_per_s: None, procedure, ..of_all(invalid.clone()) };
        records.extend([slow.into(), set.into()]);
    }
    let html = report::html(&records);
    let document = parse(&html);
    assert!(!document.elements.contains_key("script"), "{:?}", document.elements);
    assert!(document.text.contains("'<script>alert("), "the command line is missing");
}

#[test]
fn a_run_that_does_not_count_shows_its_reason_and_no_figure() {
    let bad = Measurement {
        valid: false,
        why_invalid: Some("7 updates were lost".to_owned()),
        from_schedule: Some(Distribution { mean_ns: 123_456_789.0, ..Distribution::default() }),
        ..run("thread", 50_000, 1.0)
    };
    let document = parse(&report::html(&[bad.into()]));
    assert!(document.text.contains("✕ invalid: 7 updates were lost"));
    assert!(!document.text.contains("123,457"), "a figure of it is shown");
}

#[test]
fn a_page_of_nothing_is_well_formed() {
    let document = parse(&report::html(&[]));
    assert!(document.text.contains("Nothing was measured"), "{}", document.text);
    parse(&report::html(&[Record::from(Measurement::default())]));
    parse(&report::html(&[Record::from(Environment::default())]));
}

#[test]
fn result_files_become_a_page_and_bad_lines_are_named() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("report-{}.json", std::process::id()));
    let lines = samples().into_iter().map(|record| serde_json::to_string(&record).unwrap() + "\n");
    fs::write(&path, lines.collect::<String>() + "{\"bench\":\"trial\"}\n").unwrap();
    let html = report::from_files(&[&path]).unwrap();
    fs::remove_file(&path).unwrap();
    let document = parse(&html);
    assert!(document.text.contains("12,242,412"));
    assert!(document.text.contains("line 30: unknown variant"), "{}", document.text);
    let error = report::from_files(&[&path]).unwrap_err().to_string();
    assert!(error.contains("cannot read the results in"), "{error}");
}

/// A record of each tool that judges a host, with text in it that is no markup.
fn of_tools(shift: f64) -> String {
    let nanos = latencies(30.0 * shift, 7);
    let of = |tool: &str, transport: &str, role: &str| Tool {
        tool: tool.to_owned(),
        transport: transport.to_owned(),
        role: role.to_owned(),
        size_bytes: Some(100),
        rate_per_s: Some(1000),
        valid: true,
        seconds: 1.0,
        from_send: Distribution::of(&nanos),
        hdr: to_hdr(&nanos),
        ..Tool::default()
    };
    let mut all = Vec::new();
    for (rate, verdict) in [(1000, "good"), (50_000, "max of max <b> 412 > 100")] {
        let figures = [("mean_mean", 9e3 * shift), ("max_max", 4e5)];
        all.push(Tool {
            rate_per_s: Some(rate),
            verdict: Some(verdict.to_owned()),
            per_second: figures.map(|(name, ns)| (name.to_owned(), ns)).into(),
            ..of("nwtool", "tcp", "send")
        });
    }
    for size in [1, 64] {
        let row = [("mean", 4_000), ("stddev", 400)];
        all.push(Tool {
            size_bytes: Some(size),
            classic: row.map(|(name, ns)| (name.to_owned(), ns)).into(),
            ..of("pingpong", "tcp", "client")
        });
    }
    let hop = |name: &str, kind: &str| Hop {
        name: name.to_owned(),
        kind: kind.to_owned(),
        predicted_ns: 20_000.0,
        p50_ns: 21_000,
        p99_ns: 30_000,
        p999_ns: 90_000,
    };
    let hops = vec![hop("client→<gateway>", "tcp"), hop("<gateway>", "work")];
    all.push(Tool { hops, ..of("aio", "order-native", "executions") });
    all.push(Tool {
        counts: [("received", 1000), ("lost", 3), ("own_queue", 2)]
            .map(|(n, v)| (n.to_owned(), v))
            .into(),
        series: vec![[0, 500, 0, 4_000, 90_000], [1, 500, 0, 5_000, 80_000]],
        options: [("port".to_owned(), "<42222>".to_owned())].into(),
        ..of("mcast", "udp", "receive")
    });
    all.push(Tool { medium: Some("ext4".to_owned()), ..of("disk", "buffered", "write") });
    all.push(Tool {
        noise: Some(Noise { core: 1, lost_percent: 0.1, max_ns: 9_000 }),
        options: [("core".to_owned(), "1".to_owned())].into(),
        ..of("jitter", "", "spin")
    });
    let setting =
        Setting { id: "<a>".to_owned(), state: "differs".to_owned(), ..Setting::default() };
    let lines = all.into_iter().map(|tool| ToolLine::Tool(Box::new(tool)));
    let lines = lines.chain([ToolLine::Setting(Box::new(setting))]);
    lines.map(|line| line.to_value().to_string() + "\n").collect()
}

#[test]
fn every_section_of_hosts_is_well_formed_and_none_is_market_data() {
    let name = format!("hosts-{}", std::process::id());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    let paths = ["a.jsonl", "b.jsonl"].map(|name| folder.join(name));
    for (path, shift) in paths.iter().zip([1.0, 1.5]) {
        fs::write(path, of_tools(shift)).unwrap();
    }
    let document = parse(&report::from_files(&paths).unwrap());
    let sections =
        ["comparison", "matrix", "pingpong", "flow", "multicast", "disk", "noise", "settings"];
    for id in sections {
        assert!(document.ids.iter().any(|of| of == id), "{id}: {:?}", document.ids);
    }
    for not_there in ["latency", "throughput", "fanout", "verdict"] {
        assert!(document.ids.iter().all(|id| id != not_there), "{not_there}");
    }
    assert!(
        document.fetched.is_empty()
            && document.links.iter().all(|to| document.ids.contains(to) || to == "main")
    );
    for told in ["<gateway>", "117 µs", "b.jsonl is slower than a.jsonl", "0.299 % was lost"] {
        assert!(document.text.contains(told), "{told}: {}", document.text);
    }
    // One file alone is beside nothing.
    let document = parse(&report::from_files(&paths[..1]).unwrap());
    fs::remove_dir_all(&folder).unwrap();
    assert!(document.ids.iter().all(|id| id != "comparison"));
    // It has a verdict, whose sentences lead to their sections.
    assert!(document.ids.iter().any(|id| id == "verdict"), "{:?}", document.ids);
    assert!(document.links.iter().all(|to| document.ids.contains(to) || to == "main"));
}
