//! The repository keeps its rules.

use std::path::Path;

use tapeline_tidy::Tree;

#[test]
fn the_repository_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let findings = Tree::read(&root).expect("the repository").findings();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}
