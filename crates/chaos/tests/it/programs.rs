//! The programs: `tapeline`, which is broken, and this one, which does it.

use std::path::Path;
use std::process::Command;
use std::sync::Once;

use tapeline_chaos::site::Plan;

/// A plan with both. Tests of the workspace have built `tapeline`; those of this
/// package alone need not have.
pub(crate) fn plan(items: usize, seed: u64) -> Plan {
    let parties = Path::new(env!("CARGO_BIN_EXE_tapeline-chaos")).to_owned();
    let tapeline = parties.with_file_name("tapeline");
    build(&tapeline);
    Plan { tapeline, parties, items, updates_per_second: 2_000, seed }
}

fn build(tapeline: &Path) {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        if tapeline.exists() {
            return;
        }
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--locked", "--package", "tapeline"]);
        if tapeline.parent().is_some_and(|folder| folder.ends_with("release")) {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo starts").success(), "tapeline cannot be built");
    });
}
