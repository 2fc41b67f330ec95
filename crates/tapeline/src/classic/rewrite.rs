//! Classic command lines in the long form.

use std::ffi::{OsStr, OsString};

use thiserror::Error;

use super::options::{ClassicOption, Effect, Value};
use crate::config::nearest;

/// A command line in the long form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rewritten {
    /// The arguments behind the subcommand.
    pub(crate) arguments: Vec<OsString>,
    /// What was asked for and will not be, and why.
    pub(crate) warnings: Vec<String>,
}

/// An option behind one dash that no tool had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown option `{option}`{nearest}; --help lists all")]
pub(crate) struct UnknownOption {
    option: String,
    nearest: String,
}

/// Writes the classic options among the arguments of a subcommand in the long
/// form. Everything else stays as it is; what is behind `--` is no option.
pub(crate) fn rewrite(
    options: &[ClassicOption],
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Rewritten, UnknownOption> {
    let find = |text: &OsStr| options.iter().find(|option| text == option.name);
    let mut arguments = arguments.into_iter().peekable();
    let mut rewritten = Rewritten::default();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            rewritten.arguments.push(argument);
            rewritten.arguments.extend(arguments);
            break;
        }
        if let Some(option) = find(&argument) {
            // A word that is an option itself is nobody's value.
            let value = arguments.next_if(|next| find(next).is_none() && option.takes(next));
            rewritten.add(option, value.as_deref());
        } else if let Some((option, value)) = attached(options, &argument) {
            rewritten.add(option, Some(OsStr::new(value)));
        } else if let Some(option) = behind_one_dash(&argument) {
            let names = options.iter().map(|option| option.name);
            let nearest = nearest(&option, names);
            return Err(UnknownOption { option, nearest });
        } else {
            rewritten.arguments.push(argument);
        }
    }
    Ok(rewritten)
}

/// An option of one letter with its number or path right behind it, as `-I5`.
fn attached<'a, 'o>(
    options: &'o [ClassicOption],
    argument: &'a OsStr,
) -> Option<(&'o ClassicOption, &'a str)> {
    let (name, value) = argument.to_str()?.split_at_checked(2)?;
    let is_value = value.starts_with(|first: char| first.is_ascii_digit() || "./".contains(first));
    let with_value = |option: &&ClassicOption| {
        option.name == name && matches!(option.value, Value::Named(_)) && is_value
    };
    Some((options.iter().find(with_value)?, value))
}

/// The text of an argument that looks like a classic option.
fn behind_one_dash(argument: &OsStr) -> Option<String> {
    let text = argument.to_string_lossy();
    let is_option = text.len() > 1 && text.starts_with('-') && !text.starts_with("--");
    is_option.then(|| text.into_owned())
}

impl ClassicOption {
    /// Whether the argument behind it is its value.
    fn takes(&self, next: &OsStr) -> bool {
        match self.value {
            Value::Nothing => false,
            Value::Named(_) => true,
            Value::Switch => next == "0" || next == "1",
        }
    }
}

impl Rewritten {
    fn add(&mut self, option: &ClassicOption, value: Option<&OsStr>) {
        match option.effect {
            Effect::Is(long) => self.arguments.push(written(long, value)),
            Effect::Always => {}
            Effect::Only(values, why) => {
                let asked_for = value.unwrap_or_default();
                if !values.iter().any(|value| asked_for.eq_ignore_ascii_case(value)) {
                    self.warn(option, value, why);
                }
            }
            Effect::Ignored(why) => self.warn(option, value, why),
        }
    }

    fn warn(&mut self, option: &ClassicOption, value: Option<&OsStr>, why: &str) {
        let value = value.map(OsStr::to_string_lossy);
        let blank = if value.is_some() { " " } else { "" };
        let value = value.unwrap_or_default();
        self.warnings.push(format!("`{}{blank}{value}` has no effect: {why}", option.name));
    }
}

