//! What is printed: the tree, the lines of an interval, the sum.

use std::fmt::Write as _;

use super::engine::Line;
use super::flow::{Flow, Kind};
use super::outcome::{End, Outcome};

/// The tree of a flow, as the classic tool prints it.
pub(super) fn tree(flow: &Flow) -> String {
    let mut text = String::new();
    for (number, thread) in flow.threads.iter().enumerate() {
        let _ = write!(
            text,
            "++++++ Thread ++++++\nThread :{}\nName :{}\nPart :{}\nPolling :{}\nCPU ID :{}\nCPU priority :{}\n",
            number + 1,
            thread.name,
            flow.parts[thread.part].name,
            thread.is_polling,
            thread.core.map_or("-1".to_owned(), |core| core.to_string()),
            thread.priority.map_or("-1".to_owned(), |level| level.to_string()),
        );
        let (mut wrapper, mut modules) = ("", 0);
        for module in flow.modules_of(number).map(|module| &flow.modules[module]) {
            if module.wrapper != wrapper {
                wrapper = &module.wrapper;
                let _ = writeln!(text, "| +--> {wrapper}");
            }
            modules += 1;
            let _ = write!(
                text,
                "|   | +--> Module {modules}\n|   |   Type: {}\n|   |   Name: {}\n",
                module.kind.classic_name(),
                module.name
            );
            for (key, links) in [("In", &module.inputs), ("Out", &module.outputs)] {
                for link in links.iter().map(|link| &flow.links[*link]) {
                    let _ = writeln!(text, "|   |   {key}: {} ({})", link.name, link.via.name());
                }
            }
            let _ = write!(text, "{}", parameters(&module.kind));
        }
    }
    text
}

fn parameters(kind: &Kind) -> String {
    let line = |name: &str, value: String| format!("|   |   {name}: {value}\n");
    match kind {
        Kind::Client(of) | Kind::Source(of) => [
            line("Rate", of.rate_per_s.to_string()),
            line("Size", of.bytes.to_string()),
            line("Ping count", of.at_once.to_string()),
            line("Clients", of.clients.to_string()),
        ]
        .concat(),
        Kind::Work { .. } | Kind::Delay(_) => {
            line("Time (us)", format!("{:.1}", kind.predicted_ns() / 1e3))
        }
        _ => String::new(),
    }
}

/// Lines of an interval: of each module, or as the classic tool has them.
pub(super) fn lines(flow: &Flow, lines: &[Line], is_classic: bool) -> String {
    let of = |line: &Line| match is_classic {
        true => classic_line(&flow.modules[line.module].kind, line),
        false => human_line(&flow.modules[line.module].name, line),
    };
    lines.iter().map(of).collect()
}

/// `Avg: 128.809 Max: 1301 Min: 53 Samples: 58825` of what ends at a module,
/// `Recv rate: 1600.000 Bytes: 94603200 Samples: 59127` of what answers. The
/// classic tool's "rate" is bytes of a message.
fn classic_line(kind: &Kind, line: &Line) -> String {
    if let Some(took) = line.took {
        let micros = |nanos: u64| (nanos / 1000).to_string();
        return match took.count {
            0 => "Avg: -1.000 Max: -1 Min: -1 Samples: 0\n".to_owned(),
            count => format!(
                "Avg: {:.3} Max: {} Min: {} Samples: {count}\n",
                took.mean_ns() / 1000.0,
                micros(took.max_ns),
                micros(took.min_ns)
            ),
        };
    }
    if !matches!(kind, Kind::Server { .. }) {
        return String::new();
    }
    let of = |name: &str, of: super::ports::Traffic| {
        let rate = of.bytes as f64 / of.messages.max(1) as f64;
        format!("{name} rate: {rate:.3} Bytes: {} Samples: {}\n", of.bytes, of.messages)
    };
    of("Recv", line.came) + &of("Sent", line.went)
}

/// The head of the lines of an interval.
pub(super) fn human_head() -> String {
    format!(
        "{:<20}{:>12}{:>12}{:>10}{:>10}{:>10}{:>10}\n",
        "module", "in/s", "out/s", "waited", "min µs", "avg µs", "max µs"
    )
}

