//! Both sides: sockets, threads and lines.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, sendto};
use rustix::thread::set_current_timer_slack;
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};
use tapeline_measure::clock::now_ns;
use tapeline_measure::environment::Environment;
use tapeline_measure::histogram::{Distribution, latencies};
use tapeline_measure::record::{Tool, ToolLine};
use tapeline_measure::schedule::Schedule;
use tapeline_measure::{processor, stop};

use super::arrivals::{GroupArrivals, IntervalFigures, classic_line, seconds};
use super::drops::{dropped, memberships, reverse_path_filter};
use super::options::{Options, Task, known};
use crate::message::{HEAD_BYTES, Head, Kind, MAX_BYTES};
use crate::mux::timespec;
use crate::output::Output;
use crate::pingpong::interface;
use crate::records::Records;
use crate::sequence::Arrivals;
use crate::sizes::MAX_DATAGRAM_BYTES;
use crate::{GaugeError, arguments, setup};

/// Intervals without a message after which the receiver says where it listens.
const QUIET_INTERVALS: u32 = 3;

/// Runs a side as its command line has it. Returns whether all is well: the
/// rate was kept, or nothing was lost.
///
/// Errors: the command line is wrong, or a socket cannot be had.
pub fn run(typed: &[String], by_name: bool, out: &mut dyn Output) -> Result<bool, GaugeError> {
    let options = Options::read(typed, by_name)?;
    options.common.warnings.iter().for_each(|warning| out.say(warning));
    if options.task == Task::Help {
        let usage = "mcast send       messages to a group at a rate\n\
                     mcast receive    what of them arrives\n\n";
        out.text(&format!("{usage}{}", arguments::help(&known())));
        return Ok(true);
    }
    if options.common.given.has("check") {
        let time = options
            .time
            .map_or("until it is ended".to_owned(), |time| format!("{:.0} s", time.as_secs_f64()));
        out.text(&format!(
            "{}, ports {} to {}, {time}\n",
            options.group,
            options.port,
            options.port + options.threads - 1
        ));
        return Ok(true);
    }
    let _held = setup::prepare(&options.common.given)?;
    let environment = Environment::read();
    let mut records = Records::create(options.common.json.as_deref())?
        .with_log(options.common.given.text("hdr"), "mcast")?;
    records.write(&ToolLine::Environment(Box::new(environment.clone())))?;
    let (told, tell) = mpsc::channel();
    let sockets: Vec<(u16, Socket)> = (0..options.threads)
        .map(|k| {
            let port = options.port + k;
            let what = format!("UDP on {} port {port}", options.group);
            socket(&options, port).map(|socket| (port, socket)).map_err(GaugeError::io(what))
        })
        .collect::<Result<_, _>>()?;
    if options.task == Task::Receive && options.port == 0 {
        for (_, socket) in &sockets {
            let port =
                socket.local_addr().ok().and_then(|at| at.as_socket()).map_or(0, |at| at.port());
            out.say(&format!("receiving at port {port}"));
        }
    }
    if !options.common.is_classic {
        out.text(&human_head(options.task));
    }
    let options = &options;
    // The other side may be at work anywhere on this host.
    let own = &options.common.cores[..1];
    let watch = own[0].is_some().then(|| setup::watch(own));
    let tools = thread::scope(|scope| {
        let threads: Vec<_> = sockets
            .into_iter()
            .map(|(port, socket)| {
                let told = told.clone();
                scope.spawn(move || {
                    processor::pin(options.common.cores[0].as_deref());
                    let _ = set_current_timer_slack(NonZeroU64::new(1));
                    match options.task {
                        Task::Send => send(options, port, &socket, &told),
                        _ => receive(options, port, &socket, &told),
                    }
                })
            })
            .collect();
        drop(told);
        for text in tell {
            out.text(&text);
        }
        let joined = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(GaugeError::Unsupported("a thread ended".to_owned())))
        });
        joined.collect::<Result<Vec<Tool>, _>>()
    })?;
    let disturbed = watch.and_then(|watch| watch.ended());
    if !options.common.is_classic {
        out.text(&sum(&tools));
    }
    let is_well = tools
        .iter()
        .all(|tool| tool.valid && tool.counts.get("lost").copied().unwrap_or_default() == 0);
    for tool in tools {
        records.write(&ToolLine::Tool(Box::new(Tool { disturbed, ..tool })))?;
    }
    records.tell_disturbance(out);
    records.write(&ToolLine::Environment(Box::new(environment.after())))?;
    match options.task == Task::Send && stop::is_asked() {
        true => Err(stop::Interrupted.into()),
        false => Ok(is_well),
    }
}

