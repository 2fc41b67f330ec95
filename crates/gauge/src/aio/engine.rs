//! A thread of a flow: its modules take turns, and messages go through them.

use std::io;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::thread::set_current_timer_slack;
use serde::{Deserialize, Serialize};
use tapeline_measure::clock::now_ns;
use tapeline_measure::{processor, stop};

use super::flow::{Flow, Kind, Via};
use super::modules::{self, Came, Conditions, Heard, Module};
use super::ports::{Calls, Gone, OfModule, Out, Port, Traffic};
use super::tracked;
use crate::GaugeError;
use crate::intervals::Interval;
use crate::link::Links;
use crate::message::MAX_BYTES;
use crate::mux::timespec;
use crate::setup::Priority;

/// How long what waits for room is left alone.
const NO_ROOM_NS: u64 = 50_000;

/// The longest sleep: a thread looks about that often whether it is to end.
const LOOK_NS: u64 = 20_000_000;

/// Turns of a thread that polls between two looks.
const TURNS: u32 = 1 << 10;

/// After the end, messages that are on their way are waited for: until none has
/// come for so long, and never longer than that.
pub(super) const QUIET: Duration = Duration::from_millis(300);
const DRAIN_NS: u64 = 2_000_000_000;

/// What a module did in a run, or in an interval.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct ModuleDone {
    /// Its number in the flow.
    pub(super) module: usize,
    pub(super) came: Traffic,
    pub(super) went: Traffic,
    pub(super) heard: Option<Heard>,
}

/// What a module did in an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) module: usize,
    pub(super) seconds: f64,
    pub(super) came: Traffic,
    pub(super) went: Traffic,
    /// Of what ended here.
    pub(super) took: Option<Interval>,
}

struct Slot {
    module: Box<dyn Module>,
    /// When it wants its turn.
    next_ns: u64,
    came: Traffic,
    went: Traffic,
}

/// A thread with its modules and the ends of its links.
pub(super) struct Worker<'f> {
    flow: &'f Flow,
    thread: usize,
    /// Its modules, and which ports they have.
    of: Vec<OfModule>,
    /// The same at work.
    slots: Vec<Slot>,
    ports: Vec<Port>,
    calls: Calls,
    scratch: Vec<u8>,
    failed: Option<(usize, io::Error)>,
    last_came_ns: u64,
}

impl<'f> Worker<'f> {
    pub(super) fn new(flow: &'f Flow, thread: usize) -> Self {
        let mut worker = Self {
            flow,
            thread,
            of: Vec::new(),
            slots: Vec::new(),
            ports: Vec::new(),
            calls: Calls::default(),
            scratch: vec![0; MAX_BYTES + 1],
            failed: None,
            last_came_ns: 0,
        };
        for number in flow.modules_of(thread) {
            worker.add(number);
        }
        worker.join_calls();
        worker
    }

    fn add(&mut self, number: usize) {
        let (spec, module) = (&self.flow.modules[number], self.of.len());
        // Bytes of somebody else are left as they are.
        let mut links = spec.inputs.iter().chain(&spec.outputs);
        let is_raw = links.any(|link| self.flow.links[*link].via == Via::Raw);
        let mut of = OfModule {
            number,
            inputs: Vec::new(),
            outputs: Vec::new(),
            is_between: spec.kind.origin().is_none() && spec.kind != Kind::Sink && !is_raw,
        };
        for (links, is_input) in [(&spec.inputs, true), (&spec.outputs, false)] {
            for (at, link) in links.iter().enumerate() {
                let ports = if is_input { &mut of.inputs } else { &mut of.outputs };
                ports.push(self.ports.len());
                self.ports.push(Port::new(*link, module, at, is_input));
            }
        }
        self.of.push(of);
    }

    /// Makes the modules, so that they are ready before the first message.
    fn begin(&mut self, conditions: Conditions) -> Result<(), GaugeError> {
        let flow = self.flow;
        for of in &self.of {
            let spec = &flow.modules[of.number];
            let is_fanned = spec.inputs.iter().any(|link| {
                let from = flow.links[*link].from;
                from.is_some_and(|from| flow.modules[from].kind == Kind::Fanout)
            });
            let module = modules::of(spec, Conditions { is_fanned, ..conditions })?;
            let (came, went) = (Traffic::default(), Traffic::default());
            self.slots.push(Slot { module, next_ns: 0, came, went });
        }
        Ok(())
    }

