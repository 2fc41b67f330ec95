//! Two results side by side, with a verdict.

mod ratio;
mod read;

use std::collections::BTreeSet;

use tapeline_measure::table::Table;

use crate::GaugeError;
use crate::arguments::{self, Arguments, Known, flag, value};
use crate::output::Output;
use ratio::{Ratio, geometric_mean, ratio};
use read::{Key, Side};

const KNOWN: [Known; 3] = [
    value("figures", "of mean,min,median,max,p99,stddev (mean,median,p99,stddev)"),
    value("fail-above", "status 1 if a geometric mean is above this"),
    flag("help", "this text (-?)"),
];

const FIGURES: [&str; 6] = ["mean", "min", "median", "max", "p99", "stddev"];

/// Compares each file with the first, as its command line has it. Returns
/// whether all geometric means are within the bound.
///
/// Errors: the command line is wrong, or a file has nothing to compare.
pub fn run(command_line: &[String], out: &mut dyn Output) -> Result<bool, GaugeError> {
    let given = Arguments::read(&KNOWN, command_line)?;
    if given.has("help") {
        let usage = "compare A B [C …]  (files of records, text of sfnt-pingpong, FILE.csv:SYSTEM, \
                     published:SYSTEM)\n\n";
        out.text(&format!("{usage}{}", arguments::help(&KNOWN)));
        return Ok(true);
    }
    let figures = figures(given.text("figures").unwrap_or("mean,median,p99,stddev"))?;
    let bound = match given.has("fail-above") {
        true => Some(given.number("fail-above", 1.0, 0.0, 1e9)?),
        false => None,
    };
    let [first, others @ ..] = &given.positional[..] else {
        return Err(GaugeError::Usage("compare takes two files: A is the base".to_owned()));
    };
    if others.is_empty() {
        return Err(GaugeError::Usage("compare takes two files: A is the base".to_owned()));
    }
    let a = Side::open(first)?;
    let mut is_within = true;
    for other in others {
        let compared = Compared::of(&a, &Side::open(other)?, &figures)?;
        out.text(&compared.text);
        let is_above =
            |mean: &Option<f64>| mean.zip(bound).is_some_and(|(mean, bound)| mean > bound);
        is_within &= !compared.means.iter().any(is_above);
    }
    Ok(is_within)
}

fn figures(list: &str) -> Result<Vec<&'static str>, GaugeError> {
    let known = |name: &str| FIGURES.into_iter().find(|figure| *figure == name);
    let wrong = |name: &str| GaugeError::option("figures", name, &FIGURES.join(", "));
    list.split(',').map(|name| known(name).ok_or_else(|| wrong(name))).collect()
}

/// What two sides have in common, as text.
struct Compared {
    text: String,
    /// Of the ratios of each figure.
    means: Vec<Option<f64>>,
}

