//! Three queues and the order in which they go to the socket.

use std::io::IoSlice;
use std::ops::Deref;

use crate::queue::Queue;
use crate::{FlushOrder, Priority};

/// Slices offered for one write.
const MAX_SLICES: usize = 32;

/// Bytes for the socket, in order, as slices for a vectored write. When one
/// priority is in use they are one slice.
pub struct Transmit<'a> {
    slices: [IoSlice<'a>; MAX_SLICES],
    count: usize,
}

impl Transmit<'_> {
    /// Bytes in all slices together.
    pub fn total_bytes(&self) -> usize {
        self.iter().map(|slice| slice.len()).sum()
    }
}

impl<'a> Deref for Transmit<'a> {
    type Target = [IoSlice<'a>];

    fn deref(&self) -> &Self::Target {
        &self.slices[..self.count]
    }
}

impl std::fmt::Debug for Transmit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Transmit({} bytes in {} slices)", self.total_bytes(), self.count)
    }
}

/// A run of bytes of one queue, and where the flush order goes on behind it.
#[derive(Clone, Copy)]
struct Run {
    queue: Priority,
    turn_after: u8,
    bytes: usize,
}

/// The queues, and a plan: the runs that were offered last. What is written
/// between an offer and its answer does not change the plan.
pub(crate) struct Output {
    queues: [Queue; 3],
    order: FlushOrder,
    /// Index into the flush order of the next frame's turn.
    turn: u8,
    /// The queue whose first frame is partly sent.
    in_frame: Option<Priority>,
    plan: [Run; MAX_SLICES],
    planned: usize,
}

impl Output {
    /// Queues that keep up to `retained_bytes` each when they are empty.
    pub(crate) fn new(order: FlushOrder, retained_bytes: usize) -> Self {
        Self {
            queues: std::array::from_fn(|_| Queue::new(retained_bytes)),
            order,
            turn: 0,
            in_frame: None,
            plan: [Run { queue: Priority::High, turn_after: 0, bytes: 0 }; MAX_SLICES],
            planned: 0,
        }
    }

    pub(crate) fn queue(&mut self, priority: Priority) -> &mut Queue {
        &mut self.queues[priority.index()]
    }

    pub(crate) fn queued_bytes(&self) -> usize {
        self.queues.iter().map(Queue::queued_bytes).sum()
    }

    pub(crate) fn sealed_bytes(&self) -> usize {
        self.queues.iter().map(Queue::sealed_bytes).sum()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.queues.iter().map(Queue::memory_bytes).sum()
    }

    /// Gives the memory of empty queues back.
    pub(crate) fn rest(&mut self) {
        self.queues.iter_mut().for_each(Queue::rest);
    }

    /// Drops all that waits.
    pub(crate) fn clear(&mut self) {
        self.queues = std::array::from_fn(|_| Queue::new(0));
        self.in_frame = None;
        self.planned = 0;
    }

