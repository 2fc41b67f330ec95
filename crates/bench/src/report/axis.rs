//! Where values stand along an axis.

use super::format::short;

/// A logarithmic axis spans no more than this, in decades.
const MAX_DECADES: i32 = 12;

/// An axis from its first value to its last.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    /// What it shows, with the unit.
    pub(super) label: String,
    is_log: bool,
    from: f64,
    to: f64,
    /// Where lines are, with their texts; some have none.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// A logarithmic axis with all values that are above zero on it.
    pub(super) fn log(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (least, most) = bounds(values.into_iter().filter(|value| *value > 0.0));
        let first = least.log10().floor() as i32;
        let last = (most.log10().ceil() as i32).clamp(first + 1, first + MAX_DECADES);
        // The outermost steps of 1, 2, 5 that have all values between them.
        let steps: Vec<f64> = (first..=last)
            .flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(decade)))
            .collect();
        let from = steps.iter().copied().rfind(|step| *step <= least * 1.000_001);
        let to = steps.iter().copied().find(|step| *step >= most * 0.999_999);
        let (from, to) = (from.unwrap_or(least), to.unwrap_or(most));
        let to = if to > from { to } else { from * 10.0 };
        let has_room = (to / from).log10() <= 2.5;
        let text = |value: f64| {
            let is_decade = (value.log10() - value.log10().round()).abs() < 1e-6;
            if is_decade || has_room { short(value) } else { String::new() }
        };
        let ticks = steps.into_iter().filter(|step| (from..=to).contains(step));
        let ticks = ticks.map(|step| (step, text(step))).collect();
        Self { label: label.to_owned(), is_log: true, from, to, ticks }
    }

    /// An axis from zero to at least a value, in round steps.
    pub(super) fn from_zero(label: &str, most: f64) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        let decade = 10_f64.powf((most / 5.0).log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
        let step = steps.into_iter().find(|step| most / step <= 5.000_001).unwrap_or(most);
        let count = (most / step - 1e-6).ceil().max(1.0) as u32;
        let ticks = (0..=count).map(|n| (f64::from(n) * step, short(f64::from(n) * step)));
        let ticks = ticks.collect();
        Self {
            label: label.to_owned(),
            is_log: false,
            from: 0.0,
            to: f64::from(count) * step,
            ticks,
        }
    }

    /// An axis for shares of values, up to the share that is one short of all
    /// of so many: 0 %, 90 %, 99 %, each nine of the same length. A share `q`
    /// stands at `1 / (1 - q)`.
    pub(super) fn nines(label: &str, of: u64) -> Self {
        let nines = (of.max(10) as f64).log10().ceil().clamp(2.0, 9.0) as i32;
        let text = |nines: i32| match nines {
            0 => "0 %".to_owned(),
            1 => "90 %".to_owned(),
            2 => "99 %".to_owned(),
            _ => format!("99.{} %", "9".repeat(nines as usize - 2)),
        };
        let ticks = (0..=nines).map(|n| (10_f64.powi(n), text(n))).collect();
        Self { label: label.to_owned(), is_log: true, from: 1.0, to: 10_f64.powi(nines), ticks }
    }

    /// Where a value stands: 0 at the first, 1 at the last. Values beyond stand
    /// there.
    pub(super) fn place(&self, value: f64) -> f64 {
        let place = match self.is_log {
            true => (value.max(self.from) / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        place.clamp(0.0, 1.0)
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let (least, most) = values
        .filter(|value| value.is_finite())
        .fold(none, |(least, most), value| (least.min(value), most.max(value)));
    if least <= most { (least, most) } else { (1.0, 10.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).filter(|text| !text.is_empty()).collect()
    }

    #[test]
    fn decades_are_of_the_same_length() {
        let axis = Axis::log("µs", [4.0, 40_000.0]);
        assert_eq!(texts(&axis), ["10", "100", "1k", "10k"]);
        let lengths =
            [10.0, 100.0, 1000.0].map(|value| axis.place(value * 10.0) - axis.place(value));
        assert!(lengths.iter().all(|length| (length - lengths[0]).abs() < 1e-9), "{lengths:?}");
        assert!(axis.place(4.0) > 0.0 && axis.place(40_000.0) < 1.0, "{axis:?}");
    }

    #[test]
    fn a_short_logarithmic_axis_has_more_texts() {
        assert_eq!(texts(&Axis::log("µs", [12.0, 160.0])), ["10", "20", "50", "100", "200"]);
        assert_eq!(texts(&Axis::log("µs", [100.0])), ["100", "200", "500", "1k"]);
    }

    #[test]
    fn what_is_no_figure_does_not_stretch_an_axis() {
        assert_eq!(texts(&Axis::log("µs", [f64::NAN, 0.0, -1.0])), ["1", "2", "5", "10"]);
        assert_eq!(texts(&Axis::from_zero("µs", f64::NAN)), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert!(Axis::log("µs", [1e-300, 1e300]).ticks.len() < 50);
        let axis = Axis::from_zero("s", 7.0);
        let places = [-1.0, 0.0, 4.0, 99.0].map(|value| axis.place(value).to_string());
        assert_eq!(places, ["0", "0", "0.5", "1"]);
    }

    #[test]
    fn steps_from_zero_are_round() {
        assert_eq!(texts(&Axis::from_zero("s", 7.3)), ["0", "2", "4", "6", "8"]);
        assert_eq!(texts(&Axis::from_zero("s", 1_010_000.0)), ["0", "500k", "1M", "1.5M"]);
        assert_eq!(texts(&Axis::from_zero("%", 100.0)), ["0", "20", "40", "60", "80", "100"]);
    }

    #[test]
    fn each_nine_is_of_the_same_length() {
        let axis = Axis::nines("share", 30_000);
        assert_eq!(texts(&axis), ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"]);
        let place = |share: f64| axis.place(1.0 / (1.0 - share));
        assert!((place(0.0)).abs() < 1e-9 && (place(0.9) - 0.2).abs() < 1e-9);
        assert!((place(0.999) - 0.6).abs() < 1e-9);
    }
}
