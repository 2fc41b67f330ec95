//! A backbone for many: a log of what hubs send and one of what servers send, each
//! frame kept once, and a place in the other's log for each who reads.
//!
//! That is what a multicast channel is. [`tapeline_backbone::sim`] has a copy of each
//! frame for each of its readers, and faults on each path: with a hundred of them, the
//! time of a hub would be that of the copies.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use tapeline_backbone::{
    FrameHeader, FrameSink, FrameSource, Incarnation, Kind, Offer, Port, PortSettings, Role,
};
use tapeline_time::Time;

/// A member of it.
pub(super) type WirePort = Port<Writer, Reader>;

/// The longest frame that goes whole: what a datagram of the usual length carries.
const MAX_FRAME_BYTES: usize = 1408 - 32;

/// What is kept and freed at once of a log.
const CHUNK_BYTES: usize = 256 << 10;

/// How far the slowest reader may be behind who writes: three terms of a hub's stream.
const WINDOW_BYTES: u64 = 48 << 20;

/// The kinds of frames have numbers below this.
const KINDS: usize = 32;

/// Frames, and their bytes with the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Traffic {
    const fn note(&mut self, bytes: usize) {
        self.frames += 1;
        self.bytes += bytes as u64;
    }

    pub(super) const fn since(self, before: Self) -> Self {
        Self { frames: self.frames - before.frames, bytes: self.bytes - before.bytes }
    }
}

/// What one side sent so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// Each frame once, however many read it.
    pub(super) once: Traffic,
    /// Each frame for each who reads, as over channels of their own.
    pub(super) to_each: Traffic,
    pub(super) by_kind: [u64; KINDS],
    /// Times that the slowest reader was too far behind.
    pub(super) held: u64,
}

/// What one member read so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    pub(super) all: Traffic,
    /// Of them, those to this member alone.
    pub(super) own: Traffic,
    /// Frames that did not reach it.
    pub(super) lost: u64,
}

/// Everything between the ports. Clones are handles to the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Wire {
    of_hubs: Rc<RefCell<Log>>,
    of_servers: Rc<RefCell<Log>>,
}

#[derive(Debug, Default)]
struct Log {
    delay: Duration,
    now: Time,
    chunks: VecDeque<Chunk>,
    /// The number of the first chunk that is kept.
    first: u64,
    /// Chunks to be used again.
    spare: Vec<Chunk>,
    written: u64,
    slowest: u64,
    places: Vec<Place>,
    writers: Vec<Writing>,
    sent: Sent,
}

#[derive(Debug, Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// When each arrives, and where it ends.
    frames: Vec<(Time, u32)>,
}

/// A member that writes.
#[derive(Clone, Copy, Debug)]
struct Writing {
    me: Incarnation,
    /// It is not heard by anybody.
    is_mute: bool,
    /// Frames, but for presence.
    said: u64,
}

/// How far a reader is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    me: Incarnation,
    is_there: bool,
    is_cut: bool,
    chunk: u64,
    frame: usize,
    /// Bytes of the log before it.
    read: u64,
    heard: Heard,
}

impl Wire {
    pub(super) fn new(delay: Duration) -> Self {
        let wire = Self::default();
        wire.of_hubs.borrow_mut().delay = delay;
        wire.of_servers.borrow_mut().delay = delay;
        wire
    }

    /// A new member. It leaves when it is dropped.
    pub(super) fn port(&self, settings: PortSettings) -> WirePort {
        let me = settings.incarnation;
        let (out, inbound) = match settings.role {
            Role::Hub => (&self.of_hubs, &self.of_servers),
            Role::Server => (&self.of_servers, &self.of_hubs),
        };
        let place = inbound.borrow_mut().enter(me);
        let reader = Reader { log: inbound.clone(), place };
        let mut log = out.borrow_mut();
        log.writers.push(Writing { me, is_mute: false, said: 0 });
        let place = log.writers.len() - 1;
        drop(log);
        Port::new(settings, Writer { log: out.clone(), place }, reader)
    }

