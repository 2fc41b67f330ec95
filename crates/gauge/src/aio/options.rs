//! What is asked for.

use std::time::Duration;

use super::document::Value;
use super::scenarios;
use crate::GaugeError;
use crate::arguments::{Known, value};
use crate::setup::{self, Common};

const OWN: [Known; 2] = [
    value("seconds", "how long is measured (10)"),
    value("part", "run: this part alone; the others are on other hosts"),
];

pub(super) fn known() -> Vec<Known> {
    setup::with_common(&OWN)
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Run(String),
    Check(String),
    Show(String),
    List,
    Help,
}

pub(super) struct Options {
    pub(super) common: Common,
    pub(super) task: Task,
    pub(super) variables: Vec<(String, Value)>,
    pub(super) part: Option<String>,
    pub(super) seconds: Duration,
}

impl Options {
    pub(super) fn read(typed: &[String], by_name: bool) -> Result<Self, GaugeError> {
        let common = Common::read(&OWN, &[], typed, by_name)?;
        let given = &common.given;
        let (variables, words): (Vec<&String>, Vec<&String>) =
            given.positional.iter().partition(|word| word.starts_with('@'));
        let variables: Result<Vec<(String, Value)>, GaugeError> = variables
            .into_iter()
            .map(|word| {
                let pair = word.trim_start_matches('@').split_once('=');
                let (name, text) = pair.ok_or_else(|| {
                    GaugeError::Usage(format!("`{word}`: give @name=value, as in @rate=1000"))
                })?;
                Ok((name.to_owned(), Value::typed(text)))
            })
            .collect();
        let words: Vec<&str> = words.into_iter().map(String::as_str).collect();
        let task = match words[..] {
            _ if given.has("help") => Task::Help,
            ["list"] => Task::List,
            ["run", file] => Task::Run(file.to_owned()),
            ["check", file] => Task::Check(file.to_owned()),
            ["show", scenario] => Task::Show(scenario.to_owned()),
            // The classic tool's only argument is its file.
            [file] if by_name => Task::Run(file.to_owned()),
            _ => {
                let what = "give run FILE|SCENARIO, check FILE|SCENARIO, show SCENARIO or list; \
                            --help lists options";
                return Err(GaugeError::Usage(what.to_owned()));
            }
        };
        Ok(Self {
            task,
            variables: variables?,
            part: given.text("part").map(str::to_owned),
            seconds: setup::seconds(given, "seconds", 10.0, 0.01)?,
            common,
        })
    }
}

/// The text of a scenario, or else of a file: what it is called, and the text.
pub(super) fn text_of(name: &str) -> Result<(String, String), GaugeError> {
    if let Some((_, text)) = scenarios::ALL.iter().find(|(known, _)| *known == name) {
        return Ok((name.to_owned(), (*text).to_owned()));
    }
    let read = std::fs::read_to_string(name);
    let is_file = name.contains(['/', '.']);
    match read {
        Ok(text) => Ok((name.to_owned(), text)),
        Err(error) if is_file => Err(GaugeError::io(format!("reading {name}"))(error)),
        Err(_) => {
            let names = scenarios::ALL.iter().map(|(name, _)| *name);
            let near = super::document::nearest(name, names);
            Err(GaugeError::Usage(format!(
                "there is no scenario and no file `{name}`{near}; aio list"
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::words;

    fn read(line: &str) -> Result<Options, GaugeError> {
        Options::read(&words(line), false)
    }

    #[test]
    fn variables_stand_anywhere_and_have_types() {
        let of = read("run order-native @rate=500 --seconds=2 @hop=udp @x=1.5 @y=true").unwrap();
        assert_eq!((of.task, of.seconds.as_secs()), (Task::Run("order-native".to_owned()), 2));
        let values: Vec<Value> = of.variables.into_iter().map(|(_, value)| value).collect();
        let text = Value::Text("udp".to_owned());
        assert_eq!(values, [Value::Integer(500), text, Value::Float(1.5), Value::Flag(true)]);
    }

    #[test]
    fn what_cannot_be_is_told() {
        let error = |line| read(line).err().unwrap().to_string();
        assert!(error("rn x").contains("give run FILE|SCENARIO"));
        assert!(error("run x @rate").contains("give @name=value"));
        let error = text_of("order-natve").unwrap_err().to_string();
        assert!(error.contains("did you mean `order-native`?"), "{error}");
        assert!(text_of("no/such.toml").unwrap_err().to_string().contains("reading no/such.toml"));
    }
}
