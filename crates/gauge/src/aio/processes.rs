//! Parts of a flow as processes of one command.
//!
//! ```text
//!  command                              part
//!    │── version, plan ──────────────────▶│   JSON lines
//!    │◀──────── listens: link, address ───│   for links to other parts
//!    │── listens: those of all others ───▶│
//!    │◀──────────────────────── ready ────│
//!    │── go: when ───────────────────────▶│   when all are
//!    │◀──────────── lines, what was done ─│
//! ```

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tapeline_measure::clock::now_ns;
use tapeline_measure::stop;

use super::document::Value;
use super::engine::ModuleDone;
use super::engine::QUIET;
use super::flow::Flow;
use super::part::{self, FromOutside, LEAD_NS, Outside, PartDone, RunPlan};
use super::read;
use crate::GaugeError;
use crate::control::{Control, VERSION};
use crate::link::Address;
use crate::local::{LocalProcess, StartProcess};

/// What a part is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    pub(super) file: String,
    pub(super) text: String,
    pub(super) variables: Vec<(String, Value)>,
    pub(super) seconds: f64,
    pub(super) warm_up_s: f64,
    pub(super) is_classic: bool,
    pub(super) is_quiet: bool,
}

impl Plan {
    pub(super) fn run_plan(&self) -> RunPlan {
        RunPlan {
            seconds: Duration::from_secs_f64(self.seconds),
            warm_up: Duration::from_secs_f64(self.warm_up_s),
            quiet: QUIET,
            is_classic: self.is_classic,
            is_quiet: self.is_quiet,
        }
    }
}

/// What the command and its parts tell each other.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Say {
    Version(String),
    Plan {
        plan: Box<Plan>,
        part: usize,
    },
    Listens(usize, Vec<Address>),
    Ready,
    Go(u64),
    Text(String),
    /// A module has done this.
    Did(Box<ModuleDone>),
    End {
        cpu_seconds: BTreeMap<String, f64>,
        is_cut_short: bool,
    },
    Refused(String),
}

fn out_of_turn() -> GaugeError {
    GaugeError::Peer("spoke out of turn".to_owned())
}

/// A part, and the way to it.
struct Process {
    name: String,
    control: Control,
    is_ready: bool,
    is_done: bool,
    _child: LocalProcess,
}

/// Runs each part of a flow as a process.
pub(super) fn run(
    flow: &Flow,
    plan: &Plan,
    start: &StartProcess<'_>,
    on_text: &mut dyn FnMut(&str),
) -> Result<PartDone, GaugeError> {
    let mut all = Vec::new();
    for (number, part) in flow.parts.iter().enumerate() {
        let (near, far) = UnixStream::pair().map_err(GaugeError::io("a pair of sockets"))?;
        let child = start(far.into()).map_err(GaugeError::io("starting a part"))?;
        let process = LocalProcess::new(child);
        let mut control = Control::over_unix(near);
        control.send(&Say::Version(VERSION.to_owned()))?;
        control.send(&Say::Plan { plan: Box::new(plan.clone()), part: number })?;
        let name = format!("part `{}`", part.name);
        all.push(Process { name, control, is_ready: false, is_done: false, _child: process });
    }
    let mut done = PartDone::default();
    while all.iter().any(|process| !process.is_done) {
        stop::check().or_else(|asked| if done.is_cut_short { Ok(()) } else { Err(asked) })?;
        for at in 0..all.len() {
            let wait = Duration::from_millis(5) / all.len() as u32;
            let process = &mut all[at];
            if process.is_done || !process.control.is_ready(wait) {
                continue;
            }
            let name = process.name.clone();
            match process.control.receive().map_err(|error| error.of_side(&name))? {
                Say::Listens(link, addresses) => {
                    for (_, other) in all.iter_mut().enumerate().filter(|(other, _)| *other != at) {
                        other.control.send(&Say::Listens(link, addresses.clone()))?;
                    }
                }
                Say::Ready => {
                    process.is_ready = true;
                    if all.iter().all(|process| process.is_ready) {
                        let start_ns = now_ns() + LEAD_NS;
                        for process in &mut all {
                            process.control.send(&Say::Go(start_ns))?;
                        }
                    }
                }
                Say::Text(text) => on_text(&text),
                Say::Did(did) => done.modules.push(*did),
                Say::End { cpu_seconds, is_cut_short } => {
                    process.is_done = true;
                    done.cpu_seconds.extend(cpu_seconds);
                    done.is_cut_short |= is_cut_short;
                }
                Say::Refused(why) => {
                    return Err(GaugeError::Peer(format!("ended, and says: {why}")).of_side(&name));
                }
                _ => return Err(out_of_turn().of_side(&name)),
            }
        }
    }
    done.modules.sort_by_key(|done| done.module);
    Ok(done)
}

/// A part's way to the command that started it.
struct Parent {
    control: Control,
}

impl Outside for Parent {
    fn listens(&mut self, link: usize, addresses: &[Address]) -> Result<(), GaugeError> {
        self.control.send(&Say::Listens(link, addresses.to_vec()))
    }

    fn ready(&mut self) -> Result<(), GaugeError> {
        self.control.send(&Say::Ready)
    }

    fn heard(&mut self) -> Result<Option<FromOutside>, GaugeError> {
        if !self.control.is_ready(Duration::ZERO) {
            return Ok(None);
        }
        match self.control.receive()? {
            Say::Go(start_ns) => Ok(Some(FromOutside::Go(start_ns))),
            Say::Listens(link, addresses) => Ok(Some(FromOutside::Listens(link, addresses))),
            _ => Err(out_of_turn()),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), GaugeError> {
        self.control.send(&Say::Text(text.to_owned()))
    }
}

/// Is a part for the process that started this one, over its standard input.
pub fn serve_parent() -> Result<(), GaugeError> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input: OwnedFd = input.map_err(GaugeError::io("standard input"))?;
    let mut parent = Parent { control: Control::over_unix(UnixStream::from(input)) };
    let done = serve(&mut parent);
    if let Err(error) = &done {
        let _ = parent.control.send(&Say::Refused(error.to_string()));
    }
    done
}

fn serve(parent: &mut Parent) -> Result<(), GaugeError> {
    match parent.control.receive()? {
        Say::Version(version) if version == VERSION => {}
        _ => return Err(GaugeError::Peer("has another version; use the same".to_owned())),
    }
    let Say::Plan { plan, part } = parent.control.receive()? else { return Err(out_of_turn()) };
    let flow = read::read(&plan.file, &plan.text, &plan.variables)?;
    let done = part::run(&flow, part, plan.run_plan(), parent)?;
    for did in done.modules {
        parent.control.send(&Say::Did(Box::new(did)))?;
    }
    let (cpu_seconds, is_cut_short) = (done.cpu_seconds, done.is_cut_short);
    parent.control.send(&Say::End { cpu_seconds, is_cut_short })
}
