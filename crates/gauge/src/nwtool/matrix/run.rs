//! A matrix from its options to its verdict.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;

use tapeline_measure::environment::Environment;
use tapeline_measure::record::{Noise, Tool, ToolLine};
use tapeline_measure::ticks::TickClock;

use super::super::cell::{self, CellPlan};
use super::super::options::Options;
use super::super::pair::{Open, looked_for, opened, same_version};
use super::super::send::{open, plan, record};
use super::judge::{CellKey, Cells};
use super::options::MatrixPlan;
use super::table::{head, row, summary, word};
use super::words::words;
use crate::control::Control;
use crate::local::{LocalProcess, StartProcess};
use crate::output::Output;
use crate::records::Records;
use crate::{GaugeError, Transport, setup};

/// What sets a cell of a file apart from others: all that changes its figures.
type Named = (String, CellKey, String);

/// Measures all cells that are not there yet. Returns whether all are good, or
/// without bounds whether all count.
pub(in super::super) fn run(
    options: &Options,
    at: Option<&(String, u16)>,
    start: &StartProcess<'_>,
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    let matrix = MatrixPlan::of(options)?;
    let before = Environment::read();
    let had = match &matrix.resume {
        None => BTreeMap::new(),
        Some(file) => cells_of(file, &before, options, matrix.seconds)?,
    };
    let is_had = |transport: &Transport, key: &CellKey| {
        had.keys().any(|(name, of, _)| name == transport.name() && of == key)
    };
    let left_out: usize = matrix
        .transports
        .iter()
        .map(|transport| matrix.cells.iter().filter(|key| is_had(transport, key)).count())
        .sum();
    out.text(&told(options, &matrix, left_out));
    if options.common.given.has("check") {
        return Ok(true);
    }
    let _held = setup::prepare(&options.common.given)?;
    tapeline_measure::processor::pin(options.common.cores[0].as_deref());
    let noise =
        setup::noise(&TickClock::best(), options.common.cores[0].as_deref(), options.common.noise);
    let mut records = match &matrix.resume {
        Some(file) => Records::append(file.as_ref())?,
        None => Records::create(options.common.json.as_deref())?,
    }
    .with_log(options.common.given.text("hdr"), "nwtool")?;
    records.write(&ToolLine::Environment(Box::new(before.clone())))?;
    let mut side = Side::reach(at, start)?;
    let mut all: BTreeMap<(String, CellKey), Tool> = BTreeMap::new();
    let mut is_over = None;
    'all: for transport in &matrix.transports {
        out.text(&format!("{transport}, {}\n{}", subject(at, &matrix), head()));
        for key in &matrix.cells {
            let name = transport.name().to_owned();
            let known = had.iter().find(|((of, at, _), _)| *of == name && at == key);
            let cell = match known {
                Some((_, cell)) => cell.clone(),
                None => match side.cell(options, &matrix, *transport, *key, noise) {
                    Ok(cell) => {
                        records.write(&ToolLine::Tool(Box::new(cell.clone())))?;
                        cell
                    }
                    Err(error) => {
                        is_over = Some(error);
                        break 'all;
                    }
                },
            };
            out.text(&row(*key, &cell, matrix.bounds.as_ref()));
            all.insert((name, *key), cell);
        }
    }
    records.tell_disturbance(out);
    records.write(&ToolLine::Environment(Box::new(before.after())))?;
    let grouped = grouped(&matrix, &all);
    if !all.is_empty() {
        out.text(&summary(&grouped, matrix.bounds.as_ref(), matrix.factors));
        out.text(&words(&grouped, matrix.bounds.as_ref(), matrix.factors));
    }
    match is_over {
        Some(error) => Err(error),
        None => Ok(all
            .values()
            .all(|cell| cell.valid && cell.verdict.as_deref().is_none_or(|is| is == "good"))),
    }
}

fn grouped<'a>(
    matrix: &MatrixPlan,
    all: &'a BTreeMap<(String, CellKey), Tool>,
) -> Vec<(&'static str, Cells<'a>)> {
    let of = |name: &'static str| {
        let cells = all.iter().filter(|((of, _), _)| of == name);
        (name, cells.map(|((_, key), cell)| (*key, cell)).collect::<Cells<'_>>())
    };
    let there = matrix.transports.iter().map(|transport| of(transport.name()));
    there.filter(|(_, cells)| !cells.is_empty()).collect()
}

fn subject(at: Option<&(String, u16)>, matrix: &MatrixPlan) -> String {
    let place = at.map_or("within this host".to_owned(), |(host, _)| format!("to {host}"));
    let bounds = matrix.bounds.map_or("no bounds".to_owned(), |bounds| format!("bounds {bounds}"));
    format!("{place}, round trips from send in µs, {} s a cell, {bounds}", matrix.seconds)
}