/// A socket of a thread: bound and in its group, or ready to send to it.
fn socket(options: &Options, port: u16) -> io::Result<Socket> {
    let any: IpAddr = match options.group {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let domain = Domain::for_address(SocketAddr::new(options.group, port));
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    if options.task == Task::Send {
        match options.group {
            IpAddr::V4(group) if group.is_multicast() => {
                socket.set_multicast_ttl_v4(options.ttl)?;
                socket.set_multicast_loop_v4(options.loops_back)?;
                if let Some(named) = options.interface.as_deref() {
                    socket.set_multicast_if_v4(&interface::address_of(named)?)?;
                }
            }
            IpAddr::V6(group) if group.is_multicast() => {
                socket.set_multicast_hops_v6(options.ttl)?;
                socket.set_multicast_loop_v6(options.loops_back)?;
                if let Some(named) = options.interface.as_deref() {
                    socket.set_multicast_if_v6(interface::index(named)?)?;
                }
            }
            _ => {}
        }
        return Ok(socket);
    }
    socket.set_reuse_address(true)?;
    if options.receive_buffer_bytes > 0 {
        socket.set_recv_buffer_size(options.receive_buffer_bytes)?;
    }
    // Bound to the group itself, so that another group's messages to the same
    // port do not come.
    let at = if options.group.is_multicast() { options.group } else { any };
    socket.bind(&SocketAddr::new(at, port).into())?;
    match options.group {
        IpAddr::V4(group) if group.is_multicast() => {
            let named = options.interface.as_deref();
            match (options.source, named) {
                (Some(source), named) => {
                    let on = named.map_or(Ok(Ipv4Addr::UNSPECIFIED), interface::address_of)?;
                    socket.join_ssm_v4(&source, &group, &on)?;
                }
                (None, None) => {
                    socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?;
                }
                (None, Some(named)) => {
                    let on = match named.parse() {
                        Ok(address) => InterfaceIndexOrAddress::Address(address),
                        Err(_) => InterfaceIndexOrAddress::Index(interface::index(named)?),
                    };
                    socket.join_multicast_v4_n(&group, &on)?;
                }
            }
        }
        IpAddr::V6(group) if group.is_multicast() => {
            let on = options.interface.as_deref().map_or(Ok(0), interface::index)?;
            socket.join_multicast_v6(&group, on)?;
        }
        _ => {}
    }
    Ok(socket)
}

/// Whether it is time to end.
fn is_over(now: u64, end: Option<u64>) -> bool {
    stop::is_asked() || end.is_some_and(|end| now >= end)
}

fn end_of(options: &Options, start: u64) -> Option<u64> {
    options.time.map(|time| start + time.as_nanos() as u64)
}

fn send(
    options: &Options,
    port: u16,
    socket: &Socket,
    told: &mpsc::Sender<String>,
) -> Result<Tool, GaugeError> {
    let to = SocketAddr::new(options.group, port);
    let start = now_ns();
    let end = end_of(options, start);
    // Another one than a sender had that was here before.
    let id = ((start / 1000) ^ u64::from(std::process::id()) ^ u64::from(port)) as u32
        & MAX_BYTES as u32;
    let mut schedule = Schedule::new(start, options.rate_per_s, options.pacing);
    let mut message = vec![0x5A; options.bytes];
    let (mut seq, mut refused, mut in_line) = (0_u64, 0_u64, 0_u64);
    let (mut lateness, interval) = (latencies(), options.common.interval.as_nanos() as u64);
    let (mut line_from, mut line_at) = (start, start + interval);
    loop {
        let now = now_ns();
        if now >= line_at {
            let rate = in_line as f64 / seconds(line_from, now);
            let text = match options.common.is_classic {
                true => format!("MSender_{port} - Msg Rate {rate:.0}/s\n"),
                false => {
                    format!("{port:>7}{rate:>12.1}{:>12.1}\n", rate * options.bytes as f64 / 1024.0)
                }
            };
            let _ = told.send(text);
            (in_line, line_from, line_at) = (0, now, line_at.max(now) + interval);
        }
        if is_over(now, end) {
            break;
        }
        let Some(due_ns) = schedule.take(now) else {
            if !options.is_spinning {
                let until = schedule.next_ns().min(line_at).min(end.unwrap_or(u64::MAX));
                let wait = Duration::from_nanos(until.saturating_sub(now));
                thread::sleep(wait.min(Duration::from_millis(50)));
            }
            continue;
        };
        let sent_ns = now_ns();
        Head { kind: Kind::Group, length: id, seq, due_ns, sent_ns }.write(&mut message);
        lateness.saturating_record(sent_ns.saturating_sub(due_ns));
        match sendto(socket, &message, SendFlags::NOSIGNAL, &to) {
            Ok(_) | Err(Errno::CONNREFUSED) => {}
            // It counts as sent and lost in our own queue.
            Err(Errno::AGAIN | Errno::NOBUFS) => refused += 1,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(GaugeError::io(format!("sending to {to}"))(error)),
        }
        (seq, in_line) = (seq + 1, in_line + 1);
    }
    let time = seconds(start, now_ns());
    let due = schedule.due_by(end.unwrap_or_else(now_ns).saturating_sub(1));
    let valid = seq as f64 >= 0.99 * due as f64;
    Ok(Tool {
        role: "send".to_owned(),
        unit: "lateness".to_owned(),
        valid,
        why_invalid: (!valid).then(|| format!("sent {seq} of {due} that were due")),
        achieved_per_s: Some(seq as f64 / time),
        lateness: Distribution::of(&lateness),
        counts: [("sent", seq), ("due", due), ("own_queue", refused)]
            .map(|(name, count)| (name.to_owned(), count))
            .into(),
        ..of_thread(options, port, time)
    })
}

fn of_thread(options: &Options, port: u16, time: f64) -> Tool {
    Tool {
        tool: "mcast".to_owned(),
        transport: "udp".to_owned(),
        size_bytes: Some(options.bytes as u64),
        rate_per_s: Some(options.rate_per_s),
        options: [
            ("port".to_owned(), port.to_string()),
            ("pacing".to_owned(), options.pacing.to_string()),
            ("threads".to_owned(), options.threads.to_string()),
        ]
        .into(),
        clock: "monotonic".to_owned(),
        overhead_ns: setup::overhead_ns(),
        round: 1,
        seconds: time,
        ..Tool::default()
    }
}

fn receive(
    options: &Options,
    port: u16,
    socket: &Socket,
    told: &mpsc::Sender<String>,
) -> Result<Tool, GaugeError> {
    let inode = rustix::fs::fstat(socket.as_fd()).map(|stat| stat.st_ino).unwrap_or_default();
    let drops_before = dropped(inode).unwrap_or_default();
    let start = now_ns();
    let end = end_of(options, start);
    let (mut of, mut buffer) = (GroupArrivals::new(), vec![0; MAX_DATAGRAM_BYTES]);
    let (mut strange, mut quiet, mut drops) = (0_u64, 0_u32, drops_before);
    let interval = options.common.interval.as_nanos() as u64;
    let (mut line_from, mut line_at) = (start, start + interval);
    let mut series = Vec::new();
    let mut total = IntervalFigures::default();
    let mut jitter_sum = 0.0;
    loop {
        let now = now_ns();
        if now >= line_at {
            let figures = of.take_interval();
            let now_dropped = dropped(inode).unwrap_or(drops);
            let line =
                Line { figures, own_queue: now_dropped - drops, seconds: seconds(line_from, now) };
            drops = now_dropped;
            let text = match options.common.is_classic {
                true => classic_line(port, &figures, line.seconds),
                false => line.human(port),
            };
            let _ = told.send(text);
            series.push([
                series.len() as u64,
                figures.count,
                0,
                figures.jitter_ns as u64,
                figures.longest_gap_ns,
            ]);
            total.count += figures.count;
            total.bytes += figures.bytes;
            jitter_sum += figures.jitter_ns * figures.count as f64;
            quiet = if figures.count == 0 { quiet + 1 } else { 0 };
            if quiet == QUIET_INTERVALS {
                let _ = told.send(nothing_comes(options, port));
            }
            (line_from, line_at) = (now, line_at.max(now) + interval);
        }
        if is_over(now, end) {
            break;
        }
        match recv(socket, &mut buffer[..], RecvFlags::empty()) {
            Ok((_, bytes)) => match Head::read(&buffer[..bytes.min(HEAD_BYTES)]) {
                Some(head) if head.kind == Kind::Group => {
                    of.came(head.length, head.seq, head.sent_ns, now_ns(), bytes);
                }
                _ => strange += 1,
            },
            Err(Errno::AGAIN) if options.is_spinning => {}
            Err(Errno::AGAIN) => {
                let until = line_at.min(end.unwrap_or(u64::MAX));
                let wait = Duration::from_nanos(until.saturating_sub(now));
                let wait = timespec(wait.min(Duration::from_millis(50)));
                let _ = poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&wait));
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(GaugeError::io("receiving")(error)),
        }
    }
    let rest = of.take_interval();
    total.count += rest.count;
    jitter_sum += rest.jitter_ns * rest.count as f64;
    let own_queue = dropped(inode).unwrap_or(drops) - drops_before;
    let time = seconds(start, now_ns());
    Ok(received(
        options,
        port,
        time,
        &Received {
            arrivals: of.settled(),
            own_queue,
            strange,
            rfc3550_ns: of.rfc3550_ns(),
            total,
            jitter_ns: jitter_sum / total.count.max(1) as f64,
            series,
        },
    ))
}

