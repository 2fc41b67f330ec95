//! From a command line to lines and a record.

use std::fs::{self, File, OpenOptions};
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use hdrhistogram::Histogram;
use rustix::fs::{Advice, OFlags, fadvise};
use rustix::thread::set_current_timer_slack;
use tapeline_measure::clock::now_ns;
use tapeline_measure::environment::Environment;
use tapeline_measure::histogram::{Distribution, latencies, to_hdr};
use tapeline_measure::record::{Noise, Tool, ToolLine};
use tapeline_measure::schedule::Schedule;
use tapeline_measure::ticks::TickClock;
use tapeline_measure::{processor, stop};

use super::block;
use super::figures::{CLASSIC_HEAD, Told, classic_line, told};
use super::limit::Spent;
use super::medium::{self, Aligned};
use super::options::{Options, Task, known};
use super::place::Places;
use crate::intervals::Intervals;
use crate::local_clock::LocalClock;
use crate::output::Output;
use crate::records::Records;
use crate::{GaugeError, arguments, setup};

const NS_PER_S: u64 = 1_000_000_000;

/// Operations of an interval that are kept one by one.
const MAX_KEPT: usize = 10_000_000;

/// The fewest operations of a warm-up, unless it takes too long.
const LEAST_WARM_UP: u64 = 20;

/// Bytes that are written at once before it is measured.
const FILL_BYTES: usize = 1 << 20;

/// Writes or reads as its command line has it. Returns whether the figures
/// count and what was verified is whole.
///
/// Errors: the command line is wrong, or the file cannot be used so.
pub fn run(typed: &[String], by_name: bool, out: &mut dyn Output) -> Result<bool, GaugeError> {
    let options = Options::read(typed, by_name)?;
    options.common.warnings.iter().for_each(|warning| out.say(warning));
    if options.task == Task::Help {
        let usage = "disk write FILE    writes at a rate\n\
                     disk read FILE     reads at a rate\n\n";
        out.text(&format!("{usage}{}", arguments::help(&known())));
        return Ok(true);
    }
    let medium = medium::of(&options.path)?;
    let alignment = match options.mode.is_direct {
        true => Some(medium::direct_alignment(&options.path)?),
        false => None,
    };
    if let Some(alignment) = alignment.filter(|of| !options.bytes.is_multiple_of(*of as u64)) {
        return Err(GaugeError::option(
            "size",
            &options.bytes.to_string(),
            &format!(
                "{} bytes cannot be written directly: this file system needs multiples of {alignment}",
                options.bytes
            ),
        ));
    }
    if medium == medium::MEMORY {
        out.say("the file is in memory (tmpfs): there is no disk in these figures");
    }
    out.text(&head(&options, &medium));
    if options.common.given.has("check") {
        return Ok(true);
    }
    let _held = setup::prepare(&options.common.given)?;
    processor::pin(options.common.cores[0].as_deref());
    let noise = setup::noise(
        &TickClock::best(),
        options.common.cores[0].as_deref(),
        setup::seconds(&options.common.given, "noise", 1.0, 0.0)?,
    );
    let environment = Environment::read();
    let mut records = Records::create(options.common.json.as_deref())?
        .with_log(options.common.given.text("hdr"), "disk")?;
    records.write(&ToolLine::Environment(Box::new(environment.clone())))?;
    let target = Target::open(&options)?;
    let mut worker = Worker::new(&options, &target.file);
    let watch = setup::watch(&options.common.cores[..1]);
    worker.warm_up()?;
    worker.work(out)?;
    let disturbed = watch.ended();
    // What somebody else has written has no numbers.
    let is_of_us = options.task == Task::Write || target.ours.is_some();
    let torn = match options.verifies && is_of_us {
        true => worker.verify()?,
        false => Vec::new(),
    };
    let tool = Tool { disturbed, ..worker.record(&medium, noise, torn.len() as u64) };
    if !options.common.is_classic {
        out.text(&sum(&tool, &options, &worker.spent));
    }
    if let Some(block) = torn.first() {
        out.text(&format!(
            "{} blocks are not what was written; the first is block {block}\n",
            torn.len()
        ));
    }
    let is_good = tool.valid && torn.is_empty();
    records.write(&ToolLine::Tool(Box::new(tool)))?;
    records.tell_disturbance(out);
    records.write(&ToolLine::Environment(Box::new(environment.after())))?;
    drop(target);
    stop::check()?;
    Ok(is_good)
}

