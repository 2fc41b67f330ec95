//! Setting and setting back.
//!
//! Each old value is on the disk before its file is written, and a second apply
//! keeps the first old value. Undo goes in reverse, and only where the present
//! value is the one that apply set: a third one is somebody else's.

use std::io;

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use super::rows::Write;

/// What was set, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    pub(super) version: u32,
    pub(super) changes: Vec<Change>,
}

/// A file that was written, or was about to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    pub(super) path: String,
    /// Before the first apply.
    pub(super) old: String,
    pub(super) new: String,
}

const VERSION: u32 = 1;

impl Kept {
    pub(super) fn read(machine: &dyn Machine) -> io::Result<Self> {
        let Some(text) = machine.kept()? else {
            return Ok(Self { version: VERSION, ..Self::default() });
        };
        let kept: Self = serde_json::from_str(&text).map_err(io::Error::other)?;
        match kept.version {
            VERSION => Ok(kept),
            other => {
                Err(io::Error::other(format!("it is of version {other}, this one is {VERSION}")))
            }
        }
    }

    fn keep(&self, machine: &mut dyn Machine) -> io::Result<()> {
        machine.keep(&serde_json::to_string_pretty(self).map_err(io::Error::other)?)
    }

    fn note(&mut self, write: &Write) {
        match self.changes.iter_mut().find(|change| change.path == write.path) {
            Some(change) => change.new.clone_from(&write.new),
            None => self.changes.push(Change {
                path: write.path.clone(),
                old: write.old.clone(),
                new: write.new.clone(),
            }),
        }
    }
}

/// Two texts of a table of the kernel that say the same.
fn is_same(a: &str, b: &str) -> bool {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let chosen = |text: &str| {
        let word =
            text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
        word.map(str::to_owned)
    };
    let number = |text: &str| u128::from_str_radix(&text.replace(',', ""), 16).ok();
    words(a) == words(b)
        || chosen(a).is_some_and(|word| word == b)
        || (a.contains(',') && number(a).is_some() && number(a) == number(b))
}

/// What became of a write.
#[derive(Debug)]
pub(super) enum Done {
    Set,
    Refused(String),
}

/// Sets one file. Errors: the state cannot be kept; nothing was set then.
pub(super) fn apply(machine: &mut dyn Machine, write: &Write) -> io::Result<Done> {
    let mut kept = Kept::read(machine)?;
    let before = kept.clone();
    kept.note(write);
    kept.keep(machine)?;
    let failed = match machine.write(&write.path, &write.new) {
        Err(error) => Some(error.to_string()),
        Ok(()) => match machine.read(&write.path) {
            Some(text) if is_same(&text, &write.new) => None,
            Some(text) => Some(format!("it reads `{text}` afterwards")),
            None => Some("it cannot be read afterwards".to_owned()),
        },
    };
    match failed {
        None => Ok(Done::Set),
        Some(why) => {
            let is_as_before =
                machine.read(&write.path).is_some_and(|text| is_same(&text, &write.old));
            match is_as_before {
                true if before.changes.is_empty() => machine.forget()?,
                true => before.keep(machine)?,
                false => {}
            }
            Ok(Done::Refused(why))
        }
    }
}

/// A file that undo left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) path: String,
    pub(super) why: String,
}

/// Sets all back, in reverse. What is done is forgotten at once, so that an undo
/// that was cut short can be made again.
pub(super) fn undo(machine: &mut dyn Machine, forces: bool) -> io::Result<(usize, Vec<Left>)> {
    let mut kept = Kept::read(machine)?;
    let (mut back, mut left) = (0, Vec::new());
    let mut stays = Vec::new();
    while let Some(change) = kept.changes.last().cloned() {
        let present = machine.read(&change.path);
        let is_ours = present.as_deref().is_some_and(|text| is_same(text, &change.new));
        let is_old = present.as_deref().is_some_and(|text| is_same(text, &change.old));
        let outcome = match () {
            () if is_old => Ok(false),
            () if is_ours || forces => machine.write(&change.path, &change.old).map(|()| true),
            () => Err(io::Error::other(format!(
                "it is `{}` now, which is neither `{}` nor what it was; --force sets it back",
                present.unwrap_or_default(),
                change.new
            ))),
        };
        match outcome {
            Ok(was_set) => back += usize::from(was_set),
            Err(error) => {
                left.push(Left { path: change.path.clone(), why: error.to_string() });
                stays.push(change);
            }
        }
        kept.changes.pop();
        let rest: Vec<Change> = kept.changes.iter().chain(stays.iter().rev()).cloned().collect();
        match rest.is_empty() {
            true => machine.forget()?,
            false => Kept { version: VERSION, changes: rest }.keep(machine)?,
        }
    }
    Ok((back, left))
}

