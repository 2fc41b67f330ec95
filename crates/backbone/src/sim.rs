//! A backbone in memory, with the faults that a test asks for.
//!
//! Time is what the callers of its ports say it is; chance is the seed's. Two
//! runs that do the same see the same.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use tapeline_time::Time;

use crate::frame::{Incarnation, Role};
use crate::outbound::{FrameSink, Offer};
use crate::port::{FrameSource, Port, PortSettings};

/// A member of a simulated backbone.
pub type SimPort = Port<SimSink, SimSource>;

/// The longest frame that a simulated backbone carries at once, in bytes.
pub const MAX_FRAME_BYTES: usize = 64 << 10;

/// The receiver's window unless told otherwise, in bytes, as that of a real
/// backbone.
const WINDOW_BYTES: usize = 2 << 20;

/// How many windows may be under way to a member before what it lacks is lost: what
/// does not fit its own is sent again while the sender's log has it, which is twice a
/// window and no less.
const LOG_WINDOWS: usize = 2;

/// Everything between the ports. Clones are handles to the same network.
#[derive(Clone, Debug)]
pub struct Network(Rc<RefCell<World>>);

#[derive(Debug)]
struct World {
    now: Time,
    random: u64,
    delay: Duration,
    window_bytes: usize,
    members: BTreeMap<Incarnation, Member>,
    paths: BTreeMap<(Incarnation, Incarnation), Path>,
    /// Gives frames that arrive at the same time the order of their sending.
    serial: u64,
}

#[derive(Debug)]
struct Member {
    role: Role,
    stuck: bool,
    /// Frames that are taken although it is stuck.
    allowance: u32,
    broken: bool,
    inbox: BTreeMap<(Time, u64), Vec<u8>>,
    inbox_bytes: usize,
}

impl Member {
    fn put(&mut self, due: (Time, u64), frame: Vec<u8>) {
        self.inbox_bytes += frame.len();
        self.inbox.insert(due, frame);
    }

    fn take_until(&mut self, now: Time) -> Option<Vec<u8>> {
        let first = self.inbox.first_entry()?;
        let frame = (first.key().0 <= now).then(|| first.remove())?;
        self.inbox_bytes -= frame.len();
        Some(frame)
    }
}

/// One direction between two members.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    cut: bool,
    /// Of a million frames.
    lost: u32,
    /// Frames that pass before some are lost, and how many these are.
    next_lost: Option<(u32, u32)>,
    delay: Option<Duration>,
    /// When the last frame on it arrives: the next one does not overtake it.
    last: Time,
}

impl Path {
    /// Whether the next frame is one of those that are to be lost.
    fn loses_this(&mut self) -> bool {
        match &mut self.next_lost {
            Some((0, 0)) | None => false,
            Some((0, count)) => {
                *count -= 1;
                true
            }
            Some((after, _)) => {
                *after -= 1;
                false
            }
        }
    }
}

impl Network {
    /// A network that carries every frame within no time, until told otherwise.
    pub fn new(seed: u64) -> Self {
        Self(Rc::new(RefCell::new(World {
            now: Time::ZERO,
            random: seed,
            delay: Duration::ZERO,
            window_bytes: WINDOW_BYTES,
            members: BTreeMap::new(),
            paths: BTreeMap::new(),
            serial: 0,
        })))
    }

    /// A new member. It leaves the network when it is dropped.
    pub fn port(&self, settings: PortSettings) -> SimPort {
        let me = settings.incarnation;
        let member = Member {
            role: settings.role,
            stuck: false,
            allowance: 0,
            broken: false,
            inbox: BTreeMap::new(),
            inbox_bytes: 0,
        };
        self.0.borrow_mut().members.insert(me, member);
        let sink = SimSink { network: self.clone(), me };
        let source = SimSource { network: self.clone(), me };
        Port::new(settings, sink, source)
    }

    /// How long frames take on every path that has no delay of its own.
    pub fn set_delay(&self, delay: Duration) {
        self.0.borrow_mut().delay = delay;
    }

