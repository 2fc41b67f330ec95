//! Figures with two axes, as SVG.

use std::fmt::Write as _;

use super::axis::Axis;
use super::format::escape;

/// Width of a character of a label, in the mean.
const CHAR_WIDTH: f64 = 6.3;

/// Height of a label with its distance to the next.
const LABEL_HEIGHT: f64 = 14.0;

/// How large a figure is, in units of its text, which is 11 high.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    class: &'static str,
    width: f64,
    height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// Whether lines are labelled where they end.
    has_labels: bool,
}

impl Size {
    /// For a wide page, with room for labels on the right.
    pub(super) const WIDE: Self = Self {
        class: "wide",
        width: 820.0,
        height: 400.0,
        left: 52.0,
        right: 200.0,
        top: 34.0,
        bottom: 44.0,
        has_labels: true,
    };

    /// For a narrow page.
    pub(super) const NARROW: Self = Self {
        class: "narrow",
        width: 360.0,
        height: 290.0,
        left: 44.0,
        right: 12.0,
        top: 34.0,
        bottom: 44.0,
        has_labels: false,
    };

    /// One of several beside each other, on any page.
    pub(super) const SMALL: Self = Self { class: "small", height: 220.0, ..Self::NARROW };
}

/// What stands for a value of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    None,
    Circle,
    Square,
    Diamond,
    Triangle,
}

impl Marker {
    /// Those that can be told from each other.
    pub(super) const ALL: [Self; 4] = [Self::Circle, Self::Square, Self::Diamond, Self::Triangle];

    /// The outline around a place.
    pub(super) fn path(self, x: f64, y: f64) -> String {
        match self {
            Self::None => String::new(),
            Self::Circle => {
                format!("M{:.1} {y:.1}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", x - 3.0)
            }
            Self::Square => format!("M{:.1} {:.1}h5.4v5.4h-5.4z", x - 2.7, y - 2.7),
            Self::Diamond => {
                format!("M{x:.1} {:.1}l3.8 3.8l-3.8 3.8l-3.8 -3.8z", y - 3.8)
            }
            Self::Triangle => format!("M{x:.1} {:.1}l3.6 6.3h-7.2z", y - 4.0),
        }
    }
}

/// A value of a line, and what is said of it. One of which nothing is said has
/// no marker.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) title: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) name: String,
    /// Classes of the style sheet.
    pub(super) class: String,
    pub(super) marker: Marker,
    pub(super) points: Vec<Point>,
}

/// A column of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) y: f64,
    pub(super) title: String,
}

/// A part of the horizontal axis that is shaded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Band {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) name: String,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plot {
    /// What it shows, for who cannot see it.
    pub(super) name: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) bands: Vec<Band>,
    /// Class of the columns, which gives them their colour.
    pub(super) class: String,
    pub(super) columns: Vec<Column>,
    /// Those that come first have the first choice of a place for their label.
    pub(super) lines: Vec<Line>,
}

/// Where a label was put.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    x: f64,
    y: f64,
    width: f64,
}

impl Place {
    fn is_clear_of(&self, other: &Self) -> bool {
        (self.y - other.y).abs() >= LABEL_HEIGHT - 0.01
            || self.x + self.width < other.x
            || other.x + other.width < self.x
    }
}

impl Plot {
    pub(super) fn svg(&self, size: Size) -> String {
        let Size { class, width, height, .. } = size;
        let mut svg = format!(
            "<svg class=\"plot {class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-label=\"{}\">",
            escape(&self.name)
        );
        self.grid(size, &mut svg);
        self.columns(size, &mut svg);
        self.bands(size, &mut svg);
        // The first line is the uppermost.
        for line in self.lines.iter().rev() {
            self.line(line, size, &mut svg);
        }
        if size.has_labels {
            self.labels(size, &mut svg);
        }
        svg.push_str("</svg>");
        svg
    }

    /// The same for wide and for narrow pages, with a key where lines have no
    /// labels.
    pub(super) fn responsive(&self) -> String {
        let mut key = String::new();
        for Line { name, class, marker, .. } in &self.lines {
            let _ = write!(
                key,
                "<li class=\"{class}\"><svg class=\"swatch\" viewBox=\"0 0 26 12\" \
                 aria-hidden=\"true\"><g class=\"line {class}\"><path d=\"M1 6h24\"/>\
                 <path class=\"mark\" d=\"{}\"/></g></svg>{}</li>",
                marker.path(13.0, 6.0),
                escape(name)
            );
        }
        let (wide, narrow) = (self.svg(Size::WIDE), self.svg(Size::NARROW));
        format!("{wide}{narrow}<ul class=\"key\">{key}</ul>")
    }

