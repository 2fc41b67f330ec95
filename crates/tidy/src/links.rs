//! Links of the documentation lead to files and headings that exist.

use std::collections::BTreeSet;

use crate::{Tree, is_kind};

pub(crate) fn findings(tree: &Tree, path: &str, text: &str) -> Vec<String> {
    if !is_kind(path, "md") {
        return Vec::new();
    }
    let broken = |(at, link): (usize, &str)| {
        fault(tree, path, link).map(|fault| format!("{path}:{at}: link to `{link}`: {fault}"))
    };
    prose(text)
        .flat_map(|(at, line)| links(line).map(move |link| (at, link)))
        .filter_map(broken)
        .collect()
}

/// The lines that are not inside a block of code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The targets of `[text](target)` and of `src` in HTML.
pub(crate) fn links(line: &str) -> impl Iterator<Item = &str> {
    let ways = [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"')];
    ways.into_iter().flat_map(move |(begin, end)| {
        line.split(begin).skip(1).filter_map(move |rest| Some(&rest[..rest.find(end)?]))
    })
}

fn fault(tree: &Tree, from: &str, link: &str) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let Some(target) = resolve(from, file) else { return Some("outside the repository") };
    if !tree.has_file(&target) && !tree.has_folder(&target) {
        return Some("no such file");
    }
    if heading.is_empty() {
        return None;
    }
    // Of code, a heading is the name of a function: a promise names its test.
    let function = [("rs", "fn"), ("java", "void"), ("py", "def")];
    let function = function.iter().find(|(kind, _)| is_kind(&target, kind));
    let is_there = tree.text(&target).is_some_and(|text| match function {
        Some((_, word)) => text.contains(&format!("{word} {heading}(")),
        None => anchors(text).contains(heading),
    });
    (!is_there).then_some(if function.is_some() { "no such function" } else { "no such heading" })
}

/// The path from the root of what a file links to; nothing means the file.
pub(crate) fn resolve(from: &str, file: &str) -> Option<String> {
    if file.is_empty() {
        return Some(from.to_owned());
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The headings as forges make anchors of them.
fn anchors(text: &str) -> BTreeSet<String> {
    let anchor = |line: &str| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    prose(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| anchor(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        let files = [
            ("docs/a.md", text),
            ("docs/b.md", "# The `wire`, twice\n```\n# no heading\n```\n"),
            ("src/lib.rs", "#[test]\nfn it_holds() {}\n"),
        ];
        findings(&Tree::of(files), "docs/a.md", text)
    }

    #[test]
    fn links_to_files_folders_and_headings_that_exist_are_fine() {
        let fine = "# Here\n[a](b.md) [b](../src) [c](../src/lib.rs) [d](b.md#the-wire-twice) [e](#here)\n\
                    [f](../src/lib.rs#it_holds)\n\
                    [f](https://example.com/x) <img src=\"b.md\">\n```\n[g](gone.md)\n```\n";
        assert_eq!(of(fine), [""; 0]);
    }

    #[test]
    fn links_to_what_is_not_there_are_found() {
        let lost = [
            ("[a](gone.md)", "docs/a.md:1: link to `gone.md`: no such file"),
            ("\n<img srcset=\"gone.png\">", "docs/a.md:2: link to `gone.png`: no such file"),
            ("[a](b.md#no-heading)", "docs/a.md:1: link to `b.md#no-heading`: no such heading"),
            ("[a](../src/lib.rs#it)", "docs/a.md:1: link to `../src/lib.rs#it`: no such function"),
            ("[a](../../x)", "docs/a.md:1: link to `../../x`: outside the repository"),
        ];
        for (text, fault) in lost {
            assert_eq!(of(text), [fault]);
        }
    }
}
