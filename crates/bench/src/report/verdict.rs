//! What tools found of one host, in a few sentences: what comes first on its
//! page. Each has the figures that it rests on, and leads to their section.

use std::collections::BTreeMap;

use tapeline_measure::disturbance::Disturbance;
use tapeline_measure::record::{Setting, Tool};

use super::format::{escape, whole};
use super::hosts::{OfHost, melting, section};

/// The order path that was published, in µs.
const PUBLISHED_ORDER_US: f64 = 117.0;

/// How far a median may be from what was predicted, in percent.
const PREDICTED_WITHIN_PERCENT: f64 = 15.0;

/// The sentences, each with the anchor of its section; none of records of
/// several files, which are compared.
pub(super) fn sentences(all: &[OfHost], settings: &[Setting]) -> Vec<(&'static str, String)> {
    if all.windows(2).any(|pair| pair[0].file != pair[1].file) {
        return Vec::new();
    }
    let sentences = [
        ("noise", noise(all)),
        ("pingpong", round_trips(all)),
        ("matrix", matrix(all)),
        ("multicast", multicast(all)),
        ("flow", order(all)),
        ("disk", disk(all)),
        ("settings", differing(settings)),
    ];
    sentences.into_iter().filter_map(|(id, text)| Some((id, text?))).collect()
}

/// What others had of the cores meanwhile, if that is worth telling.
pub(super) fn disturbance(all: &[OfHost]) -> Option<String> {
    let looked_at: Vec<Disturbance> = all.iter().filter_map(|of| of.tool.disturbed).collect();
    let told = || looked_at.iter().copied().filter(Disturbance::is_worth_telling);
    let worst = told().reduce(Disturbance::worst)?;
    Some(format!(
        "This host had other work meanwhile: in {} of {} cells that were long enough to tell, \
         {worst} at most. Tails, and melting points, may be that work's. Measure again when it is \
         quiet.",
        told().count(),
        looked_at.len(),
    ))
}

/// The section.
pub(super) fn verdict(all: &[OfHost], settings: &[Setting]) -> String {
    let items: Vec<String> = sentences(all, settings)
        .into_iter()
        .map(|(id, text)| {
            let text = escape(&text);
            format!("<li>{text} <a href=\"#{id}\" aria-label=\"Figures: {id}\">figures</a></li>\n")
        })
        .collect();
    if items.is_empty() || all.is_empty() {
        return String::new();
    }
    let disturbed = disturbance(all)
        .map_or(String::new(), |text| format!("<p class=\"warning\">{}</p>\n", escape(&text)));
    let inner = format!("{disturbed}<ul class=\"verdict\">\n{}</ul>\n", items.concat());
    section("verdict", "Verdict", &inner)
}

fn of<'a>(all: &'a [OfHost], tool: &'static str) -> impl Iterator<Item = &'a Tool> {
    all.iter().map(|of| &of.tool).filter(move |of| of.tool == tool)
}

fn micros(nanos: u64) -> String {
    let us = nanos as f64 / 1e3;
    match us {
        ..10.0 => format!("{us:.1} µs"),
        ..10_000.0 => format!("{us:.0} µs"),
        _ => format!("{:.1} ms", us / 1e3),
    }
}

fn noise(all: &[OfHost]) -> Option<String> {
    let spun = of(all, "jitter").filter(|tool| tool.role == "spin");
    let max = |tool: &&Tool| tool.from_send.map_or(0, |of| of.max_ns);
    let worst = spun.max_by_key(max)?;
    let count = |name: &str| worst.counts.get(name).copied().unwrap_or(0);
    let lost = count("total_ns") as f64 / 1e7 / worst.seconds.max(1e-9);
    let unexplained = count("gaps").saturating_sub(count("interrupts") + count("switches"));
    let who = match (count("steal_ms"), unexplained) {
        (steal @ 1.., _) => format!("the hypervisor took {steal} ms"),
        (0, 0) => "interrupts and other threads explain all of it".to_owned(),
        (0, gaps) => format!(
            "{} of {} gaps are neither interrupts nor other threads",
            whole(gaps as f64),
            whole(count("gaps") as f64)
        ),
    };
    Some(format!(
        "The floor of every tail: core {} loses {lost:.3} % of its time, up to {} at once; {who}.",
        worst.options.get("core").map_or("?", String::as_str),
        micros(max(&worst)),
    ))
}

