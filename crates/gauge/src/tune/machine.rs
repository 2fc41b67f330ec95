//! Files that settings stand in.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::ethtool;

/// Where settings of network cards stand, as if they were files: the interface,
/// and the setting as `ethtool` names it.
pub(super) const CARDS: &str = "ethtool/";

/// The interface and the setting of such a path.
pub(super) fn card_setting(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix(CARDS)?.split_once('/')
}

/// What reads and writes settings. Paths are from the root, without a slash in
/// front.
pub(super) trait Machine {
    /// The text of a file, without blanks around; `None` where there is none.
    fn read(&self, path: &str) -> Option<String>;

    fn write(&mut self, path: &str, text: &str) -> io::Result<()>;

    /// Names in a folder, in order.
    fn list(&self, path: &str) -> Vec<String>;

    /// What was kept, and keeps it: it is on the disk when this comes back.
    fn kept(&self) -> io::Result<Option<String>>;
    fn keep(&mut self, text: &str) -> io::Result<()>;
    fn forget(&mut self) -> io::Result<()>;
}

/// The machine, or a tree of files in its place.
pub(super) struct Tree {
    pub(super) root: PathBuf,
    pub(super) state: PathBuf,
}

impl Tree {
    fn is_machine(&self) -> bool {
        self.root == Path::new("/")
    }
}

impl Machine for Tree {
    fn read(&self, path: &str) -> Option<String> {
        if let Some((interface, setting)) = card_setting(path).filter(|_| self.is_machine()) {
            return ethtool::read(interface, setting);
        }
        fs::read_to_string(self.root.join(path)).ok().map(|text| text.trim().to_owned())
    }

    fn write(&mut self, path: &str, text: &str) -> io::Result<()> {
        if let Some((interface, setting)) = card_setting(path).filter(|_| self.is_machine()) {
            return ethtool::write(interface, setting, text);
        }
        // Not created: a table of the kernel is there or it is not.
        let mut file = File::options().write(true).truncate(true).open(self.root.join(path))?;
        file.write_all(format!("{text}\n").as_bytes())
    }

    fn list(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn kept(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(&self.state) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn keep(&mut self, text: &str) -> io::Result<()> {
        let folder = self.state.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let next = self.state.with_extension("next");
        let mut file = File::create(&next)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&next, &self.state)?;
        File::open(folder)?.sync_all()
    }

    fn forget(&mut self) -> io::Result<()> {
        match fs::remove_file(&self.state) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A machine in memory, which may stop after some writes.
    #[derive(Clone, Default)]
    pub(in super::super) struct Memory {
        pub(in super::super) files: BTreeMap<String, String>,
        pub(in super::super) state: Option<String>,
        pub(in super::super) read_only: Vec<String>,
        /// Writes until it is as if the power went.
        pub(in super::super) writes_left: Option<usize>,
    }

    impl Memory {
        fn count(&mut self) -> io::Result<()> {
            match &mut self.writes_left {
                Some(0) => Err(io::Error::other("crash")),
                Some(left) => {
                    *left -= 1;
                    Ok(())
                }
                None => Ok(()),
            }
        }
    }

    impl Machine for Memory {
        fn read(&self, path: &str) -> Option<String> {
            self.files.get(path).cloned()
        }

        fn write(&mut self, path: &str, text: &str) -> io::Result<()> {
            self.count()?;
            if self.read_only.iter().any(|of| of == path) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            self.files.insert(path.to_owned(), text.to_owned());
            Ok(())
        }

        fn list(&self, path: &str) -> Vec<String> {
            let under = format!("{path}/");
            let mut names: Vec<String> = self
                .files
                .keys()
                .filter_map(|file| Some(file.strip_prefix(&under)?.split('/').next()?.to_owned()))
                .collect();
            names.dedup();
            names
        }

        fn kept(&self) -> io::Result<Option<String>> {
            Ok(self.state.clone())
        }

        fn keep(&mut self, text: &str) -> io::Result<()> {
            self.count()?;
            self.state = Some(text.to_owned());
            Ok(())
        }

        fn forget(&mut self) -> io::Result<()> {
            self.count()?;
            self.state = None;
            Ok(())
        }
    }
}
