//! The verdict in words, each with the figures that it rests on.

use std::fmt::Write as _;

use super::judge::{Bounds, CellKey, Cells, Melting, figure, melting, own_melting};

/// What is said of transports, a sentence each, and of them against each other.
pub(super) fn words(
    all: &[(&str, Cells<'_>)],
    bounds: Option<&Bounds>,
    factors: (f64, f64),
) -> String {
    let mut text = String::new();
    let mut last_good: Vec<(&str, Option<CellKey>)> = Vec::new();
    for (name, cells) in all {
        let melted = match bounds {
            Some(bounds) => melting(cells, bounds),
            None => own_melting(cells, factors),
        };
        text.push_str(&of_transport(name, cells, melted.as_ref()));
        text.push_str(&of_tail(cells));
        text.push('\n');
        last_good.push((name, carried(cells, factors)));
    }
    text.push_str(&against(&last_good));
    text
}

fn micros(nanos: f64) -> String {
    let us = nanos / 1000.0;
    if us >= 100.0 { format!("{us:.0}") } else { format!("{us:.1}") }
}

fn of_transport(name: &str, cells: &Cells<'_>, melted: Option<&Melting>) -> String {
    match melted {
        Some(Melting { at, why }) => {
            format!("{name} melts at {}/s of {} bytes: {why}.", at.rate_per_s, at.bytes)
        }
        None => {
            let last = cells.keys().next_back();
            let range = last.map_or(String::new(), |key| {
                format!(", up to {}/s of {} bytes", key.rate_per_s, key.bytes)
            });
            format!("{name} holds in the full range{range}.")
        }
    }
}

/// Where its tail comes from: from the first cell that counts.
fn of_tail(cells: &Cells<'_>) -> String {
    let Some((key, cell)) = cells.iter().find(|(_, cell)| cell.valid) else {
        return String::new();
    };
    let (Some(mean), Some(max)) = (figure(cell, "mean_mean"), figure(cell, "max_max")) else {
        return String::new();
    };
    let mut text = format!(
        " At {}/s of {} bytes a round trip takes {} µs, {} at most",
        key.rate_per_s,
        key.bytes,
        micros(mean),
        micros(max)
    );
    if let Some(noise) = cell.noise.filter(|noise| noise.max_ns as f64 * 2.0 >= max) {
        let _ = write!(
            text,
            "; a thread that only spins on core {} is held up for {} µs too: its tail is the host's",
            noise.core,
            micros(noise.max_ns as f64)
        );
    }
    let late = cell.lateness.map(|late| late.p99_ns as f64);
    if let Some(late) = late.filter(|late| *late > mean) {
        let _ = write!(
            text,
            "; it was sent {} µs late (p99), more than the way itself: the host's timer",
            micros(late)
        );
    }
    text.push('.');
    text
}

/// The last cell before the first that leaves what it does when quiet.
fn carried(cells: &Cells<'_>, factors: (f64, f64)) -> Option<CellKey> {
    let end = own_melting(cells, factors).map(|melted| melted.at);
    let before = cells.keys().take_while(|key| end.is_none_or(|end| **key < end));
    before.copied().max_by_key(|key| key.rate_per_s * key.bytes)
}

fn against(carried: &[(&str, Option<CellKey>)]) -> String {
    let load = |key: &CellKey| (key.rate_per_s * key.bytes) as f64;
    let mut known: Vec<(&str, CellKey)> =
        carried.iter().filter_map(|(name, key)| key.map(|key| (*name, key))).collect();
    known.sort_by(|a, b| load(&a.1).total_cmp(&load(&b.1)));
    let [least, .., most] = &known[..] else { return String::new() };
    let times = load(&most.1) / load(&least.1);
    match times >= 1.5 {
        true => format!(
            "{} carries {times:.1} times what {} does before it leaves its quiet figures ({} against \
             {}).\n",
            most.0, least.0, most.1, least.1
        ),
        false => "All carry about as much before they leave their quiet figures.\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tapeline_measure::histogram::Distribution;
    use tapeline_measure::record::{Noise, Tool};

    use super::*;

    fn cell(mean_us: f64, max_us: f64, noise_us: u64) -> Tool {
        let figures = [("mean_mean", mean_us), ("max_p99_5", max_us), ("max_max", max_us)];
        Tool {
            valid: true,
            per_second: figures.map(|(name, us)| (name.to_owned(), us * 1000.0)).into(),
            noise: Some(Noise { core: 1, lost_percent: 0.1, max_ns: noise_us * 1000 }),
            lateness: Some(Distribution { p99_ns: 60_000, ..Distribution::default() }),
            ..Tool::default()
        }
    }

    #[test]
    fn a_verdict_names_the_edge_the_ratio_and_who_owns_the_tail() {
        let (quiet, melted) = (
            cell(20.0, 90.0, 50),
            Tool { why_invalid: Some("sent 61.0 % of what was due".to_owned()), ..Tool::default() },
        );
        let at = |rate_per_s| CellKey { rate_per_s, bytes: 500 };
        let all: Vec<(&str, Cells<'_>)> = vec![
            ("tcp", [(at(1_000), &quiet), (at(250_000), &melted)].into()),
            ("aeron", [(at(1_000), &quiet), (at(4_000), &quiet), (at(250_000), &melted)].into()),
        ];
        let text = words(&all, None, (2.0, 10.0));
        let expected = "\
tcp melts at 250000/s of 500 bytes: sent 61.0 % of what was due. At 1000/s of 500 bytes a round \
trip takes 20.0 µs, 90.0 at most; a thread that only spins on core 1 is held up for 50.0 µs too: \
its tail is the host's; it was sent 60.0 µs late (p99), more than the way itself: the host's timer.\n";
        assert!(text.starts_with(expected), "{text}");
        let last = "aeron carries 4.0 times what tcp does before it leaves its quiet figures \
                    (4000/s at 500 bytes against 1000/s at 500 bytes).\n";
        assert!(text.ends_with(last), "{text}");
    }

    #[test]
    fn one_that_holds_says_how_far() {
        let quiet = cell(2.0, 9.0, 0);
        let key = CellKey { rate_per_s: 1_000, bytes: 100 };
        let all: Vec<(&str, Cells<'_>)> = vec![("udp", [(key, &quiet)].into())];
        let text = words(&all, None, (2.0, 10.0));
        assert!(
            text.starts_with("udp holds in the full range, up to 1000/s of 100 bytes."),
            "{text}"
        );
    }
}
