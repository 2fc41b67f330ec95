//! A ping-pong from its command line to its rows.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use hdrhistogram::Histogram;
use tapeline_measure::disturbance::Watch;
use tapeline_measure::environment::Environment;
use tapeline_measure::histogram::{Distribution, latencies, to_hdr};
use tapeline_measure::processor;
use tapeline_measure::record::{Noise, Tool, ToolLine};
use tapeline_measure::ticks::TickClock;

use super::client::Client;
use super::header::Header;
use super::options::{ClockChoice, KNOWN, Options};
use super::{StartServer, server};
use crate::control::Control;
use crate::output::Output;
use crate::records::Records;
use crate::statistics::{Classic, nearest_rank, told_percentile};
use crate::wire::Transport;
use crate::{GaugeError, arguments, setup};

/// Null round trips whose median is what measuring costs.
const OVERHEAD_ROUND_TRIPS: u64 = 100_000;

/// Runs a ping-pong, or serves one, as its command line has it. Returns whether
/// all that was measured is valid.
///
/// Errors: the command line is wrong, or nothing can be measured.
pub fn run(
    command_line: &[String],
    is_classic: bool,
    start: &StartServer<'_>,
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    let options = Options::read(command_line, is_classic)?;
    if options.arguments.has("help") {
        out.text(&help());
        return Ok(true);
    }
    if options.arguments.has("version") {
        out.text(&format!("{}\n", env!("CARGO_PKG_VERSION")));
        return Ok(true);
    }
    for warning in &options.warnings {
        out.say(warning);
    }
    let Some(transport) = options.transport else {
        let keeps_on = options.arguments.has("keep");
        let bind = options.sides[0].bind;
        return server::listen(bind, options.port, keeps_on, &mut |text| out.say(text))
            .map(|()| true);
    };
    if options.arguments.has("check") {
        out.text(&plan(&options, transport));
        return Ok(true);
    }
    let start = match options.arguments.has("threads") {
        true => &StartServer::Thread,
        false => start,
    };
    measure(&options, transport, start, out)
}

/// Serves the process that started this one, over its standard input.
pub fn serve_parent() -> Result<(), GaugeError> {
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input: OwnedFd = input.map_err(GaugeError::io("standard input"))?;
    server::serve(Control::over_unix(UnixStream::from(input)), None)
}

fn help() -> String {
    format!(
        "pingpong                                 serves one client\n\
         pingpong [OPTIONS] TRANSPORT [HOST[:PORT]]  measures; without a host it starts a server\n\n\
         Transports: {}\n\n{}",
        Transport::ALL.map(Transport::name).join(" "),
        arguments::help(&KNOWN)
    )
}

fn plan(options: &Options, transport: Transport) -> String {
    let cells = options.sizes.len() as u32 * options.rounds;
    let (least, most) = (options.least * cells, options.most * cells);
    format!(
        "{transport}: {} sizes, {} rounds: {:.0} to {:.0} s, warm-up {:.1} s, noise {:.1} s\n\
         cores {}; sizes {:?}\n",
        options.sizes.len(),
        options.rounds,
        least.as_secs_f64(),
        most.as_secs_f64(),
        options.warm_up.as_secs_f64(),
        options.noise.as_secs_f64(),
        cores_text(options),
        options.sizes,
    )
}

fn cores_text(options: &Options) -> String {
    let text = |side: usize| match &options.sides[side].cores {
        None => "any".to_owned(),
        Some(cores) => cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    };
    format!("{};{}", text(0), text(1))
}

fn chosen_clock(choice: ClockChoice) -> Result<TickClock, GaugeError> {
    match choice {
        ClockChoice::Auto => Ok(TickClock::best()),
        ClockChoice::Monotonic => Ok(TickClock::monotonic()),
        ClockChoice::Tsc => TickClock::trusted_tsc().ok_or_else(|| {
            let what = "it needs constant_tsc, nonstop_tsc and a kernel that takes the time from \
                        it; use monotonic, or auto";
            GaugeError::option("clock", "tsc", what)
        }),
    }
}

fn measure(
    options: &Options,
    transport: Transport,
    start: &StartServer<'_>,
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    processor::pin(options.sides[0].cores.as_deref());
    let _held = setup::prepare(&options.arguments)?;
    let clock = chosen_clock(options.clock)?;
    let environment = Environment::read();
    let mut writer = Records::create(options.json.as_deref())?
        .with_log(options.arguments.text("hdr"), "pingpong")?;
    writer.write(&ToolLine::Environment(Box::new(environment.clone())))?;
    let cell = Cell {
        options,
        transport,
        clock: &clock,
        noise: setup::noise(&clock, options.sides[0].cores.as_deref(), options.noise),
        overhead_ns: overhead_ns(options, &clock)?,
    };
    if !options.arguments.has("quiet") {
        let tells_name = options.arguments.has("hostname");
        let header = cell.header(Header::of_host(&environment, tells_name));
        out.text(&if options.is_classic { header.text() } else { cell.human_header(&header) });
    }
    let mut client = Client::connect(options, &clock, transport, start)?;
    let mut done = Ok(());
    let mut is_valid = true;
    'rounds: for round in 1..=options.rounds {
        let warm_up = match client.warm_up() {
            Ok(warm_up) => warm_up,
            Err(error) => {
                done = Err(error);
                break;
            }
        };
        for size in &options.sizes {
            match cell.measure(&mut client, *size, round, warm_up) {
                Ok((text, tool)) => {
                    is_valid &= tool.valid;
                    out.text(&text);
                    if options.arguments.has("verbose") {
                        out.say(&more_of(&tool));
                    }
                    writer.write(&ToolLine::Tool(Box::new(tool)))?;
                }
                Err(error) => {
                    done = Err(error);
                    break 'rounds;
                }
            }
        }
    }
    client.end();
    writer.tell_disturbance(out);
    writer.write(&ToolLine::Environment(Box::new(environment.after())))?;
    let (hz, percent) = clock.recheck();
    if percent > 1.0 {
        out.text(&format!("# WARNING: tsc_hz changed to {hz} on recheck\n"));
    }
    done.map(|()| is_valid)
}

