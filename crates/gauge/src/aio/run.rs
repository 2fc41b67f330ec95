//! From a command line to the sum.

use std::collections::BTreeMap;

use tapeline_measure::environment::Environment;
use tapeline_measure::record::{Tool, ToolLine};
use tapeline_measure::stop;
use tapeline_measure::ticks::TickClock;

use super::flow::Flow;
use super::options::{Options, Task, known, text_of};
use super::outcome::Outcome;
use super::part::{self, Alone, PartDone};
use super::processes::{self, Plan};
use super::{check, hops, read, scenarios, told};
use crate::local::StartProcess;
use crate::output::Output;
use crate::records::Records;
use crate::{GaugeError, arguments, setup};

/// Runs, checks or shows a flow as its command line has it. Returns whether
/// what was measured counts.
///
/// Errors: the command line or the file is wrong, or a part of the flow ended.
pub fn run(
    typed: &[String],
    by_name: bool,
    start: &StartProcess<'_>,
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    let options = Options::read(typed, by_name)?;
    match &options.task {
        Task::Help => out.text(&help()),
        Task::List => out.text(&scenarios::list()),
        Task::Show(name) => out.text(&text_of(name)?.1),
        Task::Check(name) => {
            let (file, text) = text_of(name)?;
            let flow = read::read(&file, &text, &options.variables)?;
            flow.warnings.iter().for_each(|warning| out.say(warning));
            out.text(&told::tree(&flow));
        }
        Task::Run(name) => return measure(&options, name, start, out),
    }
    Ok(true)
}

fn help() -> String {
    format!(
        "aio run FILE|SCENARIO [@name=value …]   an application's flow, predicted beside measured\n\
         aio check FILE|SCENARIO [@name=value …] what is wrong with it, and its tree\n\
         aio show SCENARIO                       its file, to begin another one with\n\
         aio list                                scenarios that are here\n\n{}",
        arguments::help(&known())
    )
}

fn measure(
    options: &Options,
    name: &str,
    start: &StartProcess<'_>,
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    let (file, text) = text_of(name)?;
    let flow = read::read(&file, &text, &options.variables)?;
    flow.warnings.iter().for_each(|warning| out.say(warning));
    if let Some(core) = check::missing_core(&flow) {
        let cores = tapeline_measure::processor::allowed_cores();
        return Err(GaugeError::Core(tapeline_measure::processor::NoSuchCore { core, cores }));
    }
    let part = options.part.as_deref().map(|name| part_of(&flow, name)).transpose()?;
    let flow = part.map_or(flow.clone(), |part| flow.only(part));
    out.text(&told::tree(&flow));
    if options.common.given.has("check") {
        let (warm_up, seconds) =
            (options.common.warm_up.as_secs_f64(), options.seconds.as_secs_f64());
        out.text(&format!("{seconds:.1} s, after {warm_up:.1} s of warm-up\n"));
        return Ok(true);
    }
    let _held = setup::prepare(&options.common.given)?;
    let noise = setup::noise(&TickClock::best(), None, options.common.noise);
    let environment = Environment::read();
    let mut records = Records::create(options.common.json.as_deref())?
        .with_log(options.common.given.text("hdr"), "aio")?;
    records.write(&ToolLine::Environment(Box::new(environment.clone())))?;
    // Of one part alone the other ends of its links are elsewhere.
    let hops = if part.is_some() { BTreeMap::new() } else { hops::predicted(&flow)? };
    let plan = Plan {
        file,
        text,
        variables: options.variables.clone(),
        seconds: options.seconds.as_secs_f64(),
        warm_up_s: options.common.warm_up.as_secs_f64(),
        is_classic: options.common.is_classic,
        is_quiet: options.common.is_quiet(),
    };
    if !plan.is_classic && !plan.is_quiet {
        out.text(&told::human_head());
    }
    let watch = setup::watch(&[None]);
    let done = parts(&flow, &plan, part, start, &mut |text| out.text(text))?;
    let disturbed = watch.ended();
    let outcome = Outcome::of(&flow, &done, &hops, plan.run_plan());
    if !options.common.is_classic {
        out.text(&told::sum(&flow, &outcome));
    }
    for tool in outcome.records(&flow, name, setup::overhead_ns()) {
        records.write(&ToolLine::Tool(Box::new(Tool { noise, disturbed, ..tool })))?;
    }
    records.tell_disturbance(out);
    records.write(&ToolLine::Environment(Box::new(environment.after())))?;
    stop::check()?;
    Ok(outcome.is_valid())
}

fn parts(
    flow: &Flow,
    plan: &Plan,
    part: Option<usize>,
    start: &StartProcess<'_>,
    on_text: &mut dyn FnMut(&str),
) -> Result<PartDone, GaugeError> {
    match (part, flow.parts.len()) {
        (None, 2..) => processes::run(flow, plan, start, on_text),
        (part, _) => {
            let mut alone = Alone { is_ready: false, lead_ns: part::LEAD_NS, on_text };
            part::run(flow, part.unwrap_or(0), plan.run_plan(), &mut alone)
        }
    }
}

/// The number of a part that runs on this host alone.
fn part_of(flow: &Flow, name: &str) -> Result<usize, GaugeError> {
    let Some(number) = flow.parts.iter().position(|part| part.name == name) else {
        let names = flow.parts.iter().map(|part| part.name.as_str());
        let near = super::document::nearest(name, names);
        return Err(GaugeError::option("part", name, &format!("there is no such part{near}")));
    };
    if let Some(sink) = check::far_sink(flow, number) {
        return Err(GaugeError::Usage(format!(
            "sink `{}` (line {}) would be on another host than what it hears from, with another \
             clock; give it a client in place of the source",
            sink.name, sink.line
        )));
    }
    if let Some(link) = check::link_without_port(flow, number) {
        return Err(GaugeError::Usage(format!(
            "link `{}` (line {}) leads to another host: give it an address and a port",
            link.name, link.line
        )));
    }
    Ok(number)
}
