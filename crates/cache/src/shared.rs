//! Updates of one item merged for all its slow receivers.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use tapeline_planted::planted;
use tapeline_rwf::UpdateMsg;

use crate::{Conflation, Limits, Merged};

/// What the allocator and the tables of a section take beside its content,
/// about.
const SECTION_BYTES: usize = size_of::<Section>() + 256;

/// Updates of one item that are merged for several receivers, each of which got
/// its last update at another time.
///
/// An update is merged once, however many receivers wait for it. What waits is
/// in sections; one begins where a receiver joins:
///
/// ```text
///   updates    1  2  3  4  5  6  7
///   sections  └── 1 ──┘└─ 2 ─┘└─ 3     who joined behind 3 gets sections 2 and 3
/// ```
///
/// So each receiver gets exactly what came since it joined, no field twice. A
/// section with which nobody begins any more is merged into the one before it:
/// there are never more sections than times at which receivers joined that
/// still wait.
#[derive(Debug)]
pub struct SharedConflation {
    limits: Limits,
    /// None but the last is empty.
    sections: VecDeque<Section>,
    next: NonZeroU32,
    receivers: usize,
    bytes: usize,
}

/// Where a receiver joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since(NonZeroU32);

#[derive(Debug)]
struct Section {
    number: NonZeroU32,
    /// How many begin with it.
    receivers: u32,
    conflation: Conflation,
}

impl Section {
    fn bytes(&self) -> usize {
        SECTION_BYTES + self.conflation.bytes()
    }
}

/// Buffers for what several sections have together, to be used again.
#[derive(Debug)]
pub struct Combiner {
    combined: Conflation,
    payload: Vec<u8>,
}

impl Combiner {
    /// Buffers that are empty yet, for merged updates within these limits.
    pub fn new(limits: Limits) -> Self {
        Self { combined: Conflation::new(limits), payload: Vec::new() }
    }
}

impl Default for Combiner {
    fn default() -> Self {
        Self::new(Limits::CONFLATION)
    }
}

impl SharedConflation {
    /// Nothing waits, and nobody does.
    pub fn new(limits: Limits) -> Self {
        Self { limits, sections: VecDeque::new(), next: NonZeroU32::MIN, receivers: 0, bytes: 0 }
    }

    /// One more receiver waits for the updates that come from now on.
    pub fn join(&mut self) -> Since {
        self.receivers += 1;
        if let Some(last) = self.sections.back_mut().filter(|last| last.conflation.is_empty()) {
            last.receivers += 1;
            return Since(last.number);
        }
        let number = self.next;
        // Sections are few, and the first numbers are long out of use when they
        // come again.
        self.next = number.checked_add(1).unwrap_or(NonZeroU32::MIN);
        let conflation = Conflation::new(self.limits);
        self.sections.push_back(Section { number, receivers: 1, conflation });
        self.bytes += SECTION_BYTES;
        Since(number)
    }

    /// Merges an update for all who wait. If it is not merged, each of them has
    /// to have [what waits](Self::updates), then the update itself.
    pub fn merge(&mut self, now_ms: u64, update: &UpdateMsg<'_>) -> Merged {
        let count = self.sections.len();
        if let Some(before) = count.checked_sub(2).and_then(|at| self.sections.get(at))
            && !before.conflation.fits(update)
        {
            return Merged::No;
        }
        let Some(last) = self.sections.back_mut() else { return Merged::No };
        let before = last.conflation.bytes();
        let merged = last.conflation.merge(now_ms, update);
        self.bytes = self.bytes - before + last.conflation.bytes();
        merged
    }

    /// Gives `each` what came since a receiver joined: as a rule one update, and
    /// none if nothing came. Where all together would go beyond the limits,
    /// they are several. Each says how many updates it was and over which time.
    pub fn updates(
        &self,
        since: Since,
        combiner: &mut Combiner,
        mut each: impl FnMut(&UpdateMsg<'_>),
    ) {
        let Some(from) = self.place(since) else { return };
        let Combiner { combined, payload } = combiner;
        let sections = self.sections.range(from..).map(|section| &section.conflation);
        let mut sections = sections.filter(|conflation| !conflation.is_empty()).peekable();
        while let Some(first) = sections.next() {
            if sections.peek().is_none() {
                return each(&first.update(payload));
            }
            combined.clear();
            let mut merged = combined.absorb(first, payload);
            while merged == Merged::Yes
                && let Some(next) = sections.peek()
            {
                merged = combined.absorb(next, payload);
                if merged == Merged::Yes {
                    sections.next();
                }
            }
            each(&combined.update(payload));
        }
    }

    /// A receiver does not wait any more: it has what came, or needs it not.
    pub fn leave(&mut self, since: Since, combiner: &mut Combiner) {
        let Some(at) = self.place(since) else { return };
        let section = &mut self.sections[at];
        section.receivers -= 1;
        self.receivers -= 1;
        if section.receivers > 0 {
            return;
        }
        if let Some(before) = at.checked_sub(1) {
            return self.join_sections(before, combiner);
        }
        while self.sections.front().is_some_and(|first| first.receivers == 0) {
            let gone = self.sections.pop_front();
            self.bytes -= gone.map_or(0, |gone| gone.bytes());
        }
    }

    /// Makes one section of one and the next, with which nobody begins.
    fn join_sections(&mut self, before: usize, combiner: &mut Combiner) {
        let Some(gone) = self.sections.remove(before + 1) else { return };
        let kept = &mut self.sections[before];
        let bytes = kept.bytes() + gone.bytes();
        let merged = match gone.conflation.is_empty() || planted!(LostAbsorption) {
            true => Merged::Yes,
            false => kept.conflation.absorb(&gone.conflation, &mut combiner.payload),
        };
        self.bytes = self.bytes - bytes + kept.bytes();
        if merged != Merged::Yes {
            // Too much for one section.
            self.bytes += gone.bytes();
            self.sections.insert(before + 1, gone);
        }
    }

    fn place(&self, since: Since) -> Option<usize> {
        self.sections.iter().position(|section| section.number == since.0)
    }

    /// How many wait.
    pub fn receivers(&self) -> usize {
        self.receivers
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.receivers == 0
    }

    /// Bytes that it takes, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
