//! How long source and clients had something to do, though they share a thread that
//! spins.

use tapeline_measure::clock::now_ns;

use crate::run::{CLIENTS, SOURCE};

/// Told where fan-out is measured: a look at the clock is little beside what is done in
/// one of its turns, and much beside an update whose latency is told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Busy {
    is_told: bool,
    source_ns: u64,
    clients_ns: u64,
}

impl Busy {
    pub(crate) fn told_if(is_told: bool) -> Self {
        Self { is_told, ..Self::default() }
    }

    /// The source sent so many, from `began_ns` until now, which is returned.
    #[inline]
    pub(crate) fn note_source(&mut self, began_ns: u64, updates: usize) -> u64 {
        if !self.is_told || updates == 0 {
            return began_ns;
        }
        let now = now_ns();
        self.source_ns += now - began_ns;
        now
    }

    /// The clients found so much, from `began_ns` until now.
    #[inline]
    pub(crate) fn note_clients(&mut self, began_ns: u64, work: usize) {
        if self.is_told && work > 0 {
            self.clients_ns += now_ns() - began_ns;
        }
    }

    /// Seconds since the start, by part.
    pub(crate) fn seconds(&self) -> impl Iterator<Item = (String, f64)> {
        let parts = self.is_told.then_some([(SOURCE, self.source_ns), (CLIENTS, self.clients_ns)]);
        parts.into_iter().flatten().map(|(part, ns)| (part.to_owned(), ns as f64 / 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_did_something_was_busy() {
        let mut busy = Busy::told_if(true);
        let began = now_ns() - 1_000_000;
        assert_eq!(busy.note_source(began, 0), began);
        busy.note_clients(began, 0);
        assert!(busy.seconds().all(|(_, seconds)| seconds == 0.0));
        let then = busy.note_source(began, 3);
        assert!(then >= began + 1_000_000);
        busy.note_clients(then - 2_000_000, 1);
        let seconds: Vec<_> = busy.seconds().collect();
        assert_eq!((&seconds[0].0[..], &seconds[1].0[..]), (SOURCE, CLIENTS));
        assert!(seconds[0].1 >= 0.001 && seconds[1].1 >= 0.002, "{seconds:?}");
        assert_eq!(Busy::told_if(false).seconds().count(), 0);
    }
}