/// What is told of a size beside its row.
fn more_of(tool: &Tool) -> String {
    let count = |name: &str| tool.counts.get(name).copied().unwrap_or_default();
    let disturbed = tool.disturbed.map_or("-".to_owned(), |of| of.to_string());
    format!(
        "size {}: {} round trips in {:.3} s after {:.3} s of warm-up, {} lost, {} late; {disturbed}",
        tool.size_bytes.unwrap_or_default(),
        count("received"),
        tool.seconds,
        tool.warm_up_dropped_s,
        count("lost"),
        count("late"),
    )
}

/// The median of null round trips.
fn overhead_ns(options: &Options, clock: &TickClock) -> Result<u64, GaugeError> {
    let options = Options {
        transport: Some(Transport::Null),
        batch: OVERHEAD_ROUND_TRIPS,
        most_iterations: OVERHEAD_ROUND_TRIPS,
        least: Duration::ZERO,
        most: Duration::ZERO,
        sleep_gap: Duration::ZERO,
        spin_gap: Duration::ZERO,
        ..options.clone()
    };
    let mut client = Client::connect(&options, clock, Transport::Null, &StartServer::Thread)?;
    client.measure(1)?;
    client.samples.sort_unstable();
    Ok(clock.nanos(nearest_rank(&client.samples, 50.0).unwrap_or_default()))
}

/// What all rows have in common.
struct Cell<'a> {
    options: &'a Options,
    transport: Transport,
    clock: &'a TickClock,
    noise: Option<Noise>,
    overhead_ns: u64,
}

