//! What a hop takes by itself, at the flow's rate and size, between threads that
//! sleep or poll on the same cores. Measured just before the flow, which is
//! predicted by it: one way, after what comes before it in the flow
//! ([`super::alone`]); where answers come back, or nobody ever rests, half a
//! round trip.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use rustix::thread::set_current_timer_slack;
use tapeline_measure::clock::now_ns;
use tapeline_measure::{processor, stop};

use super::alone::AloneHop;
use super::flow::{Flow, Kind as ModuleKind, LinkSpec, Origin, Via};
use crate::link::{LinkOptions, Links, Meeting, Readiness, RingLink, connect};
use crate::message::{Head, Kind};
use crate::statistics::nearest_rank;
use crate::{GaugeError, Transport};

/// Round trips of a kind of hop: half a second of them, within bounds.
const LEAST_ROUND_TRIPS: u64 = 50;
const MOST_ROUND_TRIPS: u64 = 1000;
const NS_PER_S: u64 = 1_000_000_000;

/// The rates at which they are measured: a core that has slept for longer than
/// 10 ms sleeps no deeper, and at more than this a round trip waits for the one
/// before.
const LEAST_RATE_PER_S: f64 = 100.0;
const MOST_RATE_PER_S: f64 = 5000.0;

/// An answer that has not come by then is lost.
const PATIENCE_NS: u64 = NS_PER_S;

/// What a hop's time depends on.
#[derive(Clone, Debug, PartialEq)]
struct HopKind {
    via: Via,
    bytes: usize,
    rate_per_s: u64,
    polls: [bool; 2],
    cores: [Option<usize>; 2],
    options: LinkOptions,
}

/// By link: what it takes in the median. Links whose other end is outside have
/// none; a call takes nothing that is worth telling.
pub(super) fn predicted(flow: &Flow) -> Result<BTreeMap<usize, f64>, GaugeError> {
    let rate: f64 =
        flow.modules.iter().filter_map(|of| of.kind.origin()).map(Origin::whole_rate_per_s).sum();
    let rate_per_s = rate.clamp(LEAST_RATE_PER_S, MOST_RATE_PER_S) as u64;
    let (mut all, mut known): (_, Vec<(HopKind, f64)>) = (BTreeMap::new(), Vec::new());
    let mut known_alone: Vec<(AloneHop, f64)> = Vec::new();
    let answered = answered(flow);
    for (number, link) in flow.links.iter().enumerate() {
        let ends = [link.from, link.to].map(|module| flow.thread_of(module));
        let [Some(from), Some(to)] = ends else { continue };
        if link.via == Via::Call {
            all.insert(number, 0.0);
            continue;
        }
        let is_answered = link.from.is_some_and(|module| answered.contains(&module));
        let one_way = AloneHop::of(flow, number, rate_per_s);
        if let Some(hop) = one_way.filter(|hop| !is_answered && !hop.never_rests()) {
            let nanos = match known_alone.iter().find(|(of, _)| *of == hop) {
                Some((_, nanos)) => *nanos,
                None => {
                    let nanos = hop.measured_ns()?;
                    known_alone.push((hop, nanos));
                    nanos
                }
            };
            all.insert(number, nanos);
            continue;
        }
        let threads = [from, to].map(|thread| &flow.threads[thread]);
        let kind = HopKind {
            via: link.via,
            bytes: flow.most_bytes(),
            rate_per_s,
            polls: threads.map(|thread| thread.is_polling),
            cores: threads.map(|thread| thread.core),
            // Nothing comes back from a group: what its way takes is that of the
            // same datagrams to an address.
            options: LinkOptions { group: None, ..link.options.clone() },
        };
        let nanos = match known.iter().find(|(of, _)| *of == kind) {
            Some((_, nanos)) => *nanos,
            None => {
                let what = format!("link `{}` alone", link.name);
                let nanos = half_round_trip_ns(&kind, link).map_err(GaugeError::io(what))?;
                stop::check()?;
                known.push((kind, nanos));
                nanos
            }
        };
        all.insert(number, nanos);
    }
    Ok(all)
}

/// Clients, and all that their messages come to.
fn answered(flow: &Flow) -> BTreeSet<usize> {
    let is_client = |module: &usize| matches!(flow.modules[*module].kind, ModuleKind::Client(_));
    let mut all: BTreeSet<usize> = (0..flow.modules.len()).filter(is_client).collect();
    let mut next: Vec<usize> = all.iter().copied().collect();
    while let Some(module) = next.pop() {
        let links = flow.modules[module].outputs.iter().map(|link| &flow.links[*link]);
        next.extend(links.filter_map(|link| link.to).filter(|to| all.insert(*to)));
    }
    all
}