    /// Whether nothing of hubs reaches a server.
    pub(super) fn set_deaf(&self, server: Incarnation, is_deaf: bool) {
        let mut log = self.of_hubs.borrow_mut();
        for place in log.places.iter_mut().filter(|place| place.me == server) {
            place.is_cut = is_deaf;
        }
    }

    /// Whether nothing of a server reaches any hub.
    pub(super) fn set_mute(&self, server: Incarnation, is_mute: bool) {
        let mut log = self.of_servers.borrow_mut();
        for writer in log.writers.iter_mut().filter(|writer| writer.me == server) {
            writer.is_mute = is_mute;
        }
    }

    /// Frames that a server sent so far, but for presence.
    pub(super) fn said(&self, server: Incarnation) -> u64 {
        let log = self.of_servers.borrow();
        log.writers.iter().filter(|writer| writer.me == server).map(|writer| writer.said).sum()
    }

    pub(super) fn sent(&self, role: Role) -> Sent {
        match role {
            Role::Hub => self.of_hubs.borrow().sent,
            Role::Server => self.of_servers.borrow().sent,
        }
    }

    /// What a member read, or those before it in its place.
    pub(super) fn heard(&self, role: Role, me: Incarnation) -> Heard {
        let log = match role {
            Role::Hub => self.of_servers.borrow(),
            Role::Server => self.of_hubs.borrow(),
        };
        let place = log.places.iter().find(|place| place.me == me && place.is_there);
        place.map(|place| place.heard).unwrap_or_default()
    }

    /// Frees what all have read.
    pub(super) fn trim(&self) {
        self.of_hubs.borrow_mut().trim();
        self.of_servers.borrow_mut().trim();
    }

    /// When the first frame that somebody has yet to read arrives.
    pub(super) fn next_arrival(&self) -> Option<Time> {
        let logs = [self.of_hubs.borrow().next_arrival(), self.of_servers.borrow().next_arrival()];
        logs.into_iter().flatten().min()
    }
}

impl Log {
    fn end(&self) -> (u64, usize) {
        let last = self.chunks.len().max(1) as u64 - 1;
        (self.first + last, self.chunks.back().map_or(0, |chunk| chunk.frames.len()))
    }

    fn enter(&mut self, me: Incarnation) -> usize {
        let (chunk, frame) = self.end();
        let place =
            Place { me, is_there: true, chunk, frame, read: self.written, ..Place::default() };
        let free = self.places.iter().position(|place| !place.is_there);
        match free {
            Some(index) => {
                self.places[index] = place;
                index
            }
            None => {
                self.places.push(place);
                self.places.len() - 1
            }
        }
    }