/// `--long=value`, which holds whatever the value looks like.
fn written(long: &str, value: Option<&OsStr>) -> OsString {
    let mut written = OsString::from(long);
    if let Some(value) = value {
        written.push("=");
        written.push(value);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::super::{CLIENT, SOURCE};
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    fn long(options: &[ClassicOption], text: &str) -> Rewritten {
        rewrite(options, words(text)).unwrap_or_else(|unknown| panic!("{unknown}"))
    }

    fn unknown(options: &[ClassicOption], text: &str) -> String {
        match rewrite(options, words(text)) {
            Ok(rewritten) => panic!("{text} was taken as {rewritten:?}"),
            Err(unknown) => unknown.to_string(),
        }
    }

    #[test]
    fn every_option_is_written_as_its_table_says() {
        for options in [&SOURCE[..], &CLIENT] {
            for option in options {
                let (given, value) = match option.value {
                    Value::Nothing => (option.name.to_owned(), ""),
                    Value::Named(_) => (format!("{} v", option.name), "=v"),
                    Value::Switch => (format!("{} 0", option.name), "=0"),
                };
                let expected = match option.effect {
                    Effect::Is(long) => vec![OsString::from(format!("{long}{value}"))],
                    _ => Vec::new(),
                };
                let rewritten = long(options, &format!("{given} ITEM"));
                let (item, before) = rewritten.arguments.split_last().expect("the item");
                assert_eq!((before, item), (&expected[..], &OsString::from("ITEM")), "{given}");
                let is_told = matches!(option.effect, Effect::Only(..) | Effect::Ignored(_));
                assert_eq!(rewritten.warnings.len(), usize::from(is_told), "{given}");
                for warning in rewritten.warnings {
                    assert!(
                        warning.starts_with(&format!("`{given}` has no effect: ")),
                        "{warning}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_published_source_is_written_long() {
        let given = "-S RDFD -N 14002 -Q sample.xml -q GOOG.O -K -c -tcpnode1 -ts -tsn RTRSY.O \
                     -UL 10 -tps 500";
        let expected = "--service=RDFD --port=14002 --data=sample.xml --template=GOOG.O \
                        --no-delay=1 --stamp --stamp-on=RTRSY.O --stamp-rate=10 --tps=500";
        assert_eq!(
            long(&SOURCE, given),
            Rewritten { arguments: words(expected), warnings: Vec::new() }
        );
        let second = long(&SOURCE, "-S SFWD -c -I 1 -E sslauto -Q data -K -N 8105 -U 500");
        let expected = "--service=SFWD --interval=1 --data=data --port=8105 --rate=500";
        assert_eq!(second.arguments, words(expected));
        let warning = "`-E sslauto` has no effect: only RSSL over TCP is spoken here, and is \
                       used; the framing of SSL was never published";
        assert_eq!(second.warnings, [warning]);
    }

    #[test]
    fn a_published_client_is_written_long() {
        let given = "-S RDFD -h host_2 -p 14002 -md 6 decodeFormat 3 -I 1 -o 500 -u rmrds -tt \
                     -lmfile out -f rdf.100kitems -ct rssl -rf 12";
        let expected = "--service=RDFD --host=host_2 --port=14002 --md=6 --decode=3 --interval=1 \
                        --open-window=500 --user=rmrds --statistics --latency-file=out \
                        --file=rdf.100kitems";
        let rewritten = long(&CLIENT, given);
        assert_eq!(rewritten.arguments, words(expected));
        let warning = "`-rf 12` has no effect: what it meant was never published";
        assert_eq!(rewritten.warnings, [warning]);
    }

    #[test]
    fn modern_options_names_and_what_is_behind_two_dashes_stay() {
        for text in ["--service FEED --json A.X -- -tsp -S", "- A.X", "--stamp-rate=10"] {
            assert_eq!(long(&SOURCE, text).arguments, words(text));
        }
    }

    #[test]
    fn a_switch_takes_only_what_is_one() {
        assert_eq!(long(&SOURCE, "-tcpnodelay A.X").arguments, words("--no-delay A.X"));
        assert_eq!(long(&SOURCE, "-tcpnodelay 0 1").arguments, words("--no-delay=0 1"));
    }

    #[test]
    fn numbers_and_paths_may_be_behind_a_letter() {
        let expected = words("--interval=5 --data=/tmp/x");
        assert_eq!(long(&SOURCE, "-I5 -Q/tmp/x").arguments, expected);
    }

    #[test]
    fn a_value_may_begin_with_a_dash_but_be_no_option() {
        assert_eq!(long(&CLIENT, "-pw -secret").arguments, words("--password=-secret"));
        assert_eq!(long(&CLIENT, "-pw -tt").arguments, words("--password --statistics"));
    }

    #[test]
    fn an_unknown_option_is_told_with_the_nearest_one() {
        let text = "unknown option `-tsp`; did you mean `-ts`?; --help lists all";
        assert_eq!(unknown(&SOURCE, "-S FEED -tsp 500"), text);
        let text = "unknown option `-lmfiel`; did you mean `-lmfile`?; --help lists all";
        assert_eq!(unknown(&CLIENT, "-lmfiel out"), text);
        let text = "unknown option `-SFEED`; did you mean `-S`?; --help lists all";
        assert_eq!(unknown(&SOURCE, "-SFEED"), text);
        for given in ["-z", "-ULx", "-5", "-ä"] {
            assert!(unknown(&SOURCE, given).starts_with(&format!("unknown option `{given}`")));
        }
    }
}
