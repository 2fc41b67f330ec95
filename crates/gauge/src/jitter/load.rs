//! Known loads, and what the two methods see of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use rustix::thread::{ClockId, clock_nanosleep_absolute};
use tapeline_measure::clock::now_ns;
use tapeline_measure::processor::{allowed_cores, pin, thread_id, thread_seconds};
use tapeline_measure::ticks::TickClock;

use super::counts::Counts;
use super::spin::{Gaps, spin};
use crate::mux::timespec;
use crate::setup::Priority;

/// How often the load is corrected.
const PERIOD_NS: u64 = 10_000_000;

/// What the controller answers a difference with, and the sum of differences.
const PROPORTIONAL: f64 = 0.5;
const INTEGRAL: f64 = 0.1;

/// How often a load is measured.
const TRIES: usize = 8;

/// The controller has settled after so many periods.
const SETTLED: u32 = 50;

fn sleep_until(at_ns: u64) {
    let at = timespec(Duration::from_nanos(at_ns));
    while clock_nanosleep_absolute(ClockId::Monotonic, &at).is_err() {}
}

fn burn_until(at_ns: u64) {
    while now_ns() < at_ns {
        std::hint::spin_loop();
    }
}

/// A thread that burns a share of a core until it is told to end: held by a PI
/// controller against what the kernel says that it had.
fn burn(core: usize, share: f64, is_over: &AtomicBool, settled: &Barrier, had_ns: &AtomicU64) {
    pin(Some(&[core]));
    let thread = thread_id();
    let on_core = || (thread_seconds(thread).unwrap() * 1e9) as u64;
    let mut period_from = now_ns();
    let (mut sum, mut burnt, began, mut since) = (0.0, share, on_core(), None);
    for period in 0.. {
        let before = on_core();
        burn_until(period_from + (burnt * PERIOD_NS as f64) as u64);
        period_from += PERIOD_NS;
        sleep_until(period_from);
        let difference = share - (on_core() - before) as f64 / PERIOD_NS as f64;
        sum += difference;
        burnt = (share + PROPORTIONAL * difference + INTEGRAL * sum).clamp(0.0, 1.0);
        if period == SETTLED {
            settled.wait();
            since = Some(on_core());
        }
        if is_over.load(Ordering::Relaxed) {
            break;
        }
    }
    had_ns.store(on_core() - since.unwrap_or(began), Ordering::Relaxed);
}

/// What a spinning thread saw beside the load, how long the kernel let it wait,
/// and what the load had; shares of the time.
struct Seen {
    lost: f64,
    waited: f64,
    load: f64,
}

fn beside(core: usize, share: f64, clock: &TickClock) -> Seen {
    let (is_over, settled) = (AtomicBool::new(false), Barrier::new(2));
    let had_ns = AtomicU64::new(0);
    thread::scope(|scope| {
        let load = scope.spawn(|| burn(core, share, &is_over, &settled, &had_ns));
        settled.wait();
        pin(Some(&[core]));
        let before = Counts::read(core);
        let gaps = spin(clock, 200, Duration::from_millis(500));
        let counts = Counts::read(core).since(&before);
        is_over.store(true, Ordering::Relaxed);
        load.join().unwrap();
        let of = |nanos: u64| nanos as f64 / gaps.runtime_ns as f64;
        Seen {
            lost: gaps.lost_percent() / 100.0,
            waited: of(counts.waited_ns),
            load: of(had_ns.load(Ordering::Relaxed)),
        }
    })
}

#[test]
fn a_known_load_is_what_is_lost() {
    let Some(core) = allowed_cores().last().copied() else { return };
    for share in [0.2, 0.5] {
        let measuring = thread::spawn(move || {
            let clock = TickClock::best();
            (0..TRIES).map(|_| beside(core, share, &clock)).collect::<Vec<Seen>>()
        });
        // Where others wanted the core as well, it was not the load alone.
        let mut alone = measuring.join().unwrap();
        alone.retain(|seen| (seen.waited - seen.load).abs() < 0.01);
        // Beside other work the load has less than it wants: it is as known as ever.
        let lost: Vec<(f64, f64)> = alone.iter().map(|seen| (seen.lost, seen.load)).collect();
        if lost.len() < TRIES / 2 {
            eprintln!("left out: core {core} was rarely left to a load of {share} alone");
            continue;
        }
        assert!(lost.iter().any(|(lost, load)| (lost - load).abs() < 0.02), "{share}: {lost:?}");
    }
}

/// Pulses of 500 µs each 10 ms, of a thread that nothing keeps waiting.
fn pulses(core: usize, is_over: &AtomicBool) -> Result<(), String> {
    pin(Some(&[core]));
    Priority::Fifo(50).set()?;
    let mut at = now_ns();
    while !is_over.load(Ordering::Relaxed) {
        at += PERIOD_NS;
        sleep_until(at);
        burn_until(now_ns() + 500_000);
    }
    Ok(())
}

fn beside_pulses(core: usize) -> Option<Gaps> {
    let is_over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_over);
    let load = thread::spawn(move || pulses(core, &told));
    let measuring = thread::spawn(move || {
        pin(Some(&[core]));
        spin(&TickClock::best(), 200, Duration::from_secs(1))
    });
    let gaps = measuring.join().unwrap();
    is_over.store(true, Ordering::Relaxed);
    match load.join().unwrap() {
        Ok(()) => Some(gaps),
        Err(why) => {
            eprintln!("left out: FIFO is {why}");
            None
        }
    }
}

#[test]
fn known_pulses_are_gaps_of_their_length() {
    let Some(core) = allowed_cores().last().copied() else { return };
    let of_length = |gaps: &Gaps| {
        let all = gaps.gaps_ns.iter();
        all.filter(|gap| (450_000..=700_000).contains(*gap)).count()
    };
    let mut counts = Vec::new();
    for _ in 0..8 {
        let Some(gaps) = beside_pulses(core) else { return };
        let count = of_length(&gaps);
        if (95..=105).contains(&count) {
            return;
        }
        counts.push((count, gaps.lost_percent()));
    }
    // A core that others want makes pulses part of longer gaps.
    let is_busy = counts.iter().all(|(_, lost)| *lost > 7.0);
    assert!(is_busy, "gaps and lost percent of eight tries: {counts:?}");
}
