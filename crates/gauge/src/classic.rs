//! Single-letter options of classic tools as the long ones of ours.

use crate::GaugeError;

/// A letter, and what it is here.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Letter {
    /// A long option with the value that follows.
    Value(&'static str),
    /// Words that stand in its place.
    Words(&'static [&'static str]),
    /// Its value was never explained: it is warned of.
    Unknown,
}

/// What was typed, in our words, and what is to be warned of.
pub(crate) fn translated(
    letters: &[(char, Letter)],
    typed: &[String],
) -> Result<(Vec<String>, Vec<String>), GaugeError> {
    let (mut ours, mut warnings) = (Vec::new(), Vec::new());
    let mut rest = typed.iter().peekable();
    while let Some(word) = rest.next() {
        let mut after = word.chars();
        let letter = match (after.next(), after.next()) {
            (Some('-'), Some(letter)) if letter != '-' => letter,
            _ => {
                ours.push(word.clone());
                continue;
            }
        };
        let Some((_, meaning)) = letters.iter().find(|(known, _)| *known == letter) else {
            ours.push(word.clone());
            continue;
        };
        // A value stands behind a blank, or at once.
        let attached = after.as_str();
        let mut value = || match attached.is_empty() {
            false => Some(attached.to_owned()),
            true => rest.next_if(|next| !next.starts_with('-')).cloned(),
        };
        match meaning {
            Letter::Words(words) => ours.extend(words.iter().map(|word| (*word).to_owned())),
            Letter::Unknown => {
                let value = value().map_or(String::new(), |value| format!(" {value}"));
                warnings.push(format!("-{letter}{value} has no effect: it was never explained"));
            }
            Letter::Value(long) => {
                let value =
                    value().ok_or_else(|| GaugeError::Usage(format!("-{letter} needs a value")))?;
                ours.push(format!("--{long}={value}"));
            }
        }
    }
    Ok((ours, warnings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_become_words_and_unexplained_ones_a_warning() {
        let letters = [
            ('W', Letter::Words(&["send"])),
            ('r', Letter::Value("rate")),
            ('K', Letter::Unknown),
            ('A', Letter::Unknown),
        ];
        let of = |line: &str| {
            let typed: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            translated(&letters, &typed)
        };
        let (ours, warnings) = of("-W -r 100 -K 1 -A -r5 --size=3 host -q").unwrap();
        assert_eq!(ours, ["send", "--rate=100", "--rate=5", "--size=3", "host", "-q"]);
        assert_eq!(warnings.len(), 2);
        assert_eq!(warnings[0], "-K 1 has no effect: it was never explained");
        assert_eq!(of("-r").unwrap_err().to_string(), "-r needs a value");
    }
}