struct Received {
    arrivals: Arrivals,
    own_queue: u64,
    strange: u64,
    rfc3550_ns: Vec<f64>,
    total: IntervalFigures,
    jitter_ns: f64,
    series: Vec<[u64; 5]>,
}

fn received(options: &Options, port: u16, time: f64, of: &Received) -> Tool {
    let Arrivals { received, lost, reordered, duplicated, late } = of.arrivals;
    let counts = [
        ("received", received),
        ("lost", lost),
        ("own_queue", of.own_queue),
        ("reordered", reordered),
        ("duplicated", duplicated),
        ("late", late),
        ("strange", of.strange),
    ];
    let rfc3550 = of.rfc3550_ns.iter().copied().fold(0.0, f64::max);
    Tool {
        role: "receive".to_owned(),
        unit: "jitter".to_owned(),
        rate_per_s: None,
        valid: true,
        achieved_per_s: Some(of.total.count as f64 / time),
        counts: counts.map(|(name, count)| (name.to_owned(), count)).into(),
        per_second: [
            ("jitter_mean".to_owned(), of.jitter_ns),
            ("jitter_rfc3550".to_owned(), rfc3550),
        ]
        .into(),
        series: of.series.clone(),
        ..of_thread(options, port, time)
    }
}

struct Line {
    figures: IntervalFigures,
    own_queue: u64,
    seconds: f64,
}