#[cfg(test)]
mod tests {
    use super::super::machine::tests::Memory;
    use super::*;

    fn tree() -> Memory {
        let files = [("a", "1"), ("b", "2\t3"), ("c", "old"), ("d", "0")];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        Memory { files: files.into(), ..Memory::default() }
    }

    fn writes(machine: &Memory) -> Vec<Write> {
        let new = [("a", "10"), ("b", "2\t30"), ("c", "new"), ("d", "1")];
        new.iter()
            .map(|(path, new)| Write {
                path: (*path).to_owned(),
                old: machine.files[*path].clone(),
                new: (*new).to_owned(),
            })
            .collect()
    }

    fn apply_all(machine: &mut Memory) -> io::Result<()> {
        for write in writes(machine) {
            apply(machine, &write)?;
        }
        Ok(())
    }

    #[test]
    fn a_crash_at_any_write_of_apply_or_undo_leaves_what_undo_sets_back() {
        let before = tree();
        for crash_in_apply in 0..=8 {
            for crash_in_undo in 0..=8 {
                let mut machine = before.clone();
                machine.writes_left = Some(crash_in_apply);
                let _ = apply_all(&mut machine);
                machine.writes_left = Some(crash_in_undo);
                let _ = undo(&mut machine, false);
                machine.writes_left = None;
                let (_, left) = undo(&mut machine, false).unwrap();
                assert_eq!(
                    (left.len(), &machine.files),
                    (0, &before.files),
                    "{crash_in_apply} {crash_in_undo}"
                );
                assert_eq!(machine.state, None);
            }
        }
    }

    #[test]
    fn a_second_apply_keeps_the_first_old_value() {
        let before = tree();
        let mut machine = before.clone();
        apply_all(&mut machine).unwrap();
        let again = Write { path: "a".to_owned(), old: "10".to_owned(), new: "100".to_owned() };
        apply(&mut machine, &again).unwrap();
        assert_eq!(machine.files["a"], "100");
        assert_eq!(undo(&mut machine, false).unwrap(), (4, Vec::new()));
        assert_eq!(machine.files, before.files);
    }

    #[test]
    fn a_third_value_is_left_and_named_until_it_is_forced() {
        let before = tree();
        let mut machine = before.clone();
        apply_all(&mut machine).unwrap();
        machine.files.insert("c".to_owned(), "theirs".to_owned());
        let (back, left) = undo(&mut machine, false).unwrap();
        assert_eq!((back, left.len(), &left[0].path[..]), (3, 1, "c"));
        assert!(left[0].why.starts_with("it is `theirs` now"), "{}", left[0].why);
        assert_eq!(machine.files["c"], "theirs");
        assert_eq!(undo(&mut machine, true).unwrap().0, 1);
        assert_eq!((machine.files, machine.state), (before.files, None));
    }

    #[test]
    fn what_is_refused_is_told_and_not_kept() {
        let mut machine = tree();
        machine.read_only = vec!["b".to_owned()];
        let all = writes(&machine);
        assert!(matches!(apply(&mut machine, &all[0]).unwrap(), Done::Set));
        let Done::Refused(why) = apply(&mut machine, &all[1]).unwrap() else { panic!("read-only") };
        assert!(why.contains("permission denied"), "{why}");
        assert_eq!(Kept::read(&machine).unwrap().changes.len(), 1);
    }

    #[test]
    fn tables_of_the_kernel_say_the_same_in_several_ways() {
        assert!(is_same("4096\t87380 6291456", "4096 87380\t6291456"));
        assert!(is_same("always madvise [never]", "never"));
        assert!(is_same("00000000,0000000d", "d"));
        assert!(!is_same("1", "2") && !is_same("always [madvise] never", "never"));
    }
}