    fn bands(&self, size: Size, svg: &mut String) {
        for Band { from, to, name } in &self.bands {
            let (from, to) = (self.left(*from, size), self.left(*to, size));
            let (top, height) = (size.top, size.height - size.top - size.bottom);
            let _ = write!(
                svg,
                "<rect class=\"band\" x=\"{from:.1}\" y=\"{top}\" width=\"{:.1}\" \
                 height=\"{height}\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                (to - from).max(0.0),
                from,
                top - 4.0,
                escape(name)
            );
        }
    }

    fn grid(&self, size: Size, svg: &mut String) {
        let (left, right) = (size.left, size.width - size.right);
        let (top, bottom) = (size.top, size.height - size.bottom);
        for (value, text) in &self.y.ticks {
            let y = self.top(*value, size);
            let class = if text.is_empty() { "grid minor" } else { "grid" };
            let _ = write!(svg, "<path class=\"{class}\" d=\"M{left} {y:.1}H{right}\"/>");
            let _ = write!(
                svg,
                "<text class=\"tick end\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
                left - 6.0,
                y + 4.0
            );
        }
        // Texts that would touch the one before are left out.
        let mut free_from = f64::NEG_INFINITY;
        for (value, text) in &self.x.ticks {
            let x = self.left(*value, size);
            let _ = write!(svg, "<path class=\"grid minor\" d=\"M{x:.1} {top}V{bottom}\"/>");
            let half = text.chars().count() as f64 * CHAR_WIDTH / 2.0;
            if text.is_empty() || x - half < free_from {
                continue;
            }
            free_from = x + half + 6.0;
            // The last one stays within the figure.
            let x = x.min(size.width - half);
            let _ = write!(
                svg,
                "<text class=\"tick middle\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>",
                bottom + 16.0
            );
        }
        let _ = write!(
            svg,
            "<path class=\"base\" d=\"M{left} {bottom}H{right}\"/>\
             <text class=\"axis\" x=\"2\" y=\"12\">{}</text>\
             <text class=\"axis middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            escape(&self.y.label),
            f64::midpoint(left, right),
            bottom + 36.0,
            escape(&self.x.label)
        );
    }

    fn columns(&self, size: Size, svg: &mut String) {
        let bottom = size.height - size.bottom;
        for Column { from, to, y, title } in &self.columns {
            let (from, to) = (self.left(*from, size), self.left(*to, size));
            let top = self.top(*y, size);
            // A gap between columns where there is room for one.
            let gap = if to - from > 4.0 { 1.0 } else { 0.0 };
            let _ = write!(
                svg,
                "<rect class=\"column {}\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" \
                 height=\"{:.1}\"><title>{}</title></rect>",
                self.class,
                (to - from - gap).max(0.5),
                bottom - top,
                escape(title)
            );
        }
    }

    fn line(&self, line: &Line, size: Size, svg: &mut String) {
        let _ = write!(svg, "<g class=\"line {}\"><path d=\"", line.class);
        for (at, point) in line.points.iter().enumerate() {
            let step = if at == 0 { 'M' } else { 'L' };
            let _ =
                write!(svg, "{step}{:.1} {:.1}", self.left(point.x, size), self.top(point.y, size));
        }
        svg.push_str("\"/>");
        if line.marker != Marker::None {
            for point in line.points.iter().filter(|point| !point.title.is_empty()) {
                let path = line.marker.path(self.left(point.x, size), self.top(point.y, size));
                let title = escape(&point.title);
                let _ =
                    write!(svg, "<path class=\"mark\" d=\"{path}\"><title>{title}</title></path>");
            }
        }
        svg.push_str("</g>");
    }

