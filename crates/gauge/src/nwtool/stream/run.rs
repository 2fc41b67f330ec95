//! A stream from its command line to its rows.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::num::NonZeroU64;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::thread::set_current_timer_slack;
use tapeline_measure::clock::now_ns;
use tapeline_measure::environment::Environment;
use tapeline_measure::histogram::{Distribution, latencies};
use tapeline_measure::record::{Noise, Tool, ToolLine};
use tapeline_measure::ticks::TickClock;
use tapeline_measure::{processor, stop};

use super::super::cell::failed;
use super::super::pair::{
    Followed, Open, Say, came, explained, listener, looked_for, opened, same_version,
};
use super::super::receive;
use super::options::{KNOWN, StreamOptions};
use super::pacer::Pacer;
use super::rate::{HEAD, RateDone, one_way_ns};
use crate::control::Control;
use crate::link::{Link, Links, Readiness};
use crate::local::{LocalProcess, StartProcess};
use crate::message::{Head, Kind};
use crate::output::Output;
use crate::pingpong::header::Header;
use crate::records::Records;
use crate::statistics::{Classic, nearest_rank};
use crate::{GaugeError, Transport, arguments, setup};

/// How long a quiet round trip is waited for.
const PATIENCE_NS: u64 = 1_000_000_000;

/// How long answers are waited for after the last message.
const DRAIN: Duration = Duration::from_millis(200);

/// Runs a stream, or serves one, as its command line has it. Returns whether
/// all rates count.
///
/// Errors: the command line is wrong, or nothing can be measured.
pub fn run(
    typed: &[String],
    start: &StartProcess<'_>,
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    let options = StreamOptions::read(typed)?;
    if options.given.has("help") {
        let usage = "sfnt-stream                                serves one client\n\
                     sfnt-stream [OPTIONS] TRANSPORT [HOST[:PORT]]  measures\n\n";
        out.text(&format!("{usage}{}", arguments::help(&KNOWN)));
        return Ok(true);
    }
    if options.given.has("version") {
        out.text(&format!("{}\n", env!("CARGO_PKG_VERSION")));
        return Ok(true);
    }
    let Some(transport) = options.transport else { return serve(&options, out) };
    if options.given.has("check") {
        let rates = options.rates.iter().count();
        let seconds = rates as f64 * options.time.as_secs_f64();
        out.text(&format!(
            "{transport}: up to {rates} rates, {seconds:.0} s at most; it ends at {} %\n",
            options.stop_percent
        ));
        return Ok(true);
    }
    measure(&options, transport, start, out)
}

fn serve(options: &StreamOptions, out: &mut dyn Output) -> Result<bool, GaugeError> {
    let bind = options.given.text("bind").and_then(|text| text.parse().ok());
    let listener = listener(bind, options.port)?;
    let own = listener.local_addr().map_err(GaugeError::io("listening"))?;
    out.say(&format!("serving on {own}"));
    loop {
        let served = came(&listener).and_then(|mut control| receive::serve_all(&mut control));
        match served {
            Err(error @ GaugeError::Interrupted(_)) => return Err(error),
            Err(error) if options.given.has("keep") => out.say(&format!("a client: {error}")),
            Err(error) => return Err(error),
            Ok(()) if !options.given.has("keep") => return Ok(true),
            Ok(()) => {}
        }
    }
}