    /// Finds the other ends of calls, and what has to be free before a message
    /// is taken in.
    fn join_calls(&mut self) {
        let find = |ports: &[Port], link, is_input| {
            ports.iter().position(|port| port.link == link && port.is_input == is_input)
        };
        for at in 0..self.ports.len() {
            let port = &self.ports[at];
            if self.flow.links[port.link].via == Via::Call {
                self.ports[at].callee = find(&self.ports, port.link, !port.is_input);
            }
        }
        for at in 0..self.ports.len() {
            let mut behind = Vec::new();
            self.ports_behind(at, &mut behind);
            self.ports[at].behind = behind;
        }
    }

    /// What a message that comes in by a port may have to wait for.
    fn ports_behind(&self, at: usize, behind: &mut Vec<usize>) {
        let port = &self.ports[at];
        let slot = &self.of[port.module];
        // Answers go back; what comes in goes on, and may be answered. An answer
        // is always taken in, so that nobody waits for one who waits for him.
        let outputs = if port.is_input { &slot.outputs[..] } else { &[] };
        for output in slot.inputs.iter().chain(outputs).copied() {
            if behind.contains(&output) || (output == at && !port.is_input) {
                continue;
            }
            behind.push(output);
            if let Some(callee) = self.ports[output].callee.filter(|_| !self.ports[output].is_input)
            {
                self.ports_behind(callee, behind);
            }
        }
    }

    /// The ends that are to be opened, in the order of links: the number of the
    /// link, the port, and whether this is the end that listens.
    pub(super) fn to_open(&self) -> Vec<(usize, usize, bool)> {
        let is_call = |port: &Port| self.flow.links[port.link].via == Via::Call;
        let all = self.ports.iter().enumerate().filter(|(_, port)| !is_call(port));
        let mut all: Vec<_> = all.map(|(at, port)| (port.link, at, port.is_input)).collect();
        all.sort_unstable();
        all
    }

    pub(super) fn opened(&mut self, port: usize, links: Links) {
        let room = (self.flow.threads[self.thread].pool as usize)
            .saturating_mul(self.flow.most_bytes())
            .min(1 << 20);
        self.calls.reserve(room);
        self.ports[port].opened(links, room);
    }

