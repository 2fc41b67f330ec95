//! The published flows of orders give the published results.
//!
//! The files are not in the repository. `TAPELINE_DATA`, or the folder
//! `shared/data` beside the checkout, has them or the test says that it is left
//! out.

use std::path::PathBuf;

use tapeline_exchange::{Flow, Runner, hash};

pub(crate) fn data(file: &str) -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("TAPELINE_DATA").map_or_else(|| beside.into(), PathBuf::from);
    Some(folder.join(file)).filter(|path| path.exists())
}

fn gives(scenario: &str, expected: &str) {
    let file = format!("matching-{scenario}.bin.zst");
    let Some(path) = data(&file) else {
        return eprintln!("left out: no {file}; set TAPELINE_DATA to its folder");
    };
    let flow = Flow::open(&path).expect("a flow");
    let mut runner = Runner::new(&flow).expect("an engine");
    runner.run(flow.messages());
    assert_eq!(hash(&mut runner.into_reports()), expected, "{scenario}");
}

#[test]
fn a_normal_day() {
    gives("normal", "e9b2e3926854410b01a035aeb25dd05f1e597c233be8263de9eb49b6713d367e");
}

#[test]
fn a_flash_crash() {
    gives("flash-crash", "cff8d3f94b709fc64a8b2058a6ca4fb6920364904796e46906895e362d2bb16b");
}
