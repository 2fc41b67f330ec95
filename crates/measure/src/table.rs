//! Tables whose columns are in line.

use std::fmt::{self, Write as _};

/// Rows of texts under a head; the first column stands left, others right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    /// From this column on they stand left.
    left_from: usize,
}

impl Table {
    /// With only a head.
    pub fn new(head: &[&str]) -> Self {
        let head = head.iter().map(|cell| (*cell).to_owned()).collect();
        Self { rows: vec![head], left_from: usize::MAX }
    }

    /// With one more column, which stands left.
    pub fn with_last(mut self, head: &str) -> Self {
        for row in &mut self.rows {
            row.push(head.to_owned());
        }
        self.left_from = self.rows.first().map_or(0, Vec::len) - 1;
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                match column {
                    0 => write!(line, "{cell:<width$}")?,
                    column if column >= self.left_from => write!(line, "  {cell:<width$}")?,
                    _ => write!(line, "  {cell:>width$}")?,
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A figure in millions, if it is one.
pub fn rate(per_second: f64) -> String {
    match per_second {
        _ if per_second >= 1e6 => format!("{:.2} M", per_second / 1e6),
        _ if per_second >= 1e3 => format!("{:.0} k", per_second / 1e3),
        _ => format!("{per_second:.0}"),
    }
}

/// A figure as `text` has it, or a dash if there is none.
pub fn or_dash(figure: Option<f64>, text: impl Fn(f64) -> String) -> String {
    figure.map_or("-".to_owned(), text)
}

/// Nanoseconds as microseconds, to four digits.
pub fn micros(nanos: f64) -> String {
    match nanos / 1000.0 {
        us if us >= 1000.0 => format!("{us:.0}"),
        us if us >= 100.0 => format!("{us:.1}"),
        us => format!("{us:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_in_line() {
        let mut table = Table::new(&["what", "p50"]);
        table.row(vec!["bare TCP".to_owned(), "4.1".to_owned()]);
        table.row(vec!["x".to_owned(), "10.25".to_owned()]);
        assert_eq!(table.to_string(), "what        p50\nbare TCP    4.1\nx         10.25\n");
    }

    #[test]
    fn microseconds_have_four_digits() {
        assert_eq!([4_043.0, 123_456.0, 1_500_400.0].map(micros), ["4.04", "123.5", "1500"]);
    }

    #[test]
    fn rates_are_short() {
        assert_eq!([999.0, 50_000.0, 1_650_000.0].map(rate), ["999", "50 k", "1.65 M"]);
    }
}