    /// Sets the core and the priority of the calling thread.
    pub(super) fn settle(&self) -> Result<(), GaugeError> {
        let spec = &self.flow.threads[self.thread];
        // Else the kernel wakes this thread up to 50 µs late on purpose.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        if let Some(core) = spec.core {
            processor::pin(Some(&[core]));
        }
        if let Some(level) = spec.priority {
            Priority::Fifo(level).set().map_err(|what| {
                GaugeError::Usage(format!("thread `{}`, priority {level}: {what}", spec.name))
            })?;
        }
        Ok(())
    }

    /// Works until what is measured ends and all that is on its way has come, or
    /// until `is_over` of the part. Returns what the modules did, and whether it
    /// was let come to its end.
    pub(super) fn run(
        mut self,
        conditions: Conditions,
        is_over: &AtomicBool,
        on_lines: &mut dyn FnMut(&[Line]),
    ) -> Result<(Vec<ModuleDone>, bool), GaugeError> {
        self.begin(conditions)?;
        let (spec, end_ns) = (&self.flow.threads[self.thread], conditions.measured.to_ns);
        let sleeper = Sleeper::of(&self.ports).map_err(GaugeError::io("waiting for links"))?;
        let interval_ns = (spec.interval_s * 1e9) as u64;
        let (mut line_from, mut line_at) = (now_ns(), now_ns() + interval_ns);
        let mut turns = 0_u32;
        loop {
            let now = now_ns();
            let next_ns = self.turn(now)?;
            if now >= line_at {
                let lines = self.lines((now - line_from) as f64 / 1e9);
                on_lines(&lines);
                (line_from, line_at) = (now, now.max(line_at) + interval_ns);
            }
            turns = turns.wrapping_add(1);
            let looks = !spec.is_polling || turns.is_multiple_of(TURNS);
            if looks && (stop::is_asked() || is_over.load(Ordering::Relaxed)) {
                return Ok((self.done(), false));
            }
            if self.is_over(now, end_ns, conditions.quiet_ns) {
                return Ok((self.done(), true));
            }
            if !spec.is_polling {
                let is_free = self.ports.iter().all(Port::is_free);
                let most = if is_free { LOOK_NS } else { NO_ROOM_NS };
                let until = next_ns.min(line_at).min(now + most);
                sleeper
                    .sleep(&mut self.ports, until)
                    .map_err(GaugeError::io("waiting for messages"))?;
            }
        }
    }

    /// One turn of everything. Returns when a module wants its next.
    fn turn(&mut self, now: u64) -> Result<u64, GaugeError> {
        let mut next_ns = u64::MAX;
        for at in 0..self.slots.len() {
            if self.slots[at].next_ns <= now {
                self.module_turn(at, now)?;
            }
        }
        for at in 0..self.ports.len() {
            self.poll(at)?;
        }
        for port in &mut self.ports {
            if let Err(error) = port.flush() {
                self.failed.get_or_insert((0, error));
            }
        }
        self.check()?;
        for slot in &self.slots {
            next_ns = next_ns.min(slot.next_ns);
        }
        Ok(next_ns)
    }

    fn module_turn(&mut self, at: usize, now: u64) -> Result<(), GaugeError> {
        let slot = &mut self.slots[at];
        let mut out = Out {
            ports: &mut self.ports,
            calls: &mut self.calls,
            module: &self.of[at],
            failed: &mut self.failed,
        };
        slot.next_ns = slot.module.turn(now, &mut out)?;
        self.make_calls();
        Ok(())
    }

    /// Takes in what has come by a port, unless something behind it waits.
    fn poll(&mut self, at: usize) -> Result<(), GaugeError> {
        if self.ports[at].links.is_empty()
            || self.ports[at].behind.iter().any(|port| !self.ports[*port].is_free())
        {
            return Ok(());
        }
        let mut links = std::mem::take(&mut self.ports[at].links);
        for (connection, link) in links.iter_mut().enumerate() {
            if self.ports[at].has_ended(connection) {
                continue;
            }
            let polled = link.poll(&mut |message| {
                let length = message.len().min(MAX_BYTES);
                self.scratch[..length].copy_from_slice(&message[..length]);
                self.message(at, connection, length);
                self.make_calls();
            });
            if let Err(error) = polled {
                *link = Box::new(Gone);
                self.ports[at].end(connection);
                self.failed.get_or_insert((at, error));
            }
        }
        self.ports[at].links = links;
        self.check()
    }

    /// Gives the message in the scratch buffer to the module at a port.
    fn message(&mut self, at: usize, connection: usize, length: usize) {
        let port = &mut self.ports[at];
        port.came.add(length);
        let (of, slot) = (&self.of[port.module], &mut self.slots[port.module]);
        let came =
            Came { port: port.number, connection, is_answer: !port.is_input, at_ns: now_ns() };
        self.last_came_ns = came.at_ns;
        let message = &mut self.scratch[..length];
        if of.is_between {
            tracked::stamp(message, of.number as u8, false, came.at_ns);
        }
        let mut out = Out {
            ports: &mut self.ports,
            calls: &mut self.calls,
            module: of,
            failed: &mut self.failed,
        };
        slot.module.message(came, message, &mut out);
        // What it keeps may be due before it wanted its next turn.
        if !slot.module.is_clear() {
            slot.next_ns = 0;
        }
    }

    fn make_calls(&mut self) {
        while let Some((port, length)) = self.calls.take(&mut self.scratch) {
            self.message(port, 0, length);
        }
    }

    /// What became of an end: of a run that is over, or of an end outside of the
    /// flow, it is no error.
    fn check(&mut self) -> Result<(), GaugeError> {
        let Some((port, error)) = self.failed.take() else { return Ok(()) };
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Ok(());
        }
        let link = &self.flow.links[self.ports[port].link].name;
        Err(GaugeError::io(format!("link `{link}`"))(error))
    }

    fn is_over(&self, now: u64, end_ns: u64, quiet_ns: u64) -> bool {
        // Everybody at the other ends has gone.
        let mut ends = self.ports.iter().filter(|port| port.callee.is_none()).peekable();
        if ends.peek().is_some() && ends.all(Port::is_over) {
            return true;
        }
        if now < end_ns {
            return false;
        }
        let is_clear = self.ports.iter().all(Port::is_free)
            && self.slots.iter().all(|slot| slot.module.is_clear());
        let quiet_since = self.last_came_ns.max(end_ns);
        (is_clear && now >= quiet_since + quiet_ns) || now >= end_ns + DRAIN_NS
    }

    fn traffic(&self, of: &OfModule) -> (Traffic, Traffic) {
        let (mut came, mut went) = (Traffic::default(), Traffic::default());
        for port in of.inputs.iter().chain(&of.outputs) {
            let port = &self.ports[*port];
            for (sum, of) in [(&mut came, port.came), (&mut went, port.went)] {
                sum.messages += of.messages;
                sum.bytes += of.bytes;
                sum.waited += of.waited;
            }
        }
        (came, went)
    }

    fn lines(&mut self, seconds: f64) -> Vec<Line> {
        let mut lines = Vec::with_capacity(self.slots.len());
        for at in 0..self.slots.len() {
            let (came, went) = self.traffic(&self.of[at]);
            let slot = &mut self.slots[at];
            lines.push(Line {
                module: self.of[at].number,
                seconds,
                came: came.since(slot.came),
                went: went.since(slot.went),
                took: slot.module.take_line(),
            });
            (slot.came, slot.went) = (came, went);
        }
        lines
    }

    fn done(&mut self) -> Vec<ModuleDone> {
        let mut all = Vec::with_capacity(self.slots.len());
        for at in 0..self.slots.len() {
            let (came, went) = self.traffic(&self.of[at]);
            let slot = &mut self.slots[at];
            let heard = slot.module.heard();
            all.push(ModuleDone { module: self.of[at].number, came, went, heard });
        }
        all
    }
}

