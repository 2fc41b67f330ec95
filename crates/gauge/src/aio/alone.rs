//! A hop by itself, in the state in which the flow finds it.
//!
//! What a hop takes depends on who rests when it comes. A thread that is woken
//! has its memory to fetch again, and a core that has been idle for long is
//! asleep: its hypervisor has given it away, or it has gone into a deep state.
//! Half of a round trip is the mean of a hop to a core that slept until then and
//! of one to a core that sleeps since a moment ago; a flow has one of the first
//! and several of the second. So what comes before a hop is made as it is in the
//! flow, and the hop is measured from where it leaves to where it comes, which
//! the one clock of a host allows:
//!
//! ```text
//!   source ── hop before ──▶ works as long ──┤ hop ├──▶ sink
//!   source, works as long ───────────────────┤ hop ├──▶ sink      where a flow begins
//! ```

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use tapeline_measure::schedule::Pacing;

use super::flow::{
    Flow, Kind, LinkSpec, ModuleSpec, Origin, PartSpec, ThreadSpec, Via, WorkBy, WorkTime,
};
use super::part::{self, Alone, PartDone, RunPlan};
use crate::GaugeError;
use crate::link::LinkOptions;

/// Messages that are measured, and those before; over half a second and a tenth
/// at most.
const MESSAGES: f64 = 200.0;
const WARM_UP_MESSAGES: f64 = 20.0;
const MOST_SECONDS: f64 = 0.5;
const MOST_WARM_UP_SECONDS: f64 = 0.1;

/// Nothing has to be found, and nothing is under way for long.
const LEAD_NS: u64 = 20_000_000;
const QUIET: Duration = Duration::from_millis(20);

/// Room for the two moments at which a message comes and leaves before the hop.
const LEAST_BYTES: usize = super::tracked::LEAST_BYTES + 16;

/// What a link is made of.
#[derive(Clone, Debug, PartialEq)]
struct Way {
    via: Via,
    address: IpAddr,
    options: LinkOptions,
}

impl Way {
    fn of(link: &LinkSpec) -> Self {
        // Nothing is predicted of a group or of raw bytes but what they go through.
        let via = link.via.transport().map_or(link.via, Via::Link);
        let options = LinkOptions { group: None, ..link.options.clone() };
        Self { via, address: link.address, options }
    }
}

/// How a thread waits, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Waits {
    is_polling: bool,
    core: Option<usize>,
    priority: Option<u8>,
}

impl Waits {
    const fn of(thread: &ThreadSpec) -> Self {
        Self { is_polling: thread.is_polling, core: thread.core, priority: thread.priority }
    }
}

/// What the time of a hop depends on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AloneHop {
    /// The hop before, and who sends on it; `None` where the flow begins.
    before: Option<(Way, Waits)>,
    way: Way,
    /// Who sends, and who takes it.
    ends: [Waits; 2],
    /// How long it is worked before it leaves.
    work_ns: u64,
    rate_per_s: u64,
    bytes: usize,
}

impl AloneHop {
    /// Of a link between two threads of a flow.
    pub(super) fn of(flow: &Flow, link: usize, rate_per_s: u64) -> Option<Self> {
        let hop = &flow.links[link];
        let ends = [hop.from, hop.to].map(|module| flow.thread_of(module));
        let [Some(from), Some(to)] = ends else { return None };
        let (mut at, mut work_ns, mut before) = (hop.from?, 0.0, None);
        // Upwards through what is called in the same thread, to what woke it.
        for _ in 0..flow.modules.len() {
            let module = &flow.modules[at];
            if let Kind::Work { time, .. } = &module.kind {
                work_ns += time.mean_ns();
            }
            let input = module.inputs.first().map(|input| &flow.links[*input]);
            let Some((input, sender)) = input.and_then(|input| Some((input, input.from?))) else {
                break;
            };
            if input.via != Via::Call {
                let thread = flow.thread_of(Some(sender))?;
                before = Some((Way::of(input), Waits::of(&flow.threads[thread])));
                break;
            }
            at = sender;
        }
        // One that is busy for longer would have no rest.
        let most_ns = 5e8 / rate_per_s.max(1) as f64;
        Some(Self {
            before,
            way: Way::of(hop),
            ends: [from, to].map(|thread| Waits::of(&flow.threads[thread])),
            work_ns: work_ns.min(most_ns) as u64,
            rate_per_s,
            bytes: flow.most_bytes().max(LEAST_BYTES),
        })
    }

