//! Heat maps, as SVG: a figure by size and rate, with the edge where it melts.

use std::fmt::Write as _;

use super::format::escape;

/// Shades from the least to the greatest, each a class of the style sheet.
pub(super) const SHADES: usize = 7;

/// A cell of a map.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Heat {
    pub(super) x: u64,
    pub(super) y: u64,
    /// `None`: it does not count.
    pub(super) value: Option<f64>,
    pub(super) is_good: bool,
    pub(super) title: String,
}

/// A map. Columns are rates, rows are sizes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HeatMap {
    pub(super) name: String,
    pub(super) x_label: String,
    pub(super) y_label: String,
    pub(super) cells: Vec<Heat>,
}

/// How it is laid out: on a wide page rates go to the right, on a narrow one
/// they go down, since there are more of them than of sizes.
struct Layout {
    class: &'static str,
    is_turned: bool,
    cell_width: f64,
    cell_height: f64,
}

const LAYOUTS: [Layout; 2] = [
    Layout { class: "wide", is_turned: false, cell_width: 58.0, cell_height: 34.0 },
    Layout { class: "narrow", is_turned: true, cell_width: 66.0, cell_height: 26.0 },
];

const LEFT: f64 = 74.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 22.0;

/// `1,000,000` is `1M`.
fn short(number: u64) -> String {
    match number {
        1_000_000.. if number.is_multiple_of(100_000) => format!("{}M", number as f64 / 1e6),
        1_000.. if number.is_multiple_of(100) => format!("{}k", number as f64 / 1e3),
        _ => number.to_string(),
    }
}

