//! The program as users run it, and the one beside it that it measures.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Once;

use tempfile::TempDir;

/// `tapeline-lab` with arguments. Where it has hubs and servers run, they are of
/// the `tapeline` beside it.
pub(crate) fn lab(args: &[&str]) -> Command {
    tapeline();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tapeline-lab"));
    command.args(args).env("NO_COLOR", "1");
    command
}

/// The program beside it. Tests of the workspace have built it; those of this
/// package alone need not have.
pub(crate) fn tapeline() -> PathBuf {
    static BUILT: Once = Once::new();
    let lab = Path::new(env!("CARGO_BIN_EXE_tapeline-lab"));
    let tapeline = lab.with_file_name("tapeline");
    BUILT.call_once(|| {
        if tapeline.exists() {
            return;
        }
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--locked", "--package", "tapeline"]);
        if lab.parent().is_some_and(|folder| folder.ends_with("release")) {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo starts").success(), "tapeline cannot be built");
    });
    tapeline
}

/// Runs it to its end.
pub(crate) fn run(args: &[&str]) -> Run {
    Run::of(&lab(args).stdin(Stdio::null()).output().expect("the program starts"))
}

/// How a command ended.
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    fn of(output: &Output) -> Self {
        Self {
            status: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A folder of the test's own.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A file of the test's own.
pub(crate) fn file(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a file can be written");
    path
}

/// A path as an argument.
pub(crate) fn arg(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// The numbers of a process's children.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let is_child = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let behind_name = stat.rsplit(')').next().unwrap_or_default();
        behind_name.split_whitespace().nth(1) == Some(&parent.to_string())
    };
    let all = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_child).collect()
}
