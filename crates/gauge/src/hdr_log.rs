//! Logs of HDR histograms, as its plotters and readers take them: a line a cell,
//! told apart by their tags.
//!
//! ```text
//! #[Histogram log format version 1.3]
//! #[StartTime: 1764099896.000 (seconds since epoch)]
//! "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
//! Tag=tcp_64B_r1,0.512,3.000,0.088,HISTFAAAA…
//! ```
//!
//! Values are nanoseconds; the maximum, as the form has it, is in milliseconds.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tapeline_measure::record::Tool;

const NS_PER_MS: f64 = 1e6;

/// A log that is being written.
pub(crate) struct HdrLog {
    file: File,
    began: Instant,
}

impl HdrLog {
    /// `FOLDER/NAME.hlog`, in place of what was there.
    pub(crate) fn create(folder: &Path, name: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut file = File::create(folder.join(format!("{name}.hlog")))?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        file.write_all(head(now).as_bytes())?;
        Ok(Self { file, began: Instant::now() })
    }

    /// Adds a cell that has just ended, if it has a distribution.
    pub(crate) fn add(&mut self, tool: &Tool) -> io::Result<()> {
        match line(tool, self.began.elapsed()) {
            Some(line) => self.file.write_all(line.as_bytes()),
            None => Ok(()),
        }
    }
}

fn head(since_epoch: Duration) -> String {
    format!(
        "#[Histogram log format version 1.3]\n#[StartTime: {:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        since_epoch.as_secs_f64()
    )
}

fn line(tool: &Tool, ended: Duration) -> Option<String> {
    let histogram = tool.hdr.as_deref()?;
    let max_ms = tool.from_send.map_or(0.0, |of| of.max_ns as f64 / NS_PER_MS);
    let from_s = (ended.as_secs_f64() - tool.seconds).max(0.0);
    Some(format!("Tag={},{from_s:.3},{:.3},{max_ms:.3},{histogram}\n", tag(tool), tool.seconds))
}

/// What sets a cell apart from others. A comma or a blank would end a tag.
fn tag(tool: &Tool) -> String {
    let parts = [
        Some(tool.transport.clone()).filter(|name| !name.is_empty()),
        Some(tool.role.clone()).filter(|role| !["client", "send"].contains(&role.as_str())),
        tool.size_bytes.map(|bytes| format!("{bytes}B")),
        tool.rate_per_s.map(|rate| format!("{rate}ps")),
        Some(format!("r{}", tool.round)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join("_").replace([',', ' '], "-")
}

#[cfg(test)]
mod tests {
    use tapeline_measure::histogram::{Distribution, from_hdr, latencies, to_hdr};

    use super::*;

    fn tool() -> Tool {
        let mut nanos = latencies();
        (1..=100).for_each(|n| nanos.saturating_record(n * 1_000_000));
        Tool {
            transport: "tcp".to_owned(),
            role: "client".to_owned(),
            size_bytes: Some(64),
            rate_per_s: Some(50_000),
            round: 2,
            seconds: 3.0,
            from_send: Distribution::of(&nanos),
            hdr: to_hdr(&nanos),
            ..Tool::default()
        }
    }

    #[test]
    fn a_line_has_its_tag_its_interval_and_a_histogram_that_can_be_read() {
        let line = line(&tool(), Duration::from_secs_f64(4.5)).unwrap();
        let cells: Vec<&str> = line.trim_end().split(',').collect();
        let max = &cells[3];
        assert_eq!(cells[..3], ["Tag=tcp_64B_50000ps_r2", "1.500", "3.000"]);
        assert!((max.parse::<f64>().unwrap() - 100.0).abs() < 0.2, "{max}");
        assert!(cells[4].starts_with("HISTFAAA"), "{line}");
        assert_eq!(from_hdr(cells[4]).unwrap().len(), 100);
        assert_eq!(super::line(&Tool::default(), Duration::ZERO), None);
    }

    #[test]
    fn a_tag_is_one_word() {
        let of = |transport: &str, role: &str| {
            tag(&Tool {
                transport: transport.to_owned(),
                role: role.to_owned(),
                round: 1,
                ..Tool::default()
            })
        };
        assert_eq!(of("order path, short", "drop copy"), "order-path--short_drop-copy_r1");
        assert_eq!(of("", "send"), "r1");
    }

    #[test]
    fn a_log_begins_with_its_form_and_has_a_line_a_cell() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("logs");
        let mut log = HdrLog::create(&place, "pingpong").unwrap();
        log.add(&tool()).unwrap();
        log.add(&Tool::default()).unwrap();
        log.add(&tool()).unwrap();
        let text = fs::read_to_string(place.join("pingpong.hlog")).unwrap();
        assert!(text.starts_with("#[Histogram log format version 1.3]\n#[StartTime: "), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("Tag=tcp_64B")).count(), 2);
    }
}
