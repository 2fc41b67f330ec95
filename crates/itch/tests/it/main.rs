//! Messages as they are on the wire, and beside another reader of them; a stream of lossy lines.

mod counterpart;
mod golden;
mod lossy;
mod random;
