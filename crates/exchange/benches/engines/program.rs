//! An engine in a process of its own.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A program that runs a flow once for each line of its input, and answers each with a
/// line of its own. For `turn` and `hash`: nanoseconds, how many reports there were, and
/// the SHA-256 of these for `hash`. For `paced RATE`: how late messages were done, in
/// nanoseconds, in the middle and at the 99.9th percentile.
pub(crate) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts it with a flow as its one argument.
    pub(crate) fn start(path: &Path, flow: &Path) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(path);
        command.arg(flow).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child =
            command.spawn().map_err(|why| format!("cannot start {}: {why}", path.display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both were asked for")
        };
        Ok(Self { child, input: Some(input), output: BufReader::new(output) })
    }

    /// One turn: seconds, and the hash of its result if that is wanted.
    pub(crate) fn turn(&mut self, wants_hash: bool) -> Result<(f64, String), Box<dyn Error>> {
        let [nanoseconds, _, hash] = self.ask(if wants_hash { "hash" } else { "turn" })?;
        Ok((nanoseconds.parse::<u64>()? as f64 / 1e9, hash))
    }

    /// One turn at a pace, in messages a second: p50 and p99.9 in nanoseconds.
    pub(crate) fn paced(&mut self, per_s: u64) -> Result<[u64; 2], Box<dyn Error>> {
        let [middle, late, _] = self.ask(&format!("paced {per_s}"))?;
        Ok([middle.parse()?, late.parse()?])
    }

    fn ask(&mut self, line: &str) -> Result<[String; 3], Box<dyn Error>> {
        let ended = || "the other engine has ended; its messages are above";
        writeln!(self.input.as_mut().ok_or_else(ended)?, "{line}")?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        let words: Vec<_> = answer.split_ascii_whitespace().map(str::to_owned).collect();
        Ok(words.try_into().map_err(|_| ended())?)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The end of its input is its end.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
