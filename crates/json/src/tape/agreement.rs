//! The tape takes what another parser takes, and nothing else.

use proptest::prelude::*;
use serde_json::value::RawValue;

use super::Tape;
use crate::short_name::ShortName;

/// More than the texts here can have.
const DEPTH: usize = 1000;

/// Compares what both say of a text; what is taken although it is not quite
/// JSON is not JSON.
fn check(text: &str) {
    let is_json = serde_json::from_str::<&RawValue>(text).is_ok();
    let mut tape = Tape::default();
    let is_taken = tape.parse(text, DEPTH).is_ok_and(|document| !document.is_lenient);
    assert_eq!(is_taken, is_json, "{text:?}");
}

/// Checks a text that is a string, and the string.
fn check_string(text: &str) {
    check(text);
    let mut tape = Tape::default();
    let (Ok(document), Ok(expected)) =
        (tape.parse(text, DEPTH), serde_json::from_str::<String>(text))
    else {
        return;
    };
    let root = document.root();
    assert_eq!(root.string().as_deref(), Some(expected.as_str()), "{text:?}");
    if root.plain().is_some() {
        assert_eq!(root.short_name(), ShortName::new(expected.as_bytes()), "{text:?}");
    }
}

/// Eight bytes are looked at at once, so all places around three of those.
#[test]
fn strings_end_and_break_at_any_place() {
    let specials = (0..=u8::MAX).map(char::from).map(String::from);
    let escapes = ["\\\"", "\\\\", "\\n", "\\u0041", "\\u00e", "\\ud83d\\ude00", "\\x"];
    for special in specials.chain(escapes.map(str::to_owned)) {
        for at in 0..=24 {
            for behind in [0, 1, 7, 8, 9] {
                let open = format!("\"{}{special}{}", "a".repeat(at), "b".repeat(behind));
                check(&open);
                check_string(&format!("{open}\""));
                check_string(&format!("{open}\" "));
                check(&format!("{{{open}\":1}}"));
                check(&format!("[{open}\",1]"));
            }
        }
    }
}

#[test]
fn texts_may_end_anywhere() {
    let text =
        r#" {"A":  [ 1,-0.5e+10  ,{"x":[ ]},"s\u00e9"],"B":{},"long name":true , "c":null} "#;
    for (end, _) in text.char_indices() {
        check(&text[..end]);
        check(&text[end..]);
    }
    check(text);
}

#[test]
fn numbers_of_any_length_agree() {
    for whole in 0..=24 {
        for decimals in 0..=24 {
            let (whole, decimals) = ("7".repeat(whole), "3".repeat(decimals));
            for number in [
                whole.clone(),
                format!("{whole}.{decimals}"),
                format!("{whole}e{decimals}"),
                format!("{whole}.{decimals}E-1"),
            ] {
                check(&number);
                check(&format!("-{number}"));
                check(&format!("[{number}]"));
            }
        }
    }
}

/// Pieces that make JSON, or nearly.
fn piece() -> impl Strategy<Value = String> {
    let fixed = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "0",
        "1",
        "-",
        ".",
        "e",
        "E",
        "+",
        " ",
        "  ",
        "\n",
        "\t",
        "\r",
        "\0",
        "\u{1f}",
        "\u{7f}",
        "\u{e9}",
        "\u{1f600}",
        "true",
        "false",
        "null",
        "tru",
        "\"a\":",
        "\"\"",
        "[]",
        "{}",
        "12345678",
        "0.5",
        "\"longer than eight\"",
    ];
    prop_oneof![
        8 => prop::sample::select(fixed.to_vec()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ]
}

/// Texts that are JSON, with and without spaces.
fn json() -> impl Strategy<Value = String> {
    let space = prop::sample::select(vec!["", "", "", " ", "  ", "\n\t"]);
    let string = prop_oneof![
        "\"[ -!#-\\[\\]-~]{0,20}\"",
        any::<String>().prop_map(|text| serde_json::to_string(&text).expect("a string")),
    ];
    let leaf = prop_oneof![
        string.clone(),
        "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,12})?([eE][+-]?[0-9]{1,3})?",
        prop::sample::select(vec!["true", "false", "null"]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 24, 6, move |inner| {
        let key = string.clone();
        let items = prop::collection::vec(inner.clone(), 0..6);
        let members = prop::collection::vec((key, inner), 0..6);
        prop_oneof![
            (items, space.clone())
                .prop_map(|(items, s)| format!("[{s}{}{s}]", items.join(&format!("{s},{s}")))),
            (members, space.clone()).prop_map(|(members, s)| {
                let member = |(key, value)| format!("{key}{s}:{s}{value}");
                let members: Vec<String> = members.into_iter().map(member).collect();
                format!("{{{s}{}{s}}}", members.join(&format!("{s},{s}")))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn pieces_of_json_agree(pieces in prop::collection::vec(piece(), 0..24)) {
        let text = pieces.concat();
        // A byte order mark in front is taken here and refused there.
        prop_assume!(!text.starts_with('\u{FEFF}'));
        check(&text);
    }

    #[test]
    fn damaged_json_agrees(
        text in json(),
        place in any::<prop::sample::Index>(),
        removed in 0..3_usize,
        inserted in prop::option::of(piece()),
    ) {
        check(&text);
        prop_assert!(serde_json::from_str::<&RawValue>(&text).is_ok(), "{}", text);
        let chars: Vec<char> = text.chars().collect();
        let at = place.index(chars.len() + 1);
        let (before, after) = chars.split_at(at);
        let mut damaged: String = before.iter().collect();
        damaged.push_str(&inserted.unwrap_or_default());
        damaged.extend(after.iter().skip(removed));
        prop_assume!(!damaged.starts_with('\u{FEFF}'));
        check(&damaged);
        check(&before.iter().collect::<String>());
    }
}