fn value_text(value: f64) -> String {
    match value {
        _ if value >= 10_000.0 => format!("{:.0}k", value / 1000.0),
        _ if value >= 1_000.0 => format!("{:.1}k", value / 1000.0),
        _ if value >= 100.0 => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}

impl HeatMap {
    /// For wide and for narrow pages; nothing without cells.
    pub(super) fn responsive(&self) -> String {
        match self.cells.is_empty() {
            true => String::new(),
            false => LAYOUTS.iter().map(|layout| self.svg(layout)).collect(),
        }
    }

    fn steps(&self, of: fn(&Heat) -> u64) -> Vec<u64> {
        let mut all: Vec<u64> = self.cells.iter().map(of).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Which shade a value has: by its logarithm, between the least and the
    /// greatest that count.
    fn shade(&self, value: f64) -> usize {
        let values =
            || self.cells.iter().filter_map(|cell| cell.value).filter(|value| *value > 0.0);
        let least = values().fold(f64::INFINITY, f64::min);
        let most = values().fold(0.0, f64::max);
        if most <= least {
            return 0;
        }
        let share = (value.max(least) / least).ln() / (most / least).ln();
        ((share * SHADES as f64) as usize).min(SHADES - 1)
    }

    fn svg(&self, layout: &Layout) -> String {
        let (rates, sizes) = (self.steps(|cell| cell.x), self.steps(|cell| cell.y));
        let (columns, rows) = if layout.is_turned { (&sizes, &rates) } else { (&rates, &sizes) };
        let (width, height) = (layout.cell_width, layout.cell_height);
        let full =
            (LEFT + columns.len() as f64 * width + 8.0, TOP + rows.len() as f64 * height + BOTTOM);
        let mut svg = format!(
            "<svg class=\"plot heat {}\" style=\"max-width:{:.0}px\" viewBox=\"0 0 {:.0} {:.0}\" \
             role=\"img\" aria-label=\"{}\">",
            layout.class,
            full.0 * 1.25,
            full.0,
            full.1,
            escape(&self.name)
        );
        let place = |cell: &Heat| {
            let (across, down) = if layout.is_turned { (cell.y, cell.x) } else { (cell.x, cell.y) };
            let at = |all: &[u64], of: u64| all.iter().position(|step| *step == of).unwrap_or(0);
            (at(columns, across), at(rows, down))
        };
        for cell in &self.cells {
            let (column, row) = place(cell);
            let (x, y) = (LEFT + column as f64 * width, TOP + row as f64 * height);
            self.cell(cell, (x, y), (width, height), &mut svg);
        }
        self.edge(&place, (columns.len(), rows.len()), (width, height), &mut svg);
        for (at, step) in columns.iter().enumerate() {
            let x = LEFT + (at as f64 + 0.5) * width;
            let _ = write!(
                svg,
                "<text class=\"tick middle\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                TOP - 7.0,
                short(*step)
            );
        }
        for (at, step) in rows.iter().enumerate() {
            let y = TOP + (at as f64 + 0.5) * height + 4.0;
            let _ = write!(
                svg,
                "<text class=\"tick end\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                LEFT - 8.0,
                short(*step)
            );
        }
        let (across, down) = match layout.is_turned {
            true => (&self.y_label, &self.x_label),
            false => (&self.x_label, &self.y_label),
        };
        let _ = write!(
            svg,
            "<text class=\"axis\" x=\"0\" y=\"{:.1}\">{} ↓</text>\
             <text class=\"axis end\" x=\"{:.1}\" y=\"{:.1}\">{} →</text></svg>",
            TOP - 7.0,
            escape(down),
            full.0 - 8.0,
            full.1 - 6.0,
            escape(across)
        );
        svg
    }

    fn cell(&self, cell: &Heat, (x, y): (f64, f64), (width, height): (f64, f64), svg: &mut String) {
        let (class, text) = match cell.value {
            Some(value) => (format!("h{}", self.shade(value)), value_text(value)),
            None => ("none".to_owned(), "✕".to_owned()),
        };
        let _ = write!(
            svg,
            "<g class=\"{class}\"><title>{}</title><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
             height=\"{:.1}\" rx=\"3\"/><text class=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{text}</text></g>",
            escape(&cell.title),
            x + 1.0,
            y + 1.0,
            width - 2.0,
            height - 2.0,
            x + width / 2.0,
            y + height / 2.0 + 4.0,
        );
    }

    /// A line between cells that are good and those that are not.
    fn edge(
        &self,
        place: &dyn Fn(&Heat) -> (usize, usize),
        (columns, rows): (usize, usize),
        (width, height): (f64, f64),
        svg: &mut String,
    ) {
        let mut good = vec![None; columns * rows];
        for cell in &self.cells {
            let (column, row) = place(cell);
            good[row * columns + column] = Some(cell.is_good);
        }
        let of = |column: usize, row: usize| good.get(row * columns + column).copied().flatten();
        let mut path = String::new();
        for row in 0..rows {
            for column in 0..columns {
                let (x, y) = (LEFT + column as f64 * width, TOP + row as f64 * height);
                let is_edge =
                    |a: Option<bool>, b: Option<bool>| a.zip(b).is_some_and(|(a, b)| a != b);
                if column + 1 < columns && is_edge(of(column, row), of(column + 1, row)) {
                    let _ = write!(path, "M{:.1} {y:.1}v{height:.1}", x + width);
                }
                if row + 1 < rows && is_edge(of(column, row), of(column, row + 1)) {
                    let _ = write!(path, "M{x:.1} {:.1}h{width:.1}", y + height);
                }
            }
        }
        if !path.is_empty() {
            let _ = write!(svg, "<path class=\"melt\" d=\"{path}\"/>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat(x: u64, y: u64, value: Option<f64>, is_good: bool) -> Heat {
        Heat { x, y, value, is_good, title: format!("{x} < {y}") }
    }

    fn map() -> HeatMap {
        HeatMap {
            name: "avg".to_owned(),
            x_label: "messages/s".to_owned(),
            y_label: "bytes".to_owned(),
            cells: vec![
                heat(100, 100, Some(2.0), true),
                heat(1_000, 100, Some(20.0), true),
                heat(100, 500, Some(4.0), true),
                heat(1_000, 500, None, false),
            ],
        }
    }

    #[test]
    fn shades_go_from_the_least_to_the_greatest_by_decades() {
        let map = map();
        assert_eq!((map.shade(2.0), map.shade(20.0)), (0, SHADES - 1));
        assert_eq!(map.shade(6.5), SHADES / 2);
        let alone = HeatMap { cells: vec![heat(1, 1, Some(5.0), true)], ..map };
        assert_eq!(alone.shade(5.0), 0);
    }

    #[test]
    fn the_edge_goes_around_what_is_not_good() {
        let svg = map().responsive();
        assert_eq!(svg.matches("<path class=\"melt\"").count(), 2);
        // Left of the bad cell, and above it.
        let wide = &svg[..svg.find("</svg>").unwrap()];
        assert!(wide.contains("d=\"M132.0 60.0h58.0M132.0 60.0v34.0\""), "{wide}");
        assert!(wide.contains("class=\"none\"") && wide.contains("100 &lt; 500"), "{wide}");
    }

    #[test]
    fn all_good_has_no_edge_and_nothing_no_map() {
        let mut all = map();
        all.cells.iter_mut().for_each(|cell| cell.is_good = true);
        assert!(!all.responsive().contains("melt"));
        assert_eq!(HeatMap { cells: Vec::new(), ..all }.responsive(), "");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([100, 1_000, 250_000, 1_000_000].map(short), ["100", "1k", "250k", "1M"]);
        assert_eq!([2.04, 188.2, 2_920.6, 19_000.0].map(value_text), ["2.0", "188", "2.9k", "19k"]);
    }
}
