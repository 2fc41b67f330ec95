//! Tables whose columns are in line.

use std::fmt::Write as _;

/// Where the cells of a column stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of texts under a head. A column is as wide as the widest cell that it
/// ever had, so that a table that is drawn again and again stands still.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    heads: Vec<(&'static str, Align)>,
    widths: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(heads: &[(&'static str, Align)]) -> Self {
        let widths = heads.iter().map(|(head, _)| head.chars().count()).collect();
        Self { heads: heads.to_vec(), widths, rows: Vec::new() }
    }

    /// Takes the rows out and keeps the widths.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        for (width, cell) in self.widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.chars().count());
        }
        self.rows.push(cells);
    }

    /// The lines of the table, the head first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let heads: Vec<String> = self.heads.iter().map(|(head, _)| (*head).to_owned()).collect();
        std::iter::once(&heads).chain(&self.rows).map(|cells| self.line(cells)).collect()
    }

    fn line(&self, cells: &[String]) -> String {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.iter().zip(&self.widths).zip(&self.heads) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            let _ = match align {
                Align::Left => write!(line, "{cell:<width$}"),
                Align::Right => write!(line, "{cell:>width$}"),
            };
        }
        line.truncate(line.trim_end().len());
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_in_line() {
        let mut table = Table::new(&[("item", Align::Left), ("bid", Align::Right)]);
        table.row(vec!["EUR=".to_owned(), "1.0951".to_owned()]);
        table.row(vec!["JPYKRW=".to_owned(), "9".to_owned()]);
        assert_eq!(table.lines(), ["item        bid", "EUR=     1.0951", "JPYKRW=       9"]);
        table.clear();
        assert_eq!(table.lines(), ["item        bid"]);
    }
}
