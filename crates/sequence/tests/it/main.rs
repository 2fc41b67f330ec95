//! Scenarios of the sequencer, the journal and the replicas.

mod journal;
mod replicas;
mod twin;