/// The file, which goes with this if it is ours.
struct Target {
    file: File,
    ours: Option<PathBuf>,
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(path) = &self.ours {
            // Nobody can be told any more, and it was there before it was used.
            let _ = fs::remove_file(path);
        }
    }
}

impl Target {
    fn open(options: &Options) -> Result<Self, GaugeError> {
        let path = &options.path;
        let name = path.display();
        let existing = fs::metadata(path).ok();
        let is_device = existing.as_ref().is_some_and(|of| of.file_type().is_block_device());
        let writes = options.task == Task::Write;
        if is_device && writes && options.common.given.text("this-destroys") != path.to_str() {
            return Err(GaugeError::Usage(format!(
                "{name} is a block device: all on it would be lost; --this-destroys {name} says so"
            )));
        }
        if existing.as_ref().is_some_and(|of| !of.is_file() && !is_device) {
            return Err(GaugeError::Usage(format!("{name} is no file")));
        }
        let is_there = existing.is_some();
        if is_there && writes && !is_device && !options.overwrites {
            return Err(GaugeError::Usage(format!(
                "{name} is there already, and is left as it is; name another, or give --overwrite"
            )));
        }
        let ours = (!is_there && !options.keeps).then(|| path.clone());
        if !is_there {
            let filled = fill(path, options);
            if let Err(error) = filled {
                let _ = fs::remove_file(path);
                return Err(error);
            }
        } else if writes && !is_device {
            fill(path, options)?;
        }
        // From here on it is removed whatever happens.
        let guard = Guard(ours);
        let mut flags = OFlags::empty();
        if options.mode.is_direct {
            flags |= OFlags::DIRECT;
        }
        if options.mode.is_dsync {
            flags |= OFlags::DSYNC;
        }
        let opened = OpenOptions::new()
            .read(true)
            .write(writes)
            .custom_flags(flags.bits() as i32)
            .open(path)
            .map_err(GaugeError::io(format!("opening {name}")))?;
        if !writes && !options.leaves_cached {
            let _ = fadvise(&opened, 0, None, Advice::DontNeed);
        }
        Ok(Self { file: opened, ours: guard.keep() })
    }
}

/// Removes a file unless it was kept.
struct Guard(Option<PathBuf>);

impl Guard {
    fn keep(mut self) -> Option<PathBuf> {
        self.0.take()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

/// Writes all of it once, so that no operation that is measured makes it longer.
fn fill(path: &Path, options: &Options) -> Result<(), GaugeError> {
    let what = || GaugeError::io(format!("writing {}", path.display()));
    let file =
        OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(what())?;
    let per_write = (FILL_BYTES as u64 / options.bytes).max(1);
    let mut bytes = vec![0; (per_write * options.bytes) as usize];
    let mut number = 0;
    while number < options.blocks() {
        stop::check()?;
        let count = per_write.min(options.blocks() - number);
        for (at, block) in
            (number..).zip(bytes.chunks_mut(options.bytes as usize)).take(count as usize)
        {
            block::fill(block, at);
        }
        let length = (count * options.bytes) as usize;
        file.write_all_at(&bytes[..length], number * options.bytes).map_err(what())?;
        number += count;
    }
    file.sync_all().map_err(what())
}

struct Worker<'a> {
    options: &'a Options,
    file: &'a File,
    buffer: Aligned,
    places: Places,
    /// The number of what stands in each block.
    numbers: Vec<u64>,
    next_number: u64,
    from_send: Histogram<u64>,
    from_schedule: Histogram<u64>,
    lateness: Histogram<u64>,
    syncs: Histogram<u64>,
    seconds: Intervals,
    kept: Vec<u64>,
    done: u64,
    due: u64,
    ends: u64,
    exceeded: u64,
    spent: Spent,
    /// When the last call ended.
    free_ns: u64,
    warm_up_s: f64,
    time_s: f64,
}

impl<'a> Worker<'a> {
    fn new(options: &'a Options, file: &'a File) -> Self {
        let per_interval =
            options.rate_per_s.max(100_000) as f64 * options.common.interval.as_secs_f64();
        // Touched beforehand, so that no page of it is in an operation.
        let mut kept = vec![1; ((per_interval * 2.0) as usize).clamp(1024, MAX_KEPT)];
        kept.clear();
        Self {
            options,
            file,
            buffer: Aligned::new(options.bytes as usize),
            places: Places::new(options.blocks(), options.pattern),
            numbers: (0..options.blocks()).collect(),
            next_number: options.blocks(),
            from_send: latencies(),
            from_schedule: latencies(),
            lateness: latencies(),
            syncs: latencies(),
            seconds: Intervals::new(0, NS_PER_S, options.time.as_secs_f64().ceil() as usize + 1),
            kept,
            done: 0,
            due: 0,
            ends: 0,
            exceeded: 0,
            spent: Spent::default(),
            free_ns: 0,
            warm_up_s: 0.0,
            time_s: 0.0,
        }
    }