/// The median of the smallest size, by transport.
fn round_trips(all: &[OfHost]) -> Option<String> {
    let mut least: BTreeMap<&str, &Tool> = BTreeMap::new();
    for tool in of(all, "pingpong").filter(|tool| tool.valid && tool.from_send.is_some()) {
        let at = least.entry(&tool.transport).or_insert(tool);
        if tool.size_bytes < at.size_bytes {
            *at = tool;
        }
    }
    let median = |name: &str| least.get(name).and_then(|tool| tool.from_send).map(|of| of.p50_ns);
    let tcp = median("tcp")?;
    let others = [
        ("unix_stream", "a Unix socket"),
        ("ring", "a ring between threads"),
        ("aeron", "Aeron"),
        ("rssl", "a session of ours"),
    ];
    let told: Vec<String> = others
        .into_iter()
        .filter_map(|(name, words)| Some(format!("{} over {words}", micros(median(name)?))))
        .collect();
    let beside = if told.is_empty() { String::new() } else { format!("; {}", told.join(", ")) };
    let tool = least.get("tcp")?;
    let tail = tool.from_send.map_or(0, |of| of.p99_ns);
    Some(format!(
        "A message of {} B takes {} one way over TCP, {} at 99 %{beside}.",
        tool.size_bytes.unwrap_or(0),
        micros(tcp),
        micros(tail),
    ))
}

fn matrix(all: &[OfHost]) -> Option<String> {
    let mut by_transport: BTreeMap<&str, Vec<&Tool>> = BTreeMap::new();
    for tool in of(all, "nwtool") {
        by_transport.entry(&tool.transport).or_default().push(tool);
    }
    let told: Vec<String> = by_transport
        .iter()
        .filter_map(|(name, cells)| {
            let highest = cells.iter().filter_map(|tool| tool.rate_per_s).max()?;
            Some(match melting(cells) {
                None => format!("{name} holds {}/s", whole(highest as f64)),
                Some((rate, size, _)) => {
                    format!("{name} melts at {}/s of {size} B", whole(rate as f64))
                }
            })
        })
        .collect();
    (!told.is_empty()).then(|| format!("At a rate: {}.", told.join(", ")))
}

fn multicast(all: &[OfHost]) -> Option<String> {
    let receivers: Vec<&Tool> = of(all, "mcast").filter(|tool| tool.role == "receive").collect();
    let sum =
        |name: &str| -> u64 { receivers.iter().filter_map(|tool| tool.counts.get(name)).sum() };
    let received = sum("received");
    if received == 0 {
        return None;
    }
    // A receiver listens for longer than is sent.
    let senders = of(all, "mcast").filter(|tool| tool.role == "send");
    let rate: f64 = senders.filter_map(|tool| tool.achieved_per_s).sum();
    let lost = match (sum("lost"), sum("own_queue")) {
        (0, _) => "nothing was lost".to_owned(),
        (lost, own) => format!(
            "{} of {} were lost, {} of them in this host's own queue",
            whole(lost as f64),
            whole((received + lost) as f64),
            whole(own.min(lost) as f64)
        ),
    };
    let at = if rate > 0.0 { format!(" at {}/s", whole(rate)) } else { String::new() };
    Some(format!("Multicast{at}: {lost}."))
}

fn order(all: &[OfHost]) -> Option<String> {
    let mut flows = of(all, "aio");
    let tool = flows.find(|tool| tool.transport == "order-native" && tool.valid)?;
    let measured = tool.from_send?.p50_ns;
    let predicted: f64 = tool.hops.iter().map(|hop| hop.predicted_ns).sum();
    let off = (measured as f64 / predicted.max(1.0) - 1.0) * 100.0;
    let judged = match off.abs() <= PREDICTED_WITHIN_PERCENT {
        true => "the parts explain the whole",
        false if off > 0.0 => "its threads are in each other's way",
        false => "a link is faster in the flow than alone",
    };
    let more = if off < 0.0 { "less" } else { "more" };
    Some(format!(
        "An order's way through an exchange takes {} in the median, {:.0} % {more} than its parts \
         predict ({judged}); {PUBLISHED_ORDER_US:.0} µs were published.",
        micros(measured),
        off.abs(),
    ))
}

fn disk(all: &[OfHost]) -> Option<String> {
    let durable = |tool: &&Tool| {
        let mode = tool.options.get("mode").unwrap_or(&tool.transport);
        tool.valid && tool.role == "write" && mode.ends_with("dsync")
    };
    let tool = of(all, "disk").find(durable)?;
    let of = tool.from_send?;
    Some(format!(
        "A write of {} B that is durable takes {}, {} at 99 %, on {}.",
        tool.size_bytes.unwrap_or(0),
        micros(of.p50_ns),
        micros(of.p99_ns),
        tool.medium.as_deref().unwrap_or("an unknown medium"),
    ))
}

