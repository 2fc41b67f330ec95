//! What is asked for: our options, and the letters of `DTool`.

use std::path::PathBuf;
use std::time::Duration;

use tapeline_measure::schedule::Pacing;

use super::place::Pattern;
use crate::GaugeError;
use crate::arguments::{Arguments, Known, flag, value};
use crate::classic::Letter;
use crate::setup::{self, Common};

const MAX_BYTES: u64 = (1 << 20) - 1;

/// How long, if nothing is said.
const USUAL_TIME: Duration = Duration::from_secs(60);

/// The largest file if nothing is said.
const USUAL_FILE_BYTES: u64 = 1 << 30;

/// The largest that can be asked for.
const MAX_FILE_BYTES: u64 = 1 << 40;

const LETTERS: [(char, Letter); 8] = [
    ('W', Letter::Words(&["write"])),
    ('R', Letter::Words(&["read"])),
    ('f', Letter::Value("file")),
    ('t', Letter::Value("minutes")),
    ('r', Letter::Value("rate")),
    ('s', Letter::Value("size")),
    ('i', Letter::Value("interval")),
    ('P', Letter::Unknown),
];

const OWN: [Known; 20] = [
    value("file", "the letter f of DTool: FILE"),
    value("rate", "operations a second; 0: one after the other (10000)"),
    value("size", "bytes of an operation, to 1048575 (4096)"),
    value("minutes", "how long (1)"),
    value("seconds", "the same in seconds, in place of minutes"),
    value("pacing", "even, ticks:N, bursts, poisson[:SEED] (even; ticks:10000 in classic)"),
    value("mode", "buffered, direct, dsync, direct+dsync (buffered)"),
    value("sync-every", "writes: after each N of them, part of that operation (0: never)"),
    value("sync", "fdatasync or fsync (fdatasync)"),
    value("engine", "call is the only value"),
    value("depth", "1 is the only value"),
    value("file-size", "bytes; at its end it starts over (rate·time·size, at most 1 GiB)"),
    value("pattern", "seq or random[:SEED] (seq)"),
    value("exceed", "µs: counts operations that take longer"),
    flag("verify", "reads back what was written"),
    flag("overwrite", "an existing file is written over"),
    flag("keep", "leave the file there"),
    flag("spin", "spins until an operation is due: the core is warm then, as under fio"),
    flag("cached", "reads: leave the file in the cache"),
    value("this-destroys", "the block device that FILE is: its contents are lost"),
];

pub(super) fn known() -> Vec<Known> {
    setup::with_common(&OWN)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Write,
    Read,
    Help,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) is_direct: bool,
    pub(crate) is_dsync: bool,
}

impl Mode {
    /// All there are, the usual one first.
    pub(crate) const ALL: [Self; 4] = [
        Self { is_direct: false, is_dsync: false },
        Self { is_direct: true, is_dsync: false },
        Self { is_direct: false, is_dsync: true },
        Self { is_direct: true, is_dsync: true },
    ];

    pub(crate) const fn name(self) -> &'static str {
        match (self.is_direct, self.is_dsync) {
            (false, false) => "buffered",
            (true, false) => "direct",
            (false, true) => "dsync",
            (true, true) => "direct+dsync",
        }
    }
}

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct Options {
    pub(super) common: Common,
    pub(super) task: Task,
    pub(super) path: PathBuf,
    pub(super) rate_per_s: u64,
    pub(super) bytes: u64,
    pub(super) time: Duration,
    pub(super) pacing: Pacing,
    pub(super) mode: Mode,
    pub(super) sync_every: u64,
    pub(super) syncs_all: bool,
    pub(super) file_bytes: u64,
    pub(super) pattern: Pattern,
    pub(super) bound_ns: Option<u64>,
    pub(super) verifies: bool,
    pub(super) overwrites: bool,
    pub(super) keeps: bool,
    pub(super) leaves_cached: bool,
    pub(super) is_spinning: bool,
}

