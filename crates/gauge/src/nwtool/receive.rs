//! Side 3, which counts, and side 2, which passes on to it.

use std::time::{Duration, Instant};

use tapeline_measure::clock::now_ns;

use super::cell::failed;
use super::follow::{Behind, Nobody, follow, opening};
use super::options::Options;
use super::pair::{Followed, Open, Say, Watch, came, explained, listener, looked_for, opened};
use crate::GaugeError;
use crate::control::Control;
use crate::intervals::Interval;
use crate::link::Links;
use crate::message::Head;
use crate::output::Output;

/// Side 2.
pub(super) fn forward(
    options: &Options,
    from: Option<&(String, u16)>,
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    let _held = crate::setup::prepare(&options.common.given)?;
    let Some((host, port)) = from else { return serve(options, out) };
    let side = format!("side 1 (send at {host}:{port})");
    // Side 3 first: side 1 begins as soon as it has somebody.
    let mut behind = match options.listen {
        None => None,
        Some(port) => Some(SideThree::come(options, port, out)?),
    };
    let mut control = looked_for(host, *port).map_err(|error| error.of_side(&side))?;
    let Some(open) = opening(&mut control).map_err(|error| error.of_side(&side))? else {
        return Err(GaugeError::Peer("ended".to_owned()).of_side(&side));
    };
    // The links of side 3 are there before those of side 1, so that nothing
    // comes that cannot be passed on.
    let followed = match &mut behind {
        None => follow(&mut control, &open, &mut Nobody),
        Some(third) => match third.open(&open) {
            Ok(()) => follow(&mut control, &open, third),
            Err(error) => {
                let _ = control.send(&Say::Refused(error.to_string()));
                Err(error)
            }
        },
    };
    let followed = followed.map_err(|error| error.of_side(&side));
    if let (Err(error), Some(third)) = (&followed, &mut behind) {
        let _ = third.control.send(&Say::Refused(error.to_string()));
    }
    let followed = followed?;
    let forwarded = match behind {
        Some(third) => third.end()?,
        None => 0,
    };
    out.text(&format!("{}, {forwarded} passed on\n", counts_text(&followed)));
    Ok(true)
}

/// Serves senders that come here: the other side of a matrix.
fn serve(options: &Options, out: &mut dyn Output) -> Result<bool, GaugeError> {
    let listener = listener(options.bind, options.port)?;
    let own = listener.local_addr().map_err(GaugeError::io("listening"))?;
    let keeps_on = options.common.given.has("keep");
    out.say(&format!("serving on {own}"));
    loop {
        let served = came(&listener).and_then(|mut control| serve_all(&mut control));
        match served {
            Err(error @ GaugeError::Interrupted(_)) => return Err(error),
            Err(error) if keeps_on => out.say(&format!("a sender: {error}")),
            Err(error) => return Err(error),
            Ok(()) if !keeps_on => return Ok(true),
            Ok(()) => {}
        }
    }
}

/// One cell after the other, until the sender has gone.
pub(super) fn serve_all(control: &mut Control) -> Result<(), GaugeError> {
    while let Some(open) = opening(control)? {
        follow(control, &open, &mut Nobody)?;
    }
    Ok(())
}

/// Where side 2 passes messages on to.
struct SideThree {
    control: Control,
    links: Links,
    side: String,
    watch: Watch,
    forwarded: u64,
}

impl SideThree {
    fn come(options: &Options, port: u16, out: &mut dyn Output) -> Result<Self, GaugeError> {
        let listener = listener(options.bind, port)?;
        let own = listener.local_addr().map_err(GaugeError::io("listening"))?;
        out.say(&format!(
            "side 2 (forward) waits on {own} for side 3: nwtool receive HOST:{}",
            own.port()
        ));
        let control = came(&listener)?;
        let peer = control.peer.map_or("-".to_owned(), |peer| peer.to_string());
        let side = format!("side 3 (receive at {peer})");
        Ok(Self { control, links: Vec::new(), side, watch: Watch::new(), forwarded: 0 })
    }

    fn open(&mut self, upstream: &Open) -> Result<(), GaugeError> {
        let open = Open { answer_bytes: None, addresses: Vec::new(), ..upstream.clone() };
        let own = self.control.own.unwrap_or(std::net::Ipv4Addr::UNSPECIFIED.into());
        let at = std::net::SocketAddr::new(own, 0);
        let links = opened(&mut self.control, &open, Some(at));
        self.links = links.map_err(|error| error.of_side(&self.side))?;
        Ok(())
    }

    fn end(mut self) -> Result<u64, GaugeError> {
        let until = Instant::now() + Duration::from_secs(1);
        for link in &mut self.links {
            while !link.flush().map_err(failed)? && Instant::now() < until {
                std::thread::yield_now();
            }
        }
        let done = self.control.send(&Say::End { sent: self.forwarded });
        done.and_then(|()| self.control.receive::<Say>())
            .map_err(|error| error.of_side(&self.side))?;
        Ok(self.forwarded)
    }
}

impl Behind for SideThree {
    fn pass(&mut self, message: &[u8]) -> Result<bool, GaugeError> {
        let Some(head) = Head::read(message) else { return Ok(true) };
        let at = (head.seq % self.links.len().max(1) as u64) as usize;
        let Some(link) = self.links.get_mut(at) else { return Ok(true) };
        match link.offer(message).map_err(failed) {
            Ok(is_taken) => {
                self.forwarded += u64::from(is_taken);
                Ok(is_taken)
            }
            Err(error) => Err(explained(&mut self.control, error).of_side(&self.side)),
        }
    }

