//! A part of a flow: its threads open their links, begin together and come to
//! their end.
//!
//! Every thread opens its links in the order of the file, so that both ends of
//! the first one that is not open yet always wait for each other and for nobody
//! else.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tapeline_measure::clock::now_ns;
use tapeline_measure::{processor, stop};

use super::check::is_open;
use super::engine::{Line, ModuleDone, Worker};
use super::flow::{Flow, LinkSpec, Via};
use super::modules::Conditions;
use super::told;
use crate::intervals::Measured;
use crate::link::{Address, Links, Meeting, RingLink, connect, connect_raw};
use crate::{GaugeError, Transport};

/// How long another end, or the beginning, is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often somebody is looked for who is not there yet.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

/// The first message is due so long after all are ready: modules are made in
/// this time.
pub(super) const LEAD_NS: u64 = 300_000_000;

/// How long is measured, and how it is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunPlan {
    pub(super) seconds: Duration,
    pub(super) warm_up: Duration,
    /// For so long nothing has to come behind the end.
    pub(super) quiet: Duration,
    pub(super) is_classic: bool,
    pub(super) is_quiet: bool,
}

/// What a part did.
#[derive(Default)]
pub(super) struct PartDone {
    pub(super) modules: Vec<ModuleDone>,
    /// Seconds on a processor, by thread.
    pub(super) cpu_seconds: BTreeMap<String, f64>,
    pub(super) is_cut_short: bool,
}

/// What is outside of a part.
pub(super) trait Outside {
    /// A link of this part can be connected to.
    fn listens(&mut self, link: usize, addresses: &[Address]) -> Result<(), GaugeError>;

    /// All threads of this part are ready.
    fn ready(&mut self) -> Result<(), GaugeError>;

    /// What was said outside.
    fn heard(&mut self) -> Result<Option<FromOutside>, GaugeError>;

    /// Lines of an interval.
    fn text(&mut self, text: &str) -> Result<(), GaugeError>;
}

/// What is said outside of a part.
pub(super) enum FromOutside {
    Listens(usize, Vec<Address>),
    /// Everybody begins at a moment.
    Go(u64),
}

/// A flow of one part: nobody is outside.
pub(super) struct Alone<'o> {
    pub(super) is_ready: bool,
    /// The first message is due so long after all are ready.
    pub(super) lead_ns: u64,
    pub(super) on_text: &'o mut dyn FnMut(&str),
}

impl Outside for Alone<'_> {
    fn listens(&mut self, _link: usize, _addresses: &[Address]) -> Result<(), GaugeError> {
        Ok(())
    }

    fn ready(&mut self) -> Result<(), GaugeError> {
        self.is_ready = true;
        Ok(())
    }

    fn heard(&mut self) -> Result<Option<FromOutside>, GaugeError> {
        let is_new = std::mem::take(&mut self.is_ready);
        Ok(is_new.then(|| FromOutside::Go(now_ns() + self.lead_ns)))
    }

    fn text(&mut self, text: &str) -> Result<(), GaugeError> {
        (self.on_text)(text);
        Ok(())
    }
}

/// What threads wait for.
#[derive(Default)]
struct Known {
    addresses: BTreeMap<usize, Vec<Address>>,
    start_ns: Option<u64>,
    /// It comes to nothing.
    is_over: bool,
}

#[derive(Default)]
struct Board {
    known: Mutex<Known>,
    changed: Condvar,
    /// The same as in `known`, for threads that do not wait.
    is_over: AtomicBool,
}

