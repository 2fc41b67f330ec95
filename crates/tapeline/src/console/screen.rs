//! Lines that are drawn over those of the last time.

use std::io::{self, Write};

/// A block of lines: drawn in place on a terminal, one below the other
/// elsewhere.
pub(crate) struct Screen {
    is_terminal: bool,
    drawn: usize,
}

impl Screen {
    /// Nothing is drawn yet.
    pub(crate) fn new(is_terminal: bool) -> Self {
        Self { is_terminal, drawn: 0 }
    }

    /// Draws the lines.
    pub(crate) fn draw(&mut self, out: &mut impl Write, lines: &[String]) -> io::Result<()> {
        if self.is_terminal && self.drawn > 0 {
            write!(out, "\x1b[{}A", self.drawn)?;
        }
        for line in lines {
            match self.is_terminal {
                true => writeln!(out, "{line}\x1b[K")?,
                false => writeln!(out, "{line}")?,
            }
        }
        if self.is_terminal {
            // What a longer block left below.
            write!(out, "\x1b[J")?;
        }
        self.drawn = lines.len();
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(is_terminal: bool) -> String {
        let mut out = Vec::new();
        let mut screen = Screen::new(is_terminal);
        for text in ["a", "b"] {
            screen.draw(&mut out, &[text.to_owned()]).expect("memory takes all");
        }
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_terminal_is_drawn_over_and_a_file_goes_on() {
        assert_eq!(drawn(false), "a\nb\n");
        assert_eq!(drawn(true), "a\u{1b}[K\n\u{1b}[J\u{1b}[1Ab\u{1b}[K\n\u{1b}[J");
    }
}
