//! The configurations of a process, kept in a folder beside the file.
//!
//! ```text
//!  site.toml                      what the process starts with
//!  site.toml.history/
//!    000001-9f86d081.toml         each configuration, with the hash of its text
//!    000002-60303ae2.toml
//!    history.log                  a line of JSON for what became of each
//! ```
//!
//! Whatever is written is whole or not there: into another file first, which then
//! takes the name. A process that is killed between any two steps starts with the
//! old file or with the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use serde_json::{Value as Json, json};

/// Configurations that are kept; older ones are removed.
const KEPT: usize = 50;

/// The hash of a text, as it stands in names and in the log.
pub(crate) fn hash(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    let head = digest.as_ref().first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
    format!("{head:08x}")
}

/// Has a file have another text, all of it or none.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = folder.join(name);
    let mut file = File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(folder)?.sync_all()
}

/// Whether the last line of a log is not whole: its process was killed.
fn is_torn(log: &mut File) -> io::Result<bool> {
    if log.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    log.seek(SeekFrom::End(-1))?;
    log.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// The folder.
#[derive(Clone, Debug)]
pub(crate) struct History {
    folder: PathBuf,
    ending: String,
}

impl History {
    /// That of a file. The folder is made when there is something to keep.
    pub(crate) fn of(file: &Path) -> Self {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(".history");
        let ending = file.extension().map_or(String::new(), |it| format!(".{}", it.display()));
        Self { folder: file.with_file_name(name), ending }
    }

    /// Keeps a text, and says who brings it and how. Its number.
    pub(crate) fn enter(&self, text: &str, who: &str, how: &str) -> io::Result<u64> {
        fs::create_dir_all(&self.folder)?;
        let number = self.numbers()?.last().map_or(1, |(last, _)| last + 1);
        let hash = hash(text);
        replace(&self.folder.join(format!("{number:06}-{hash}{}", self.ending)), text)?;
        self.note(number, &json!({ "hash": hash, "who": who, "how": how }))?;
        self.forget_old()?;
        Ok(number)
    }

    /// Notes something of a configuration.
    pub(crate) fn note(&self, number: u64, what: &Json) -> io::Result<()> {
        let mut line = json!({ "number": number, "time": tapeline_logline::now() });
        if let (Json::Object(line), Json::Object(what)) = (&mut line, what) {
            line.extend(what.clone());
        }
        let path = self.folder.join("history.log");
        let mut log = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        let end = if is_torn(&mut log)? { "\n" } else { "" };
        // In one write: lines of two processes do not mix.
        log.write_all(format!("{end}{line}\n").as_bytes())?;
        log.sync_all()
    }

    /// What is known of each configuration, the latest last. Later notes of one are
    /// added to earlier ones; a line that is not whole, of a process that was killed,
    /// is passed over.
    pub(crate) fn list(&self) -> Vec<Json> {
        let log = fs::read(self.folder.join("history.log")).unwrap_or_default();
        let mut all: Vec<Json> = Vec::new();
        let log = String::from_utf8_lossy(&log);
        for line in log.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok()) {
            let known = all.iter_mut().find(|known| known["number"] == line["number"]);
            match (known, line) {
                (Some(Json::Object(known)), Json::Object(line)) => {
                    let later = line.into_iter().filter(|(key, _)| key != "time");
                    known.extend(later);
                }
                (_, line) => all.push(line),
            }
        }
        all
    }

    /// The text of the last configuration that was kept and is not this one.
    pub(crate) fn before(&self, text: &str) -> Option<String> {
        let own = hash(text);
        let kept = self.list().into_iter().rev().find(|entry| {
            entry["outcome"] == "kept" && entry["hash"].as_str().is_some_and(|it| it != own)
        })?;
        let number = kept["number"].as_u64()?;
        let numbers = self.numbers().ok()?;
        let (_, path) = numbers.into_iter().find(|(known, _)| *known == number)?;
        fs::read_to_string(path).ok()
    }

    /// The files by number, in order.
    fn numbers(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let Some((number, _)) = name.split_once('-')
                && let Ok(number) = number.parse()
                && path.extension().is_none_or(|ending| ending != "new")
            {
                all.push((number, path));
            }
        }
        all.sort();
        Ok(all)
    }

    fn forget_old(&self) -> io::Result<()> {
        let all = self.numbers()?;
        for (_, path) in &all[..all.len().saturating_sub(KEPT)] {
            fs::remove_file(path)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_before_is_found_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let history = History::of(&folder.path().join("site.toml"));
        assert!(history.list().is_empty() && history.before("a").is_none());
        let kept = json!({ "outcome": "kept" });
        let first = history.enter("a", "ann", "apply").expect("room");
        history.note(first, &kept).expect("room");
        let bad = history.enter("b", "ann", "apply").expect("room");
        history.note(bad, &json!({ "outcome": "taken back" })).expect("room");
        let last = history.enter("c", "bob", "apply").expect("room");
        history.note(last, &kept).expect("room");
        assert_eq!(history.before("c").as_deref(), Some("a"));
        let list = history.list();
        assert_eq!((first, bad, last, list.len()), (1, 2, 3, 3));
        assert_eq!((&list[2]["who"], &list[1]["outcome"]), (&json!("bob"), &json!("taken back")));
    }

    #[test]
    fn what_a_killed_process_left_half_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let site = folder.path().join("site.toml");
        let history = History::of(&site);
        let number = history.enter("a", "ann", "apply").expect("room");
        history.note(number, &json!({ "outcome": "kept" })).expect("room");
        let inside = folder.path().join("site.toml.history");
        let log = inside.join("history.log");
        let mut text = fs::read(&log).expect("it is there");
        // In the middle of a character, too.
        text.extend_from_slice(
            "{\"number\":2,\"who\":\"é".as_bytes().split_last().expect("text").1,
        );
        fs::write(&log, text).expect("room");
        fs::write(inside.join("000002-00000000.toml.new"), "half").expect("room");
        fs::write(folder.path().join("site.toml.new"), "half").expect("room");
        assert_eq!(history.list().len(), 1);
        assert_eq!(history.before("b").as_deref(), Some("a"));
        let next = history.enter("c", "bob", "apply").expect("room");
        assert_eq!((next, &history.list()[1]["who"]), (2, &json!("bob")));
        replace(&site, "whole").expect("room");
        assert_eq!(fs::read_to_string(&site).expect("it is there"), "whole");
    }

    #[test]
    fn only_the_last_ones_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let history = History::of(&folder.path().join("site.toml"));
        for number in 0..KEPT + 3 {
            history.enter(&number.to_string(), "ann", "apply").expect("room");
        }
        let numbers = history.numbers().expect("it is there");
        assert_eq!((numbers.len(), numbers[0].0), (KEPT, 4));
    }
}