fn differing(settings: &[Setting]) -> Option<String> {
    let differs: Vec<&str> =
        settings.iter().filter(|of| of.state == "differs").map(|of| of.id.as_str()).collect();
    if settings.is_empty() {
        return None;
    }
    let profile = settings.first().map_or("", |of| of.profile.as_str());
    let named = match differs.len() {
        0 => String::new(),
        1..=3 => format!(": {}", differs.join(", ")),
        _ => format!(": {} and others", differs[..3].join(", ")),
    };
    Some(format!(
        "{} of {} settings differ from the profile {profile}{named}.",
        differs.len(),
        settings.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_measure::histogram::Distribution;
    use tapeline_measure::record::Hop;

    fn on(file: &str, tool: Tool) -> OfHost {
        OfHost { file: file.to_owned(), tool }
    }

    fn tool(name: &str, transport: &str, p50_us: u64) -> Tool {
        let of = Distribution {
            p50_ns: p50_us * 1000,
            p99_ns: p50_us * 3000,
            max_ns: p50_us * 100_000,
            ..Distribution::default()
        };
        Tool {
            tool: name.to_owned(),
            transport: transport.to_owned(),
            size_bytes: Some(64),
            valid: true,
            seconds: 1.0,
            from_send: Some(of),
            ..Tool::default()
        }
    }

    fn counts(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
        of.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    fn machine() -> Vec<OfHost> {
        let jitter = Tool {
            role: "spin".to_owned(),
            options: [("core".to_owned(), "1".to_owned())].into(),
            counts: counts(&[("gaps", 1000), ("interrupts", 990), ("total_ns", 210_000)]),
            ..tool("jitter", "", 41)
        };
        let cell = |transport: &str, rate, verdict: &str| Tool {
            rate_per_s: Some(rate),
            verdict: Some(verdict.to_owned()),
            ..tool("nwtool", transport, 9)
        };
        let sender = Tool {
            role: "send".to_owned(),
            achieved_per_s: Some(10_000.0),
            ..tool("mcast", "udp", 1)
        };
        let multicast = Tool {
            role: "receive".to_owned(),
            achieved_per_s: Some(3_000.0),
            counts: counts(&[("received", 9_990), ("lost", 10), ("own_queue", 10)]),
            ..tool("mcast", "udp", 1)
        };
        let order = Tool {
            hops: vec![Hop { predicted_ns: 110_000.0, ..Hop::default() }],
            ..tool("aio", "order-native", 121)
        };
        let disk = Tool {
            role: "write".to_owned(),
            medium: Some("ext4".to_owned()),
            ..tool("disk", "dsync", 800)
        };
        let larger = Tool { size_bytes: Some(4096), ..tool("pingpong", "tcp", 99) };
        let all = vec![
            jitter,
            tool("pingpong", "tcp", 12),
            larger,
            tool("pingpong", "unix_stream", 7),
            cell("aeron", 500_000, "good"),
            cell("tcp", 1_000, "good"),
            cell("tcp", 5_000, "max of avg 9 > 7"),
            sender,
            multicast,
            order,
            disk,
        ];
        all.into_iter().map(|tool| on("a.jsonl", tool)).collect()
    }

    #[test]
    fn each_sentence_has_its_figures_and_leads_to_them() {
        let differs = |id: &str| Setting {
            id: id.to_owned(),
            state: "differs".to_owned(),
            profile: "latency".to_owned(),
            ..Setting::default()
        };
        let html = verdict(&machine(), &["a", "b", "c", "d"].map(differs));
        assert!(html.starts_with("<section id=\"verdict\"><h2>Verdict</h2>"), "{html}");
        for told in [
            "core 1 loses 0.021 % of its time, up to 4100 µs at once; 10 of 1,000 gaps are neither",
            "A message of 64 B takes 12 µs one way over TCP, 36 µs at 99 %; 7.0 µs over a Unix socket.",
            "At a rate: aeron holds 500,000/s, tcp melts at 5,000/s of 64 B.",
            "Multicast at 10,000/s: 10 of 10,000 were lost, 10 of them in this host&#39;s own queue.",
            "takes 121 µs in the median, 10 % more than its parts predict (the parts explain",
            "A write of 64 B that is durable takes 800 µs, 2400 µs at 99 %, on ext4.",
            "4 of 4 settings differ from the profile latency: a, b, c and others.",
            "<a href=\"#matrix\" aria-label=\"Figures: matrix\">figures</a>",
        ] {
            assert!(
                html.contains(told) || html.contains(&told.replace("&#39;", "'")),
                "{told}: {html}"
            );
        }
        assert!(!html.contains("other work"), "{html}");
    }

    #[test]
    fn what_others_had_of_the_cores_comes_first() {
        let mut all = machine();
        for (of, others_percent) in all.iter_mut().zip([30.0, 1.0, 55.0]) {
            of.tool.disturbed = Some(Disturbance { others_percent, stolen_percent: 0.0 });
        }
        let html = verdict(&all, &[]);
        let told = "in 2 of 3 cells that were long enough to tell, other programs had 55.0 % of the \
                    cores at most.";
        assert!(html.contains(told), "{html}");
        assert!(html.find("warning") < html.find("<ul"), "{html}");
    }

    #[test]
    fn several_hosts_are_compared_and_nothing_has_no_verdict() {
        assert_eq!(verdict(&[], &[]), "");
        let two = ["a.jsonl", "b.jsonl"].map(|file| on(file, tool("pingpong", "tcp", 1)));
        assert_eq!(verdict(&two, &[]), "");
        assert_eq!(verdict(&[on("a", tool("pingpong", "pipe", 1))], &[]), "");
    }
}