/// The median of some round trips, halved.
fn half_round_trip_ns(kind: &HopKind, link: &LinkSpec) -> std::io::Result<f64> {
    let is_over = AtomicBool::new(false);
    let transport = kind.via.transport().unwrap_or(Transport::Tcp);
    let (told, tell) = mpsc::channel();
    let ring = match kind.via {
        Via::Ring => Some(RingLink::pair(RingLink::bytes_for(1024, kind.bytes))?),
        _ => None,
    };
    let (near, far) = ring.map_or((None, None), |(near, far)| (Some(near), Some(far)));
    thread::scope(|scope| {
        let is_over = &is_over;
        let echoing = scope.spawn(move || -> std::io::Result<()> {
            let links: Links = match far {
                Some(far) => vec![Box::new(far)],
                None => {
                    let at = SocketAddr::new(link.address, 0);
                    let meeting = Meeting::listen_at(transport, at, 1, &kind.options)?;
                    let _ = told.send(meeting.addresses().to_vec());
                    meeting.accept(1, &kind.options)?
                }
            };
            echo(links, kind, is_over)
        });
        let nanos = || -> std::io::Result<f64> {
            let links: Links = match near {
                Some(near) => vec![Box::new(near)],
                None => {
                    let addresses = tell.recv().map_err(std::io::Error::other)?;
                    connect(transport, &addresses, 1, link.address, &kind.options)?
                }
            };
            round_trips(links, kind)
        };
        let done = nanos();
        is_over.store(true, Ordering::Relaxed);
        let echoed = echoing.join().unwrap_or(Ok(()));
        done.and_then(|nanos| echoed.map(|()| nanos))
    })
}

fn settle(kind: &HopKind, side: usize) {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    processor::pin(kind.cores[side].as_ref().map(std::slice::from_ref));
}

/// Sends back what comes.
fn echo(mut links: Links, kind: &HopKind, is_over: &AtomicBool) -> std::io::Result<()> {
    settle(kind, 1);
    let mut readiness = Readiness::of(&links)?;
    let mut message = Vec::with_capacity(kind.bytes);
    while !is_over.load(Ordering::Relaxed) && !stop::is_asked() {
        message.clear();
        if readiness.poll(&mut links, &mut |_, bytes| message.extend_from_slice(bytes)).is_err() {
            return Ok(());
        }
        if message.is_empty() {
            if !kind.polls[1] && links[0].falls_asleep() {
                readiness.wait(&mut links, now_ns() + 20_000_000)?;
            }
        } else {
            links[0].offer(&message)?;
            links[0].flush()?;
        }
    }
    Ok(())
}

fn round_trips(mut links: Links, kind: &HopKind) -> std::io::Result<f64> {
    let own = processor::Pinned::to(kind.cores[0].as_ref().map(std::slice::from_ref));
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let mut readiness = Readiness::of(&links)?;
    let mut message = vec![0x5A; kind.bytes];
    let count = (kind.rate_per_s / 2).clamp(LEAST_ROUND_TRIPS, MOST_ROUND_TRIPS);
    let (mut all, start) = (Vec::with_capacity(count as usize), now_ns());
    for seq in 0..count {
        let due_ns = start + seq * NS_PER_S / kind.rate_per_s;
        while now_ns() < due_ns {
            if !kind.polls[0] {
                readiness.wait(&mut links, due_ns)?;
            }
        }
        let sent_ns = now_ns();
        let length = kind.bytes as u32;
        Head { kind: Kind::Data, length, seq, due_ns, sent_ns }.write(&mut message);
        links[0].offer(&message)?;
        links[0].flush()?;
        let mut came_ns = None;
        while came_ns.is_none() && now_ns() < sent_ns + PATIENCE_NS && !stop::is_asked() {
            let polled = readiness.poll(&mut links, &mut |_, bytes| {
                if Head::read(bytes).is_some_and(|head| head.seq == seq) {
                    came_ns = Some(now_ns());
                }
            });
            polled.map_err(|(_, error)| error)?;
            if came_ns.is_none() && !kind.polls[0] && links[0].falls_asleep() {
                readiness.wait(&mut links, sent_ns + PATIENCE_NS)?;
            }
        }
        all.extend(came_ns.map(|came| came - sent_ns));
    }
    drop(own);
    all.sort_unstable();
    Ok(nearest_rank(&all, 50.0).unwrap_or_default() as f64 / 2.0)
}