impl Compared {
    fn of(a: &Side, b: &Side, figures: &[&'static str]) -> Result<Self, GaugeError> {
        let (a, b) = with_same_transports(a, b);
        let keys: Vec<&Key> = a.rows.keys().filter(|key| b.rows.contains_key(key)).collect();
        if keys.is_empty() {
            return Err(GaugeError::Usage(format!(
                "{} and {} have no row of the same tool, transport and size",
                a.name, b.name
            )));
        }
        let mut table = Table::new(&head(figures));
        let mut ratios: Vec<Vec<Ratio>> = vec![Vec::new(); figures.len()];
        for key in &keys {
            let mut cells = vec![label(key)];
            for (figure, ratios) in figures.iter().zip(&mut ratios) {
                let of = |side: &Side| -> Vec<f64> {
                    let rounds = side.rows.get(key).into_iter().flatten();
                    rounds.filter_map(|round| round.get(figure).copied()).collect()
                };
                let (in_a, in_b) = (of(&a), of(&b));
                cells.extend([whole(&in_a), whole(&in_b)]);
                let ratio = ratio(&in_a, &in_b);
                cells.push(ratio.map_or("-".to_owned(), text_of));
                ratios.extend(ratio);
            }
            table.row(cells);
        }
        let means: Vec<Option<f64>> = ratios
            .iter()
            .map(|ratios| geometric_mean(ratios.iter().map(|ratio| ratio.value)))
            .collect();
        let named = figures.iter().zip(&means);
        let told: Vec<String> = named
            .clone()
            .filter_map(|(figure, mean)| mean.map(|mean| format!("{figure} {mean:.2}")))
            .collect();
        let mut text = format!(
            "A {}   B {}\n{table}geometric means over {} rows: {}\n",
            a.name,
            b.name,
            keys.len(),
            told.join(", ")
        );
        let verdict: Vec<String> = named
            .zip(&ratios)
            .filter_map(|((figure, mean), ratios)| Some(words(figure, (*mean)?, ratios)))
            .collect();
        text.extend(["verdict: against A, B's ", &verdict.join("; "), "\n"]);
        text.push_str(&notes(&a, &b, keys.len()));
        Ok(Self { text, means })
    }
}

/// Where a text does not tell its transport, and there is one on each side,
/// that is taken to be the same.
fn with_same_transports(a: &Side, b: &Side) -> (Side, Side) {
    let transports = |side: &Side| -> BTreeSet<String> {
        side.rows.keys().map(|key| key.transport.clone()).collect()
    };
    let (of_a, of_b) = (transports(a), transports(b));
    let is_untold = of_a.contains("") || of_b.contains("");
    if !is_untold || of_a.len() != 1 || of_b.len() != 1 {
        return (a.clone(), b.clone());
    }
    let without = |side: &Side| {
        let rows = side.rows.clone().into_iter();
        let rows = rows.map(|(key, rounds)| (Key { transport: String::new(), ..key }, rounds));
        Side { rows: rows.collect(), ..side.clone() }
    };
    (without(a), without(b))
}

fn head(figures: &[&'static str]) -> Vec<&'static str> {
    let columns = |figure: &&'static str| match *figure {
        "mean" => ["mean A", "mean B", "ratio"],
        "min" => ["min A", "min B", "ratio"],
        "median" => ["median A", "median B", "ratio"],
        "max" => ["max A", "max B", "ratio"],
        "p99" => ["p99 A", "p99 B", "ratio"],
        _ => ["stddev A", "stddev B", "ratio"],
    };
    ["row"].into_iter().chain(figures.iter().flat_map(columns)).collect()
}

fn label(key: &Key) -> String {
    let mut parts = vec![key.transport.clone(), key.role.clone()];
    if !key.core.is_empty() {
        parts.push(format!("core {}", key.core));
    }
    if key.rate_per_s > 0 {
        parts.push(format!("{}/s", key.rate_per_s));
    }
    if key.tool == "pingpong" || key.size_bytes > 0 {
        parts.push(key.size_bytes.to_string());
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

/// The mean of the rounds, in whole nanoseconds.
fn whole(rounds: &[f64]) -> String {
    match rounds.len() {
        0 => "-".to_owned(),
        count => format!("{:.0}", rounds.iter().sum::<f64>() / count as f64),
    }
}

fn text_of(ratio: Ratio) -> String {
    if ratio.is_equal { "=".to_owned() } else { format!("{:.2}", ratio.value) }
}

/// `mean is 4 % higher (14 of 17 rows)`
fn words(figure: &str, mean: f64, ratios: &[Ratio]) -> String {
    let higher = ratios.iter().filter(|ratio| !ratio.is_equal && ratio.value > 1.0).count();
    let lower = ratios.iter().filter(|ratio| !ratio.is_equal && ratio.value < 1.0).count();
    let all = ratios.len();
    let percent = (mean - 1.0).abs() * 100.0;
    match mean {
        _ if higher + lower == 0 => format!("{figure} is the same in all {all} rows"),
        _ if percent < 0.5 => {
            format!("{figure} is the same (higher in {higher}, lower in {lower})")
        }
        _ if mean >= 2.0 => format!("{figure} is {mean:.2} times as high ({higher} of {all} rows)"),
        _ if mean > 1.0 => format!("{figure} is {percent:.0} % higher ({higher} of {all} rows)"),
        _ => format!("{figure} is {percent:.0} % lower ({lower} of {all} rows)"),
    }
}

/// What differs of the two, what has no partner, what was left out.
fn notes(a: &Side, b: &Side, pairs: usize) -> String {
    let mut text = String::new();
    let names: BTreeSet<_> = a.facts.keys().chain(b.facts.keys()).collect();
    for name in names {
        let of = |side: &Side| side.facts.get(name).cloned().unwrap_or("not told".to_owned());
        let (in_a, in_b) = (of(a), of(b));
        let is_virtual = *name == "machine" && in_a.starts_with("virtual");
        if in_a != in_b {
            text.extend([*name, ": A ", &in_a, ", B ", &in_b, "\n"]);
        } else if is_virtual {
            text.extend([*name, ": both ", &in_a, "\n"]);
        }
    }
    for (letter, side) in [("A", a), ("B", b)] {
        let alone = side.rows.len() - pairs;
        if alone > 0 {
            text.extend([letter, ": ", &alone.to_string(), " rows without a partner\n"]);
        }
        for note in &side.notes {
            text.extend([letter, ": ", note, "\n"]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Told(String);

    impl Output for Told {
        fn text(&mut self, text: &str) {
            self.0.push_str(text);
        }

        fn say(&mut self, _: &str) {}
    }

    const BARE: &str = "published:E5-2620v4 bare metal, ultra-low-latency firmware";
    const FULL: &str = "published:E5-2620v4 bare metal, full-feature firmware";
    const GUEST: &str = "published:E5-2620v4 VM (KVM, passthrough)";

    fn compare(arguments: &[&str]) -> Result<(bool, String), GaugeError> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let mut out = Told::default();
        run(&arguments, &mut out).map(|is_within| (is_within, out.0))
    }

    #[test]
    fn the_published_guest_is_compared_with_the_bare_machine() {
        let (_, text) = compare(&[BARE, GUEST]).unwrap();
        let first: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        let expected = [
            "tcp", "1", "1768", "1942", "1.10", "1719", "1758", "1.02", "2166", "4923", "2.27",
            "158", "802", "5.08",
        ];
        assert_eq!((first[2], first[3], first[4]), (expected[2], expected[3], expected[4]));
        assert_eq!(first[8..], expected[8..], "{text}");
        let means = "geometric means over 17 rows: mean 1.04, median 1.01, p99 2.03, stddev 8.38\n";
        assert!(text.contains(means), "{text}");
        assert!(text.contains("verdict: against A, B's mean is 4 % higher ("), "{text}");
        let (_, like) = compare(&["--figures=mean", FULL, GUEST]).unwrap();
        assert!(like.contains("geometric means over 17 rows: mean 0.89\n"), "{like}");
    }

    #[test]
    fn a_side_against_itself_is_equal_and_a_bound_sets_the_status() {
        let (is_within, text) = compare(&["--fail-above=1.0", BARE, BARE]).unwrap();
        assert!(is_within && text.contains("mean is the same in all 17 rows"), "{text}");
        assert_eq!(text.matches('=').count(), 17 * 4, "{text}");
        assert!(!compare(&["--fail-above=1.10", BARE, GUEST]).unwrap().0);
        assert!(compare(&["--fail-above=1.10", "--figures=mean", BARE, GUEST]).unwrap().0);
    }

    #[test]
    fn what_cannot_be_compared_is_told() {
        let error = |arguments: &[&str]| compare(arguments).unwrap_err().to_string();
        assert!(error(&[BARE]).contains("takes two files"));
        assert!(error(&["published:x", BARE]).contains("Gold 6246 bare metal, SFC9220"));
        assert!(error(&["--figures=p98", BARE, BARE]).contains("mean, min, median"));
        assert!(error(&["/no/such", BARE]).starts_with("reading /no/such: "));
    }

    const TEXT: &str = "# cmdline: ./sfnt-pingpong tcp host\n# LD_PRELOAD=libonload.so\n\
        #\tsize\tmean\n\t1\t2000\t1900\t1950\t9000\t2100\t50\t1000\n";

    fn record(mean: u64, unit: &str) -> String {
        format!(
            r#"{{"bench":"tool","tool":"pingpong","transport":"tcp","role":"client","unit":"{unit}","size_bytes":1,"valid":true,"clock":"tsc","classic":{{"mean":{mean},"percentile":4000}}}}"#
        )
    }

    #[test]
    fn text_stands_beside_records_and_whole_round_trips_are_halved() {
        let a = Side::of_text(TEXT);
        let environment = r#"{"bench":"environment","hypervisor":"KVM","is_debug_build":false}"#;
        let b = Side::of_records(&format!("{environment}\n{}\n", record(6000, "round")));
        let text = Compared::of(&a, &b, &["mean", "p99"]).unwrap().text;
        let row: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(row, ["tcp", "1", "2000", "3000", "1.50", "2100", "2000", "0.95"]);
        assert!(text.contains("machine: A not told, B virtual under KVM\n"), "{text}");
        assert!(text.contains("stack: A Onload, B kernel\n"), "{text}");
        let whole = Side::of_text(&TEXT.replace("#\tsize", "# reporting: RTT\n#\tsize"));
        let text = Compared::of(&a, &whole, &["mean"]).unwrap().text;
        assert!(
            text.contains("mean 0.50") && text.contains("B: whole round trips, halved"),
            "{text}"
        );
    }

    #[test]
    fn debug_builds_and_invalid_cells_are_never_paired() {
        let debug = r#"{"bench":"environment","is_debug_build":true}"#;
        let side = Side::of_records(&format!("{debug}\n{}\n", record(1, "half")));
        assert!(side.rows.is_empty());
        assert_eq!(side.notes, ["1 rows are of a debug build or not valid, and left out"]);
        let invalid = record(1, "half").replace("true", "false");
        let other = r#"{"bench":"result"}"#;
        let side = Side::of_records(&format!("{invalid}\n{other}\n"));
        assert!(side.rows.is_empty() && side.notes.len() == 2, "{side:?}");
    }

    #[test]
    fn rounds_of_both_sides_decide_whether_a_ratio_says_anything() {
        let rounds =
            |means: [u64; 3]| Side::of_records(&means.map(|mean| record(mean, "half")).join("\n"));
        let text = |a, b| Compared::of(&rounds(a), &rounds(b), &["mean"]).unwrap().text;
        let same = text([100, 110, 105], [104, 101, 109]);
        assert!(same.contains("mean is the same in all 1 rows"), "{same}");
        let slower = text([100, 110, 105], [204, 201, 209]);
        assert!(slower.contains("mean is 95 % higher (1 of 1 rows)"), "{slower}");
    }
}