    fn labels(&self, size: Size, svg: &mut String) {
        for (line, place, end) in self.label_places(size) {
            let _ = write!(svg, "<g class=\"label {}\">", line.class);
            if (place.y - end.1).abs() > 2.0 {
                let _ = write!(
                    svg,
                    "<path class=\"leader\" d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>",
                    end.0 + 5.0,
                    end.1,
                    place.x - 2.0,
                    place.y
                );
            }
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
                place.x,
                place.y + 4.0,
                escape(&line.name)
            );
        }
    }

    /// For each line that has points, where its label goes and where it ends.
    fn label_places(&self, size: Size) -> Vec<(&Line, Place, (f64, f64))> {
        let mut placed: Vec<Place> = Vec::new();
        let mut places = Vec::new();
        for line in &self.lines {
            let Some(last) = line.points.last() else { continue };
            let end = (self.left(last.x, size), self.top(last.y, size));
            let width = line.name.chars().count() as f64 * CHAR_WIDTH;
            let x = (end.0 + 14.0).min(size.width - width).max(0.0);
            let at = |y: f64| Place { x, y, width };
            let room = size.top..=size.height - size.bottom;
            let steps = (0..40).map(|step| f64::from((step + 1) / 2 * (1 - step % 2 * 2)));
            let free = steps.map(|step| at(end.1 + step * LABEL_HEIGHT)).find(|place| {
                room.contains(&place.y) && placed.iter().all(|other| place.is_clear_of(other))
            });
            let place = free.unwrap_or_else(|| at(end.1));
            placed.push(place);
            places.push((line, place, end));
        }
        places
    }

    fn left(&self, value: f64, size: Size) -> f64 {
        size.left + self.x.place(value) * (size.width - size.left - size.right)
    }

    fn top(&self, value: f64, size: Size) -> f64 {
        size.height - size.bottom - self.y.place(value) * (size.height - size.top - size.bottom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(names: &[&str]) -> Plot {
        let point = |x: f64, y: f64| Point { x, y, title: format!("{x} & {y}") };
        let line = |name: &&str| Line {
            name: (*name).to_owned(),
            class: "s0".to_owned(),
            marker: Marker::Circle,
            points: vec![point(10.0, 5.0), point(1000.0, 50.0)],
        };
        Plot {
            name: "a <plot>".to_owned(),
            x: Axis::log("updates a second", [10.0, 1000.0]),
            y: Axis::from_zero("µs", 50.0),
            bands: vec![Band { from: 10.0, to: 20.0, name: "warm-up".to_owned() }],
            class: "s0".to_owned(),
            columns: vec![Column { from: 10.0, to: 20.0, y: 25.0, title: "half".to_owned() }],
            lines: names.iter().map(line).collect(),
        }
    }

    #[test]
    fn values_stand_where_the_axes_say() {
        let svg = plot(&["ours"]).svg(Size::WIDE);
        // From the left edge at the bottom's tenth to the right edge at the top.
        assert!(svg.contains("d=\"M52.0 323.8L620.0 34.0\""), "{svg}");
        assert!(svg.contains("aria-label=\"a &lt;plot&gt;\""), "{svg}");
        assert!(svg.contains("<title>10 &amp; 5</title>"), "{svg}");
        let half = "y=\"195.0\" width=\"84.5\" height=\"161.0\"><title>half";
        assert!(svg.contains(half), "{svg}");
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        let names = ["a", "a longer name", "third", "fourth", "fifth", "sixth"];
        let plot = plot(&names);
        let places: Vec<Place> =
            plot.label_places(Size::WIDE).into_iter().map(|(_, place, _)| place).collect();
        assert_eq!(places.len(), names.len());
        for (at, place) in places.iter().enumerate() {
            assert!(places[..at].iter().all(|other| place.is_clear_of(other)), "{places:?}");
            assert!((34.0..=356.0).contains(&place.y), "{place:?}");
            assert!(place.x + place.width <= 820.0, "{place:?}");
        }
    }

    #[test]
    fn the_first_label_is_beside_its_line() {
        let plot = plot(&["first", "second"]);
        let places = plot.label_places(Size::WIDE);
        let (line, place, end) = &places[0];
        assert_eq!(line.name, "first");
        assert!((place.y - end.1).abs() < 0.1, "{places:?}");
    }

    #[test]
    fn a_line_without_points_has_no_label() {
        let mut plot = plot(&["gone", "there"]);
        plot.lines[0].points.clear();
        assert_eq!(plot.label_places(Size::WIDE).len(), 1);
        assert!(!plot.svg(Size::WIDE).contains(">gone<"));
    }
}