    fn turn(&mut self) -> Result<(), GaugeError> {
        for link in &mut self.links {
            link.flush().map_err(failed).map_err(|error| error.of_side(&self.side))?;
        }
        match self.watch.heard(&mut self.control).map_err(|error| error.of_side(&self.side))? {
            None => Ok(()),
            Some(Say::Refused(why)) => {
                Err(GaugeError::Peer(format!("ended, and says: {why}")).of_side(&self.side))
            }
            Some(_) => Err(GaugeError::Peer("spoke out of turn".to_owned()).of_side(&self.side)),
        }
    }
}

/// Side 3.
pub(super) fn receive(
    options: &Options,
    (host, port): (&str, u16),
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    let _held = crate::setup::prepare(&options.common.given)?;
    let side = format!("side 2 (forward at {host}:{port})");
    let mut control = looked_for(host, port).map_err(|error| error.of_side(&side))?;
    let is_one_host = control.peer.is_some() && control.peer == control.own;
    let error_ns: Option<u64> = match options.common.given.has("clocks-agree-within") {
        true => Some(options.common.given.number("clocks-agree-within", 0, 0, 1_000_000_000)?),
        false => is_one_host.then_some(0),
    };
    if error_ns.is_none() {
        out.say(
            "one-way delays are left out: the clocks of two hosts differ; give \
             --clocks-agree-within NS if they do not",
        );
    }
    let mut receiver = Receiver {
        out,
        interval: options.common.interval,
        next: Instant::now() + options.common.interval,
        began: Instant::now(),
        error_ns,
        count: 0,
        bytes: 0,
        last_ns: None,
        longest_gap_ns: 0,
        one_way: Interval::default(),
        clock_errors: 0,
    };
    receiver.out.text(&Receiver::head());
    let Some(open) = opening(&mut control).map_err(|error| error.of_side(&side))? else {
        return Err(GaugeError::Peer("ended".to_owned()).of_side(&side));
    };
    let followed = follow(&mut control, &open, &mut receiver);
    let followed = followed.map_err(|error| error.of_side(&side))?;
    receiver.line();
    let (text, errors) = (counts_text(&followed), receiver.clock_errors);
    receiver.out.text(&format!("{text}, {errors} clock errors\n"));
    let of = followed.arrivals;
    Ok(open.transport.is_datagram() || of.lost + of.duplicated == 0)
}

fn counts_text(followed: &Followed) -> String {
    let of = &followed.arrivals;
    format!(
        "{} received, {} lost, {} reordered, {} duplicated, longest gap {:.1} µs",
        of.received,
        of.lost,
        of.reordered,
        of.duplicated,
        followed.longest_gap_ns as f64 / 1000.0
    )
}

struct Receiver<'a> {
    out: &'a mut dyn Output,
    interval: Duration,
    next: Instant,
    began: Instant,
    /// How far the clocks may differ; `None`: nobody knows.
    error_ns: Option<u64>,
    count: u64,
    bytes: u64,
    last_ns: Option<u64>,
    longest_gap_ns: u64,
    one_way: Interval,
    clock_errors: u64,
}

impl Receiver<'_> {
    fn head() -> String {
        format!(
            "{:>10}{:>10}{:>14}{:>9}{:>9}{:>10}\n",
            "msgs/s", "Mb/s", "longest gap", "min", "avg", "max"
        )
    }

    fn line(&mut self) {
        let seconds = self.began.elapsed().as_secs_f64().max(1e-9);
        let micros = |nanos: f64| format!("{:.1}", nanos / 1000.0);
        let has_delays = self.error_ns.is_some() && self.one_way.count > 0;
        let of = |nanos: f64| if has_delays { micros(nanos) } else { "-".to_owned() };
        let bar = match self.error_ns {
            Some(error) if error > 0 => format!("  ± {}", micros(error as f64)),
            _ => String::new(),
        };
        self.out.text(&format!(
            "{:>10.1}{:>10.2}{:>14}{:>9}{:>9}{:>10}{bar}\n",
            self.count as f64 / seconds,
            self.bytes as f64 * 8.0 / 1e6 / seconds,
            micros(self.longest_gap_ns as f64),
            of(self.one_way.min_ns as f64),
            of(self.one_way.mean_ns()),
            of(self.one_way.max_ns as f64),
        ));
        self.began = Instant::now();
        self.next = self.began + self.interval;
        (self.count, self.bytes, self.longest_gap_ns) = (0, 0, 0);
        self.one_way = Interval::default();
    }
}

impl Behind for Receiver<'_> {
    fn pass(&mut self, _message: &[u8]) -> Result<bool, GaugeError> {
        Ok(true)
    }

    fn turn(&mut self) -> Result<(), GaugeError> {
        if Instant::now() >= self.next {
            self.line();
        }
        Ok(())
    }

    fn came(&mut self, head: &Head, now: u64) {
        self.count += 1;
        self.bytes += u64::from(head.length);
        let gap = self.last_ns.map_or(0, |last| now.saturating_sub(last));
        self.longest_gap_ns = self.longest_gap_ns.max(gap);
        self.last_ns = Some(now);
        match now_ns().checked_sub(head.sent_ns) {
            Some(delay) if self.error_ns.is_some() => self.one_way.add(delay),
            None if self.error_ns.is_some() => self.clock_errors += 1,
            _ => {}
        }
    }
}
