//! What people see on a terminal.

mod number;
mod screen;
mod table;

pub(crate) use number::rate;
pub(crate) use screen::Screen;
pub(crate) use table::{Align, Table};

use std::io::{self, IsTerminal};

use tapeline_inspect::Palette;

/// Colours only for people, and only for those who want them.
pub(crate) fn palette() -> Palette {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if io::stdout().is_terminal() && !is_unwanted { Palette::Ansi } else { Palette::Plain }
}
