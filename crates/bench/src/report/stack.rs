//! Bars of parts, one under the other, as SVG: ways of a message beside each
//! other.

use std::fmt::Write as _;

use super::axis::Axis;
use super::bars::Rows;
use super::format::escape;

/// Height of a bar with its text above it.
const ROW: f64 = 52.0;

/// Height of a bar.
const BAR: f64 = 24.0;

/// About the width of a character within a part.
const CHAR_WIDTH: f64 = 7.2;

/// A part of a bar.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) name: String,
    /// Class of the style sheet.
    pub(super) class: String,
    pub(super) value: f64,
    /// Told when it is pointed at.
    pub(super) title: String,
}

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stack {
    pub(super) name: String,
    /// The sum as text.
    pub(super) text: String,
    pub(super) parts: Vec<Part>,
}

impl Stack {
    fn sum(&self) -> f64 {
        self.parts.iter().map(|part| part.value).sum()
    }
}

/// Bars on a common axis from zero, for wide and for narrow pages.
pub(super) fn stacks(name: &str, label: &str, all: &[Stack]) -> String {
    let most = all.iter().map(Stack::sum).fold(0.0, f64::max);
    let rows = Rows { name, kind: "stack ", axis: Axis::from_zero(label, most), height: ROW };
    rows.responsive(all, |stack, top, left, svg| {
        let (name, text) = (escape(&stack.name), escape(&stack.text));
        let _ = write!(
            svg,
            "<text class=\"name\" x=\"2\" y=\"{:.1}\">{name} <tspan class=\"value\">{text}\
             </tspan></text>",
            top + 16.0
        );
        let mut from = 0.0;
        for part in &stack.parts {
            let (x, to) = (left(from), left(from + part.value));
            from += part.value;
            piece(part, (x, top + 22.0), to - x, svg);
        }
    })
}

/// A part, with its name where there is room for it.
fn piece(part: &Part, (x, top): (f64, f64), width: f64, svg: &mut String) {
    let _ = write!(
        svg,
        "<g class=\"piece {}\"><rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" \
         height=\"{BAR}\"><title>{}</title></rect>",
        part.class,
        width.max(0.5),
        escape(&part.title)
    );
    if part.name.chars().count() as f64 * CHAR_WIDTH + 8.0 <= width {
        let _ = write!(
            svg,
            "<text class=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + width / 2.0,
            top + BAR / 2.0 + 4.0,
            escape(&part.name)
        );
    }
    svg.push_str("</g>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_have_names_where_there_is_room() {
        let part = |name: &str, value: f64| Part {
            name: name.to_owned(),
            class: "w0".to_owned(),
            value,
            title: format!("{name}: {value} µs"),
        };
        let stack = Stack {
            name: "a<b".to_owned(),
            text: "100 µs".to_owned(),
            parts: vec![part("hop", 1.0), part("matching", 59.0), part("rest", 40.0)],
        };
        let svg = stacks("ways", "µs", &[stack]);
        // On 796 units of a wide page, and on 336 of a narrow one.
        for place in [
            "x=\"2.0\" y=\"22.0\" width=\"8.0\"",
            "x=\"10.0\" y=\"22.0\" width=\"469.6\"",
            "x=\"479.6\" y=\"22.0\" width=\"318.4\"",
            "width=\"198.2\"",
        ] {
            assert!(svg.contains(place), "{place} is not in {svg}");
        }
        assert!(svg.contains(">matching</text>") && !svg.contains(">hop</text>"), "{svg}");
        assert!(svg.contains("<title>hop: 1 µs</title>") && svg.contains("a&lt;b"), "{svg}");
    }
}
