//! Whether a setting makes a difference on this machine: measured without it
//! and with it, in turns; then it is as before.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_measure::stop;
use tapeline_measure::ticks::TickClock;

use super::change::{Done, apply, undo};
use super::machine::Machine;
use super::rows::Write;
use crate::GaugeError;
use crate::jitter::spin;
use crate::output::Output;
use crate::pingpong::{self, StartServer};
use crate::statistics::Classic;

/// How often each side is measured.
const ROUNDS: usize = 5;

/// A gap of a spinning thread, in nanoseconds.
const GAP_NS: u64 = 200;

/// What is measured in a round: figures by their name.
pub(super) type Figures = Vec<(&'static str, f64)>;

/// A figure without the setting and with it, a value a round.
pub(super) type Sides = BTreeMap<&'static str, [Vec<f64>; 2]>;

/// Measures without and with, A B A B. Whatever happens, it is set back.
///
/// Errors: it cannot be set, or nothing can be measured.
pub(super) fn in_turns(
    machine: &mut dyn Machine,
    writes: &[Write],
    measure: &mut dyn FnMut(bool) -> Result<Figures, GaugeError>,
) -> Result<Sides, GaugeError> {
    let mut sides = Sides::new();
    let measured = rounds(machine, writes, measure, &mut sides);
    let (_, left) = undo(machine, false).map_err(GaugeError::io("setting it back"))?;
    measured?;
    match left.first() {
        Some(of) => {
            Err(GaugeError::Unsupported(format!("/{} is not set back: {}", of.path, of.why)))
        }
        None => Ok(sides),
    }
}

fn rounds(
    machine: &mut dyn Machine,
    writes: &[Write],
    measure: &mut dyn FnMut(bool) -> Result<Figures, GaugeError>,
    sides: &mut Sides,
) -> Result<(), GaugeError> {
    let setting = || GaugeError::io("keeping the old value");
    for _ in 0..ROUNDS {
        for is_set in [false, true] {
            stop::check()?;
            if is_set {
                for write in writes {
                    if let Done::Refused(why) = apply(machine, write).map_err(setting())? {
                        return Err(GaugeError::Unsupported(format!(
                            "/{}: cannot: {why}",
                            write.path
                        )));
                    }
                }
            } else {
                undo(machine, false).map_err(setting())?;
            }
            for (name, figure) in measure(is_set)? {
                sides.entry(name).or_default()[usize::from(is_set)].push(figure);
            }
        }
    }
    Ok(())
}

fn median(figures: &[f64]) -> f64 {
    tapeline_measure::histogram::median(figures.iter().copied())
}

/// What is said of a figure. It differs if every round with the setting is on
/// the same side of every round without it: by chance two of 252 are.
fn verdict(name: &str, [without, with]: &[Vec<f64>; 2]) -> (bool, String) {
    let bounds = |of: &[f64]| {
        let least = of.iter().copied().fold(f64::INFINITY, f64::min);
        (least, of.iter().copied().fold(f64::NEG_INFINITY, f64::max))
    };
    let ((least, most), (least_with, most_with)) = (bounds(without), bounds(with));
    let differs = least_with > most || most_with < least;
    let (before, after) = (median(without), median(with));
    let told = match differs {
        true => format!("{:+.1} %", (after / before - 1.0) * 100.0),
        false => "none beyond the spread".to_owned(),
    };
    let line = format!(
        "{name:<22}{before:>10.2} ({least:.2} to {most:.2}){after:>10.2} ({least_with:.2} to \
         {most_with:.2})  {told}\n"
    );
    (differs, line)
}

/// What is printed, and whether anything differs.
pub(super) fn told(id: &str, sides: &Sides) -> (bool, String) {
    let mut text = format!("{id}: median of {ROUNDS} rounds without it, and with it\n");
    let mut differs = false;
    for (name, values) in sides {
        let (of_this, line) = verdict(name, values);
        differs |= of_this;
        text.push_str(&line);
    }
    text.push_str(match differs {
        true => "it makes a difference here; it is as before now\n",
        false => "it makes none beyond the spread here; it is as before now\n",
    });
    (differs, text)
}

/// The rows of a ping-pong.
#[derive(Default)]
struct Rows(String);

impl Output for Rows {
    fn text(&mut self, text: &str) {
        self.0.push_str(text);
    }

    fn say(&mut self, _text: &str) {}
}

/// A ping-pong over TCP to a thread of this process, and what the core does by
/// itself meanwhile: a round of half a second.
pub(super) fn round() -> Result<Figures, GaugeError> {
    const LINE: &str = "--format=classic -q --noise=0 --nodelay --sizes=64 --minms=300 --maxms=300 \
                        --warmupms=50 --warmupiter=100 --threads tcp";
    let line: Vec<String> = LINE.split_whitespace().map(str::to_owned).collect();
    let mut rows = Rows::default();
    pingpong::run(&line, true, &StartServer::Thread, &mut rows)?;
    let row = rows.0.lines().find_map(Classic::of_row).map(|(_, row)| row).unwrap_or_default();
    let gaps = spin(&TickClock::best(), GAP_NS, Duration::from_millis(200));
    let micros = |nanos: u64| nanos as f64 / 1e3;
    Ok(vec![
        ("ping-pong median, µs", micros(row.median)),
        ("ping-pong 99 %, µs", micros(row.percentile)),
        ("lost to others, %", gaps.lost_percent()),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::machine::tests::Memory;
    use super::*;

    fn machine() -> (Memory, Vec<Write>) {
        let files = [("a".to_owned(), "1".to_owned())].into();
        let write = Write { path: "a".to_owned(), old: "1".to_owned(), new: "2".to_owned() };
        (Memory { files, ..Memory::default() }, vec![write])
    }

    #[test]
    fn it_is_measured_in_turns_and_set_back() {
        let (mut machine, writes) = machine();
        let mut order = Vec::new();
        let sides = in_turns(&mut machine, &writes, &mut |is_set| {
            order.push(is_set);
            Ok(vec![("x", if is_set { 5.0 } else { 10.0 } + order.len() as f64 / 10.0)])
        });
        assert_eq!(order, [false, true].repeat(ROUNDS));
        let (differs, text) = told("a", &sides.unwrap());
        assert!(
            differs && text.contains("% \nit makes") || text.contains("it makes a difference"),
            "{text}"
        );
        assert!(text.contains("-4"), "{text}");
        assert!(machine.files["a"] == "1" && machine.state.is_none());
    }

    #[test]
    fn what_is_within_the_spread_is_no_difference() {
        let (mut machine, writes) = machine();
        let mut count = 0.0;
        let sides = in_turns(&mut machine, &writes, &mut |_| {
            count += 1.0;
            Ok(vec![("x", count)])
        });
        let (differs, text) = told("a", &sides.unwrap());
        assert!(!differs && text.contains("none beyond the spread"), "{text}");
    }

    #[test]
    fn one_that_fails_is_set_back_too() {
        let (mut machine, writes) = machine();
        let mut count = 0;
        let failed = in_turns(&mut machine, &writes, &mut |_| {
            count += 1;
            match count {
                4 => Err(GaugeError::Unsupported("it broke".to_owned())),
                _ => Ok(vec![("x", 1.0)]),
            }
        });
        assert_eq!(failed.unwrap_err().to_string(), "it broke");
        assert!(machine.files["a"] == "1" && machine.state.is_none());
        machine.read_only.push("a".to_owned());
        let error = in_turns(&mut machine, &writes, &mut |_| Ok(Vec::new())).unwrap_err();
        assert!(error.to_string().starts_with("/a: cannot: "), "{error}");
        assert!(machine.files["a"] == "1" && machine.state.is_none());
    }
}
