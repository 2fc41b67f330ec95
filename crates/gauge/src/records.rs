//! Files of records: JSON objects, one a line.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use tapeline_measure::record::ToolLine;

use crate::GaugeError;

/// The file of records, if there is one.
pub(crate) struct Records(Option<(BufWriter<File>, String)>);

impl Records {
    pub(crate) fn create(path: Option<&Path>) -> Result<Self, GaugeError> {
        let Some(path) = path else { return Ok(Self(None)) };
        let name = path.display().to_string();
        if let Some(folder) = path.parent() {
            let _ = fs::create_dir_all(folder);
        }
        let file = File::create(path).map_err(GaugeError::io(format!("writing {name}")))?;
        Ok(Self(Some((BufWriter::new(file), name))))
    }

    /// Behind what the file has, if it is there.
    pub(crate) fn append(path: &Path) -> Result<Self, GaugeError> {
        let name = path.display().to_string();
        let file = File::options().append(true).create(true).open(path);
        let file = file.map_err(GaugeError::io(format!("writing {name}")))?;
        Ok(Self(Some((BufWriter::new(file), name))))
    }

    pub(crate) fn write(&mut self, line: &ToolLine) -> Result<(), GaugeError> {
        let Some((file, name)) = &mut self.0 else { return Ok(()) };
        let written = writeln!(file, "{}", line.to_value()).and_then(|()| file.flush());
        written.map_err(GaugeError::io(format!("writing {name}")))
    }
}
