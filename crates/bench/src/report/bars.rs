//! Bars beside each other, as SVG.

use std::fmt::Write as _;

use super::axis::Axis;
use super::format::escape;

/// Height of a bar with its text above it.
const ROW: f64 = 40.0;

/// Height of what is below the bars.
const FOOT: f64 = 44.0;

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) name: String,
    /// Class of the style sheet.
    pub(super) class: &'static str,
    pub(super) value: f64,
    /// The value as text.
    pub(super) text: String,
}

/// Horizontal bars on a common axis from zero, for wide and for narrow pages.
pub(super) fn bars(name: &str, label: &str, bars: &[Bar]) -> String {
    let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let rows = Rows { name, kind: "", axis: Axis::from_zero(label, most), height: ROW };
    rows.responsive(bars, |bar, top, left, svg| {
        let (text, value) = (escape(&bar.name), escape(&bar.text));
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"2\" y=\"{:.1}\">{text} <tspan class=\"value\">{value}\
             </tspan></text><rect class=\"bar {}\" x=\"2\" y=\"{:.1}\" width=\"{:.1}\" \
             height=\"14\"><title>{text}: {value}</title></rect>",
            top + 15.0,
            bar.class,
            top + 21.0,
            (left(bar.value) - 2.0).max(1.0)
        );
    })
}

/// Rows under each other on a common axis.
pub(super) struct Rows<'a> {
    pub(super) name: &'a str,
    /// A class of the style sheet with a blank behind it, or nothing.
    pub(super) kind: &'a str,
    pub(super) axis: Axis,
    /// Of a row.
    pub(super) height: f64,
}

impl Rows<'_> {
    /// For wide and for narrow pages. `draw` has a row, its top, and where a
    /// value stands.
    pub(super) fn responsive<T>(
        &self,
        rows: &[T],
        draw: impl Fn(&T, f64, &dyn Fn(f64) -> f64, &mut String),
    ) -> String {
        let pages = [("wide", 820.0), ("narrow", 360.0)];
        pages.map(|(class, width)| self.svg(rows, class, width, &draw)).concat()
    }

    fn svg<T>(
        &self,
        rows: &[T],
        class: &str,
        width: f64,
        draw: &impl Fn(&T, f64, &dyn Fn(f64) -> f64, &mut String),
    ) -> String {
        let bottom = rows.len() as f64 * self.height + 6.0;
        let left = |value: f64| 2.0 + self.axis.place(value) * (width - 24.0);
        let mut svg = format!(
            "<svg class=\"plot {}{class}\" viewBox=\"0 0 {width} {}\" role=\"img\" \
             aria-label=\"{}\">",
            self.kind,
            bottom + FOOT,
            escape(self.name)
        );
        for (at, (value, text)) in self.axis.ticks.iter().enumerate() {
            let (x, below) = (left(*value), bottom + 16.0);
            let anchor = if at == 0 { "" } else { " middle" };
            let _ = write!(
                svg,
                "<path class=\"grid minor\" d=\"M{x:.1} 0V{bottom}\"/>\
                 <text class=\"tick{anchor}\" x=\"{x:.1}\" y=\"{below}\">{text}</text>"
            );
        }
        for (at, row) in rows.iter().enumerate() {
            draw(row, at as f64 * self.height, &left, &mut svg);
        }
        let _ = write!(
            svg,
            "<text class=\"axis middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text></svg>",
            width / 2.0,
            bottom + 36.0,
            escape(&self.axis.label)
        );
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_values() {
        let bar = |name: &str, value: f64| Bar {
            name: name.to_owned(),
            class: "s0",
            value,
            text: format!("{value}"),
        };
        let svg = bars("fan-out", "updates a second", &[bar("a<b", 50.0), bar("c", 100.0)]);
        for width in ["width=\"398.0\"", "width=\"796.0\"", "width=\"168.0\"", "width=\"336.0\""] {
            assert!(svg.contains(width), "{width} is not in {svg}");
        }
        assert!(svg.contains("<title>a&lt;b: 50</title>"), "{svg}");
    }
}
