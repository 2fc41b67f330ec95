//! Result files.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use tapeline_measure::record::{Setting, ToolLine};

use super::hosts::OfHost;
use super::runs::with_origins;
use crate::BenchError;
use crate::quick::Row;
use crate::record::Record;

/// Larger files are refused, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Of the lines that are no records, so many are named.
const MAX_NAMED: usize = 20;

/// What a report is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Input {
    pub(super) records: Vec<Record>,
    /// What tools found of hosts.
    pub(super) tools: Vec<OfHost>,
    pub(super) settings: Vec<Setting>,
    /// Lists of rows, each with the name of its file.
    pub(super) rows: Vec<(String, Vec<Row>)>,
    /// What could not be understood.
    pub(super) left_out: Vec<String>,
}

impl Input {
    pub(super) fn add_file(&mut self, path: &Path) -> Result<(), BenchError> {
        let failed = |what: String| BenchError::ResultFile { path: path.to_owned(), what };
        let file = File::open(path).map_err(|error| failed(error.to_string()))?;
        let mut text = String::new();
        let read = file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text);
        match read.map_err(|error| failed(error.to_string()))? as u64 {
            ..=MAX_FILE_BYTES => {}
            _ => return Err(failed("larger than 1 GiB".to_owned())),
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.add_text(&name, &text);
        Ok(())
    }

    /// The text of a file of that name.
    fn add_text(&mut self, name: &str, text: &str) {
        if text.trim_start().starts_with('[') {
            match serde_json::from_str::<Vec<Row>>(text) {
                Ok(rows) => self.rows.push((name.to_owned(), rows)),
                Err(error) => self.left_out.push(format!("{name}: no list of rows: {error}")),
            }
            return;
        }
        let (mut not_named, mut records) = (0, Vec::new());
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match serde_json::from_str::<Record>(line) {
                Ok(record) => records.push(record),
                // Their comparison is in a list of rows.
                Err(_) if is(line, "peers") => {}
                Err(_) if self.add_tool(name, line) => {}
                Err(_) if self.left_out.len() >= MAX_NAMED => not_named += 1,
                Err(error) => self.left_out.push(format!("{name}, line {}: {error}", at + 1)),
            }
        }
        self.records.extend(with_origins(records));
        if not_named > 0 {
            self.left_out.push(format!("{name}: {not_named} more lines that are no records"));
        }
    }

    /// Takes a line of a tool that judges a host, which is no latency of market
    /// data. False of any other line.
    fn add_tool(&mut self, name: &str, line: &str) -> bool {
        match serde_json::from_str::<ToolLine>(line) {
            Ok(ToolLine::Tool(tool)) => {
                self.tools.push(OfHost { file: name.to_owned(), tool: *tool });
                true
            }
            Ok(ToolLine::Setting(setting)) => {
                self.settings.push(*setting);
                true
            }
            _ => false,
        }
    }
}

/// Whether a line is of `kind`: `peers` for a run of `tapeline bench peers`.
fn is(line: &str, kind: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|value| value["bench"] == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_lines_lose_only_themselves() {
        let mut input = Input::default();
        let text =
            "{\"bench\":\"result\"}\n\n{\"bench\":\"trial\"}\nno JSON\n{\"bench\":\"environment\"}";
        input.add_text("run.json", text);
        assert_eq!(input.records.len(), 2);
        let [unknown, broken] = &input.left_out[..] else { panic!("{:?}", input.left_out) };
        assert!(unknown.starts_with("run.json, line 3: unknown variant"), "{unknown}");
        assert!(broken.starts_with("run.json, line 4: "), "{broken}");
    }

    #[test]
    fn what_a_tool_measured_is_no_latency_of_market_data() {
        let mut input = Input::default();
        let tool = r#"{"bench":"tool","tool":"pingpong","valid":true,"size_bytes":1}"#;
        input.add_text("tools.json", &[tool, tool].join("\n"));
        assert_eq!(input.records, []);
        assert_eq!((input.tools.len(), input.left_out.len()), (2, 0));
        let page = super::super::page::page(&input);
        assert!(!page.contains("<section id=\"latency\">"), "{page}");
    }

    #[test]
    fn a_file_of_something_else_is_told_of_in_short() {
        let mut input = Input::default();
        input.add_text("log", &"what\n".repeat(1000));
        assert_eq!(input.left_out.len(), MAX_NAMED + 1);
        assert_eq!(input.left_out[MAX_NAMED], "log: 980 more lines that are no records");
    }

    #[test]
    fn a_list_of_rows_is_read() {
        let mut input = Input::default();
        let text = r#"[
            {"row":"latency","value":1.5,"unit":"µs","floor":1,"ratio":1.5,"aim":"≤ 3","met":true},
            {"row":"peers","value":null,"unit":"","aim":"","reason":"no Java"}]"#;
        input.add_text("quick.json", text);
        input.add_text("peers.jsonl", r#"{"bench":"peers","what":"trial"}"#);
        let [(name, rows)] = &input.rows[..] else { panic!("{:?}", input.rows) };
        assert_eq!((&name[..], rows.len(), input.left_out.len()), ("quick.json", 2, 0));
        assert_eq!((rows[0].value, rows[0].met), (Some(1.5), Some(true)));
        assert_eq!(rows[1].reason.as_deref(), Some("no Java"));
        input.add_text("list.json", "[1]");
        assert!(
            input.left_out[0].starts_with("list.json: no list of rows"),
            "{:?}",
            input.left_out
        );
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error_with_its_name() {
        let error = Input::default().add_file(Path::new("/no/such/file")).unwrap_err();
        assert!(error.to_string().contains("/no/such/file"), "{error}");
    }
}
