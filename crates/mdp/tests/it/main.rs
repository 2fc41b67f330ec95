//! Messages as the reference SBE tool writes them, in other versions, at random, and
//! damaged; and that nothing is allocated for them.

mod golden;
mod no_allocation;
mod random;
mod versions;
