//! One way at rising rates, of which samples are answered: the drop-in for
//! sfnt-stream.

mod options;
mod pacer;
mod rate;
mod run;

pub use run::run;