    /// One operation after the other, as many as are due in the time of the
    /// warm-up at most: what the disk can do. With a rate of 0 the run itself is
    /// that.
    fn warm_up(&mut self) -> Result<(), GaugeError> {
        let options = self.options;
        let most = (options.rate_per_s as f64 * options.common.warm_up.as_secs_f64()).ceil() as u64;
        if most == 0 {
            return Ok(());
        }
        let (start, mut now) = (now_ns(), now_ns());
        let end = start + options.common.warm_up.as_nanos() as u64;
        while self.done < most.max(LEAST_WARM_UP) && now < end && !stop::is_asked() {
            self.operation(now)?;
            now = now_ns();
        }
        let alone_per_s = self.done as f64 * 1e9 / (now - start).max(1) as f64;
        let numbers = std::mem::take(&mut self.numbers);
        *self = Self {
            numbers,
            next_number: self.next_number,
            spent: Spent { alone_per_s: Some(alone_per_s), ..Spent::default() },
            warm_up_s: (now - start) as f64 / 1e9,
            ..Self::new(options, self.file)
        };
        if options.task == Task::Read && !options.leaves_cached {
            let _ = fadvise(self.file, 0, None, Advice::DontNeed);
        }
        Ok(())
    }

    fn work(&mut self, out: &mut dyn Output) -> Result<(), GaugeError> {
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let options = self.options;
        let clock = LocalClock::new();
        let start = now_ns();
        let end = start + options.time.as_nanos() as u64;
        let mut schedule = Schedule::new(start, options.rate_per_s.max(1), options.pacing);
        let interval = options.common.interval.as_nanos() as u64;
        let (mut line_from, mut line_at) = (start, start + interval);
        self.seconds = Intervals::new(start, NS_PER_S, self.seconds.all().len());
        let is_quiet = options.common.is_quiet();
        loop {
            let now = now_ns();
            if now >= line_at || self.kept.len() == self.kept.capacity() {
                let seconds = (now - line_from) as f64 / NS_PER_S as f64;
                let line = self.line(&clock, seconds);
                if !is_quiet {
                    out.text(&line);
                }
                (line_from, line_at) = (now, now.max(line_at) + interval);
            }
            if now >= end || stop::is_asked() {
                break;
            }
            let due = match options.rate_per_s {
                0 => Some(now),
                _ => schedule.take(now),
            };
            match due {
                Some(due) => self.operation(due)?,
                None if options.is_spinning => std::hint::spin_loop(),
                None => {
                    let until = schedule.next_ns().min(line_at).min(end);
                    let wait = Duration::from_nanos(until.saturating_sub(now));
                    thread::sleep(wait.min(Duration::from_millis(50)));
                }
            }
        }
        let now = now_ns();
        self.time_s = (now.min(end) - start) as f64 / NS_PER_S as f64;
        self.due = match options.rate_per_s {
            0 => self.done,
            _ => schedule.due_by(now.min(end).saturating_sub(1)),
        };
        let run_ns = now.min(end) - start;
        self.spent = Spent { run_ns, done: self.done, due: self.due, ..self.spent };
        Ok(())
    }