    fn readers(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.is_there)
    }

    fn write(&mut self, writer: usize, head: &[u8], parts: &[&[u8]]) -> Offer {
        if self.written - self.slowest > WINDOW_BYTES {
            self.slowest = self.readers().map(|place| place.read).min().unwrap_or(self.written);
            if self.written - self.slowest > WINDOW_BYTES {
                self.sent.held += 1;
                return Offer::Busy;
            }
        }
        let length = head.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        self.count(head, length);
        let writer = &mut self.writers[writer];
        writer.said += u64::from(head.first() != Some(&(Kind::Presence as u8)));
        if writer.is_mute {
            return Offer::Taken;
        }
        let is_full = |chunk: &Chunk| chunk.bytes.len() + length > CHUNK_BYTES;
        if self.chunks.back().is_none_or(is_full) {
            let fresh = || Chunk { bytes: Vec::with_capacity(CHUNK_BYTES), ..Chunk::default() };
            self.chunks.push_back(self.spare.pop().unwrap_or_else(fresh));
        }
        let due = self.now.after(self.delay);
        let Some(chunk) = self.chunks.back_mut() else { return Offer::Failed };
        chunk.bytes.extend_from_slice(head);
        for part in parts {
            chunk.bytes.extend_from_slice(part);
        }
        chunk.frames.push((due, chunk.bytes.len() as u32));
        self.written += length as u64;
        Offer::Taken
    }

    fn count(&mut self, head: &[u8], length: usize) {
        let readers = self.readers().count() as u64;
        self.sent.once.note(length);
        self.sent.to_each.frames += readers;
        self.sent.to_each.bytes += readers * length as u64;
        let kind = head.first().map_or(0, |kind| usize::from(*kind));
        self.sent.by_kind[kind % KINDS] += 1;
    }

    /// Hands frames that have arrived to a reader; where it is then, and their number.
    fn read(&self, place: usize, limit: usize, mut on_frame: impl FnMut(&[u8])) -> (Place, usize) {
        let mut at = self.places[place];
        let mut count = 0;
        while count < limit {
            let Some(chunk) = self.chunks.get((at.chunk - self.first) as usize) else { break };
            let Some((due, end)) = chunk.frames.get(at.frame).copied() else {
                if at.chunk - self.first + 1 >= self.chunks.len() as u64 {
                    break;
                }
                (at.chunk, at.frame) = (at.chunk + 1, 0);
                continue;
            };
            if due > self.now {
                break;
            }
            let start = at.frame.checked_sub(1).map_or(0, |before| chunk.frames[before].1);
            let frame = &chunk.bytes[start as usize..end as usize];
            at.frame += 1;
            at.read += frame.len() as u64;
            if at.is_cut {
                at.heard.lost += 1;
                continue;
            }
            count += 1;
            at.heard.all.note(frame.len());
            if frame[8..12] == at.me.0.to_le_bytes() {
                at.heard.own.note(frame.len());
            }
            on_frame(frame);
        }
        (at, count)
    }

    fn trim(&mut self) {
        let (end, _) = self.end();
        let oldest = self.readers().map(|place| place.chunk).min().unwrap_or(end);
        while self.first < oldest && self.chunks.len() > 1 {
            let Some(mut chunk) = self.chunks.pop_front() else { break };
            self.first += 1;
            chunk.bytes.clear();
            chunk.frames.clear();
            self.spare.push(chunk);
        }
    }

    fn next_arrival(&self) -> Option<Time> {
        let next = |place: &Place| {
            let chunk = self.chunks.get((place.chunk - self.first) as usize)?;
            let behind =
                || self.chunks.get((place.chunk - self.first) as usize + 1)?.frames.first();
            chunk.frames.get(place.frame).or_else(behind).map(|(due, _)| *due)
        };
        self.readers().filter_map(next).min()
    }
}

/// Sends into a [`Wire`].
#[derive(Debug)]
pub(super) struct Writer {
    log: Rc<RefCell<Log>>,
    place: usize,
}

impl FrameSink for Writer {
    fn offer(&mut self, head: &[u8], parts: &[&[u8]]) -> Offer {
        debug_assert!(head.len() >= FrameHeader::BYTES, "a frame begins with its header");
        let mut log = self.log.borrow_mut();
        let is_heard = log.readers().next().is_some();
        if is_heard { log.write(self.place, head, parts) } else { Offer::Unheard }
    }

    fn max_frame_bytes(&self) -> usize {
        MAX_FRAME_BYTES
    }

    fn work(&mut self, now: Time) {
        let mut log = self.log.borrow_mut();
        log.now = log.now.max(now);
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn failure(&self) -> Option<&str> {
        None
    }
}

/// Receives from a [`Wire`].
#[derive(Debug)]
pub(super) struct Reader {
    log: Rc<RefCell<Log>>,
    place: usize,
}

impl FrameSource for Reader {
    fn poll(&mut self, now: Time, limit: usize, on_frame: impl FnMut(&[u8])) -> usize {
        self.work(now);
        // Who reads may publish meanwhile, into the other log.
        let (place, count) = self.log.borrow().read(self.place, limit, on_frame);
        self.log.borrow_mut().places[self.place] = place;
        count
    }

    fn work(&mut self, now: Time) {
        let mut log = self.log.borrow_mut();
        log.now = log.now.max(now);
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn failure(&self) -> Option<&str> {
        None
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.log.borrow_mut().places[self.place].is_there = false;
    }
}