/// Sleeps until a message comes by any of a thread's links.
struct Sleeper {
    /// All of their descriptors; `None` where some have none.
    set: Option<OwnedFd>,
    /// How many links there are.
    count: usize,
}

impl Sleeper {
    fn of(ports: &[Port]) -> io::Result<Self> {
        let links = || ports.iter().flat_map(|port| &port.links);
        let count = links().count();
        if links().any(|link| link.descriptor().is_none()) {
            return Ok(Self { set: None, count });
        }
        let set = epoll::create(CreateFlags::CLOEXEC)?;
        for fd in links().filter_map(|link| link.descriptor()) {
            epoll::add(&set, fd, EventData::new_u64(0), EventFlags::IN)?;
        }
        Ok(Self { set: Some(set), count })
    }

    fn sleep(&self, ports: &mut [Port], until_ns: u64) -> io::Result<()> {
        /// Without descriptors nothing tells of what comes.
        const NAP: Duration = Duration::from_micros(50);
        let mut links = ports.iter_mut().flat_map(|port| &mut port.links);
        if !links.all(|link| link.falls_asleep()) {
            return Ok(());
        }
        let wait = Duration::from_nanos(until_ns.saturating_sub(now_ns()));
        if wait.is_zero() {
            return Ok(());
        }
        let Some(set) = &self.set else {
            let only = ports.iter_mut().flat_map(|port| &mut port.links).next();
            match only.filter(|_| self.count == 1) {
                Some(link) => link.nap(wait),
                None => std::thread::sleep(wait.min(NAP)),
            }
            return Ok(());
        };
        match poll(&mut [PollFd::new(set, PollFlags::IN)], Some(&timespec(wait))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::super::read;
    use super::*;
    use crate::intervals::Measured;

    const FORWARDS: usize = 6;

    /// A source, some that pass on, and a sink, each a call of the one before.
    fn flow() -> Flow {
        let mut links = String::new();
        let mut modules = String::from(
            "{ type = \"source\", name = \"from\", out = [\"l0\"], rate = 5000000 },\n",
        );
        for n in 0..FORWARDS {
            let _ = writeln!(links, "{{ name = \"l{n}\", via = \"call\" }},");
            let _ = writeln!(
                modules,
                "{{ type = \"forward\", name = \"f{n}\", in = [\"l{n}\"], out = [\"l{}\"] }},",
                n + 1
            );
        }
        let _ = writeln!(links, "{{ name = \"l{FORWARDS}\", via = \"call\" }}");
        let _ = writeln!(modules, "{{ type = \"sink\", name = \"to\", in = [\"l{FORWARDS}\"] }}");
        let text = format!(
            "name = \"calls\"\nlink = [{links}]\n[[part]]\nname = \"p\"\n[[part.thread]]\n\
             name = \"t\"\nmodule = [{modules}]\n"
        );
        read::read("calls.toml", &text, &[]).unwrap()
    }

    #[test]
    fn a_message_that_is_passed_on_costs_little_and_allocates_nothing() {
        let flow = flow();
        let mut worker = Worker::new(&flow, 0);
        let start_ns = now_ns();
        let measured = Measured { from_ns: start_ns, to_ns: start_ns + 60_000_000_000 };
        let quiet_ns = QUIET.as_nanos() as u64;
        worker.begin(Conditions { start_ns, measured, quiet_ns, is_fanned: false }).unwrap();
        worker.calls.reserve(1 << 20);
        let mut turns = |count: u32| {
            for _ in 0..count {
                worker.turn(now_ns()).unwrap();
            }
            worker.ports.last().unwrap().came.messages
        };
        turns(100);
        let mut best_ns = f64::INFINITY;
        let counted = allocation_counter::measure(|| {
            for _ in 0..50 {
                let (began, before) = (now_ns(), turns(0));
                let came = turns(50) - before;
                let nanos = (now_ns() - began) as f64 / came.max(1) as f64 / (FORWARDS + 2) as f64;
                best_ns = best_ns.min(nanos);
            }
        });
        assert_eq!(counted.count_total, 0);
        println!("{best_ns:.0} ns a module and message");
        // A build that checks everything is several times slower, and other work only adds.
        assert!(cfg!(debug_assertions) || best_ns <= 150.0, "{best_ns}");
    }
}