fn measure(
    options: &StreamOptions,
    transport: Transport,
    start: &StartProcess<'_>,
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    let _held = setup::prepare(&options.given)?;
    processor::pin(options.cores[0].as_deref());
    let noise = setup::noise(&TickClock::best(), options.cores[0].as_deref(), options.noise);
    let environment = Environment::read();
    let mut records = Records::create(options.given.text("json").map(std::path::Path::new))?;
    records.write(&ToolLine::Environment(Box::new(environment.clone())))?;
    let (mut control, _local) = match &options.server {
        Some((host, port)) => (looked_for(host, *port)?, None),
        None => {
            let (near, far) = UnixStream::pair().map_err(GaugeError::io("a pair of sockets"))?;
            let child = start(far.into()).map_err(GaugeError::io("starting a local server"))?;
            let local = LocalProcess::new(child);
            let mut control = Control::over_unix(near);
            same_version(&mut control)?;
            (control, Some(local))
        }
    };
    let open = Open {
        transport,
        connections: 1,
        options: options.link.clone(),
        is_spinning: options.spins[1],
        cores: options.cores[2].clone(),
        answer_bytes: Some(0),
        samples_only: true,
        addresses: Vec::new(),
    };
    let quiet_ns = quiet_round_trip_ns(options, &open, &mut control)?;
    if !options.given.has("quiet") {
        let header = Header::of_host(&environment, options.given.has("hostname"));
        out.text(&head(options, transport, header, quiet_ns, noise));
    }
    let mut is_valid = true;
    for rate in options.rates.iter() {
        stop::check()?;
        let mut links = opened(&mut control, &open, None)?;
        let (done, samples) = at_rate(options, rate, &mut links, &mut control, quiet_ns)?;
        out.text(&done.row());
        if let Some(prefix) = options.given.text("raw") {
            write_raw(&format!("{prefix}-{rate}.dat"), &samples)?;
        }
        let tool = record(options, transport, &done, &samples, noise);
        is_valid &= tool.valid;
        records.write(&ToolLine::Tool(Box::new(tool)))?;
        if done.is_below(options.stop_percent) {
            break;
        }
    }
    records.write(&ToolLine::Environment(Box::new(environment.after())))?;
    Ok(is_valid)
}

fn head(
    options: &StreamOptions,
    transport: Transport,
    header: Header,
    quiet_ns: u64,
    noise: Option<Noise>,
) -> String {
    let clock = TickClock::best();
    let core = |at: usize| setup::cores_text(options.cores[at].as_deref());
    let noise = noise.map_or(String::new(), |noise| {
        format!(" noise={:.2}%/{}us", noise.lost_percent, noise.max_ns / 1000)
    });
    let spins = options.spins.map(u8::from);
    let header = Header {
        tsc_hz: clock.hz(),
        percentile: options.percentile,
        is_whole: options.is_whole,
        own: vec![format!("msgsize={}", options.bytes), format!("return_latency={}", quiet_ns / 2)],
        tapeline: format!(
            "transport={transport} spin={};{} clock=monotonic affinity={},{};{}{noise}",
            spins[0],
            spins[1],
            core(0),
            core(1),
            core(2),
        ),
        ..header
    };
    format!("{}{HEAD}", header.lines())
}

/// The median of round trips, one at a time.
fn quiet_round_trip_ns(
    options: &StreamOptions,
    open: &Open,
    control: &mut Control,
) -> Result<u64, GaugeError> {
    let mut links = opened(control, open, None)?;
    let mut readiness = Readiness::of(&links).map_err(GaugeError::io("waiting for links"))?;
    let mut message = vec![0x5A; options.bytes];
    let mut all = Vec::with_capacity(options.round_trips as usize);
    for seq in 0..options.round_trips {
        let sent_ns = now_ns();
        let length = options.bytes as u32;
        Head { kind: Kind::Sample, length, seq, due_ns: sent_ns, sent_ns }.write(&mut message);
        while !links[0].offer(&message).map_err(failed)? {
            stop::check()?;
        }
        while !links[0].flush().map_err(failed)? {}
        let mut back = None;
        while back.is_none() && now_ns() - sent_ns < PATIENCE_NS {
            if !options.spins[0] {
                let waited = readiness.wait(&mut links, now_ns() + PATIENCE_NS);
                waited.map_err(GaugeError::io("waiting for an answer"))?;
            }
            let polled = readiness.poll(&mut links, &mut |_, answer| {
                back = Head::read(answer).filter(|head| head.seq == seq).map(|_| now_ns());
            });
            polled.map_err(|(_, error)| explained(control, failed(error)))?;
        }
        all.extend(back.map(|back| back - sent_ns));
        if seq % 1024 == 0 {
            stop::check()?;
        }
    }
    ended(control, options.round_trips)?;
    all.sort_unstable();
    nearest_rank(&all, 50.0)
        .ok_or_else(|| GaugeError::Peer("answered none of the quiet round trips".to_owned()))
}

