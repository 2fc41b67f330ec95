//! Tables whose columns are in line.

use std::fmt::{self, Write as _};

/// Rows of texts under a head; the first column stands left, others right.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
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
                    _ => write!(line, "  {cell:>width$}")?,
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A figure in millions, if it is one.
pub(crate) fn rate(per_second: f64) -> String {
    match per_second {
        _ if per_second >= 1e6 => format!("{:.2} M", per_second / 1e6),
        _ if per_second >= 1e3 => format!("{:.0} k", per_second / 1e3),
        _ => format!("{per_second:.0}"),
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
    fn rates_are_short() {
        assert_eq!([999.0, 50_000.0, 1_650_000.0].map(rate), ["999", "50 k", "1.65 M"]);
    }
}