    fn operation(&mut self, due: u64) -> Result<(), GaugeError> {
        let options = self.options;
        let place = self.places.take();
        let offset = place * options.bytes;
        let writes = options.task == Task::Write;
        if writes {
            block::fill(self.buffer.as_mut_slice(), self.next_number);
        }
        let sent = now_ns();
        let what = || GaugeError::io(options.path.display().to_string());
        if writes {
            self.file.write_all_at(self.buffer.as_slice(), offset).map_err(what())?;
            if options.sync_every > 0 && (self.done + 1).is_multiple_of(options.sync_every) {
                let before = now_ns();
                match options.syncs_all {
                    true => self.file.sync_all().map_err(what())?,
                    false => self.file.sync_data().map_err(what())?,
                }
                self.syncs.saturating_record(now_ns() - before);
            }
            if let Some(number) = self.numbers.get_mut(place as usize) {
                *number = self.next_number;
            }
            self.next_number += 1;
        } else {
            self.file.read_exact_at(self.buffer.as_mut_slice(), offset).map_err(what())?;
        }
        let took = now_ns() - sent;
        self.spent.calls_ns += took;
        self.spent.own_ns += sent.saturating_sub(due.max(self.free_ns));
        self.free_ns = sent + took;
        self.done += 1;
        self.from_send.saturating_record(took);
        self.from_schedule.saturating_record(sent + took - due.min(sent));
        self.lateness.saturating_record(sent.saturating_sub(due));
        self.seconds.add(due, took);
        self.exceeded += u64::from(options.bound_ns.is_some_and(|bound| took > bound));
        if self.kept.len() < self.kept.capacity() {
            self.kept.push(took);
        }
        Ok(())
    }

    fn line(&mut self, clock: &LocalClock, seconds: f64) -> String {
        let options = self.options;
        let ends = self.places.take_ends();
        self.ends += ends;
        let of = told(&mut self.kept, options.bound_ns).unwrap_or_default();
        self.kept.clear();
        let mib = of.count as f64 * options.bytes as f64 / f64::from(1 << 20) / seconds;
        match options.common.is_classic {
            true => {
                let file = options.path.display().to_string();
                classic_line(&clock.time_of_day(), ends, &of, options.bound_ns, mib, &file)
            }
            false => human_line(&of, ends, mib, seconds),
        }
    }

    /// Blocks that are not what was written last, from the medium itself as far
    /// as the kernel lets go of its cache.
    fn verify(&mut self) -> Result<Vec<u64>, GaugeError> {
        let what = || GaugeError::io(format!("verifying {}", self.options.path.display()));
        self.file.sync_all().map_err(what())?;
        let _ = fadvise(self.file, 0, None, Advice::DontNeed);
        let (mut torn, mut scratch) = (Vec::new(), Vec::new());
        for (place, number) in (0..).zip(&self.numbers) {
            let offset = place * self.options.bytes;
            self.file.read_exact_at(self.buffer.as_mut_slice(), offset).map_err(what())?;
            if !block::is_whole(self.buffer.as_slice(), *number, &mut scratch) {
                torn.push(place);
            }
        }
        Ok(torn)
    }

