//! The command lines of the classic test tools, `sink_driven_src` and
//! `rmdstestclient`: options of one or more letters behind one dash.
//!
//! They are written in the long form before the command line is parsed, so
//! that a written test procedure runs as it stands:
//!
//! ```text
//! tapeline source -S RDFD -N 14002 -tps 500 -K
//!                 ▼
//! tapeline source --service=RDFD --port=14002 --tps=500
//! ```

mod options;
mod reference;
mod rewrite;

#[cfg(test)]
pub(crate) use options::Effect;
pub(crate) use options::{CLIENT, ClassicOption, SOURCE};
pub(crate) use reference::help;
pub(crate) use rewrite::{UnknownOption, rewrite};

/// The classic options of a subcommand; `None` if it never had any.
pub(crate) fn options_of(subcommand: &str) -> Option<&'static [ClassicOption]> {
    match subcommand {
        "source" => Some(&SOURCE),
        "client" => Some(&CLIENT),
        _ => None,
    }
}