fn ended(control: &mut Control, sent: u64) -> Result<Followed, GaugeError> {
    control.send(&Say::End { sent })?;
    match control.receive()? {
        Say::Counts(counts) => Ok(*counts),
        Say::Refused(why) => Err(GaugeError::Peer(format!("ended, and says: {why}"))),
        _ => Err(GaugeError::Peer("spoke out of turn".to_owned())),
    }
}

/// What the sender knows of a rate.
#[derive(Default)]
struct Sent {
    count: u64,
    seconds: f64,
    late_total: u64,
    late_min: u64,
    late_max: u64,
    behind: u64,
}

fn at_rate(
    options: &StreamOptions,
    rate: u64,
    links: &mut Links,
    control: &mut Control,
    quiet_ns: u64,
) -> Result<(RateDone, Vec<u64>), GaugeError> {
    let is_over = AtomicBool::new(false);
    let capacity = match options.samples {
        0 => options.time.as_millis() as usize + 1,
        samples => samples as usize + 1,
    };
    let twin = links[0].twin().map_err(GaugeError::io("a second thread at the link"))?;
    let (sent, round_trips) = thread::scope(|scope| {
        let over = &is_over;
        let receiving = scope.spawn(move || {
            processor::pin(options.cores[1].as_deref());
            answers(twin, capacity, options.spins[0], over)
        });
        let sent = send(options, rate, &mut *links[0]);
        // Answers of the last messages are on their way.
        thread::sleep(DRAIN);
        is_over.store(true, Ordering::Release);
        let received = receiving.join();
        let round_trips = received.unwrap_or_else(|_| Err(GaugeError::Peer("ended".to_owned())));
        (sent, round_trips)
    });
    let sent = sent.map_err(|error| explained(control, error))?;
    let round_trips = round_trips?;
    let followed = ended(control, sent.count)?;
    let half = if options.is_whole { 0 } else { quiet_ns / 2 };
    let mut samples: Vec<u64> =
        round_trips.into_iter().map(|round_trip| one_way_ns(round_trip, half)).collect();
    let latency = Classic::of(&mut samples, options.percentile).unwrap_or_default();
    let per_second = |count: u64| (count as f64 / sent.seconds.max(1e-9)) as u64;
    let done = RateDone {
        target_per_s: rate,
        sent_per_s: per_second(sent.count),
        received_per_s: per_second(followed.arrivals.received),
        latency,
        jitter_mean: sent.late_total / sent.count.max(1),
        jitter_min: sent.late_min,
        jitter_max: sent.late_max,
        behind: sent.behind,
        gaps: followed.gaps,
        drops: followed.arrivals.lost,
        out_of_order: followed.arrivals.reordered,
    };
    Ok((done, samples))
}