    /// How much may lie unread before a member: 2 MiB unless told otherwise. The
    /// fastest member sets the pace, as with Aeron's `fc=max`: while none has room
    /// the network takes nothing. Who is behind it by as much again loses what comes.
    pub fn set_window_bytes(&self, bytes: usize) {
        self.0.borrow_mut().window_bytes = bytes;
    }

    /// How long frames take from one member to another.
    pub fn set_path_delay(&self, from: Incarnation, to: Incarnation, delay: Duration) {
        self.0.borrow_mut().path(from, to).delay = Some(delay);
    }

    /// Loses `per_million` of the frames from one member to another.
    pub fn set_loss(&self, from: Incarnation, to: Incarnation, per_million: u32) {
        self.0.borrow_mut().path(from, to).lost = per_million;
    }

    /// Loses the next `count` frames from one member to another behind those
    /// `after` which.
    pub fn lose_after(&self, from: Incarnation, to: Incarnation, after: u32, count: u32) {
        self.0.borrow_mut().path(from, to).next_lost = Some((after, count));
    }

    /// Carries nothing from one member to another until [`Self::heal`].
    pub fn cut(&self, from: Incarnation, to: Incarnation) {
        self.0.borrow_mut().path(from, to).cut = true;
    }

    /// Carries frames again.
    pub fn heal(&self, from: Incarnation, to: Incarnation) {
        self.0.borrow_mut().path(from, to).cut = false;
    }

    /// [`Self::cut`] in both directions.
    pub fn partition(&self, one: Incarnation, other: Incarnation) {
        self.cut(one, other);
        self.cut(other, one);
    }

    /// [`Self::heal`] in both directions, without loss.
    pub fn join(&self, one: Incarnation, other: Incarnation) {
        for (from, to) in [(one, other), (other, one)] {
            self.heal(from, to);
            self.set_loss(from, to, 0);
        }
    }

    /// Whether the network refuses frames of a member for now, as an Aeron
    /// publication does under back-pressure.
    pub fn set_stuck(&self, member: Incarnation, stuck: bool) {
        if let Some(member) = self.0.borrow_mut().members.get_mut(&member) {
            member.stuck = stuck;
        }
    }

    /// How many frames the network takes of a member that is stuck.
    pub fn set_allowance(&self, member: Incarnation, frames: u32) {
        if let Some(member) = self.0.borrow_mut().members.get_mut(&member) {
            member.allowance = frames;
        }
    }

    /// Breaks a member's port until [`Self::mend_port`], as the death of a
    /// driver does. The member is called by the incarnation that its port had
    /// first, here and elsewhere.
    pub fn break_port(&self, member: Incarnation) {
        if let Some(member) = self.0.borrow_mut().members.get_mut(&member) {
            member.broken = true;
            member.inbox.clear();
            member.inbox_bytes = 0;
        }
    }

    /// Lets a port come back.
    pub fn mend_port(&self, member: Incarnation) {
        if let Some(member) = self.0.borrow_mut().members.get_mut(&member) {
            member.broken = false;
        }
    }

    /// Sends bytes to all members, whoever they are from and whatever they say.
    pub fn send_to_all(&self, bytes: &[u8]) {
        let mut world = self.0.borrow_mut();
        let (due, serial) = (world.now, world.serial + 1);
        world.serial = serial;
        for member in world.members.values_mut().filter(|member| !member.broken) {
            member.put((due, serial), bytes.to_vec());
        }
    }

    fn is_broken(&self, member: Incarnation) -> bool {
        self.0.borrow().members.get(&member).is_none_or(|member| member.broken)
    }

    /// When the next frame that is under way arrives.
    pub fn next_arrival(&self) -> Option<Time> {
        let world = self.0.borrow();
        let first = |member: &Member| member.inbox.keys().next().map(|&(due, _)| due);
        world.members.values().filter_map(first).min()
    }
}