impl Board {
    fn change(&self, change: impl FnOnce(&mut Known)) {
        change(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// It comes to nothing: whoever waits or works ends.
    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.change(|known| known.is_over = true);
    }

    /// What `find` finds, as soon as it is there.
    fn wait<T>(&self, what: &str, find: impl Fn(&Known) -> Option<T>) -> Result<T, GaugeError> {
        let until = Instant::now() + PATIENCE;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = find(&known) {
                return Ok(found);
            }
            stop::check()?;
            if known.is_over {
                return Err(GaugeError::Peer("ended".to_owned()));
            }
            if Instant::now() >= until {
                let error = io::Error::new(io::ErrorKind::TimedOut, "not within 20 s");
                return Err(GaugeError::io(what.to_owned())(error));
            }
            let waited = self.changed.wait_timeout(known, BETWEEN_ATTEMPTS);
            known = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// What a thread tells.
enum Told {
    Listens(usize, Vec<Address>),
    Ready,
    Text(String),
    Done(usize, Result<(Vec<ModuleDone>, bool, f64), GaugeError>),
}

/// Runs the threads of a part.
///
/// Errors: the first thread that failed; the others end with it.
pub(super) fn run(
    flow: &Flow,
    part: usize,
    plan: RunPlan,
    outside: &mut dyn Outside,
) -> Result<PartDone, GaugeError> {
    let board = Board::default();
    let mut rings = rings(flow, part)?;
    let (told, tell) = mpsc::channel();
    let threads: Vec<usize> = flow.threads_of(part).collect();
    thread::scope(|scope| {
        for number in &threads {
            let (number, told, board) = (*number, told.clone(), &board);
            let rings = rings.remove(&number).unwrap_or_default();
            let name = flow.threads[number].name.clone();
            let run = move || {
                let done = work(flow, number, rings, plan, board, &told);
                let _ = told.send(Told::Done(number, done));
            };
            if let Err(error) = thread::Builder::new().name(name).spawn_scoped(scope, run) {
                board.end();
                return Err(GaugeError::io("starting a thread")(error));
            }
        }
        drop(told);
        let joined = coordinate(flow, &tell, &board, threads.len(), outside);
        board.end();
        joined
    })
}

/// Passes on what threads and those outside say, until all threads are done.
fn coordinate(
    flow: &Flow,
    tell: &Receiver<Told>,
    board: &Board,
    threads: usize,
    outside: &mut dyn Outside,
) -> Result<PartDone, GaugeError> {
    let (mut all, mut failed) = (PartDone::default(), None);
    let (mut ready, mut done) = (0, 0);
    while done < threads {
        match outside.heard() {
            Ok(None) => {}
            Ok(Some(FromOutside::Go(start_ns))) => {
                board.change(|known| known.start_ns = Some(start_ns));
            }
            Ok(Some(FromOutside::Listens(link, addresses))) => {
                board.change(|known| {
                    known.addresses.insert(link, addresses);
                });
            }
            Err(error) => {
                board.end();
                failed.get_or_insert(error);
            }
        }
        match tell.recv_timeout(Duration::from_millis(2)) {
            Ok(Told::Listens(link, addresses)) => {
                outside.listens(link, &addresses)?;
                board.change(|known| {
                    known.addresses.insert(link, addresses);
                });
            }
            Ok(Told::Ready) => {
                ready += 1;
                if ready == threads {
                    outside.ready()?;
                }
            }
            Ok(Told::Text(text)) => outside.text(&text)?,
            Ok(Told::Done(number, result)) => {
                done += 1;
                match result {
                    Ok((modules, is_whole, cpu_s)) => {
                        all.modules.extend(modules);
                        all.is_cut_short |= !is_whole;
                        all.cpu_seconds.insert(flow.threads[number].name.clone(), cpu_s);
                    }
                    Err(error) => {
                        board.end();
                        let is_first = !matches!(error, GaugeError::Peer(_));
                        // Those that ended because of another say nothing new.
                        if is_first || failed.is_none() {
                            let name = &flow.threads[number].name;
                            failed =
                                Some(error.of_side(&format!("thread `{name}`: the other end")));
                        }
                    }
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    all.modules.sort_by_key(|done| done.module);
    match failed {
        Some(error) => Err(error),
        None => Ok(all),
    }
}

/// Both ends of each ring, by thread and link.
fn rings(
    flow: &Flow,
    part: usize,
) -> Result<BTreeMap<usize, BTreeMap<usize, RingLink>>, GaugeError> {
    let mut all: BTreeMap<usize, BTreeMap<usize, RingLink>> = BTreeMap::new();
    for (number, link) in flow.links.iter().enumerate().filter(|(_, link)| link.via == Via::Ring) {
        let ends = [link.from, link.to].map(|module| flow.thread_of(module));
        let [Some(from), Some(to)] = ends else { continue };
        if flow.threads[from].part != part {
            continue;
        }
        let (near, far) = RingLink::pair(RingLink::bytes_for(link.capacity, flow.most_bytes()))
            .map_err(GaugeError::io("a ring"))?;
        all.entry(from).or_default().insert(number, near);
        all.entry(to).or_default().insert(number, far);
    }
    Ok(all)
}

/// A thread from its links to its end.
fn work(
    flow: &Flow,
    thread: usize,
    mut rings: BTreeMap<usize, RingLink>,
    plan: RunPlan,
    board: &Board,
    told: &Sender<Told>,
) -> Result<(Vec<ModuleDone>, bool, f64), GaugeError> {
    let mut worker = Worker::new(flow, thread);
    for (number, port, listens) in worker.to_open() {
        let spec = &flow.links[number];
        let opening = || GaugeError::io(format!("link `{}`", spec.name));
        let links: Links = match (rings.remove(&number), listens) {
            (Some(ring), _) => vec![Box::new(ring)],
            (None, true) => {
                let meeting = listen(spec).map_err(opening())?;
                let _ = told.send(Told::Listens(number, meeting.addresses().to_vec()));
                accept(spec, meeting).map_err(opening())?
            }
            (None, false) if is_open(spec) => found(spec).map_err(opening())?,
            (None, false) => {
                let what = format!("link `{}`", spec.name);
                let addresses = board.wait(&what, |known| known.addresses.get(&number).cloned())?;
                connected(spec, &addresses).map_err(opening())?
            }
        };
        worker.opened(port, links);
    }
    worker.settle()?;
    let _ = told.send(Told::Ready);
    // Another part may have to wait for somebody outside.
    let start_ns = loop {
        match board.wait("the beginning", |known| known.start_ns) {
            Err(GaugeError::Io { .. }) if flow.links.iter().any(is_open) => {}
            waited => break waited?,
        }
    };
    let from_ns = start_ns + plan.warm_up.as_nanos() as u64;
    let measured = Measured { from_ns, to_ns: from_ns + plan.seconds.as_nanos() as u64 };
    let id = processor::thread_id();
    let before_s = processor::thread_seconds(id).unwrap_or_default();
    let mut file = match &flow.threads[thread].statistics_file {
        None => None,
        Some(path) => {
            let what = GaugeError::io(format!("writing {}", path.display()));
            Some(std::fs::File::create(path).map_err(what)?)
        }
    };
    let quiet_ns = plan.quiet.as_nanos() as u64;
    let conditions = Conditions { start_ns, measured, quiet_ns, is_fanned: false };
    let (modules, is_whole) = worker.run(conditions, &board.is_over, &mut |lines: &[Line]| {
        let text = told::lines(flow, lines, plan.is_classic);
        if let Some(file) = &mut file {
            // What is not written does not keep the flow from going on.
            let _ = file.write_all(text.as_bytes());
        }
        if !plan.is_quiet {
            let _ = told.send(Told::Text(text));
        }
    })?;
    let cpu_s = processor::thread_seconds(id).unwrap_or_default() - before_s;
    Ok((modules, is_whole, cpu_s))
}

fn transport(link: &LinkSpec) -> Transport {
    link.via.transport().unwrap_or(Transport::Tcp)
}

fn listen(link: &LinkSpec) -> io::Result<Meeting> {
    let at = SocketAddr::new(link.address, link.port);
    let meeting = Meeting::listen_at(transport(link), at, link.connections, &link.options)?;
    Ok(if is_open(link) { meeting.without_end() } else { meeting })
}

fn accept(link: &LinkSpec, meeting: Meeting) -> io::Result<Links> {
    match link.via {
        Via::Raw => Ok(vec![meeting.accept_raw(&link.options)?]),
        _ => meeting.accept(link.connections, &link.options),
    }
}

fn connected(link: &LinkSpec, addresses: &[Address]) -> io::Result<Links> {
    if link.via == Via::Raw {
        let Some(Address::Ip(to)) = addresses.first() else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        return Ok(vec![connect_raw(*to, &link.options)?]);
    }
    let bind: IpAddr = match link.address {
        IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    connect(transport(link), addresses, link.connections, bind, &link.options)
}

/// Connects to an end outside of the flow, which may not be there yet.
fn found(link: &LinkSpec) -> io::Result<Links> {
    let addresses = [Address::Ip(SocketAddr::new(link.address, link.port))];
    let until = Instant::now() + PATIENCE;
    loop {
        match connected(link, &addresses) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                if Instant::now() >= until || stop::is_asked() {
                    return Err(error);
                }
                thread::sleep(BETWEEN_ATTEMPTS);
            }
            connected => return connected,
        }
    }
}
