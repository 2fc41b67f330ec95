//! What holds for the text of any file.

use crate::{Tree, is_kind};

/// `rustfmt` holds code to 100 characters; this leaves room for what it cannot
/// break, such as the rules of a macro.
const MAX_LINE: usize = 110;

/// More than this is not read in one go.
const MAX_LINES: usize = 600;

/// Files that are longer, each until somebody finds its seam. The list may get
/// shorter, not longer.
const LONG_FILES: [&str; 1] = ["crates/hub/tests/it/storm.rs"];

/// Files that hold a page of documentation, whose paragraphs are lines.
const PAGES: [&str; 1] = ["crates/tapeline/src/config/reference.rs"];

/// Files that programs write, which name where packages come from.
const LOCKS: [&str; 3] = ["Cargo.lock", "go.sum", "go.mod"];

pub(crate) fn findings(_: &Tree, path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if is_kind(path, "rs") {
        found.extend(long_lines(path, text));
        found.extend(too_many_lines(path, text));
    }
    if !LOCKS.iter().any(|lock| path.ends_with(lock)) {
        found.extend(words(path, text));
    }
    found
}

fn long_lines(path: &str, text: &str) -> Vec<String> {
    let is_long = |line: &str| line.chars().count() > MAX_LINE;
    let may_be = |line: &str| line.contains('"') || is_drawn(line) || PAGES.contains(&path);
    let lines = (1..).zip(text.lines()).filter(|(_, line)| is_long(line) && !may_be(line));
    lines.map(|(at, _)| format!("{path}:{at}: longer than {MAX_LINE} characters")).collect()
}

/// A row of a table, or a drawing, in a comment.
fn is_drawn(line: &str) -> bool {
    let comment = line.trim_start().trim_start_matches('/').trim_start_matches('!');
    comment.len() < line.trim_start().len()
        && (comment.starts_with("   ") || comment.trim_start().starts_with(['|', '+']))
}

fn too_many_lines(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    let is_known = LONG_FILES.contains(&path);
    match (lines > MAX_LINES, is_known) {
        (true, false) => Some(format!(
            "{path}:{MAX_LINES}: {lines} lines: cut the file where its subject changes"
        )),
        (false, true) => Some(format!(
            "{path}:1: no more than {MAX_LINES} lines any more: take it off LONG_FILES"
        )),
        _ => None,
    }
}

fn words(path: &str, text: &str) -> Vec<String> {
    let banned = banned();
    let of_line = |(at, line): (usize, &str)| {
        let word = banned.iter().find(|(word, _)| is_named(line, word));
        word.map(|(word, why)| format!("{path}:{at}: `{word}`: {why}"))
    };
    (1..).zip(text.lines()).filter_map(of_line).collect()
}

/// The word is in the line, and does not only end a longer path or host.
fn is_named(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "/-_.$}~".contains(c))
    })
}

/// Written in two parts: this file keeps its own rules.
fn banned() -> Vec<(String, &'static str)> {
    const HOME: &str = "a path of one machine; say how to find it on any";
    const HOST: &str = "the host of a registry; packages come from where the machine is told to";
    let homes = ["work", "root", "home", "Users"].map(|folder| (format!("/{folder}/"), HOME));
    let hosts = [
        ("crates", "io"),
        ("static.crates", "io"),
        ("index.crates", "io"),
        ("pypi", "org"),
        ("files.pythonhosted", "org"),
        ("registry.npmjs", "org"),
        ("repo.maven.apache", "org"),
        ("repo1.maven", "org"),
        ("proxy.golang", "org"),
        ("deb.debian", "org"),
    ];
    let hosts = hosts.map(|(name, top)| (format!("{name}.{top}"), HOST));
    homes.into_iter().chain(hosts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str, text: &str) -> Vec<String> {
        findings(&Tree::default(), path, text)
    }

    #[test]
    fn a_long_line_is_found_unless_it_is_a_text_a_table_or_a_drawing() {
        let x = "x".repeat(MAX_LINE);
        assert_eq!(of("a.rs", &x), [""; 0]);
        assert_eq!(of("a.rs", &format!("\n{x}y")), ["a.rs:2: longer than 110 characters"]);
        assert_eq!(of("a.rs", &format!("// {x}")), ["a.rs:1: longer than 110 characters"]);
        for may_be in [format!("\"{x}\""), format!("///  | {x} |"), format!("    //!    {x}")] {
            assert_eq!(of("a.rs", &may_be), [""; 0], "{may_be}");
        }
        assert_eq!(of("a.md", &format!("{x}y")), [""; 0]);
    }

    #[test]
    fn a_long_file_is_found_and_a_known_one_that_is_not_long_too() {
        let lines = |count: usize| "\n".repeat(count);
        assert_eq!(of("a.rs", &lines(600)), [""; 0]);
        assert_eq!(
            of("a.rs", &lines(601)),
            ["a.rs:600: 601 lines: cut the file where its subject changes"]
        );
        assert_eq!(of(LONG_FILES[0], &lines(601)), [""; 0]);
        let back = of(LONG_FILES[0], &lines(600));
        assert!(back[0].ends_with("take it off LONG_FILES"), "{back:?}");
    }

    #[test]
    fn paths_of_a_machine_and_hosts_of_registries_are_found() {
        for (word, _) in banned() {
            assert_eq!(of("a.md", &format!("see {word}x")).len(), 1, "{word}");
        }
        let fine = ["docs/home/page", "$DIR/work/x", "/dev/shm/x", "[crates](crates/hub)"];
        for fine in fine {
            assert_eq!(of("a.md", fine), [""; 0], "{fine}");
        }
        assert_eq!(of("Cargo.lock", &banned()[4].0), [""; 0]);
    }
}
