//! Colours of the text for people.

/// What a piece of text is, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// Class of a message, type of a container.
    Head,
    /// Name of a field, an element, a part.
    Name,
    /// What a name stands for besides: field ids, types, flags.
    Aside,
    /// A value.
    Value,
    /// Something that is wrong.
    Fault,
}

/// Which colours to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// None: for files and pipes.
    #[default]
    Plain,
    /// The sixteen colours that every terminal has.
    Ansi,
}

impl Palette {
    /// Appends a text in a colour.
    pub fn paint(self, out: &mut String, ink: Ink, text: &str) {
        let code = match (self, ink) {
            (Self::Plain, _) | (_, Ink::Value) => {
                out.push_str(text);
                return;
            }
            (Self::Ansi, Ink::Head) => "1",
            (Self::Ansi, Ink::Name) => "36",
            (Self::Ansi, Ink::Aside) => "2",
            (Self::Ansi, Ink::Fault) => "1;31",
        };
        for part in ["\x1b[", code, "m", text, "\x1b[0m"] {
            out.push_str(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_only_there_when_asked_for() {
        let mut text = String::new();
        Palette::Plain.paint(&mut text, Ink::Fault, "plain ");
        Palette::Ansi.paint(&mut text, Ink::Fault, "red");
        Palette::Ansi.paint(&mut text, Ink::Value, " plain");
        assert_eq!(text, "plain \x1b[1;31mred\x1b[0m plain");
    }
}
