//! What is freed in small pieces, given back a little at a time.

use std::hint::black_box;

/// Large enough that the allocator looks for it among what it has joined.
const LARGE_BYTES: usize = 4 * 1024;

/// Has the allocator join the small pieces that were freed since the last time.
///
/// That of glibc leaves pieces of up to 128 bytes as they are, however many
/// there are, until one of a kilobyte or more is asked for; then it joins them
/// all. Behind a mount of 100,000 items that is one pause of 10 to 20 ms, in
/// whatever turn happens to need a larger piece next. Who frees much in slices
/// calls this after each of them. It costs some hundred instructions where there
/// is nothing to join, and does nothing with allocators that have no such
/// custom.
pub fn join_freed() {
    drop(black_box(Vec::<u8>::with_capacity(LARGE_BYTES)));
}