impl Line {
    fn human(&self, port: u16) -> String {
        let Self { figures, own_queue, seconds } = self;
        format!(
            "{port:>7}{:>12.1}{:>12}{:>12.1}{:>10}{:>12}{:>14.1}\n",
            figures.per_second(*seconds),
            figures.kib_per_second(*seconds),
            figures.jitter_ns / 1000.0,
            figures.lost,
            own_queue,
            figures.longest_gap_ns as f64 / 1000.0,
        )
    }
}

fn human_head(task: Task) -> String {
    match task {
        Task::Send => format!("{:>7}{:>12}{:>12}\n", "port", "msgs/s", "KiB/s"),
        _ => format!(
            "{:>7}{:>12}{:>12}{:>12}{:>10}{:>12}{:>14}\n",
            "port", "msgs/s", "KiB/s", "jitter µs", "lost", "own queue", "longest gap µs"
        ),
    }
}

fn nothing_comes(options: &Options, port: u16) -> String {
    let IpAddr::V4(group) = options.group else {
        return format!("nothing comes to {} port {port}\n", options.group);
    };
    let members = memberships(group);
    let filters: Vec<String> = members
        .iter()
        .filter_map(|name| {
            reverse_path_filter(name).map(|of| format!("rp_filter of {name} is {of}"))
        })
        .collect();
    let on = if members.is_empty() { "no interface".to_owned() } else { members.join(", ") };
    format!(
        "nothing comes to {group} port {port}; this host is in the group on {on}; {}\n",
        filters.join(", ")
    )
}

fn sum(tools: &[Tool]) -> String {
    let of = |name: &str| tools.iter().filter_map(|tool| tool.counts.get(name)).sum::<u64>();
    let rate: f64 = tools.iter().filter_map(|tool| tool.achieved_per_s).sum();
    let is_sender = tools.iter().any(|tool| tool.role == "send");
    if is_sender {
        let why = tools.iter().find_map(|tool| tool.why_invalid.clone());
        let why = why.map_or(String::new(), |why| format!("; not valid: {why}"));
        return format!(
            "sum: {} sent at {rate:.1}/s, {} refused by our own queue{why}\n",
            of("sent"),
            of("own_queue")
        );
    }
    let jitter = tools.iter().filter_map(|tool| tool.per_second.get("jitter_rfc3550"));
    let jitter = jitter.copied().fold(0.0, f64::max) / 1000.0;
    format!(
        "sum: {} received at {rate:.1}/s, {} lost ({} dropped by our own queue), {} reordered, {} \
         duplicated, {} late, jitter J {jitter:.1} µs\n",
        of("received"),
        of("lost"),
        of("own_queue"),
        of("reordered"),
        of("duplicated"),
        of("late"),
    )
}