fn told(options: &Options, matrix: &MatrixPlan, left_out: usize) -> String {
    let names: Vec<&str> = matrix.transports.iter().map(|transport| transport.name()).collect();
    let seconds = matrix.takes_s(left_out, options.common.warm_up.as_secs_f64());
    let resumed = match left_out {
        0 => String::new(),
        count => format!(", {count} of them measured already"),
    };
    format!(
        "{} cells over each of {}{resumed}: {:.0} min {:02.0} s\n",
        matrix.cells.len(),
        names.join(", "),
        (seconds / 60.0).floor(),
        seconds % 60.0
    )
}

/// What messages of another plan would differ by.
fn plan_text(options: &Options, seconds: f64) -> String {
    let cores = |side: usize| setup::cores_text(options.common.cores[side].as_deref());
    let spins = options.spins.map(u8::from);
    format!(
        "{seconds}|{}|{}|{};{}|{};{}|{}",
        options.pacing,
        options.connections,
        spins[0],
        spins[1],
        cores(0),
        cores(1),
        options.window
    )
}

fn plan_of(cell: &Tool) -> String {
    let of = |name: &str| cell.options.get(name).cloned().unwrap_or_default();
    format!(
        "{}|{}|{}|{}|{}|{}",
        cell.seconds,
        of("pacing"),
        of("connections"),
        of("spin"),
        of("affinity"),
        of("window")
    )
}

/// Cells of a file that were measured by the same plan on the same machine. A
/// file that is not there has none.
fn cells_of(
    file: &str,
    here: &Environment,
    options: &Options,
    seconds: f64,
) -> Result<BTreeMap<Named, Tool>, GaugeError> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(GaugeError::io(format!("reading {file}"))(error)),
    };
    let machine = |of: &Environment| (of.cpu.model.clone(), of.kernel.clone(), of.is_debug_build);
    let wanted = plan_text(options, seconds);
    let (mut all, mut is_here) = (BTreeMap::new(), false);
    for line in text.lines() {
        match serde_json::from_str::<ToolLine>(line) {
            Ok(ToolLine::Environment(of)) => is_here = machine(&of) == machine(here),
            Ok(ToolLine::Tool(cell)) if is_here && cell.tool == "nwtool" => {
                let (Some(rate_per_s), Some(bytes)) = (cell.rate_per_s, cell.size_bytes) else {
                    continue;
                };
                let is_whole = cell.why_invalid.as_deref() != Some("cut short");
                if plan_of(&cell) == wanted && is_whole {
                    let key = CellKey { rate_per_s, bytes };
                    all.insert((cell.transport.clone(), key, wanted.clone()), *cell);
                }
            }
            _ => {}
        }
    }
    Ok(all)
}

/// The side that answers, here or on another host.
struct Side {
    control: Control,
    name: String,
    /// It goes with this.
    local: Option<LocalProcess>,
}

impl Side {
    fn reach(at: Option<&(String, u16)>, start: &StartProcess<'_>) -> Result<Self, GaugeError> {
        if let Some((host, port)) = at {
            let name = format!("side 2 (forward at {host}:{port})");
            let control = looked_for(host, *port).map_err(|error| error.of_side(&name))?;
            return Ok(Self { control, name, local: None });
        }
        let (near, far) = UnixStream::pair().map_err(GaugeError::io("a pair of sockets"))?;
        let child = start(far.into()).map_err(GaugeError::io("starting a local side 2"))?;
        let local = Some(LocalProcess::new(child));
        let mut control = Control::over_unix(near);
        same_version(&mut control)?;
        let name = "side 2 (forward, on this host)".to_owned();
        Ok(Self { control, name, local })
    }

    fn is_here(&self) -> bool {
        self.local.is_some()
    }

    fn cell(
        &mut self,
        options: &Options,
        matrix: &MatrixPlan,
        transport: Transport,
        key: CellKey,
        noise: Option<Noise>,
    ) -> Result<Tool, GaugeError> {
        let plan = CellPlan {
            transport,
            bytes: key.bytes as usize,
            rate_per_s: key.rate_per_s,
            seconds: std::time::Duration::from_secs_f64(matrix.seconds),
            recorded: None,
            cores: options.common.cores[..if self.is_here() { 2 } else { 1 }].to_vec(),
            ..plan(options)
        };
        let open = Open { transport, ..open(options) };
        let mut links =
            opened(&mut self.control, &open, None).map_err(|error| error.of_side(&self.name))?;
        let done = cell::run(&plan, &mut links, &mut self.control, &mut |_| ())
            .map_err(|error| error.of_side(&self.name))?;
        if done.is_cut_short {
            return Err(tapeline_measure::stop::Interrupted.into());
        }
        let mut cell = record(options, &plan, &done, noise);
        cell.verdict = matrix.bounds.map(|bounds| word(&cell, &bounds));
        Ok(cell)
    }
}
