//! Every promise names a test that holds it, and that test is run.

use crate::links::{links, resolve};
use crate::{Tree, is_kind};

/// The page of promises.
const PAGE: &str = "docs/promises.md";

pub(crate) fn findings(tree: &Tree, path: &str, text: &str) -> Vec<String> {
    if path != PAGE {
        return Vec::new();
    }
    let fault = |(at, row): (usize, &str)| {
        let fault = fault(tree, row)?;
        Some(format!("{path}:{at}: {fault}"))
    };
    rows(text).filter_map(fault).collect()
}

/// The rows of all tables, without their heads.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_head = true;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_row = line.starts_with('|');
        let is_rule = line.starts_with("|-");
        let is_promise = is_row && !is_rule && !is_head;
        // Behind the rule come the rows, behind a table is the head of the next.
        is_head = !is_row || is_head && !is_rule;
        is_promise
    })
}

fn fault(tree: &Tree, row: &str) -> Option<String> {
    let proof = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
    let mut tests = links(proof).filter_map(|link| link.split_once('#')).peekable();
    if tests.peek().is_none() {
        return Some("a promise without a test: link to one, as FILE#NAME".to_owned());
    }
    let is_run = |(file, name): &(&str, &str)| {
        let file = resolve(PAGE, file).filter(|file| is_kind(file, "rs"));
        file.and_then(|file| tree.text(&file)).is_some_and(|text| is_test(text, name))
    };
    let (_, name) = tests.find(|test| !is_run(test))?;
    Some(format!("`{name}` is no test that is run"))
}

/// Whether a function is a test, and not left out.
fn is_test(text: &str, name: &str) -> bool {
    let begin = format!("fn {name}(");
    let Some((before, _)) = text.split_once(&begin) else { return false };
    let attributes = before.lines().rev().map(str::trim);
    // The line itself may have something in front of the name.
    let attributes = attributes.skip_while(|line| line.is_empty());
    let attributes = attributes.take_while(|line| line.starts_with('#') || line.starts_with("//"));
    let (mut is_test, mut is_left_out) = (false, false);
    for line in attributes {
        is_test |= line == "#[test]";
        is_left_out |= line.starts_with("#[ignore");
    }
    is_test && !is_left_out
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "/// Of what.\n#[test]\n// Why.\n#[should_panic]\nfn it_holds() {}\n\n\
                        #[test]\n#[ignore]\nfn it_sleeps() {}\n\nfn it_helps() {}\n\
                        proptest! {\n    #[test]\n    fn it_varies(n in 0..3) {}\n}\n";

    fn of(rows: &str) -> Vec<String> {
        let text = format!("# Promises\n| promise | proven by |\n|---|---|\n{rows}");
        findings(&Tree::of([(PAGE, &*text), ("src/lib.rs", CODE)]), PAGE, &text)
    }

    #[test]
    fn promises_with_tests_are_fine() {
        let rows = "| It holds. | [it holds](../src/lib.rs#it_holds) |\n\
                    | It varies. | [one](../src/lib.rs#it_varies), [other](../src/lib.rs#it_holds) |\n\
                    \n## More\n\n| promise | proven by |\n|---|---|\n\
                    | Again. | [it holds](../src/lib.rs#it_holds) |\n";
        assert_eq!(of(rows), [""; 0]);
    }

    #[test]
    fn promises_without_tests_that_are_run_are_found() {
        let without = "docs/promises.md:4: a promise without a test: link to one, as FILE#NAME";
        assert_eq!(of("| It holds. | by design |\n"), [without]);
        assert_eq!(of("| It holds. | [see](../src/lib.rs) |\n"), [without]);
        for name in ["it_sleeps", "it_helps", "it_is_gone"] {
            let found = format!("docs/promises.md:4: `{name}` is no test that is run");
            assert_eq!(of(&format!("| It holds. | [x](../src/lib.rs#{name}) |\n")), [found]);
        }
    }
}
