//! Rows of a view as an aligned table.

use serde_json::Value as Json;

/// A cell as people read it.
pub(crate) fn cell(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::Bool(true) => "yes".to_owned(),
        Json::Bool(false) => "no".to_owned(),
        Json::String(text) => text.chars().map(|c| if c.is_control() { '?' } else { c }).collect(),
        other => other.to_string(),
    }
}

/// The names of the columns, from the first row.
pub(crate) fn columns(rows: &[Json]) -> Vec<String> {
    let first = rows.first().and_then(Json::as_object);
    first.map(|row| row.keys().cloned().collect()).unwrap_or_default()
}

/// The rows of an answer, numbers to the right.
pub(crate) fn table(said: &Json) -> String {
    let rows = said["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let columns = columns(rows);
    let mut cells = vec![columns.clone()];
    cells.extend(rows.iter().map(|row| columns.iter().map(|name| cell(&row[name])).collect()));
    let is_number: Vec<bool> =
        columns.iter().map(|name| rows.iter().any(|row| row[name].is_number())).collect();
    let widths: Vec<usize> = (0..columns.len())
        .map(|at| cells.iter().map(|row: &Vec<String>| row[at].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in cells {
        let line = row.iter().zip(&widths).zip(&is_number).map(|((cell, width), is_number)| {
            let gap = " ".repeat(width - cell.chars().count());
            if *is_number { gap + cell } else { cell.clone() + &gap }
        });
        text.push_str(line.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_are_aligned_and_nothing_moves_the_cursor() {
        let said = json!({ "rows": [
            { "name": "FEED", "items": 12, "up": true },
            { "name": "A\u{1b}[2J", "items": 7, "up": null },
        ]});
        assert_eq!(table(&said), "name   items  up\nFEED      12  yes\nA?[2J      7\n");
    }
}
