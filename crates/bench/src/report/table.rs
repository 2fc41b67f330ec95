//! Tables, as HTML.

use super::format::escape;

/// A text of more characters than this may be broken into lines.
const LONG: usize = 40;

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// Words, on the left.
    Text(String),
    /// A figure, on the right.
    Figure(String),
    /// A verdict.
    Good(String),
    /// A verdict.
    Bad(String),
    /// A remark over so many columns, in place of figures.
    Invalid(usize, String),
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A figure, or a dash.
    pub(super) fn maybe(figure: Option<String>) -> Self {
        Self::Figure(figure.unwrap_or_else(|| "–".to_owned()))
    }

    fn html(&self) -> String {
        match self {
            Self::Text(text) if text.chars().count() > LONG => {
                format!("<td class=\"long\">{}</td>", escape(text))
            }
            Self::Text(text) => format!("<td>{}</td>", escape(text)),
            Self::Figure(text) => format!("<td class=\"n\">{}</td>", escape(text)),
            Self::Good(text) => format!("<td class=\"good\">✓ {}</td>", escape(text)),
            Self::Bad(text) => format!("<td class=\"bad\">✕ {}</td>", escape(text)),
            Self::Invalid(columns, why) => {
                let why = escape(why);
                format!("<td class=\"bad\" colspan=\"{columns}\">✕ invalid: {why}</td>")
            }
        }
    }
}

/// A column: its head, and whether figures are in it.
pub(super) type Column<'a> = (&'a str, bool);

/// A table that scrolls by itself where the page is too narrow for it.
pub(super) fn table(name: &str, columns: &[Column<'_>], rows: &[Vec<Cell>]) -> String {
    let head = columns.iter().map(|(head, has_figures)| {
        let class = if *has_figures { " class=\"n\"" } else { "" };
        format!("<th scope=\"col\"{class}>{}</th>", escape(head))
    });
    let body = rows.iter().map(|cells| {
        let cells: String = cells.iter().map(Cell::html).collect();
        format!("<tr>{cells}</tr>\n")
    });
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n\
         <table><thead><tr>{}</tr></thead>\n<tbody>{}</tbody></table></div>\n",
        escape(name),
        head.collect::<String>(),
        body.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_text_whatever_is_in_them() {
        let row = vec![Cell::text("<b>"), Cell::maybe(None), Cell::Invalid(2, "a & b".to_owned())];
        let html = table("x", &[("what", false), ("µs", true)], &[row]);
        let expected = "<tr><td>&lt;b&gt;</td><td class=\"n\">–</td>\
                        <td class=\"bad\" colspan=\"2\">✕ invalid: a &amp; b</td></tr>";
        assert!(html.contains(expected), "{html}");
        assert!(html.contains("<th scope=\"col\" class=\"n\">µs</th>"), "{html}");
    }
}