    /// Whether all that take part poll: then nobody rests.
    pub(super) fn never_rests(&self) -> bool {
        let before = self.before.iter().map(|(_, waits)| waits);
        before.chain(&self.ends).all(|waits| waits.is_polling)
    }

    /// What it takes in the median, in nanoseconds.
    pub(super) fn measured_ns(&self) -> Result<f64, GaugeError> {
        let seconds = |messages: f64, most: f64| {
            Duration::from_secs_f64((messages / self.rate_per_s.max(1) as f64).min(most))
        };
        let plan = RunPlan {
            seconds: seconds(MESSAGES, MOST_SECONDS),
            warm_up: seconds(WARM_UP_MESSAGES, MOST_WARM_UP_SECONDS),
            quiet: QUIET,
            is_classic: false,
            is_quiet: true,
        };
        let mut alone = Alone { is_ready: false, lead_ns: LEAD_NS, on_text: &mut |_| () };
        let done = part::run(&self.flow(), 0, plan, &mut alone)?;
        let nanos = last_hop_ns(&done);
        nanos.ok_or_else(|| GaugeError::io("a hop alone")(io::Error::from(io::ErrorKind::TimedOut)))
    }

    /// Source, what works, sink.
    fn flow(&self) -> Flow {
        let (first, waits) = match &self.before {
            Some((way, waits)) => (way.clone(), Some(*waits)),
            None => (Way { via: Via::Call, ..self.way.clone() }, None),
        };
        let threads: Vec<Waits> = waits.into_iter().chain(self.ends).collect();
        let last = threads.len() - 1;
        let origin = Origin {
            rate_per_s: self.rate_per_s as f64,
            pacing: Pacing::Even,
            bytes: self.bytes,
            at_once: 1,
            clients: 1,
            start_id: 1,
            delta_rate: 1.0,
            window: 65_536,
            messages: 0,
            tracks: true,
            sample: 1,
        };
        let work = Kind::Work { time: WorkTime::Fixed(self.work_ns), by: WorkBy::Spin };
        Flow {
            name: "a hop alone".to_owned(),
            links: vec![link(&first, 0), link(&self.way, 1)],
            parts: vec![PartSpec { name: "hop".to_owned() }],
            threads: threads.iter().enumerate().map(|(number, of)| thread(number, of)).collect(),
            modules: vec![
                module("source", 0, Kind::Source(origin), (&[], &[0])),
                module("works", last - 1, work, (&[0], &[1])),
                module("sink", last, Kind::Sink, (&[1], &[])),
            ],
            warnings: Vec::new(),
        }
    }
}

fn link(way: &Way, number: usize) -> LinkSpec {
    LinkSpec {
        name: if number == 0 { "before" } else { "hop" }.to_owned(),
        line: 0,
        via: way.via,
        address: way.address,
        port: 0,
        connections: 1,
        capacity: 1024,
        options: way.options.clone(),
        from: Some(number),
        to: Some(number + 1),
    }
}

fn thread(number: usize, waits: &Waits) -> ThreadSpec {
    ThreadSpec {
        name: format!("alone {number}"),
        part: 0,
        is_polling: waits.is_polling,
        core: waits.core,
        priority: waits.priority,
        pool: 1024,
        interval_s: 3600.0,
        statistics_file: None,
    }
}

fn module(
    name: &str,
    thread: usize,
    kind: Kind,
    (inputs, outputs): (&[usize], &[usize]),
) -> ModuleSpec {
    ModuleSpec {
        name: name.to_owned(),
        line: 0,
        thread,
        wrapper: String::new(),
        inputs: inputs.to_vec(),
        outputs: outputs.to_vec(),
        kind,
    }
}