    /// Plans the next write and offers it.
    pub(crate) fn transmit(&mut self) -> Option<Transmit<'_>> {
        self.make_plan();
        if self.planned == 0 {
            return None;
        }
        let mut slices = [IoSlice::new(&[]); MAX_SLICES];
        let mut offered = [0; 3];
        for (slice, run) in slices.iter_mut().zip(&self.plan[..self.planned]) {
            let start = &mut offered[run.queue.index()];
            let sealed = self.queues[run.queue.index()].sealed();
            *slice = IoSlice::new(&sealed[*start..*start + run.bytes]);
            *start += run.bytes;
        }
        Some(Transmit { slices, count: self.planned })
    }

    fn make_plan(&mut self) {
        self.planned = 0;
        let waits = |queue: &Priority| self.queues[queue.index()].sealed_bytes() > 0;
        let mut waiting = Priority::ALL.into_iter().filter(waits);
        let (first, second) = (waiting.next(), waiting.next());
        match (first, second) {
            (None, _) => {}
            (Some(only), None) => {
                let bytes = self.queues[only.index()].sealed_bytes();
                self.add_run(Run { queue: only, bytes, turn_after: self.turn });
            }
            _ => self.plan_by_turns(),
        }
    }

    /// Walks the flush order, one frame a turn. A frame that is partly sent
    /// goes first: nothing may come into its middle.
    fn plan_by_turns(&mut self) {
        let mut taken = [0; 3];
        let mut turn = self.turn;
        if let Some(queue) = self.in_frame {
            let bytes = self.queues[queue.index()].frame(0).unwrap_or(0);
            taken[queue.index()] = 1;
            self.add_run(Run { queue, bytes, turn_after: turn });
        }
        // At most 32.
        let turns = self.order.turns().len() as u8;
        let mut empty_turns = 0;
        while empty_turns < turns {
            let queue = self.order.turns()[usize::from(turn % turns)];
            turn = (turn + 1) % turns;
            let index = queue.index();
            let Some(bytes) = self.queues[index].frame(taken[index]) else {
                empty_turns += 1;
                continue;
            };
            empty_turns = 0;
            taken[index] += 1;
            if !self.add_run(Run { queue, bytes, turn_after: turn }) {
                return;
            }
        }
    }

    /// Adds a run to the plan, to its last run if both are of one queue.
    /// False when the plan is full.
    fn add_run(&mut self, run: Run) -> bool {
        if let Some(last) = self.plan[..self.planned].last_mut()
            && last.queue == run.queue
        {
            last.bytes += run.bytes;
            last.turn_after = run.turn_after;
            return true;
        }
        let Some(free) = self.plan.get_mut(self.planned) else { return false };
        *free = run;
        self.planned += 1;
        true
    }

    /// Takes note that the first `count` offered bytes were sent.
    pub(crate) fn sent(&mut self, count: usize) {
        let mut left = count;
        for run in &self.plan[..self.planned] {
            if left == 0 {
                break;
            }
            let now = left.min(run.bytes);
            left -= now;
            let in_frame = self.queues[run.queue.index()].sent(now);
            self.in_frame = in_frame.then_some(run.queue);
            self.turn = run.turn_after;
        }
        self.planned = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(output: &mut Output, priority: Priority, frame: &[u8]) {
        let queue = output.queue(priority);
        queue.reserve(frame.len());
        queue.extend(frame.len()).copy_from_slice(frame);
        queue.seal();
    }

    fn drain(output: &mut Output, most: usize) -> String {
        let mut wire = Vec::new();
        while let Some(transmit) = output.transmit() {
            let offered: Vec<u8> = transmit.iter().flat_map(|slice| slice.to_vec()).collect();
            let count = offered.len().min(most);
            wire.extend_from_slice(&offered[..count]);
            output.sent(count);
        }
        String::from_utf8(wire).unwrap()
    }

    fn three_of_each(order: &str) -> Output {
        let mut output = Output::new(FlushOrder::new(order).unwrap(), 1000);
        for frames in [["h1 ", "h2 ", "h3 "], ["m1 ", "m2 ", "m3 "], ["l1 ", "l2 ", "l3 "]] {
            let priority = Priority::ALL
                [["h", "m", "l"].iter().position(|p| frames[0].starts_with(p)).unwrap()];
            for frame in frames {
                push(&mut output, priority, frame.as_bytes());
            }
        }
        output
    }

    #[test]
    fn frames_go_by_the_flush_order() {
        let all = drain(&mut three_of_each("HMHLHM"), usize::MAX);
        assert_eq!(all, "h1 m1 h2 l1 h3 m2 m3 l2 l3 ");
        assert_eq!(drain(&mut three_of_each("HHM"), usize::MAX), "h1 h2 m1 h3 m2 m3 l1 l2 l3 ");
    }

    #[test]
    fn the_order_holds_for_any_size_of_write() {
        for most in 1..28 {
            let all = drain(&mut three_of_each("HMHLHM"), most);
            let frames: Vec<&str> = all.split_whitespace().collect();
            assert_eq!(frames.len(), 9, "{all}");
            for priority in ["h", "m", "l"] {
                let of_one: Vec<_> = frames.iter().filter(|f| f.starts_with(priority)).collect();
                assert!(of_one.is_sorted(), "{all}");
            }
        }
    }

    #[test]
    fn an_urgent_frame_overtakes_but_does_not_cut_in() {
        let mut output = Output::new(FlushOrder::default(), 1000);
        push(&mut output, Priority::Low, b"low1 ");
        push(&mut output, Priority::Low, b"low2 ");
        assert_eq!(output.transmit().unwrap().total_bytes(), 10);
        // Written after the offer: it must not shift what the offer meant.
        push(&mut output, Priority::High, b"high ");
        output.sent(2);
        assert_eq!(drain(&mut output, usize::MAX), "w1 high low2 ");
    }

    #[test]
    fn one_priority_is_one_slice() {
        let mut output = Output::new(FlushOrder::default(), 1000);
        for _ in 0..100 {
            push(&mut output, Priority::Medium, b"frame");
        }
        let transmit = output.transmit().unwrap();
        assert_eq!((transmit.len(), transmit.total_bytes()), (1, 500));
    }
}
