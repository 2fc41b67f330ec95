//! Subcommands of other programs.
//!
//! As git and cargo do: `tapeline NAME …` that is none of this program's starts
//! `tapeline-NAME …`, from beside this program or else from the path, in the
//! place of this process. Some words belong to programs of Tapeline with a name
//! of their own.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::CommandFactory;

use crate::config::nearest;
use crate::failure::{Failure, Verdict};

/// What the program that measures is asked for through this one.
const OF_LAB: [&str; 11] = [
    "aio", "bench", "compare", "disk", "env", "jitter", "mcast", "nwtool", "pingpong", "size",
    "tune",
];

/// Classic tools that the program that measures takes the place of, when it is
/// called by their names.
const CLASSIC: [&str; 7] =
    ["AIO", "DTool", "MCastNwTool", "NwTool", "sfnt-pingpong", "sfnt-stream", "sysjitter"];

/// Goes on as the classic tool whose name this program was called by, if it was
/// by one: a link is all that scripts need.
pub(crate) fn by_classic_name() -> Option<Result<Verdict, Failure>> {
    let called = env::args_os().next()?;
    let name = Path::new(&called).file_name()?.to_str()?;
    let name = CLASSIC.into_iter().find(|classic| *classic == name)?;
    let program = "tapeline-lab";
    let Some(path) = found(program) else {
        return Some(Err(Failure::Unknown(format!(
            "{name} is a tool of {program}, which is neither beside tapeline nor in the path"
        ))));
    };
    let error = Command::new(&path).arg0(name).args(env::args_os().skip(1)).exec();
    Some(Err(Failure::Unknown(format!("cannot start {}: {error}", path.display()))))
}

/// Goes on as the program that has this subcommand. Comes back only if there is
/// none.
pub(crate) fn run(name: &str, arguments: &[OsString]) -> Result<Verdict, Failure> {
    let is_of_lab = OF_LAB.contains(&name);
    let program = if is_of_lab { "tapeline-lab".to_owned() } else { format!("tapeline-{name}") };
    let Some(path) = found(&program) else { return Err(Failure::Unknown(missing(name, &program))) };
    let mut command = Command::new(&path);
    if is_of_lab {
        command.arg(name);
    }
    let error = command.args(arguments).exec();
    Err(Failure::Unknown(format!("cannot start {}: {error}", path.display())))
}

/// Beside this program, or in the path.
fn found(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return None;
    }
    let folder = env::current_exe().ok().and_then(|own| own.parent().map(Path::to_owned));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = folder.into_iter().chain(env::split_paths(&path));
    folders.map(|folder| folder.join(program)).find(|path| is_program(path).unwrap_or(false))
}

fn is_program(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    let data = path.metadata()?;
    Ok(data.is_file() && data.permissions().mode() & 0o111 != 0)
}

fn missing(name: &str, program: &str) -> String {
    if OF_LAB.contains(&name) {
        return format!(
            "`{name}` is a subcommand of {program}, which is neither beside tapeline nor in the \
             path; build it with `cargo build --release -p {program}`"
        );
    }
    let cli = crate::Cli::command();
    let known = cli.get_subcommands().map(clap::Command::get_name);
    format!(
        "there is no subcommand `{name}`, and no program {program} in the path{}",
        nearest(name, known)
    )
}