fn human_line(name: &str, line: &Line) -> String {
    let per_second = |count: u64| format!("{:.1}", count as f64 / line.seconds.max(1e-9));
    let took = line.took.filter(|took| took.count > 0);
    let micros = |of: &dyn Fn(crate::Interval) -> f64| {
        took.map_or("-".to_owned(), |took| format!("{:.1}", of(took) / 1000.0))
    };
    format!(
        "{name:<20}{:>12}{:>12}{:>10}{:>10}{:>10}{:>10}\n",
        per_second(line.came.messages),
        per_second(line.went.messages),
        line.went.waited,
        micros(&|of| of.min_ns as f64),
        micros(&|of| of.mean_ns()),
        micros(&|of| of.max_ns as f64),
    )
}

/// The sum of each way, predicted beside measured.
pub(super) fn sum(flow: &Flow, outcome: &Outcome) -> String {
    outcome.ends.iter().map(|end| end_text(flow, end)).collect()
}

fn end_text(flow: &Flow, end: &End) -> String {
    let mut text = String::new();
    let name = format!("{}, at {}", flow.name, flow.modules[end.module].name);
    let widest = end.ways.iter().flatten().map(|hop| hop.name.chars().count()).max().unwrap_or(0);
    let width = widest.max(12) + 2;
    let pad = width + 12;
    let _ =
        writeln!(text, "{name:<pad$}{:>13}{:>9}{:>9}{:>9}", "predicted µs", "p50", "p99", "p99.9");
    let row = |name: &str, kind: &str, predicted: Option<f64>, of: [u64; 3]| {
        let micros = |nanos: f64| format!("{:.1}", nanos / 1000.0);
        let predicted = predicted.map_or("-".to_owned(), micros);
        let [p50, p99, p999] = of.map(|nanos| micros(nanos as f64));
        format!("{name:<width$}{kind:<12}{predicted:>13}{p50:>9}{p99:>9}{p999:>9}")
    };
    for way in &end.ways {
        for hop in way {
            let times = [hop.p50_ns, hop.p99_ns, hop.p999_ns];
            let _ = writeln!(text, "{}", row(&hop.name, &hop.kind, Some(hop.predicted_ns), times));
        }
        if end.ways.len() > 1 {
            text.push('\n');
        }
    }
    let times = end.from_send.map_or([0; 3], |of| [of.p50_ns, of.p99_ns, of.p999_ns]);
    let _ = writeln!(
        text,
        "{}  {:.0}/s, {} messages, {} lost",
        row("total", "", end.predicted_ns, times),
        end.achieved_per_s,
        end.arrivals.received,
        end.lost
    );
    if let Some(of) = end.from_schedule {
        let times = [of.p50_ns, of.p99_ns, of.p999_ns];
        let _ = writeln!(text, "{}", row("from schedule", "", None, times));
    }
    if let Some(why) = &end.why_invalid {
        let _ = writeln!(text, "not valid: {why}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::ports::Traffic;
    use super::*;
    use crate::Interval;

    #[test]
    fn classic_lines_are_theirs() {
        let took =
            Interval { count: 58_825, total_ns: 7_577_189_425, min_ns: 53_900, max_ns: 1_301_000 };
        let line = Line {
            module: 0,
            seconds: 1.0,
            came: Traffic { messages: 59_127, bytes: 94_603_200, waited: 0 },
            went: Traffic { messages: 59_127, bytes: 94_603_200, waited: 0 },
            took: Some(took),
        };
        let server = Kind::Server { reply: super::super::flow::Reply::Full, reply_bytes: 0 };
        assert_eq!(
            classic_line(&Kind::Sink, &line),
            "Avg: 128.809 Max: 1301 Min: 53 Samples: 58825\n"
        );
        let none = Line { took: Some(Interval::default()), ..line };
        assert_eq!(classic_line(&Kind::Sink, &none), "Avg: -1.000 Max: -1 Min: -1 Samples: 0\n");
        let answering = Line { took: None, ..line };
        let lines = "Recv rate: 1600.000 Bytes: 94603200 Samples: 59127\n\
                     Sent rate: 1600.000 Bytes: 94603200 Samples: 59127\n";
        assert_eq!(classic_line(&server, &answering), lines);
        assert_eq!(classic_line(&Kind::Fanout, &answering), "");
    }

    #[test]
    fn the_published_lines_are_read_by_these_columns() {
        let text = include_str!("../../published/aio-server.csv");
        for row in text.lines().skip(1) {
            let words: Vec<&str> = row.split(',').collect();
            let [_, rate, bytes, samples] = words[..] else { panic!("{row}") };
            let [rate, bytes, samples] =
                [rate, bytes, samples].map(|word| word.parse::<f64>().unwrap());
            // Theirs is of another moment than the counts beside it.
            assert!((bytes / samples / rate - 1.0).abs() < 0.02, "{row}");
        }
    }
}
