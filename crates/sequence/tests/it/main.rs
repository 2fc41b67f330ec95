//! Scenarios of the sequencer and the journal.

mod journal;