impl Options {
    pub(super) fn read(typed: &[String], by_name: bool) -> Result<Self, GaugeError> {
        let common = Common::read(&OWN, &LETTERS, typed, by_name)?;
        let given = &common.given;
        let words: Vec<&str> = given.positional.iter().map(String::as_str).collect();
        let (word, path) = match words[..] {
            [word, path] => (word, Some(path)),
            [word] => (word, given.text("file")),
            _ => ("", None),
        };
        let (task, path) = match (word, path) {
            _ if given.has("help") => (Task::Help, ""),
            ("write", Some(path)) => (Task::Write, path),
            ("read", Some(path)) => (Task::Read, path),
            _ => {
                let what = "give write FILE or read FILE; --help lists options";
                return Err(GaugeError::Usage(what.to_owned()));
            }
        };
        for (name, only) in [("engine", "call"), ("depth", "1")] {
            if let Some(text) = given.text(name).filter(|text| *text != only) {
                let what = format!(
                    "not available: an operation through a ring, as far as it can be had without \
                     unsafe code, costs more than what is to be measured; operations are calls, \
                     one at a time: give {only}"
                );
                return Err(GaugeError::option(name, text, &what));
            }
        }
        let mode = choice(given, "mode", Mode::ALL.map(Mode::name))?;
        let time = common.time()?.unwrap_or(USUAL_TIME);
        let rate_per_s = given.number("rate", 10_000, 0, 10_000_000)?;
        let bytes = given.number("size", 4096, 1, MAX_BYTES)?;
        let whole = (rate_per_s as f64 * time.as_secs_f64()).ceil() as u64 * bytes;
        let usual = match rate_per_s {
            0 => USUAL_FILE_BYTES,
            _ => whole.clamp(bytes, USUAL_FILE_BYTES),
        };
        let file_bytes = given.number("file-size", usual, bytes, MAX_FILE_BYTES)?;
        Ok(Self {
            task,
            path: PathBuf::from(path),
            rate_per_s,
            bytes,
            time,
            pacing: common.pacing(10_000)?,
            mode: Mode::ALL.into_iter().find(|of| of.name() == mode).unwrap_or_default(),
            sync_every: given.number("sync-every", 0, 0, u64::MAX)?,
            syncs_all: choice(given, "sync", ["fdatasync", "fsync"])? == "fsync",
            file_bytes: file_bytes / bytes * bytes,
            pattern: pattern(given.text("pattern").unwrap_or("seq"))?,
            bound_ns: match given.has("exceed") {
                true => Some(given.number("exceed", 0_u64, 1, 3_600_000_000)? * 1000),
                false => None,
            },
            verifies: given.is_set("verify")?,
            overwrites: given.is_set("overwrite")?,
            keeps: given.is_set("keep")?,
            leaves_cached: given.is_set("cached")?,
            is_spinning: given.is_set("spin")?,
            common,
        })
    }

    pub(super) const fn blocks(&self) -> u64 {
        self.file_bytes / self.bytes
    }
}

/// One of several words; the first if nothing is said.
fn choice<const N: usize>(
    given: &Arguments,
    name: &str,
    all: [&'static str; N],
) -> Result<&'static str, GaugeError> {
    let text = given.text(name).unwrap_or(all[0]);
    let found = all.into_iter().find(|word| *word == text);
    found.ok_or_else(|| GaugeError::option(name, text, &format!("give {}", all.join(", "))))
}

fn pattern(text: &str) -> Result<Pattern, GaugeError> {
    let seed = match text {
        "seq" => return Ok(Pattern::Sequential),
        "random" => Some(1),
        text => text.strip_prefix("random:").and_then(|seed| seed.parse().ok()),
    };
    let wrong = || GaugeError::option("pattern", text, "give seq, random or random:SEED");
    seed.map(Pattern::Random).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::words;

    fn read(line: &str) -> Result<Options, GaugeError> {
        Options::read(&words(line), false)
    }

    #[test]
    fn the_classic_line_is_a_writer_in_ticks() {
        let of = read("-W -f /x01/test -t 1 -r 10000 -s 4096 -i 1 -P 3").unwrap();
        assert_eq!(
            (of.task, of.common.is_classic, of.path.to_str()),
            (Task::Write, true, Some("/x01/test"))
        );
        assert_eq!((of.pacing, of.common.warnings.len()), (Pacing::Ticks(10_000), 1));
        assert_eq!((of.file_bytes, of.blocks()), (1 << 30, 262_144));
    }

    #[test]
    fn a_file_has_room_for_all_that_is_written_up_to_a_bound() {
        let of = read("write f --rate=1000 --seconds=2 --size=1000").unwrap();
        assert_eq!((of.file_bytes, of.blocks(), of.mode.name()), (2_000_000, 2_000, "buffered"));
        assert_eq!(read("write f --rate=0").unwrap().file_bytes, 1 << 30);
        let of = read("read f --mode=direct+dsync --pattern=random:9").unwrap();
        assert_eq!((of.mode.name(), of.pattern), ("direct+dsync", Pattern::Random(9)));
    }

    #[test]
    fn what_cannot_be_is_told() {
        let error = |line| read(line).err().unwrap().to_string();
        assert!(error("write").contains("give write FILE or read FILE"));
        assert!(error("write f --mode=fast").contains("give buffered, direct"));
        assert!(error("write f --engine=uring").contains("not available"));
        assert!(error("write f --pattern=odd").contains("random:SEED"));
        assert!(error("write f --siz=1").contains("did you mean --size?"));
    }
}
