//! What hubs and servers see of the backbone.

use tapeline_time::Time;

use crate::PeerRow;
use crate::frame::{BusEvent, FrameHeader, Incarnation};
use crate::presence::ClockOffset;

/// How publishing a frame went. It never blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// On its way, or first in the queue of this port.
    Sent,
    /// Lost, because the queue is full. Its place in the stream is used up, so
    /// every peer sees a [`BusEvent::Gap`].
    Dropped,
    /// Not sent: the target is not up.
    NoPeer,
    /// Not sent: its body is longer than [`MAX_BODY_BYTES`](crate::MAX_BODY_BYTES).
    /// Peers see no gap.
    TooLarge,
}

/// The half of a port that sends.
pub trait Publish {
    /// Sends `header` with the concatenation of `parts` as its body. Sender,
    /// place in the stream and link are filled in.
    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published;

    /// Whether so much waits in the queue that sources should be read no
    /// further for a while (a bounded one: a peer that is stuck for longer
    /// loses frames and recovers from images).
    fn is_congested(&self) -> bool;

    /// How full the queue is, in percent; frames that were cut have room of their
    /// own and do not count.
    fn queue_percent(&self) -> u8;
}

/// One member of the backbone: a hub's or a server's port.
pub trait Bus {
    /// The half that sends.
    type Outbound: Publish;

    /// Who this port is now: it is another one after it was cut off.
    fn incarnation(&self) -> Incarnation;

    /// The half that sends.
    fn outbound(&mut self) -> &mut Self::Outbound;

    /// Hands at most about `limit` received frames, and what became of peers,
    /// to `on_event`, with the sending half to answer at once. Returns the
    /// number of frames read, also those for others.
    fn poll(
        &mut self,
        now: Time,
        limit: usize,
        on_event: impl FnMut(BusEvent<'_>, &mut Self::Outbound),
    ) -> usize;

    /// Sends what waits in the queue, and presence when it is due. Call it
    /// every turn. Returns the number of frames sent.
    fn work(&mut self, now: Time) -> usize;

    /// Says goodbye: peers see [`BusEvent::PeerDown`] at once. What is
    /// published after this still goes out, but no presence does.
    fn leave(&mut self, now: Time);

    /// What happened so far.
    fn counters(&self) -> Counters;

    /// The peers, up or about to be, as rows: there are few.
    fn peers(&self) -> Vec<PeerRow> {
        Vec::new()
    }

    /// How far the clock of a peer's host is from ours, if that is known.
    fn clock_of(&self, _peer: Incarnation) -> Option<ClockOffset> {
        None
    }

    /// Whether frames can leave and arrive. A port that cannot has no peers. It
    /// comes back by itself, as a new member: with another incarnation.
    fn is_ready(&self) -> bool;

    /// Why this port is not ready, if something failed.
    fn failure(&self) -> Option<&str>;

    /// [`Publish::publish`] on the sending half.
    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        self.outbound().publish(header, parts)
    }

    /// [`Publish::is_congested`] of the sending half.
    fn is_congested(&mut self) -> bool {
        self.outbound().is_congested()
    }
}

tapeline_counters::counts! {
    /// Counts of a port since its start.
    pub struct Counters = "backbone" {
        /// Frames given to the network, presence included.
        sent: u64 = total;
        /// Frames that had to wait in the queue.
        queued: u64 = total;
        /// Frames lost because the queue was full or the network stayed away while
        /// they were in it.
        dropped: u64 = total;
        /// Frames given to a network on which nobody listened.
        unheard: u64 = total;
        /// Frames not sent, as their target was not up.
        no_peer: u64 = total;
        /// Frames not sent, as they were too long.
        too_large: u64 = total;
        /// Frames that were cut into pieces, as the network carries none so long
        /// at once; pieces count as frames everywhere else.
        cut: u64 = total;
        /// Frames that were put together of pieces.
        joined: u64 = total;
        /// Frames of which pieces came, and that were given up: a piece was lost,
        /// or there was no room.
        given_up: u64 = total;
        /// Bytes that wait for the rest of their frames now.
        partial_bytes: usize = now(bytes);
        /// Frames received, of all kinds and for all targets.
        received: u64 = total;
        /// Holes seen in the streams of peers.
        gaps: u64 = total;
        /// Frames missing in those holes.
        lost: u64 = total;
        /// Frames for this port of an earlier meeting with their sender.
        stale: u64 = total;
        /// Frames of a peer that was not known yet, or to all of one that was not
        /// up yet.
        early: u64 = total;
        /// Bytes that were no frame, and presence that could not be read.
        malformed: u64 = total;
        /// Presence of peers for which there was no room in the table.
        crowded: u64 = total;
        /// Presence of other systems.
        strangers: u64 = total;
        /// Presence of this system without the proof that its key asks for.
        unproved: u64 = total;
        /// How often the port was cut off from the backbone and began anew.
        renewals: u64 = total;
        /// Bytes that wait in the queue now.
        queue_bytes: usize = now(bytes), at most "queue-bytes";
        /// Of them, those of frames that were cut.
        long_queue_bytes: usize = now(bytes);
        /// Frames that came again over another network.
        path_duplicates: u64 = total;
        /// Frames that waited for others that were missing on their network.
        path_waits: u64 = total;
        /// Frames that a network (or a hub of several that are reached by unicast) was
        /// not given, as it had taken nothing for too long; others had them.
        path_passed_by: u64 = total;
        /// Networks over which nothing comes now, while something comes over others.
        paths_silent: usize = now;
        /// How often that began.
        path_losses: u64 = total;
        /// Peers that are up now.
        peers: usize = now, at most "max-servers";
    }
}