/// Of the only way there is.
fn last_hop_ns(done: &PartDone) -> Option<f64> {
    let heard =
        done.modules.iter().find_map(|of| of.heard.as_ref().filter(|of| !of.ways.is_empty()));
    let times = heard?.ways.first()?.hops.last()?;
    Some(times.0.value_at_quantile(0.5) as f64)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    /// Two threads that work, and one in which a module is called by another.
    const FLOW: &str = r#"
name = "three threads"
link = [{ name = "a", via = "tcp" }, { name = "b", via = "unix_stream" },
        { name = "c", via = "call" }, { name = "d", via = "ring" }]
[[part]]
name = "all"
[[part.thread]]
name = "first"
module = [{ type = "source", name = "from", out = ["a"], rate = 2000, size = 200 }]
[[part.thread]]
name = "second"
module = [{ type = "work", name = "w", in = ["a"], out = ["b"], ns = 20000 }]
[[part.thread]]
name = "third"
polling = true
module = [{ type = "work", name = "x", in = ["b"], out = ["c"], ns = 30000 },
          { type = "work", name = "y", in = ["c"], out = ["d"], ns = 5000 }]
[[part.thread]]
name = "fourth"
module = [{ type = "sink", name = "to", in = ["d"] }]
"#;

    fn hop(link: usize) -> AloneHop {
        let flow = read::read("flow.toml", FLOW, &[]).unwrap();
        AloneHop::of(&flow, link, 2000).unwrap()
    }

    #[test]
    fn what_comes_before_a_hop_is_as_in_the_flow() {
        let via = |of: &AloneHop| of.before.as_ref().map(|(way, _)| way.via);
        let first = hop(0);
        assert_eq!((via(&first), first.work_ns, first.bytes), (None, 0, 200));
        let second = hop(1);
        assert_eq!((via(&second), second.work_ns), (Some(first.way.via), 20_000));
        // Both that are called in one thread work before it.
        let last = hop(3);
        assert_eq!((via(&last), last.work_ns), (Some(second.way.via), 35_000));
        assert_eq!(last.ends.map(|waits| waits.is_polling), [true, false]);
        assert!(!last.never_rests() && first != second);
        let polling = Waits { is_polling: true, ..last.ends[0] };
        let busy = AloneHop { ends: [polling; 2], before: None, ..last };
        assert!(busy.never_rests());
        // One that is always at work would not be alone.
        let flow = read::read("flow.toml", FLOW, &[]).unwrap();
        assert_eq!(AloneHop::of(&flow, 3, 50_000).unwrap().work_ns, 10_000);
    }

    #[test]
    fn a_hop_is_measured_from_where_it_leaves_to_where_it_comes() {
        for link in [0, 1, 3] {
            let nanos = hop(link).measured_ns().unwrap();
            // Neither what is worked before it nor the time between two messages is in it:
            // on a machine that is idle it is a few µs.
            assert!(nanos > 0.0, "{link}: {nanos}");
        }
        // The shortest message has no room for moments.
        let short = FLOW.replace("size = 200", "size = 48");
        let flow = read::read("flow.toml", &short, &[]).unwrap();
        assert!(AloneHop::of(&flow, 1, 2000).unwrap().measured_ns().unwrap() > 0.0);
    }

    #[test]
    fn a_hop_that_takes_its_time_is_not_the_work_before_it() {
        let of = AloneHop {
            before: None,
            way: hop(1).way,
            ends: [Waits { is_polling: false, core: None, priority: None }; 2],
            work_ns: 5_000_000,
            rate_per_s: 100,
            bytes: 200,
        };
        // On a busy machine who is woken may have to wait for a core.
        let mut all = (0..40).map(|_| of.measured_ns().unwrap());
        let least = all.find(|nanos| *nanos < 2_500_000.0);
        assert!(least.is_some());
    }
}
