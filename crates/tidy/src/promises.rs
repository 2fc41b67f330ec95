//! Every promise names a test that holds it, and that test is run.

use crate::Tree;
use crate::links::{links, resolve};

/// The pages of which each row of a table is a promise.
const PAGES: [&str; 2] = ["docs/promises.md", "SECURITY.md"];

pub(crate) fn findings(tree: &Tree, path: &str, text: &str) -> Vec<String> {
    if !PAGES.contains(&path) {
        return Vec::new();
    }
    let fault = |(at, row): (usize, &str)| {
        let fault = fault(tree, path, row)?;
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

fn fault(tree: &Tree, page: &str, row: &str) -> Option<String> {
    let proof = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
    let mut tests = links(proof).filter_map(|link| link.split_once('#')).peekable();
    if tests.peek().is_none() {
        return Some("a promise without a test: link to one, as FILE#NAME".to_owned());
    }
    let is_run = |(file, name): &(&str, &str)| {
        let Some(file) = resolve(page, file) else { return false };
        let Some(text) = tree.text(&file) else { return false };
        match file.rsplit_once('.') {
            Some((_, "rs")) => is_test(text, name),
            Some((_, "java")) => is_java_test(text, name),
            Some((_, "py")) => {
                name.starts_with("test_") && text.contains(&format!("    def {name}(self"))
            }
            _ => false,
        }
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

/// The same of a method of `JUnit`.
fn is_java_test(text: &str, name: &str) -> bool {
    let Some((before, _)) = text.split_once(&format!("    void {name}(")) else { return false };
    let lines = before.lines().rev().map(str::trim).skip_while(|line| line.is_empty());
    let mut attributes = lines.take_while(|line| line.starts_with('@'));
    let is_test = |line: &str| line == "@Test" || line == "@ParameterizedTest";
    let mut has_test = false;
    attributes.all(|line| {
        has_test |= is_test(line);
        line != "@Disabled"
    }) && has_test
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = PAGES[0];

    const CODE: &str = "/// Of what.\n#[test]\n// Why.\n#[should_panic]\nfn it_holds() {}\n\n\
                        #[test]\n#[ignore]\nfn it_sleeps() {}\n\nfn it_helps() {}\n\
                        proptest! {\n    #[test]\n    fn it_varies(n in 0..3) {}\n}\n";

    const JAVA: &str = "    @Test\n    void itHolds() {\n    }\n    @ParameterizedTest\n    \
                        @EnumSource\n    void itVaries(Way way) {\n    }\n    void itHelps() {\n    \
                        }\n    @Disabled\n    @Test\n    void itSleeps() {\n    }\n";
    const PYTHON: &str = "    def test_it(self):\n        pass\n    def helps(self):\n";

    fn of(rows: &str) -> Vec<String> {
        let text = format!("# Promises\n| promise | proven by |\n|---|---|\n{rows}");
        let files = [(PAGE, &*text), ("src/lib.rs", CODE), ("T.java", JAVA), ("t.py", PYTHON)];
        findings(&Tree::of(files), PAGE, &text)
    }

    #[test]
    fn promises_with_tests_are_fine() {
        let rows = "| It holds. | [it holds](../src/lib.rs#it_holds) |\n\
                    | It varies. | [one](../src/lib.rs#it_varies), [other](../src/lib.rs#it_holds) |\n\
                    \n## More\n\n| promise | proven by |\n|---|---|\n\
                    | Again. | [it holds](../src/lib.rs#it_holds) |\n\
                    | There. | [a](../T.java#itHolds), [b](../T.java#itVaries) |\n\
                    | And there. | [c](../t.py#test_it) |\n";
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
        for test in ["T.java#itHelps", "T.java#itSleeps", "T.java#isGone", "t.py#helps"] {
            assert_eq!(of(&format!("| It holds. | [x](../{test}) |\n")).len(), 1, "{test}");
        }
    }
}