    fn record(&self, medium: &str, noise: Option<Noise>, torn: u64) -> Tool {
        let options = self.options;
        let why_invalid = match stop::is_asked() {
            true => Some("cut short".to_owned()),
            false => self.spent.why_invalid(),
        };
        let valid = why_invalid.is_none();
        let alone_per_s = self.spent.alone_per_s.unwrap_or_default();
        let counts = [
            ("due", self.due),
            ("done", self.done),
            ("ends", self.ends),
            ("exceeded", self.exceeded),
            ("torn", torn),
            ("syncs", self.syncs.len()),
            ("sync_p99_ns", self.syncs.value_at_quantile(0.99)),
            ("calls_ns", self.spent.calls_ns),
            ("own_late_ns", self.spent.own_ns),
            ("alone_per_s", alone_per_s.round() as u64),
        ];
        let chosen = [
            ("mode", options.mode.name().to_owned()),
            ("spin", u8::from(options.is_spinning).to_string()),
            ("pacing", options.pacing.to_string()),
            ("sync_every", options.sync_every.to_string()),
            ("pattern", options.common.given.text("pattern").unwrap_or("seq").to_owned()),
        ];
        Tool {
            tool: "disk".to_owned(),
            transport: options.mode.name().to_owned(),
            role: if options.task == Task::Write { "write" } else { "read" }.to_owned(),
            unit: "operation".to_owned(),
            size_bytes: Some(options.bytes),
            rate_per_s: Some(options.rate_per_s).filter(|rate| *rate > 0),
            options: chosen.map(|(name, text)| (name.to_owned(), text)).into(),
            clock: "monotonic".to_owned(),
            overhead_ns: setup::overhead_ns(),
            round: 1,
            seconds: self.time_s,
            valid,
            warm_up_dropped_s: self.warm_up_s,
            why_invalid,
            achieved_per_s: Some(self.done as f64 / self.time_s.max(1e-9)),
            from_send: Distribution::of(&self.from_send).filter(|_| valid),
            from_schedule: Distribution::of(&self.from_schedule).filter(|_| valid),
            lateness: Distribution::of(&self.lateness).filter(|_| valid),
            hdr: to_hdr(&self.from_send).filter(|_| valid),
            counts: counts.map(|(name, count)| (name.to_owned(), count)).into(),
            noise,
            medium: Some(medium.to_owned()),
            series: self.seconds.series(),
            ..Tool::default()
        }
    }
}

fn head(options: &Options, medium: &str) -> String {
    if options.common.is_classic {
        let rate = options.rate_per_s.max(1);
        return format!(
            "System Tick = 100 usecs\nz_FileName = {}\ni_Rate = {}\ni64_BlockSize = {}\n\
             i_SyncInterval = {}\ni64_TickInterval = 100\ni_TicksPerIO = {}\n\
             i_NumOfIOsPerSlot = {}\n{CLASSIC_HEAD}",
            options.path.display(),
            options.rate_per_s,
            options.bytes,
            options.sync_every,
            (10_000 / rate).max(1),
            (rate / 10_000).max(1),
        );
    }
    let rate = match options.rate_per_s {
        0 => "one after the other".to_owned(),
        rate => format!("{rate}/s, {}", options.pacing),
    };
    format!(
        "{} bytes, {rate}, {}, on {medium}, {:.0} MiB of file, {:.0} s; times in µs\n\
         {:>10}{:>9}{:>9}{:>9}{:>10}{:>10}{:>10}{:>6}\n",
        options.bytes,
        options.mode.name(),
        options.file_bytes as f64 / f64::from(1 << 20),
        options.time.as_secs_f64(),
        "ops/s",
        "MiB/s",
        "min",
        "avg",
        "fast 90%",
        "slow 10%",
        "max",
        "ends"
    )
}

fn human_line(of: &Told, ends: u64, mib: f64, seconds: f64) -> String {
    let micros = |nanos: f64| format!("{:.1}", nanos / 1000.0);
    format!(
        "{:>10.1}{mib:>9.2}{:>9}{:>9}{:>10}{:>10}{:>10}{ends:>6}\n",
        of.count as f64 / seconds,
        micros(of.min_ns as f64),
        micros(of.mean_ns),
        micros(of.fast_mean_ns),
        micros(of.slow_mean_ns),
        micros(of.max_ns as f64),
    )
}

fn sum(tool: &Tool, options: &Options, spent: &Spent) -> String {
    let count = |name: &str| tool.counts.get(name).copied().unwrap_or_default();
    let head = format!(
        "{} of {} operations, {:.1}/s, on {}\n",
        count("done"),
        count("due"),
        tool.achieved_per_s.unwrap_or_default(),
        tool.medium.as_deref().unwrap_or("-"),
    );
    if let Some(why) = &tool.why_invalid {
        return format!("{head}not valid: {why}\n");
    }
    let micros = |nanos: u64| format!("{:.1}", nanos as f64 / 1000.0);
    let row = |name: &str, of: &Option<Distribution>| {
        of.map_or(String::new(), |of| {
            format!(
                "{name:<14} p50 {}  p99 {}  p99.9 {}  max {} µs\n",
                micros(of.p50_ns),
                micros(of.p99_ns),
                micros(of.p999_ns),
                micros(of.max_ns)
            )
        })
    };
    let syncs = match count("syncs") {
        0 => String::new(),
        syncs => format!("{syncs} syncs, p99 {} µs\n", micros(count("sync_p99_ns"))),
    };
    let exceeded = options.bound_ns.map_or(String::new(), |bound| {
        format!("{} took longer than {} µs\n", count("exceeded"), micros(bound))
    });
    [
        head,
        row("operation", &tool.from_send),
        row("from schedule", &tool.from_schedule),
        row("late by", &tool.lateness),
        format!("{}\n", spent.text()),
        syncs,
        exceeded,
    ]
    .concat()
}
