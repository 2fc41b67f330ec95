//! Rates and latencies of what comes.

use std::time::{Duration, Instant};

use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::UpdateMsg;

use super::Args;
use super::decoding::{Depth, decode};
use super::latency_file::LatencyFile;
use super::statistics::{Images, Statistics};
use crate::failure::{Failure, warn};
use tapeline_playback::now_us;

/// What is measured, and where it goes.
pub(super) struct Measuring {
    depth: Depth,
    stamp_field: i16,
    statistics: Statistics,
    file: Option<LatencyFile>,
    /// Updates that could not be decoded.
    faults: u64,
    is_json: bool,
}

impl Measuring {
    pub(super) fn new(args: &Args, stamp_field: i16, file: Option<LatencyFile>) -> Self {
        Self {
            depth: args.decode,
            stamp_field,
            statistics: Statistics::new(args.interval(), Instant::now()),
            file,
            faults: 0,
            is_json: args.json,
        }
    }

    /// An update of an item came.
    pub(super) fn update(&mut self, item: &str, msg: &UpdateMsg<'_>, dictionary: &FieldDictionary) {
        let age_us = decode(msg, self.depth, self.stamp_field, dictionary).unwrap_or_else(|_| {
            self.faults += 1;
            None
        });
        self.statistics.update(age_us);
        if let (Some(age_us), Some(file)) = (age_us, &mut self.file) {
            file.add(now_us(), item, age_us);
        }
    }

    /// A status of an item came.
    pub(super) fn status(&mut self) {
        self.statistics.status();
    }

    /// How long until counts are to be shown.
    pub(super) fn next_tick(&self) -> Duration {
        self.statistics.next_tick(Instant::now())
    }

    /// The lines that it is time for.
    pub(super) fn turn(&mut self, images: Images) -> Result<Vec<String>, Failure> {
        let now = Instant::now();
        self.statistics.note_turn(now, images);
        let lines = self.statistics.lines(now, images, self.is_json);
        if !lines.is_empty() {
            self.flush()?;
        }
        Ok(lines)
    }

    /// The lines of the whole run.
    pub(super) fn finish(&mut self, images: Images) -> Result<Vec<String>, Failure> {
        self.flush()?;
        if self.faults > 0 {
            warn(&format!("{} updates could not be decoded", self.faults));
        }
        Ok(self.statistics.total(Instant::now(), images, self.is_json))
    }

    fn flush(&mut self) -> Result<(), Failure> {
        self.file.as_mut().map_or(Ok(()), LatencyFile::flush)
    }
}
