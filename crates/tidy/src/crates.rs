//! What holds for every crate: the workspace's lints, and one program for its
//! scenarios with all of them in it.

use crate::{Tree, is_kind};

/// Tests that need a process of their own; each file says why.
const ALONE: [&str; 1] = ["crates/bench/tests/interrupted.rs"];

pub(crate) fn findings(tree: &Tree, path: &str, text: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["crates", _, "Cargo.toml"] => lints(path, text).into_iter().collect(),
        ["crates", name, "tests", file] if is_kind(file, "rs") && !ALONE.contains(&path) => {
            vec![format!(
                "{path}:1: links a program of its own; make it a module of crates/{name}/tests/it/main.rs"
            )]
        }
        ["crates", name, "tests", "it", module]
        | ["crates", name, "tests", "it", module, "mod.rs"] => in_program(tree, path, name, module),
        _ => Vec::new(),
    }
}

fn lints(path: &str, text: &str) -> Option<String> {
    let has_them = text.contains("[lints]\nworkspace = true");
    (!has_them).then(|| format!("{path}:1: add `[lints]` with `workspace = true`"))
}

/// A file that no module names is not compiled, and its tests are not run.
fn in_program(tree: &Tree, path: &str, name: &str, module: &str) -> Vec<String> {
    let module = module.strip_suffix(".rs").unwrap_or(module);
    let main = format!("crates/{name}/tests/it/main.rs");
    let declared = format!("mod {module};");
    let is_there =
        || tree.text(&main).is_some_and(|text| text.lines().any(|line| line == declared));
    let is_scenario = module != "main" && is_kind(path, "rs");
    match is_scenario && !is_there() {
        true => vec![format!("{path}:1: is not run; add `{declared}` to {main}")],
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let of = |text| findings(&Tree::default(), "crates/a/Cargo.toml", text);
        assert_eq!(of("[lints]\nworkspace = true\n"), [""; 0]);
        assert_eq!(
            of("[lints.rust]\n"),
            ["crates/a/Cargo.toml:1: add `[lints]` with `workspace = true`"]
        );
    }

    #[test]
    fn a_scenario_that_is_not_run_is_found() {
        let files = [
            ("crates/a/tests/alone.rs", ""),
            ("crates/a/tests/it/data.txt", ""),
            ("crates/a/tests/it/lost.rs", ""),
            ("crates/a/tests/it/main.rs", "mod one;\nmod two;\n"),
            ("crates/a/tests/it/one.rs", ""),
            ("crates/a/tests/it/three/mod.rs", ""),
            ("crates/a/tests/it/two/mod.rs", ""),
        ];
        assert_eq!(
            Tree::of(files).findings(),
            [
                "crates/a/tests/alone.rs:1: links a program of its own; make it a module of \
                 crates/a/tests/it/main.rs",
                "crates/a/tests/it/lost.rs:1: is not run; add `mod lost;` to \
                 crates/a/tests/it/main.rs",
                "crates/a/tests/it/three/mod.rs:1: is not run; add `mod three;` to \
                 crates/a/tests/it/main.rs",
            ]
        );
    }
}
