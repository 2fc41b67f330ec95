//! Scripts of months, and what a report says of them.

use super::*;

const POLICY: &str = r#"version = 1
[[lock-service]]
id = 257
service = "FEED"
[[product]]
name = "LSE, one"
exchange = "LSE"
service = "FEED"
pe = [62]
[[product]]
name = "DESKS"
service = "FEED"
pe = [62]
count = "position"
[[product]]
name = "L2"
service = "FEED"
pe = [63]
[[role]]
name = "all"
products = ["LSE, one", "DESKS", "L2"]
[[user]]
name = "ann"
roles = ["all"]
[[user]]
name = "bob"
roles = ["all"]
[[user]]
name = "eve"
roles = ["all"]
"#;
const LOCK: [u8; 5] = [3, 1, 1, 0x62, 0xC0];
/// 2026-10-01.
const OCTOBER_MS: u64 = 1_790_812_800_000;

fn usage(kind: Kind, minute: i64, user: &'static str, position: &'static str) -> Usage<'static> {
    let time_ms = OCTOBER_MS.saturating_add_signed(minute * 60_000);
    let (application, service, item) = ("256", "FEED", "VOD.L");
    Usage { user, position, application, service, item, lock: &LOCK, ..Usage::of(kind, time_ms) }
}

#[test]
fn a_scripted_month_is_what_the_script_says() {
    let policy = Policy::parse("p", POLICY).expect("it is in order");
    let mut report = Report::new(&policy, ReportMonth::parse("2026-10").expect("a month"));
    for record in [
        // Open since September, and closed before bob comes.
        usage(Kind::StartWatch, -5, "ann", "a"),
        usage(Kind::StartWatch, -4, "eve", "e"),
        usage(Kind::Logout, -3, "eve", "e"),
        usage(Kind::StopWatch, 5, "ann", "a"),
        usage(Kind::StopWatch, 6, "ann", "a"),
        usage(Kind::StartWatch, 7, "bob", "b"),
        usage(Kind::ContinueWatch, 8, "bob", "b"),
        usage(Kind::StartWatch, 9, "bob", "c"),
        usage(Kind::Snapshot, 10, "ann", "a"),
        usage(Kind::AccessDenied, 11, "eve", "e"),
        // November.
        usage(Kind::StartWatch, 31 * 24 * 60, "eve", "e"),
    ] {
        report.add(&record);
    }
    assert_eq!(
        report.products_csv(),
        "exchange,product,permissioned,used,count,units,peak,snapshots\n\
             LSE,\"LSE, one\",3,2,user,2,1,1\n\
             DESKS,DESKS,3,2,position,3,2,1\n\
             L2,L2,3,0,user,0,0,0\n"
    );
    let users = report.users_csv();
    for line in ["LSE,\"LSE, one\",bob,256,used", "DESKS,DESKS,eve,,unused", "L2,L2,ann,,unused"] {
        assert!(users.lines().any(|one| one == line), "{line} in {users}");
    }
    assert_eq!(users.lines().count(), 1 + 3 + 3 + 3);
}

#[test]
fn a_watch_of_two_mounts_ends_with_the_second() {
    let policy = Policy::parse("p", POLICY).expect("it is in order");
    let mut report = Report::new(&policy, ReportMonth::parse("2026-10").expect("a month"));
    for kind in [Kind::StartWatch, Kind::StartWatch, Kind::ContinueWatch, Kind::StopWatch] {
        report.add(&usage(kind, 1, "ann", "a"));
    }
    report.add(&usage(Kind::StartWatch, 2, "bob", "b"));
    assert!(report.products_csv().contains("DESKS,DESKS,3,2,position,2,2,0\n"));
    report.add(&usage(Kind::StopWatch, 3, "ann", "a"));
    assert!(report.open_before.len() == 1, "bob's");
}

