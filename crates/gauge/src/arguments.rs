//! Options as the sfnt tools take them: `--name=value`, `--name value`, flags
//! with or without `=0|1`, and `CLIENT;SERVER` where both sides have one.

use std::collections::BTreeMap;

use crate::GaugeError;

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Nothing, or `=0` or `=1`.
    Flag,
    /// A value behind `=` or a blank.
    Value,
}

/// An option that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) takes: Takes,
    /// The sides may have different values.
    pub(crate) by_side: bool,
    pub(crate) help: &'static str,
}

pub(crate) const fn flag(name: &'static str, help: &'static str) -> Known {
    Known { name, takes: Takes::Flag, by_side: false, help }
}

pub(crate) const fn value(name: &'static str, help: &'static str) -> Known {
    Known { name, takes: Takes::Value, by_side: false, help }
}

impl Known {
    pub(crate) const fn by_side(self) -> Self {
        Self { by_side: true, ..self }
    }
}

/// What was typed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments {
    given: BTreeMap<&'static str, String>,
    /// What is no option, in its order.
    pub(crate) positional: Vec<String>,
}

impl Arguments {
    pub(crate) fn read(known: &[Known], arguments: &[String]) -> Result<Self, GaugeError> {
        let mut read = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let long = match argument.as_str() {
                "-q" => "quiet",
                "-v" => "verbose",
                "-?" | "-h" => "help",
                text => match text.strip_prefix("--") {
                    Some(long) => long,
                    None if text.starts_with('-') && text.len() > 1 => {
                        return Err(unknown(known, text));
                    }
                    None => {
                        read.positional.push(text.to_owned());
                        continue;
                    }
                },
            };
            let (name, behind) = match long.split_once('=') {
                Some((name, behind)) => (name, Some(behind.to_owned())),
                None => (long, None),
            };
            let option = known.iter().find(|option| option.name == name);
            let option = option.ok_or_else(|| unknown(known, &format!("--{name}")))?;
            let value = match (option.takes, behind) {
                (Takes::Flag, behind) => behind.unwrap_or_else(|| "1".to_owned()),
                (Takes::Value, Some(behind)) => behind,
                (Takes::Value, None) => rest.next().cloned().ok_or_else(|| {
                    GaugeError::Usage(format!("--{name} needs a value: {}", option.help))
                })?,
            };
            if value.contains(';') && !option.by_side {
                return Err(GaugeError::option(
                    name,
                    &value,
                    "both sides have the same; give one value",
                ));
            }
            read.given.insert(option.name, value);
        }
        Ok(read)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    /// The value of a side: 0 is the client's, 1 the server's.
    pub(crate) fn side(&self, name: &str, side: usize) -> Option<&str> {
        let text = self.text(name)?;
        match text.split_once(';') {
            Some((client, server)) => Some(if side == 0 { client } else { server }),
            None => Some(text),
        }
    }

    /// A value that is read from text, within bounds.
    pub(crate) fn number<T>(
        &self,
        name: &str,
        default: T,
        least: T,
        most: T,
    ) -> Result<T, GaugeError>
    where
        T: Copy + std::str::FromStr + PartialOrd + std::fmt::Display,
    {
        let Some(text) = self.text(name) else { return Ok(default) };
        number(name, text, least, most)
    }

    /// The same of a side.
    pub(crate) fn side_number<T>(
        &self,
        name: &str,
        side: usize,
        default: T,
        most: T,
    ) -> Result<T, GaugeError>
    where
        T: Copy + std::str::FromStr + PartialOrd + std::fmt::Display + Default,
    {
        let Some(text) = self.side(name, side) else { return Ok(default) };
        number(name, text, T::default(), most)
    }

    pub(crate) fn is_set(&self, name: &str) -> Result<bool, GaugeError> {
        self.side_flag(name, 0)
    }

    pub(crate) fn side_flag(&self, name: &str, side: usize) -> Result<bool, GaugeError> {
        match self.side(name, side) {
            None | Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(other) => Err(GaugeError::option(name, other, "give 0 or 1")),
        }
    }
}

fn number<T>(name: &str, text: &str, least: T, most: T) -> Result<T, GaugeError>
where
    T: Copy + std::str::FromStr + PartialOrd + std::fmt::Display,
{
    let read = text.parse().ok().filter(|number| (least..=most).contains(number));
    read.ok_or_else(|| {
        GaugeError::option(name, text, &format!("give a number of {least} to {most}"))
    })
}

fn unknown(known: &[Known], given: &str) -> GaugeError {
    let name = given.trim_start_matches('-');
    let near = |option: &&Known| strsim::damerau_levenshtein(option.name, name);
    let nearest = known.iter().min_by_key(near).filter(|option| near(option) <= 3);
    GaugeError::Usage(match nearest {
        Some(option) => format!("there is no option {given}; did you mean --{}?", option.name),
        None => format!("there is no option {given}; --help lists them"),
    })
}

/// The options, a line each.
pub(crate) fn help(known: &[Known]) -> String {
    let mut text = String::new();
    for option in known {
        let value = match option.takes {
            Takes::Flag => "",
            Takes::Value => "=VALUE",
        };
        let sides = if option.by_side { " [CLIENT;SERVER]" } else { "" };
        let name = format!("--{}{value}", option.name);
        text.extend(["  ", &format!("{name:<24}"), " ", option.help, sides, "\n"]);
    }
    text
}

/// Words of a line, for tests of options.
#[cfg(test)]
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Known; 3] = [
        value("sizes", "message sizes"),
        flag("spin", "poll instead of sleeping").by_side(),
        value("timeout", "seconds").by_side(),
    ];

    fn read(arguments: &[&str]) -> Result<Arguments, GaugeError> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        Arguments::read(&KNOWN, &arguments)
    }

    #[test]
    fn values_stand_behind_an_equals_sign_or_a_blank() {
        let read = read(&["--sizes", "1,2", "--spin=1;0", "tcp", "--timeout=5", "host"]).unwrap();
        assert_eq!(read.text("sizes"), Some("1,2"));
        assert!(read.side_flag("spin", 0).unwrap());
        assert!(!read.side_flag("spin", 1).unwrap());
        assert_eq!(read.side_number("timeout", 1, 0_u32, 60).unwrap(), 5);
        assert_eq!(read.positional, ["tcp", "host"]);
    }

    #[test]
    fn a_flag_alone_is_set_for_both_sides() {
        let read = read(&["--spin"]).unwrap();
        assert!(read.side_flag("spin", 0).unwrap() && read.side_flag("spin", 1).unwrap());
        assert!(!read.has("sizes"));
    }

    #[test]
    fn what_is_wrong_is_told() {
        let error = |arguments: &[&str]| read(arguments).unwrap_err().to_string();
        assert_eq!(error(&["--spn"]), "there is no option --spn; did you mean --spin?");
        assert_eq!(error(&["--what-ever"]), "there is no option --what-ever; --help lists them");
        assert_eq!(error(&["--sizes"]), "--sizes needs a value: message sizes");
        assert!(error(&["--sizes=1;2"]).contains("give one value"));
        let spin = read(&["--spin=2"]).unwrap().is_set("spin").unwrap_err();
        assert_eq!(spin.to_string(), "--spin 2: give 0 or 1");
    }
}
