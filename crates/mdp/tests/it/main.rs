//! Messages as the reference SBE tool writes them, in other versions, at random, and damaged.

mod golden;
mod random;
mod versions;