fn send(options: &StreamOptions, rate: u64, link: &mut dyn Link) -> Result<Sent, GaugeError> {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let mut message = vec![0x5A; options.bytes];
    let time_ns = options.time.as_nanos() as u64;
    let sample_ns = match options.samples {
        0 => 1_000_000,
        samples => (time_ns / samples).max(1),
    };
    let start = now_ns();
    let end = start + time_ns;
    let mut pacer = Pacer::new(start, rate, options.max_burst);
    let mut sent = Sent { late_min: u64::MAX, ..Sent::default() };
    let mut next_sample = start;
    loop {
        let now = now_ns();
        if now >= end {
            break;
        }
        let due_ns = match pacer.take(now) {
            Ok(due_ns) => due_ns,
            Err(due_ns) => {
                if !options.spins[0] {
                    let wait = Duration::from_nanos(due_ns.min(end).saturating_sub(now));
                    // Shorter than that, a sleep takes longer than it should.
                    if wait > Duration::from_micros(10) {
                        thread::sleep(wait);
                    }
                }
                continue;
            }
        };
        let is_sample = now >= next_sample;
        if is_sample {
            next_sample = (next_sample + sample_ns).max(now.saturating_sub(sample_ns));
        }
        let kind = if is_sample { Kind::Sample } else { Kind::Streamed };
        let sent_ns = now_ns();
        let length = options.bytes as u32;
        Head { kind, length, seq: sent.count, due_ns, sent_ns }.write(&mut message);
        while !link.offer(&message).map_err(failed)? {
            stop::check()?;
            if now_ns() >= end {
                break;
            }
            if !options.spins[0] {
                thread::yield_now();
            }
        }
        let late = sent_ns.saturating_sub(due_ns);
        sent.count += 1;
        sent.late_total += late;
        (sent.late_min, sent.late_max) = (sent.late_min.min(late), sent.late_max.max(late));
        if sent.count.is_multiple_of(4096) {
            stop::check()?;
        }
    }
    sent.seconds = (now_ns() - start) as f64 / 1e9;
    while !link.flush().map_err(failed)? {
        stop::check()?;
    }
    (sent.behind, sent.late_min) = (pacer.behind(), sent.late_min.min(sent.late_max));
    Ok(sent)
}

/// Round trips of samples, until it is over.
fn answers(
    twin: Box<dyn Link + Send>,
    capacity: usize,
    is_spinning: bool,
    is_over: &AtomicBool,
) -> Result<Vec<u64>, GaugeError> {
    let mut links: Links = vec![twin];
    let mut readiness = Readiness::of(&links).map_err(GaugeError::io("waiting for links"))?;
    let mut all = Vec::with_capacity(capacity);
    while !is_over.load(Ordering::Acquire) {
        if !is_spinning {
            let waited = readiness.wait(&mut links, now_ns() + 20_000_000);
            waited.map_err(GaugeError::io("waiting for answers"))?;
        }
        let polled = readiness.poll(&mut links, &mut |_, answer| {
            let head = Head::read(answer).filter(|head| head.kind == Kind::SampleAnswer);
            let taken = head.and_then(|head| now_ns().checked_sub(head.sent_ns));
            if all.len() < capacity {
                all.extend(taken);
            }
        });
        polled.map_err(|(_, error)| failed(error))?;
    }
    Ok(all)
}

fn write_raw(path: &str, samples: &[u64]) -> Result<(), GaugeError> {
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        samples.iter().try_for_each(|sample| writeln!(file, "{sample}"))?;
        file.flush()
    };
    write().map_err(GaugeError::io(format!("writing {path}")))
}

fn record(
    options: &StreamOptions,
    transport: Transport,
    done: &RateDone,
    samples: &[u64],
    noise: Option<Noise>,
) -> Tool {
    let mut nanos = latencies();
    for sample in samples {
        nanos.saturating_record(*sample);
    }
    let named = |all: &[(&str, u64)]| all.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    let of = done.latency;
    let valid = !done.is_below(99.0);
    Tool {
        tool: "stream".to_owned(),
        transport: transport.name().to_owned(),
        role: "send".to_owned(),
        unit: if options.is_whole { "round" } else { "one_way" }.to_owned(),
        size_bytes: Some(options.bytes as u64),
        rate_per_s: Some(done.target_per_s),
        clock: "monotonic".to_owned(),
        round: 1,
        seconds: options.time.as_secs_f64(),
        valid,
        why_invalid: (!valid).then(|| "sent less than 99 % of the rate".to_owned()),
        achieved_per_s: Some(done.received_per_s as f64),
        from_send: Distribution::of(&nanos).filter(|_| valid),
        classic: named(&[
            ("mean", of.mean),
            ("min", of.min),
            ("median", of.median),
            ("max", of.max),
            ("percentile", of.percentile),
            ("stddev", of.stddev),
            ("iter", of.iter),
        ]),
        counts: named(&[
            ("lost", done.drops),
            ("gaps", done.gaps),
            ("reordered", done.out_of_order),
            ("behind", done.behind),
        ]),
        noise,
        ..Tool::default()
    }
}
