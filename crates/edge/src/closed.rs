//! Files of the usage journal: their names, their order, and that closed ones are
//! compressed.
//!
//! ```text
//!   server-2026-11-0001.journal.zst   closed at `usage-max-bytes`, and compressed
//!   server-2026-11-0002.journal       closed
//!   server-2026-11.journal            the one that is written to, or the last of its month
//! ```

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use tapeline_entitle::ReportMonth;

use crate::journal::MODE;

/// The files of one name in a folder.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    name: String,
}

/// One of them. They are in the order in which they were written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Listed {
    month: ReportMonth,
    /// Those that were closed for their size have numbers, from 1 on; the last of the
    /// month has [`LAST`].
    number: u32,
    is_compressed: bool,
    pub(crate) path: PathBuf,
}

/// Behind all others.
const LAST: u32 = u32::MAX;

/// The length of a month, as `2026-11`.
const MONTH_BYTES: usize = 7;

impl Files {
    pub(crate) const fn new(folder: PathBuf, name: String) -> Self {
        Self { folder, name }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file that is written to in a month.
    pub(crate) fn path_of(&self, month: ReportMonth) -> PathBuf {
        self.folder.join(format!("{}-{month}.journal", self.name))
    }

    /// All that are there, the earliest first.
    pub(crate) fn all(&self) -> io::Result<Vec<Listed>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            all.extend(self.listed(entry?.path()));
        }
        all.sort();
        Ok(all)
    }

    fn listed(&self, path: PathBuf) -> Option<Listed> {
        let file = path.file_name()?.to_str()?;
        let (stem, is_compressed) = match file.strip_suffix(".zst") {
            Some(stem) => (stem, true),
            None => (file, false),
        };
        let rest = stem.strip_suffix(".journal")?.strip_prefix(&self.name)?.strip_prefix('-')?;
        let month = ReportMonth::parse(rest.get(..MONTH_BYTES)?)?;
        let number = match rest.get(MONTH_BYTES..)? {
            "" => LAST,
            number => number.strip_prefix('-')?.parse().ok()?,
        };
        Some(Listed { month, number, is_compressed, path })
    }

    /// Has the file of a month that is full be one of those that are closed.
    pub(crate) fn close(&self, month: ReportMonth) -> io::Result<()> {
        let all = self.all()?;
        let numbers = all.iter().filter(|it| it.month == month && it.number != LAST);
        let next = numbers.map(|it| it.number).max().unwrap_or(0) + 1;
        let closed = self.folder.join(format!("{}-{month}-{next:04}.journal", self.name));
        fs::rename(self.path_of(month), closed)
    }

    /// Those that are closed and not compressed, while this one is written to.
    pub(crate) fn to_compress(&self, open: &Path) -> io::Result<Vec<PathBuf>> {
        let all = self.all()?.into_iter();
        let closed = all.filter(|it| !it.is_compressed && it.path != open);
        Ok(closed.map(|it| it.path).collect())
    }
}

impl Listed {
    /// Its records.
    pub(crate) fn open(&self) -> io::Result<Box<dyn Read>> {
        let file = File::open(&self.path)?;
        Ok(match self.is_compressed {
            true => Box::new(zstd::Decoder::new(file)?),
            false => Box::new(file),
        })
    }
}

/// Compresses a closed file. Whoever is killed meanwhile leaves the file as it was; where
/// there is a compressed one already, that is whole, and the other one goes.
pub(crate) fn compress(path: &Path) -> io::Result<()> {
    let compressed = path.with_extension("journal.zst");
    if !compressed.exists() {
        let part = path.with_extension("journal.zst.part");
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(MODE).open(&part)?;
        zstd::stream::copy_encode(File::open(path)?, &file, zstd::DEFAULT_COMPRESSION_LEVEL)?;
        file.sync_all()?;
        fs::rename(&part, &compressed)?;
    }
    fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_in_the_order_in_which_they_were_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = Files::new(folder.path().to_owned(), "server".to_owned());
        for file in [
            "server-2026-12-0001.journal",
            "server-2026-11.journal",
            "server-2026-11-0010.journal",
            "server-2026-11-0002.journal.zst",
            "server-2026-12.journal",
            "server-2026-12-0001.journal.zst.part",
            "server-2026-13.journal",
            "server-2026-11-x.journal",
            "other-2026-11.journal",
            "server-2026-11.txt",
        ] {
            fs::write(folder.path().join(file), "").expect("room");
        }
        let found = files.all().expect("it can be read");
        let names = found.iter().map(|it| it.path.file_name().and_then(|name| name.to_str()));
        assert_eq!(
            names.flatten().collect::<Vec<_>>(),
            [
                "server-2026-11-0002.journal.zst",
                "server-2026-11-0010.journal",
                "server-2026-11.journal",
                "server-2026-12-0001.journal",
                "server-2026-12.journal",
            ]
        );
        let open = folder.path().join("server-2026-12.journal");
        let closed = files.to_compress(&open).expect("it can be read");
        assert_eq!(closed, [&found[1].path, &found[2].path, &found[3].path].map(Clone::clone));
    }

    #[test]
    fn what_is_compressed_is_read_as_it_was_and_the_file_of_before_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = Files::new(folder.path().to_owned(), "server".to_owned());
        let path = folder.path().join("server-2026-11-0001.journal");
        let text = "a record ".repeat(10_000);
        fs::write(&path, &text).expect("room");
        // One that a process left that was killed meanwhile.
        fs::write(path.with_extension("journal.zst.part"), "half").expect("room");
        compress(&path).expect("room");
        let [only] = &files.all().expect("it can be read")[..] else { panic!("one file") };
        assert_eq!(only.path, path.with_extension("journal.zst"));
        let mut read = String::new();
        only.open().expect("it is there").read_to_string(&mut read).expect("it is whole");
        assert_eq!(read, text);
        assert!(fs::metadata(&only.path).expect("it is there").len() < 1_000);
        // A process that was killed before it took the first one away.
        fs::write(&path, &text).expect("room");
        compress(&path).expect("room");
        assert_eq!(files.all().expect("it can be read").len(), 1);
    }
}
