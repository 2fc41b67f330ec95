//! One command that judges a machine: every tool in turn, within ten minutes,
//! and one page of what was found.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::Args as ClapArgs;
use tapeline_bench::report;
use tapeline_ending::Stop;
use tapeline_gauge::GaugeError;
use tapeline_measure::stop::interrupt_when;

use crate::failure::{Failure, Verdict, warn};
use crate::tools;

/// Judges this machine in 10 minutes: settings, noise, round trips, the matrix,
/// multicast, an order's way and the disk; says a verdict and writes one page
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// Where the page goes; records go beside it, in FILE.jsonl
    #[arg(long, value_name = "FILE", default_value = "machine.html")]
    out: PathBuf,
    /// Folder on the disk that is to be judged
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    disk: PathBuf,
    /// A look of a minute: the figures scatter more
    #[arg(long)]
    quick: bool,
    /// Say what would be done
    #[arg(long)]
    check: bool,
}

/// How long each part takes, in seconds.
struct Times {
    jitter: f64,
    ping_ms: u32,
    cell: f64,
    rates: &'static str,
    multicast: f64,
    flow: f64,
    disk: f64,
}

const WHOLE: Times = Times {
    jitter: 30.0,
    ping_ms: 1500,
    cell: 5.0,
    rates: "100,1000,10000,50000,100000,250000,500000",
    multicast: 5.0,
    flow: 10.0,
    disk: 15.0,
};
const QUICK: Times = Times {
    jitter: 1.0,
    ping_ms: 50,
    cell: 0.3,
    rates: "100,10000,100000",
    multicast: 0.5,
    flow: 0.5,
    disk: 1.0,
};

/// A receiver listens for so much longer than is sent, in seconds.
const LISTENS_LONGER_S: f64 = 1.0;

const TRANSPORTS: [&str; 6] = ["tcp", "udp", "unix_stream", "ring", "aeron", "rssl"];
const SIZES: &str = "--sizes=1,64,256,1024,4096";

/// A tool and its command line.
type Step = (&'static str, Vec<String>);

/// What is done, in its order.
fn steps(args: &Args, times: &Times) -> Vec<Step> {
    let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut all = vec![
        ("tune", words("check".to_owned())),
        ("jitter", words(format!("--runtime={}", times.jitter))),
    ];
    for transport in TRANSPORTS {
        let ms = times.ping_ms;
        all.push((
            "pingpong",
            words(format!(
                "--nodelay --minms={ms} --maxms={ms} --warmupms=200 --noise=0.5 {SIZES} {transport}"
            )),
        ));
    }
    all.push((
        "nwtool",
        words(format!(
            "matrix --transports=tcp,unix_stream,aeron --sizes=100,1000 \
             --rates={} --seconds={} --warm-up=0.2 --bounds=none",
            times.rates, times.cell
        )),
    ));
    let multicast = "--group=239.1.1.1 --interface=lo --rate=10000 --size=1000 --noise=0";
    all.push(("mcast", words(format!("send {multicast} --seconds={}", times.multicast))));
    all.push(("aio", words(format!("run order-native @rate=100 --seconds={}", times.flow))));
    for mode in ["buffered", "dsync"] {
        let name = format!(".tapeline-disk-{}", std::process::id());
        let mut line = words(format!("write --rate=1000 --seconds={} --mode={mode}", times.disk));
        line.insert(1, args.disk.join(name).display().to_string());
        all.push(("disk", line));
    }
    all
}

pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let times = if args.quick { &QUICK } else { &WHOLE };
    let steps = steps(args, times);
    if args.check {
        for (tool, line) in &steps {
            println!("tapeline {tool} {}", line.join(" "));
        }
        return Ok(Verdict::Good);
    }
    // One handler for all of them: each part looks at the first flag.
    let stop = Stop::on_signals(None).map_err(Failure::Signals)?;
    interrupt_when(stop.flag());
    let records = args.out.with_extension("jsonl");
    let part = args.out.with_extension("part");
    std::fs::write(&records, "").map_err(Failure::creating(&records))?;
    let began = Instant::now();
    let mut verdict = Verdict::Good;
    for (at, (tool, line)) in steps.iter().enumerate() {
        println!("\n[{}/{}] tapeline {tool} {}", at + 1, steps.len(), line.join(" "));
        let mut line = line.clone();
        line.push(format!("--json={}", part.display()));
        let heard = args.out.with_extension("heard");
        let done = match *tool {
            "mcast" => multicast(&line, times.multicast, &heard),
            tool => step(tool, &line),
        };
        let kept = keep(&part, &records).and_then(|()| keep(&heard, &records));
        match done {
            Ok(_) => kept?,
            Err(failure) if tapeline_measure::stop::is_asked() => {
                let _ = kept;
                return Err(failure);
            }
            // The others are worth something without it.
            Err(failure) => {
                warn(&format!("{tool}: {failure}"));
                verdict = Verdict::Bad;
            }
        }
    }
    let page = report::from_files(&[&records])?;
    std::fs::write(&args.out, page).map_err(Failure::creating(&args.out))?;
    println!("\nverdict");
    for sentence in report::verdict(&records)? {
        println!("  {sentence}");
    }
    println!(
        "\n{} after {:.0} s; records are in {}",
        args.out.display(),
        began.elapsed().as_secs_f64(),
        records.display()
    );
    Ok(verdict)
}

