//! Files of records: JSON objects, one a line; and what is to be said at the
//! end of all of them.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use tapeline_measure::disturbance::Disturbance;
use tapeline_measure::record::ToolLine;

use crate::GaugeError;
use crate::hdr_log::HdrLog;
use crate::output::Output;

/// The file of records, if there is one.
pub(crate) struct Records {
    file: Option<(BufWriter<File>, String)>,
    log: Option<HdrLog>,
    cells: u32,
    /// Those that others disturbed, and how much at most.
    disturbed: u32,
    worst: Disturbance,
}

impl Records {
    fn of(file: Option<(BufWriter<File>, String)>) -> Self {
        Self { file, log: None, cells: 0, disturbed: 0, worst: Disturbance::default() }
    }

    pub(crate) fn create(path: Option<&Path>) -> Result<Self, GaugeError> {
        let Some(path) = path else { return Ok(Self::of(None)) };
        let name = path.display().to_string();
        if let Some(folder) = path.parent() {
            let _ = fs::create_dir_all(folder);
        }
        let file = File::create(path).map_err(GaugeError::io(format!("writing {name}")))?;
        Ok(Self::of(Some((BufWriter::new(file), name))))
    }

    /// Keeps a log of histograms as well, `TOOL.hlog` in a folder.
    pub(crate) fn with_log(self, folder: Option<&str>, tool: &str) -> Result<Self, GaugeError> {
        let Some(folder) = folder else { return Ok(self) };
        let log = HdrLog::create(Path::new(folder), tool);
        let log = log.map_err(GaugeError::io(format!("writing {folder}/{tool}.hlog")))?;
        Ok(Self { log: Some(log), ..self })
    }

    /// Behind what the file has, if it is there.
    pub(crate) fn append(path: &Path) -> Result<Self, GaugeError> {
        let name = path.display().to_string();
        let file = File::options().append(true).create(true).open(path);
        let file = file.map_err(GaugeError::io(format!("writing {name}")))?;
        Ok(Self::of(Some((BufWriter::new(file), name))))
    }

    pub(crate) fn write(&mut self, line: &ToolLine) -> Result<(), GaugeError> {
        if let ToolLine::Tool(tool) = line {
            self.cells += 1;
            if let Some(of) = tool.disturbed.filter(Disturbance::is_worth_telling) {
                self.disturbed += 1;
                self.worst = self.worst.worst(of);
            }
        }
        if let (ToolLine::Tool(tool), Some(log)) = (line, &mut self.log) {
            log.add(tool).map_err(GaugeError::io("writing a log of histograms"))?;
        }
        let Some((file, name)) = &mut self.file else { return Ok(()) };
        let written = writeln!(file, "{}", line.to_value()).and_then(|()| file.flush());
        written.map_err(GaugeError::io(format!("writing {name}")))
    }

    /// Says whether figures may be others' as well.
    pub(crate) fn tell_disturbance(&self, out: &mut dyn Output) {
        if self.disturbed > 0 {
            out.say(&format!(
                "disturbed: in {} of {} cells {}; measure again before a tail is believed",
                self.disturbed,
                self.cells,
                if self.disturbed == 1 {
                    self.worst.to_string()
                } else {
                    format!("{} at most", self.worst)
                },
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use tapeline_measure::record::Tool;

    use super::*;

    #[derive(Default)]
    struct Said(Vec<String>);

    impl Output for Said {
        fn text(&mut self, _: &str) {}

        fn say(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }
    }

    #[test]
    fn who_else_was_at_work_is_said_once_with_the_worst_of_it() {
        let mut records = Records::create(None).unwrap();
        let mut said = Said::default();
        for others_percent in [0.0, 1.9, 40.0, 7.5] {
            let disturbed = Some(Disturbance { others_percent, stolen_percent: 0.0 });
            let tool = Tool { disturbed, ..Tool::default() };
            records.write(&ToolLine::Tool(Box::new(tool))).unwrap();
            if others_percent < 2.0 {
                records.tell_disturbance(&mut said);
                assert!(said.0.is_empty(), "{:?}", said.0);
            }
        }
        records.tell_disturbance(&mut said);
        let expected = "disturbed: in 2 of 4 cells other programs had 40.0 % of the cores at most; \
                        measure again before a tail is believed";
        assert_eq!(said.0, [expected]);
    }
}
