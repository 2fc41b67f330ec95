//! What the subcommands say of a policy that nobody has in force.

use super::support::{arg, file, folder, run};

const POLICY: &str = r#"version = 1
[[lock-service]]
id = 257
service = "FEED"
[[product]]
name = "L1"
service = "FEED"
pe = [62]
[[role]]
name = "desk"
products = ["L1"]
[[user]]
name = "ann"
roles = ["desk"]
[[user]]
name = "bob"
[[test]]
user = "ann"
item = "FEED/VOD.L"
lock = "03 01 01 62 C0"
expect = "allow"
[[test]]
user = "bob"
item = "FEED/VOD.L"
lock = "03 01 01 62 C0"
expect = "deny"
"#;

#[test]
fn check_says_yes_or_no_and_by_which_rule() {
    let folder = folder();
    let policy = file(&folder, "policy.toml", POLICY);
    let check = |user, lock| {
        let more = ["--policy", arg(&policy), user, "FEED/VOD.L", "--lock", lock];
        run(&[&["entitle", "check"][..], &more].concat())
    };
    let done = check("ann", "03010162C0");
    assert_eq!(done.status, Some(0), "{}", done.err);
    let [said, why] = &done.out.lines().collect::<Vec<_>>()[..] else { panic!("{}", done.out) };
    assert_eq!(*said, "allowed");
    assert!(why.contains("policy.toml:11: role `desk` has product `L1`"), "{why}");
    let done = check("bob", "03010162C0");
    assert_eq!(done.status, Some(1), "{}", done.err);
    assert!(done.out.starts_with("denied: Access Denied: service FEED\n"), "{}", done.out);
    assert!(done.out.contains("policy.toml:5: PE 62 is of product `L1`"), "{}", done.out);
    let done = check("eve", "03010162C0");
    assert_eq!(done.status, Some(1), "{}", done.err);
    assert!(done.out.starts_with("denied: User eve is unknown.\n"), "{}", done.out);
    let done = check("ann", "0x");
    assert_eq!(done.status, Some(2), "{}", done.out);
    assert!(done.err.contains("`0x` is no lock; give it in hexadecimal"), "{}", done.err);
}

#[test]
fn tests_of_a_policy_that_fail_are_told_with_their_line() {
    let folder = folder();
    let good = file(&folder, "good.toml", POLICY);
    let done = run(&["entitle", "test", arg(&good)]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert!(done.out.ends_with("good.toml: 2 tests, 0 failed\n"), "{}", done.out);
    let bad = file(&folder, "bad.toml", &POLICY.replace("\"deny\"", "\"allow\""));
    let done = run(&["entitle", "test", arg(&bad)]);
    assert_eq!(done.status, Some(1), "{}", done.err);
    assert!(
        done.out.contains("bad.toml:22: FEED/VOD.L for bob is denied, and should be allowed"),
        "{}",
        done.out
    );
    assert!(done.out.ends_with("bad.toml: 2 tests, 1 failed\n"), "{}", done.out);
}

#[test]
fn what_if_says_who_gains_and_loses_what_of_a_watchlist() {
    let folder = folder();
    let old = file(&folder, "old.toml", POLICY);
    let new = file(&folder, "new.toml", &POLICY.replace("pe = [62]", "pe = [63]"));
    let watchlist = "ann FEED/VOD.L 03010162C0\nann FEED/BT.L 03010163C0\nbob FEED/VOD.L\n";
    let watchlist = file(&folder, "watchlist", watchlist);
    let more = ["--policy", arg(&old), arg(&new), "--watchlist", arg(&watchlist)];
    let done = run(&[&["entitle", "what-if"][..], &more].concat());
    assert_eq!(done.status, Some(0), "{}", done.err);
    let said: Vec<_> = done.out.lines().collect();
    let expected = [
        "ann: other rights",
        "ann loses FEED/VOD.L: Access Denied: User req to PE(62)",
        "ann gains FEED/BT.L",
        "1 users change, 1 watches gained, 1 lost",
    ];
    assert_eq!(said, expected);
}