impl World {
    fn path(&mut self, from: Incarnation, to: Incarnation) -> &mut Path {
        self.paths.entry((from, to)).or_default()
    }

    /// The next number of `SplitMix64`.
    fn chance(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn send(&mut self, from: Incarnation, head: &[u8], parts: &[&[u8]]) -> Offer {
        let Some(sender) = self.members.get_mut(&from) else { return Offer::Failed };
        if sender.broken {
            return Offer::Failed;
        }
        if sender.stuck && sender.allowance == 0 {
            return Offer::Busy;
        }
        let wanted = sender.role.other();
        let listening = || self.members.iter().filter(|(_, member)| member.role == wanted);
        let Some(least_bytes) = listening().map(|(_, member)| member.inbox_bytes).min() else {
            return Offer::Unheard;
        };
        if least_bytes >= self.window_bytes {
            return Offer::Busy;
        }
        let log_bytes = LOG_WINDOWS * self.window_bytes;
        let receivers: Vec<_> = listening()
            .filter(|(_, member)| member.inbox_bytes < log_bytes)
            .map(|(to, _)| *to)
            .collect();
        if let Some(sender) = self.members.get_mut(&from) {
            sender.allowance = sender.allowance.saturating_sub(1);
        }
        let mut frame = head.to_vec();
        for part in parts {
            frame.extend_from_slice(part);
        }
        for to in receivers {
            self.carry(from, to, &frame);
        }
        Offer::Taken
    }

    fn carry(&mut self, from: Incarnation, to: Incarnation, frame: &[u8]) {
        let dice = self.chance() % 1_000_000;
        let (now, usual) = (self.now, self.delay);
        let path = self.path(from, to);
        if path.cut || dice < u64::from(path.lost) || path.loses_this() {
            return;
        }
        path.last = path.last.max(now.after(path.delay.unwrap_or(usual)));
        let due = path.last;
        self.serial += 1;
        let serial = self.serial;
        if let Some(member) = self.members.get_mut(&to).filter(|member| !member.broken) {
            member.put((due, serial), frame.to_vec());
        }
    }

    fn receive(&mut self, me: Incarnation) -> Option<Vec<u8>> {
        let now = self.now;
        self.members.get_mut(&me)?.take_until(now)
    }
}

/// Sends into a [`Network`].
#[derive(Debug)]
pub struct SimSink {
    network: Network,
    me: Incarnation,
}

impl FrameSink for SimSink {
    fn offer(&mut self, head: &[u8], parts: &[&[u8]]) -> Offer {
        self.network.0.borrow_mut().send(self.me, head, parts)
    }

    fn max_frame_bytes(&self) -> usize {
        MAX_FRAME_BYTES
    }

    fn work(&mut self, now: Time) {
        let mut world = self.network.0.borrow_mut();
        world.now = world.now.max(now);
    }

    fn is_ready(&self) -> bool {
        !self.network.is_broken(self.me)
    }

    fn failure(&self) -> Option<&str> {
        (!self.is_ready()).then_some("the simulated network broke this port")
    }
}

/// Receives from a [`Network`].
#[derive(Debug)]
pub struct SimSource {
    network: Network,
    me: Incarnation,
}

impl FrameSource for SimSource {
    fn poll(&mut self, now: Time, limit: usize, mut on_frame: impl FnMut(&[u8])) -> usize {
        self.work(now);
        for count in 0..limit {
            // The network is free again before the frame is handled: its
            // reader may publish.
            let Some(frame) = self.network.0.borrow_mut().receive(self.me) else { return count };
            on_frame(&frame);
        }
        limit
    }

    fn work(&mut self, now: Time) {
        let mut world = self.network.0.borrow_mut();
        world.now = world.now.max(now);
    }

    fn is_ready(&self) -> bool {
        !self.network.is_broken(self.me)
    }

    fn failure(&self) -> Option<&str> {
        None
    }
}

impl Drop for SimSource {
    fn drop(&mut self) {
        self.network.0.borrow_mut().members.remove(&self.me);
    }
}
