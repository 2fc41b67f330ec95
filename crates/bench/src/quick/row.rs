//! A row of the table of aims.

use serde::{Deserialize, Serialize};
use tapeline_measure::table::Table;

/// A figure beside its floor and its aim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What was measured.
    pub row: String,
    /// The figure; `None` if it could not be measured.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: String,
    /// The same of the bare machine, where there is such a thing.
    pub floor: Option<f64>,
    /// Figure by floor.
    pub ratio: Option<f64>,
    /// What the figure is to be.
    pub aim: String,
    /// Whether it is.
    pub met: Option<bool>,
    /// Whether other work took the cores while it was measured, so that there is no
    /// figure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_disturbed: bool,
    /// Why there is no figure, or what else is to be known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Name, unit and aim of a row.
pub(super) type Name = (&'static str, &'static str, &'static str);

impl Row {
    pub(super) fn of((row, unit, aim): &Name, value: f64) -> Self {
        Self {
            row: (*row).to_owned(),
            value: Some(value),
            unit: (*unit).to_owned(),
            aim: (*aim).to_owned(),
            ..Self::default()
        }
    }

    /// A row without a figure.
    pub(super) fn none(name: &Name, why: &str) -> Self {
        Self { value: None, reason: Some(why.to_owned()), ..Self::of(name, 0.0) }
    }

    /// Rows without figures.
    pub(super) fn missing(names: &[Name], why: &str) -> impl Iterator<Item = Self> {
        names.iter().map(move |name| Self::none(name, why))
    }

    /// The row of what was measured while other work was in the way. What had no figure
    /// anyway says why, as before.
    pub(super) fn disturbed(self, why: &str) -> Self {
        if self.value.is_none() {
            return self;
        }
        let reason = format!("disturbed each time: {why}");
        Self {
            value: None,
            floor: None,
            ratio: None,
            met: None,
            is_disturbed: true,
            reason: Some(reason),
            ..self
        }
    }

    /// With the floor, and the ratio to it.
    pub(super) fn beside(mut self, floor: f64) -> Self {
        self.floor = Some(floor);
        self.ratio = self.value.map(|value| value / floor);
        self
    }

    pub(super) fn met(mut self, is_met: bool) -> Self {
        self.met = Some(is_met);
        self
    }

    pub(super) fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }
}

/// The rows for people.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table =
        Table::new(&["what", "figure", "unit", "floor", "ratio", "met"]).with_last("aim");
    for row in rows {
        let met = match row.met {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        };
        let mut last = row.aim.clone();
        if let Some(reason) = &row.reason {
            last = format!("{last} ({reason})");
        }
        table.row(vec![
            row.row.clone(),
            match row.value {
                Some(value) => figure(value),
                None if row.is_disturbed => "disturbed".to_owned(),
                None => "missing".to_owned(),
            },
            row.unit.clone(),
            row.floor.map_or(String::new(), figure),
            row.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
            met.to_owned(),
            last,
        ]);
    }
    table.to_string()
}

/// A number to three digits or more.
fn figure(value: f64) -> String {
    match value.abs() {
        large if large >= 1e6 => format!("{:.2} M", value / 1e6),
        middle if middle >= 100.0 => format!("{value:.0}"),
        small if small >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: Name = ("latency", "µs", "at most 2.5 times the floor");

    #[test]
    fn a_row_is_the_object_that_others_read() {
        let row = Row::of(&NAME, 10.0).beside(4.0).met(true);
        let text = serde_json::to_string(&row).unwrap();
        let expected = r#"{"row":"latency","value":10.0,"unit":"µs","floor":4.0,"ratio":2.5,"aim":"at most 2.5 times the floor","met":true}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Row>(expected).unwrap(), row);
        let missing = Row::missing(&[NAME], "no root").next().unwrap();
        let text = serde_json::to_string(&missing).unwrap();
        assert!(
            text.contains(r#""value":null"#) && text.contains(r#""reason":"no root""#),
            "{text}"
        );
    }

    #[test]
    fn the_table_has_a_line_for_each() {
        let rows = [Row::of(&NAME, 11.0).beside(4.0).met(false)];
        let text = table(&rows);
        let line = text.lines().nth(1).unwrap();
        assert_eq!(line, "latency    11.0    µs   4.00   2.75   NO  at most 2.5 times the floor");
        let text = table(&[Row::of(&NAME, 11.0).met(true).disturbed("a build ran")]);
        let line = text.lines().nth(1).unwrap();
        assert!(line.starts_with("latency  disturbed    µs "), "{line}");
        assert!(line.ends_with("(disturbed each time: a build ran)"), "{line}");
        let missing = Row::none(&NAME, "no root");
        assert_eq!(missing.clone().disturbed("a build ran"), missing);
        let text = table(&[Row::none(&NAME, "no rate held")]);
        let line = text.lines().nth(1).unwrap();
        assert!(
            line.starts_with("latency  missing    µs ") && line.contains("no rate held"),
            "{line}"
        );
    }
}