/// What differs or melts is a result of this machine, and no failure.
fn step(tool: &str, line: &[String]) -> Result<Verdict, Failure> {
    match tool {
        "tune" => tools::tune(line),
        "jitter" => tools::jitter(line, false),
        "pingpong" => tools::pingpong(line, false),
        "nwtool" => tools::nwtool(line, false),
        "aio" => tools::aio(line, false),
        _ => tools::disk(line, false),
    }
}

/// Sends to a group, while another process of this program is in it. What that
/// one found goes to the file `heard`.
fn multicast(line: &[String], seconds: f64, heard: &Path) -> Result<Verdict, Failure> {
    let failed = |error| GaugeError::Io { what: "a multicast receiver".to_owned(), error };
    let program = std::env::current_exe().map_err(failed)?;
    let mut receiver = Command::new(program)
        .args(["mcast", "receive", "--group=239.1.1.1", "--interface=lo", "--port=0"])
        .args(["--rcvbuf=4000000", "--quiet"])
        .arg(format!("--seconds={}", seconds + LISTENS_LONGER_S))
        .arg(format!("--json={}", heard.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut said = String::new();
    if let Some(stderr) = receiver.stderr.take() {
        BufReader::new(stderr).read_line(&mut said).map_err(failed)?;
    }
    let port = said.trim().rsplit(' ').next().unwrap_or_default().to_owned();
    let mut line = line.to_vec();
    line.push(format!("--port={port}"));
    let sent = tools::mcast(&line, false);
    let heard = receiver.wait().map_err(failed)?;
    // What is lost is a result.
    sent.map(|sent| if heard.code().is_some() { sent } else { Verdict::Bad })
}

/// Adds the lines of a part to all of them.
fn keep(part: &Path, records: &Path) -> Result<(), Failure> {
    use std::io::Write as _;
    let Ok(text) = std::fs::read_to_string(part) else { return Ok(()) };
    let mut file =
        std::fs::File::options().append(true).open(records).map_err(Failure::creating(records))?;
    file.write_all(text.as_bytes()).map_err(Failure::creating(records))?;
    let _ = std::fs::remove_file(part);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_takes_less_than_ten_minutes() {
        let args = Args { out: "x.html".into(), disk: ".".into(), quick: false, check: true };
        let count = |tool: &str| steps(&args, &WHOLE).iter().filter(|(of, _)| *of == tool).count();
        let cells = 3.0 * 2.0 * WHOLE.rates.split(',').count() as f64;
        let seconds = 2.0 * WHOLE.jitter
            + count("pingpong") as f64 * (5.0 * f64::from(WHOLE.ping_ms) / 1000.0 + 1.0)
            + cells * (WHOLE.cell + 0.3)
            + 1.0
            + WHOLE.multicast
            + LISTENS_LONGER_S
            // Its hops alone are measured before.
            + WHOLE.flow
            + 10.0
            + count("disk") as f64 * (WHOLE.disk + 3.0);
        assert!((300.0..600.0).contains(&seconds), "{seconds}");
    }
}