#[test]
fn what_is_open_all_the_month_is_used() {
    let policy = Policy::parse("p", POLICY).expect("it is in order");
    let mut report = Report::new(&policy, ReportMonth::parse("2026-10").expect("a month"));
    report.add(&usage(Kind::StartWatch, -5, "ann", "a"));
    assert!(report.products_csv().contains("DESKS,DESKS,3,1,position,1,1,0\n"));
    assert_eq!(ReportMonth::parse("2026-13"), None);
}

/// A record of a mount of the first run.
fn of_mount(kind: Kind, minute: i64, user: &'static str, mount: u64) -> Usage<'static> {
    Usage {
        run: 1,
        mount,
        stream_id: 5,
        products: "LSE, one\nDESKS",
        ..usage(kind, minute, user, "a")
    }
}

const NOVEMBER: i64 = 31 * 24 * 60;

fn server_start(minute: i64, run: u64, before: u64) -> Usage<'static> {
    Usage { run, mount: before, user: "", position: "", ..usage(Kind::ServerStart, minute, "", "") }
}

#[track_caller]
fn assert_report(policy: &str, month: &str, records: &[Usage<'static>], expected: &[&str]) {
    let policy = Policy::parse("p", policy).expect("it is in order");
    let mut report = Report::new(&policy, ReportMonth::parse(month).expect("a month"));
    for record in records {
        report.add(record);
    }
    let csv = report.products_csv();
    assert_eq!(csv.lines().skip(1).collect::<Vec<_>>(), expected);
}

#[test]
fn whom_a_token_gives_roles_is_counted_by_what_the_record_says() {
    assert_report(
        POLICY,
        "2026-10",
        &[of_mount(Kind::StartWatch, 1, "dora", 1), of_mount(Kind::Snapshot, 2, "dora", 1)],
        &[
            "LSE,\"LSE, one\",4,1,user,1,1,1",
            "DESKS,DESKS,4,1,position,1,1,1",
            "L2,L2,3,0,user,0,0,0",
        ],
    );
}

#[test]
fn a_right_that_is_taken_away_leaves_what_was_used_by_it() {
    let policy = POLICY.replace("name = \"ann\"\nroles = [\"all\"]", "name = \"ann\"");
    let policy = policy.replace("[[user]]\nname = \"bob\"\nroles = [\"all\"]\n", "");
    let policy =
        policy.replace("name = \"DESKS\"", "name = \"SEATS\"").replace("\"DESKS\"", "\"SEATS\"");
    assert_report(
        &policy,
        "2026-10",
        &[of_mount(Kind::StartWatch, 1, "ann", 1), of_mount(Kind::StartWatch, 2, "bob", 2)],
        &[
            "LSE,\"LSE, one\",3,2,user,2,2,0",
            "SEATS,SEATS,1,0,position,0,0,0",
            "L2,L2,1,0,user,0,0,0",
            // The policy has it no more, nor its exchange and what that counts.
            ",DESKS,2,2,user,2,2,0",
        ],
    );
}

#[test]
fn an_item_without_a_lock_is_of_the_products_that_the_record_names() {
    let record = Usage { lock: &[], products: "L2", ..of_mount(Kind::StartWatch, 1, "ann", 1) };
    assert_report(
        POLICY,
        "2026-10",
        &[record],
        &[
            "LSE,\"LSE, one\",3,0,user,0,0,0",
            "DESKS,DESKS,3,0,position,0,0,0",
            "L2,L2,3,1,user,1,1,0",
        ],
    );
}

/// Used, units and peak of the first product.
#[track_caller]
fn assert_used(month: &str, records: &[Usage<'static>], expected: [usize; 3]) {
    let [used, units, peak] = expected;
    let policy = Policy::parse("p", POLICY).expect("it is in order");
    let mut report = Report::new(&policy, ReportMonth::parse(month).expect("a month"));
    for record in records {
        report.add(record);
    }
    let line = format!("LSE,\"LSE, one\",3,{used},user,{units},{peak},0");
    let csv = report.products_csv();
    assert_eq!(csv.lines().nth(1), Some(line.as_str()));
}

#[test]
fn what_a_killed_server_had_open_ends_when_it_starts_again() {
    let killed = of_mount(Kind::StartWatch, 1, "ann", 1);
    let again = Usage { run: 2, ..of_mount(Kind::StartWatch, 4, "bob", 1) };
    assert_used("2026-10", &[killed, server_start(3, 2, 1), again], [2, 2, 1]);
    // Another server's is not touched.
    let other = Usage { run: 3, ..killed };
    assert_used("2026-10", &[killed, other, server_start(3, 2, 1), again], [2, 2, 2]);
}

#[test]
fn what_a_killed_server_had_open_is_not_used_in_the_months_after() {
    let killed = of_mount(Kind::StartWatch, 1, "ann", 1);
    assert_used("2026-11", &[killed], [0, 0, 0]);
    assert_used("2026-11", &[killed, server_start(NOVEMBER + 5, 2, 1)], [0, 0, 0]);
    // It lives: somebody else comes to it.
    let alive = Usage { run: 1, ..of_mount(Kind::Login, NOVEMBER + 5, "bob", 2) };
    assert_used("2026-11", &[killed, alive], [1, 1, 1]);
}

#[test]
fn a_watch_that_goes_on_is_used_in_the_next_month_by_its_journal_alone() {
    let goes_on = of_mount(Kind::ContinueWatch, NOVEMBER, "ann", 1);
    let stop = of_mount(Kind::StopWatch, NOVEMBER + 5, "ann", 1);
    let next = of_mount(Kind::StartWatch, NOVEMBER + 6, "bob", 2);
    assert_used("2026-11", &[goes_on, stop, next], [2, 2, 1]);
    let start = of_mount(Kind::StartWatch, 5, "ann", 1);
    assert_used("2026-11", &[start, goes_on, stop, next], [2, 2, 1]);
    assert_used("2026-10", &[start, goes_on, stop, next], [1, 1, 1]);
}

#[test]
fn a_watch_goes_on_with_what_the_record_says() {
    let start = of_mount(Kind::StartWatch, 1, "ann", 1);
    let other = Usage { products: "L2", ..of_mount(Kind::ContinueWatch, 2, "ann", 1) };
    let stop = of_mount(Kind::StopWatch, 3, "ann", 1);
    let policy = Policy::parse("p", POLICY).expect("it is in order");
    let mut report = Report::new(&policy, ReportMonth::parse("2026-10").expect("a month"));
    for record in [start, other] {
        report.add(&record);
    }
    assert_eq!(report.rows.iter().map(|row| row.tally.open.len()).collect::<Vec<_>>(), [0, 0, 1]);
    report.add(&stop);
    assert!(report.rows.iter().all(|row| row.tally.open.is_empty()));
    assert!(report.products_csv().ends_with("L2,L2,3,1,user,1,1,0\n"));
}

#[test]
fn a_mount_that_logs_out_ends_its_own_watches_alone() {
    let records = [
        of_mount(Kind::StartWatch, 1, "ann", 1),
        of_mount(Kind::StartWatch, 1, "ann", 2),
        of_mount(Kind::Logout, 2, "ann", 1),
        of_mount(Kind::StartWatch, 3, "bob", 3),
    ];
    assert_used("2026-10", &records, [2, 2, 2]);
    let both = [of_mount(Kind::Logout, 2, "ann", 2)];
    let [first, second, out, bob] = records;
    assert_used("2026-10", &[first, second, out, both[0], bob], [2, 2, 1]);
    // That it logged out was lost: its number is another's.
    assert_used("2026-10", &[first, of_mount(Kind::Login, 2, "bob", 1), bob], [2, 2, 1]);
}

#[test]
fn a_month_ends_where_the_next_begins() {
    let month = |text| ReportMonth::parse(text).expect("a month");
    assert_eq!(month("2026-09").end_ms(), Some(OCTOBER_MS));
    let december = month("2026-12").end_ms().expect("a moment");
    assert_eq!(ReportMonth::of(december), Some(month("2027-01")));
    assert_eq!(ReportMonth::of(december - 1).map(|it| it.to_string()).as_deref(), Some("2026-12"));
}
