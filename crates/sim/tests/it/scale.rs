//! How what a hub and its servers do grows with their number: by the phases of a
//! measurement whose turns are reckoned, so that each run does the same.

use std::sync::OnceLock;

use tapeline_backbone::Kind;
use tapeline_sim::scale::{Gauges, Phase, Row, Size, measure};

const ITEMS: u32 = 2_000;
const CHANGES_PER_S: u32 = 500;

fn measured(servers: usize) -> Vec<Row> {
    let size = Size { servers, items: ITEMS, changes_per_s: CHANGES_PER_S };
    measure(size, Gauges::default()).expect("each phase comes to its end")
}

/// All phases with 10 servers.
fn ten() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| measured(10))
}

/// The same with 20.
fn twenty() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| measured(20))
}

fn of(rows: &[Row], phase: Phase) -> &Row {
    rows.iter().find(|row| row.phase == phase).expect("all phases are measured")
}

#[test]
fn each_item_is_asked_for_once_however_many_servers_want_it() {
    for (rows, servers) in [(ten(), 10), (twenty(), 20)] {
        let items = u64::from(ITEMS);
        for (phase, asked) in [
            (Phase::Share, items),
            (Phase::RestartShare, items),
            (Phase::Together, items / servers),
            (Phase::RestartTogether, items / servers),
            // What is open is not asked for again: not by who comes late, nor after
            // a loss or a cut.
            (Phase::Late, 0),
            (Phase::LossAtOne, 0),
            (Phase::LossAtAll, 0),
            (Phase::CutOfOne, 0),
        ] {
            assert_eq!(of(rows, phase).asked.requests, asked, "{servers} servers, {phase}");
        }
    }
}

#[test]
fn presence_grows_with_the_servers_and_not_with_their_square() {
    let [ten, twenty] = [ten(), twenty()].map(|rows| of(rows, Phase::Quiet));
    // Ten a second of each for ten seconds, but for those at the edges.
    for row in [ten, twenty] {
        let servers = row.size.servers as u64;
        assert!((95..=101).contains(&row.from_hub.frames), "{:?}", row.from_hub);
        let of_each = row.from_servers.frames / servers;
        assert!((95..=101).contains(&of_each), "{:?}", row.from_servers);
        // The last word on the service may come a moment after all have it.
        let others = row.from_hub.frames + row.from_servers.frames - row.of_kind(Kind::Presence);
        assert!(others <= 1 && others == row.of_kind(Kind::Directory), "{others}");
    }
    // A server more is five bytes more in a presence of the hub; that word on the
    // service is longer than these, by which the average may be off by one.
    let more =
        twenty.from_hub.bytes / twenty.from_hub.frames - ten.from_hub.bytes / ten.from_hub.frames;
    assert!(more.abs_diff(10 * 5) <= 1, "{more}");
    assert_eq!(
        twenty.from_servers.bytes / twenty.from_servers.frames,
        ten.from_servers.bytes / ten.from_servers.frames,
    );
}

#[test]
fn an_update_goes_out_once_over_multicast_and_to_each_over_unicast() {
    for rows in [ten(), twenty()] {
        let row = of(rows, Phase::Updates);
        let updates = row.of_kind(Kind::Item) + row.of_kind(Kind::Stamped);
        let changes = u64::from(CHANGES_PER_S);
        assert!((changes - 1..=changes + 1).contains(&updates), "{updates}");
        let servers = row.size.servers as u64;
        assert_eq!(row.from_hub_to_each.frames, row.from_hub.frames * servers);
        assert_eq!(row.at_consumers, updates * servers);
    }
}

#[test]
fn who_loses_frames_or_comes_late_costs_the_other_servers_no_word() {
    for rows in [ten(), twenty()] {
        for phase in [Phase::LossAtOne, Phase::CutOfOne] {
            let row = of(rows, phase);
            assert!(row.said_by_first > 0, "{phase}: it asks for what it lost");
            assert_eq!(row.said_by_others, 0, "{phase}: others lost nothing");
        }
        let row = of(rows, Phase::Late);
        let newcomer = row.of_kind(Kind::Open);
        assert_eq!(newcomer, u64::from(ITEMS) / (row.size.servers as u64 - 1));
        assert_eq!(row.said_by_first, 0, "the first has all that it wants");
        assert_eq!(row.suspects, 0, "nobody's items become suspect");
    }
}
