//! Rules of the repository that a program can hold: how long lines and files
//! are, which words no file may have, that links lead somewhere, that every test
//! is run, that every promise has one, and that shells are the same over simulated sockets.
//!
//! Each rule looks at one file of a [`Tree`] and says what is wrong, as
//! `path:line: what, and what to do`. `cargo test -p tapeline-tidy` holds the
//! repository to all of them in less than a second.

mod crates;
mod links;
mod promises;
mod shells;
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Folders that hold what is built, fetched or not ours to format.
const LEFT_OUT: [&str; 6] = [".git", ".tools", "artifacts", "corpus", "seeds", "target"];

/// The name of the file ends in a dot and this.
fn is_kind(path: &str, kind: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, end)| end == kind)
}

/// The files of the repository by their path from its root. One that is not
/// text is there without its content.
#[derive(Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// Reads all files below a folder.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self::default();
        tree.add_folder(root, "")?;
        Ok(tree)
    }

    /// A tree of these files.
    pub fn of<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> Self {
        let file = |(path, text): (&str, &str)| (path.to_owned(), Some(text.to_owned()));
        Self { files: files.into_iter().map(file).collect() }
    }

    /// What is against a rule, in the order of the files.
    pub fn findings(&self) -> Vec<String> {
        let rules = [
            crates::findings,
            links::findings,
            promises::findings,
            shells::findings,
            text::findings,
        ];
        let texts = || self.files.iter().filter_map(|(path, text)| Some((path, text.as_deref()?)));
        texts()
            .flat_map(|(path, text)| rules.iter().flat_map(move |rule| rule(self, path, text)))
            .collect()
    }

    fn add_folder(&mut self, folder: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && !LEFT_OUT.contains(&name.as_str()) {
                self.add_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() && name != ".git" {
                self.files.insert(path, String::from_utf8(fs::read(entry.path())?).ok());
            }
        }
        Ok(())
    }

    fn has_file(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    fn has_folder(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty() || self.paths_below(&folder).next().is_some()
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    fn paths_below(&self, prefix: &str) -> impl Iterator<Item = &str> {
        let from = self.files.range(prefix.to_owned()..).map(|(path, _)| path.as_str());
        from.take_while(move |path| path.starts_with(prefix))
    }
}