impl Cell<'_> {
    fn header(&self, header: Header) -> Header {
        let flags = |of: &dyn Fn(usize) -> String| format!("{};{}", of(0), of(1));
        let spin = flags(&|side| u8::from(self.options.sides[side].is_spinning).to_string());
        let [ours, theirs] = self.options.sides.each_ref().map(|side| side.muxer);
        let muxer = if ours == theirs { ours.to_string() } else { format!("{ours};{theirs}") };
        let noise = self.noise.map_or(String::new(), |noise| {
            format!(" noise={:.2}%/{}us", noise.lost_percent, noise.max_ns / 1000)
        });
        let sessions = match self.options.sessions {
            1 => String::new(),
            count => format!(" sessions={count}"),
        };
        let channel = match &self.options.sides.each_ref().map(|side| &side.channel) {
            _ if !self.options.arguments.has("channel") => String::new(),
            [ours, theirs] if ours == theirs => format!(" channel={ours}"),
            [ours, theirs] => format!(" channel={ours};{theirs}"),
        };
        let stamps = if self.options.has_stamps { " timestamps=kernel" } else { "" };
        let chosen = if self.options.cores_named { "" } else { " (chosen)" };
        let server = match self.transport {
            Transport::Ring => " server=thread",
            _ if self.options.arguments.has("threads") => " server=thread",
            _ => "",
        };
        Header {
            tsc_hz: self.clock.hz(),
            percentile: self.options.percentile,
            is_whole: self.options.is_whole,
            tapeline: format!(
                "transport={}{channel}{sessions}{stamps} spin={spin} muxer={muxer} clock={} overhead={}ns{noise} \
                 affinity={}{chosen}{server}",
                self.transport,
                self.clock.source().name(),
                self.overhead_ns,
                cores_text(self.options),
            ),
            ..header
        }
    }

    fn human_header(&self, header: &Header) -> String {
        let what = if self.options.is_whole { "round trips" } else { "half round trips" };
        let parts = match self.options.has_stamps {
            true => {
                "; below each size, of whole ones: send (program to driver), outside, receive \
                     (driver to program)"
            }
            false => "",
        };
        format!(
            "{}\n{what} in µs{parts}\n{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>8}{:>10}\n",
            header.tapeline, "size", "p50", "p99", "p99.9", "p99.99", "max", "lost", "count"
        )
    }

    fn measure(
        &self,
        client: &mut Client<'_>,
        size: usize,
        round: u32,
        warm_up: Duration,
    ) -> Result<(String, Tool), GaugeError> {
        let (clock, part) = (self.clock, if self.options.is_whole { 1 } else { 2 });
        let watch = (!client.is_beside_server()).then(|| self.watch());
        let began = std::time::Instant::now();
        client.measure(size)?;
        let disturbed = watch.and_then(|watch| watch.ended());
        let seconds = began.elapsed().as_secs_f64();
        let (lost, late) = (client.lost, client.late);
        let samples = &mut client.samples;
        for sample in samples.iter_mut() {
            *sample = clock.nanos(*sample) / part;
        }
        if let Some(prefix) = &self.options.raw {
            write_raw(prefix, size, samples)?;
        }
        let mut nanos = latencies();
        for sample in samples.iter() {
            nanos.saturating_record(*sample);
        }
        // It sorts them.
        let classic = Classic::of(samples, self.options.percentile).unwrap_or_default();
        let human = self.human_row(size, samples, lost);
        let tool = self.record((size, round), &nanos, classic, (lost, late));
        let warm_up_dropped_s = warm_up.as_secs_f64();
        let mut tool = Tool { seconds, warm_up_dropped_s, disturbed, ..tool };
        let mut text = match self.options.is_classic {
            true => format!("{}\n", classic.row(size)),
            false => human,
        };
        if let Some(parts) = &client.parts {
            tool.hops = parts.hops();
            for (name, count) in [("untold", parts.untold), ("clock_errors", parts.clock_errors)] {
                tool.counts.insert(name.to_owned(), count);
            }
            text.push_str(&match self.options.is_classic {
                true => parts.classic_line(size),
                false => parts.human_rows(),
            });
        }
        Ok((text, tool))
    }

    /// At the cores of this host that take part.
    fn watch(&self) -> Watch {
        let sides = self.options.sides.each_ref().map(|side| side.cores.clone());
        let here = if self.options.server.is_some() { 1 } else { 2 };
        setup::watch(&sides[..here])
    }

    fn record(
        &self,
        (size, round): (usize, u32),
        nanos: &Histogram<u64>,
        classic: Classic,
        (lost, late): (u64, u64),
    ) -> Tool {
        let given = |name: &str| self.options.arguments.text(name).map(str::to_owned);
        let mut options: std::collections::BTreeMap<String, String> = KNOWN
            .iter()
            .filter(|known| !["json", "raw"].contains(&known.name))
            .filter_map(|known| given(known.name).map(|text| (known.name.to_owned(), text)))
            .collect();
        options.insert("affinity".to_owned(), cores_text(self.options));
        let row = [
            ("mean", classic.mean),
            ("min", classic.min),
            ("median", classic.median),
            ("max", classic.max),
            ("percentile", classic.percentile),
            ("stddev", classic.stddev),
            ("iter", classic.iter),
        ];
        let counts = [("lost", lost), ("late", late), ("received", classic.iter)];
        let named = |all: &[(&str, u64)]| all.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        Tool {
            tool: "pingpong".to_owned(),
            transport: self.transport.name().to_owned(),
            role: "client".to_owned(),
            unit: if self.options.is_whole { "round" } else { "half" }.to_owned(),
            size_bytes: Some(size as u64),
            options,
            clock: self.clock.source().name().to_owned(),
            overhead_ns: self.overhead_ns,
            round,
            valid: true,
            from_send: Distribution::of(nanos),
            hdr: to_hdr(nanos),
            classic: named(&row),
            counts: named(&counts),
            noise: self.noise,
            ..Tool::default()
        }
    }

    /// Percentiles in µs; a maximum that the host's own gaps explain has `~`.
    fn human_row(&self, size: usize, sorted: &[u64], lost: u64) -> String {
        let micros = |nanos: u64| format!("{:.2}", nanos as f64 / 1000.0);
        let told = |p| told_percentile(sorted, p).map_or("-".to_owned(), micros);
        let max = sorted.last().copied().unwrap_or_default();
        let is_noise = self.noise.is_some_and(|noise| noise.max_ns * 2 >= max);
        let max = format!("{}{}", if is_noise { "~" } else { "" }, micros(max));
        let median = nearest_rank(sorted, 50.0).unwrap_or_default();
        format!(
            "{size:>8}{:>10}{:>10}{:>10}{:>10}{max:>10}{lost:>8}{:>10}  {}\n",
            told(50.0),
            told(99.0),
            told(99.9),
            told(99.99),
            sorted.len(),
            bar(median)
        )
    }
}

/// A bar whose length is the logarithm of a time: 100 ns have none, each
/// factor of ten eight more.
fn bar(nanos: u64) -> String {
    let length = ((nanos.max(1) as f64 / 100.0).log10() * 8.0).clamp(0.0, 40.0) as usize;
    "▇".repeat(length)
}

fn write_raw(prefix: &str, size: usize, samples: &[u64]) -> Result<(), GaugeError> {
    let path = format!("{prefix}-{size}.dat");
    let write = || {
        let mut file = BufWriter::new(File::create(&path)?);
        for sample in samples {
            writeln!(file, "{sample}")?;
        }
        file.flush()
    };
    write().map_err(GaugeError::io(format!("writing {path}")))
}
