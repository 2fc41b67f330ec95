//! Ports that remember what they heard, on a clock that runs.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use tapeline_backbone::{
    AeronPort, Bus, BusEvent, Channels, Engine, FrameHeader, Incarnation, PortSettings, Role,
};
use tapeline_time::Time;

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(&self) -> Time {
        Time::from_nanos(self.0.elapsed().as_nanos() as u64)
    }

    /// Calls `turn` until it returns true.
    pub(crate) fn wait(&self, mut turn: impl FnMut(Time) -> bool) {
        let end = self.now().after(PATIENCE);
        while !turn(self.now()) {
            assert!(self.now() < end, "it took too long");
            std::thread::yield_now();
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Up(Incarnation, String),
    Down(Incarnation),
    Gap(Incarnation),
    Frame(FrameHeader, Vec<u8>),
}

impl From<BusEvent<'_>> for Heard {
    fn from(event: BusEvent<'_>) -> Self {
        match event {
            BusEvent::PeerUp { peer, name } => Self::Up(peer, name.to_owned()),
            BusEvent::PeerDown { peer } => Self::Down(peer),
            BusEvent::Gap { peer, .. } => Self::Gap(peer),
            BusEvent::Frame { header, body } => Self::Frame(header, body.to_vec()),
        }
    }
}

pub(crate) struct Member {
    pub(crate) port: AeronPort,
    pub(crate) heard: Vec<Heard>,
}

impl Member {
    /// One that is patient with others on a busy machine.
    pub(crate) fn new(engine: &mut Engine, role: Role, name: &str, channels: &Channels) -> Self {
        Self::with_silence(Duration::from_secs(10), engine, role, name, channels)
    }

    pub(crate) fn with_silence(
        silence: Duration,
        engine: &mut Engine,
        role: Role,
        name: &str,
        channels: &Channels,
    ) -> Self {
        let settings = PortSettings { silence, ..PortSettings::new(role, name) };
        Self { port: engine.port(settings, channels).unwrap(), heard: Vec::new() }
    }

    pub(crate) fn turn(&mut self, now: Time) {
        let heard = &mut self.heard;
        self.port.poll(now, 64, |event, _| heard.push(event.into()));
        self.port.work(now);
    }

    pub(crate) fn frames(&self) -> impl Iterator<Item = (&FrameHeader, &[u8])> {
        self.heard.iter().filter_map(|heard| match heard {
            Heard::Frame(header, body) => Some((header, &body[..])),
            _ => None,
        })
    }
}

/// Whether this machine sends multicast to itself; some containers do not.
pub(crate) fn loopback_multicasts() -> bool {
    let group = Ipv4Addr::new(224, 0, 1, 79);
    let attempt = || -> std::io::Result<usize> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.join_multicast_v4(&group, &Ipv4Addr::LOCALHOST)?;
        socket.set_read_timeout(Some(Duration::from_millis(200)))?;
        let from = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        from.send_to(b"?", (group, socket.local_addr()?.port()))?;
        socket.recv(&mut [0; 8])
    };
    let works = attempt().is_ok();
    if !works {
        eprintln!("left out: no multicast on the loopback interface");
    }
    works
}
