use std::sync::Arc;

use tapeline_rwf::StateCode;
use time::{Date, Month};

use super::*;

const POLICY: &str = r#"version = 1
default = "deny"
[entitle]
no-lock = "prod-perm"
[[lock-service]]
id = 257
service = "FEED"
[[lock-service]]
id = 30
service = "NEWS"
[[service]]
name = "FREE"
no-lock = "allow"
[[product]]
name = "LSE-L1"
exchange = "LSE"
service = "FEED"
pe = [62, "144-160"]
[[product]]
name = "LSE-L2"
exchange = "LSE"
service = "FEED"
pe = [6562]
[[product]]
name = "WIRE"
service = "NEWS"
pe = [9]
[[role]]
name = "equities"
products = ["LSE-L1"]
fields = ["deny", 25]
item-limit = 100
[[role]]
name = "fx"
contract = "every"
grants = [{ service = "FX", subjects = ["EUR*", "re:^[A-Z]{3}=$"], domains = [6, 7] }, { service = "FREE", subjects = ["A"] }]
posts = [{ service = "CONTRIB", subjects = ["DESK1.*"], rights = ["create", "modify"] }]
[[role]]
name = "news"
products = ["WIRE"]
grants = [{ service = "FEED", subjects = ["OPS.*"], locked = true }]
[[role]]
name = "provider"
publishes = ["CONTRIB"]
[[group]]
name = "desk"
roles = ["fx", "equities"]
[[user]]
name = "jdoe"
groups = ["desk"]
positions = 1
applications = ["256"]
networks = ["10.0.0.0/8"]
until = "2027-01-31"
[[user]]
name = "asmith"
roles = ["equities", "fx"]
[[user]]
name = "nina"
roles = ["news", "equities"]
[[user]]
name = "feeder"
roles = ["provider"]
[[test]]
user = "jdoe"
item = "FEED/VOD.L"
lock = "03 01 01 62 C0"
expect = "allow"
[[test]]
user = "jdoe"
item = "FEED/VOD.L"
lock = "03 01 01 65 62 C0"
expect = "deny"
"#;

fn policy() -> Arc<Policy> {
    Arc::new(Policy::parse("policy.toml", POLICY).expect("it is in order"))
}

fn faults(text: &str) -> Vec<String> {
    let faults = Policy::parse("p.toml", text).expect_err("it has faults");
    faults.iter().map(ToString::to_string).collect()
}

fn asked<'a>(service: &'a str, name: &'a str) -> Asked<'a> {
    Asked { service, domain: 6, name }
}

fn text(verdict: Verdict) -> String {
    match verdict {
        Verdict::Allow => "allowed".to_owned(),
        Verdict::Deny(denial) => {
            assert_eq!(denial.code, StateCode::NOT_ENTITLED);
            denial.text
        }
    }
}

#[test]
fn users_with_equal_roles_share_a_profile() {
    let policy = policy();
    let of = |name| policy.profile_of(name);
    assert_eq!(of("jdoe"), of("asmith"));
    assert_ne!(of("jdoe"), of("nina"));
    assert_eq!(of("nobody"), None);
    let profile = of("jdoe").expect("known");
    assert_eq!(policy.item_limit(profile), Some(100));
    assert_eq!(policy.contract(profile), Some(Contract::Every));
}

#[test]
fn roles_that_speak_of_fields_show_what_one_of_them_shows() {
    let of = |roles: &str| {
        let text = format!(
            "version = 1\n[[role]]\nname = \"all\"\n[[role]]\nname = \"level1\"\n\
             fields = [\"allow\", 22, 25]\n[[role]]\nname = \"names\"\nfields = [\"allow\", 3]\n\
             [[role]]\nname = \"late\"\nfields = [\"deny\", 25, -7]\n\
             [[user]]\nname = \"jdoe\"\nroles = [{roles}]\n"
        );
        let policy = Policy::parse("p.toml", &text).expect("it is in order");
        let profile = policy.profile_of("jdoe").expect("known");
        policy.field_mask(profile).map(ToString::to_string)
    };
    assert_eq!(of("\"all\""), None);
    assert_eq!(of("\"all\", \"level1\"").as_deref(), Some("only 22, 25"), "all says nothing");
    assert_eq!(of("\"names\", \"level1\"").as_deref(), Some("only 3, 22, 25"));
    assert_eq!(of("\"late\", \"level1\"").as_deref(), Some("all but -7"));
}

#[test]
fn who_is_shown_other_fields_has_other_rights() {
    let of = |extra: &str| {
        let text = format!(
            "version = 1\n[[role]]\nname = \"a\"\n{extra}\n[[user]]\nname = \"jdoe\"\n\
             roles = [\"a\"]\n[[user]]\nname = \"nina\"\nroles = []\n"
        );
        Policy::parse("p.toml", &text).expect("it is in order")
    };
    let changed = |one: &str, other: &str| -> Vec<String> {
        let users = changed_users(&of(one), &of(other));
        users.into_iter().map(|user| user.name).collect()
    };
    let fields = "fields = [\"allow\", 22]";
    assert_eq!(changed("", fields), ["jdoe"]);
    assert_eq!(changed(fields, ""), ["jdoe"]);
    assert_eq!(changed(fields, "fields = [\"allow\", 22, 22]"), [""; 0], "the same ones");
    assert_eq!(changed("", "contract = \"every\""), ["jdoe"]);
}

#[test]
fn locks_names_and_fields_decide() {
    let mut engine = Engine::new(policy());
    let jdoe = engine.policy().profile_of("jdoe").expect("known");
    let nina = engine.policy().profile_of("nina").expect("known");
    let lock = |demands: &[Demand]| Lock::new(demands.to_vec()).encode(Sources::default());
    let vod = asked("FEED", "VOD.L");
    let mut open = |profile, asked: Asked<'_>, protection: Protection<'_>| {
        text(engine.decide_open(profile, asked, protection))
    };
    for (demand, answer) in [
        (Demand::any(257, &[62]), "allowed"),
        (Demand::any(257, &[160]), "allowed"),
        (Demand::any(257, &[6562]), "Access Denied: User req to PE(6562)"),
        (Demand::any(257, &[6562, 62]), "allowed"),
        (Demand::any(257, &[6562, 1]), "Access Denied: User req to PE(1|6562)"),
        (Demand::all(257, &[6562, 62, 1]), "Access Denied: User req to PE(1&6562)"),
        (Demand::any(1, &[62]), "Access Denied: User req to PE(62)"),
    ] {
        let bytes = lock(&[demand]);
        assert_eq!(open(jdoe, vod, Protection::Lock(&bytes)), answer);
        assert_eq!(open(jdoe, vod, Protection::Lock(&bytes)), answer, "remembered");
    }
    let closed = lock(&[Demand::any(257, &[6562])]);
    assert_eq!(open(nina, asked("FEED", "OPS.1"), Protection::Lock(&closed)), "allowed");
    assert_eq!(open(jdoe, vod, Protection::ProdPerm(62)), "allowed");
    assert_eq!(open(jdoe, vod, Protection::ProdPerm(63)), "Access Denied: User req to PE(63)");
    assert_eq!(open(jdoe, vod, Protection::None), "Access Denied: VOD.L of service FEED");
    assert_eq!(open(jdoe, asked("FX", "EURGBP=R"), Protection::None), "allowed");
    assert_eq!(open(jdoe, asked("FX", "GBP=R"), Protection::None), "Access Denied: service FX");
    assert_eq!(open(jdoe, asked("FREE", "A"), Protection::None), "allowed");
    assert_eq!(open(nina, asked("FX", "EUR="), Protection::None), "Access Denied: service FX");
    let odd = open(jdoe, vod, Protection::Lock(&[4, 1, 1, 0x62, 0xC0]));
    assert_eq!(odd, "Access Denied: the lock is of type 4; only type 3 is read");
    assert_eq!(engine.odd_locks(), 1);
}

#[test]
fn a_name_that_is_granted_has_its_domains() {
    let engine = Engine::new(policy());
    let jdoe = engine.policy().profile_of("jdoe").expect("known");
    let of = |domain| engine.decide_request(jdoe, Asked { domain, ..asked("FX", "EUR=") });
    assert!(of(7).is_allowed() && !of(8).is_allowed());
}

#[test]
fn a_number_of_the_directory_opens_locks_that_were_denied() {
    let mut engine = Engine::new(policy());
    let jdoe = engine.policy().profile_of("jdoe").expect("known");
    let lock = Lock::new([Demand::any(7, &[62])]).encode(Sources::default());
    assert!(!engine.opens(jdoe, &lock));
    engine.set_service(7, "FEED");
    assert!(engine.opens(jdoe, &lock));
    // What the policy says of a number holds.
    engine.set_service(30, "FEED");
    let lock = Lock::new([Demand::any(30, &[62])]).encode(Sources::default());
    assert!(!engine.opens(jdoe, &lock));
}

#[test]
fn how_locks_are_read_is_the_policys() {
    let reading = |way: &str| {
        let text = POLICY.replace("[entitle]", &format!("[entitle]\nlock-sources = \"{way}\""));
        let text = text.replace("pe = [62, \"144-160\"]", "pe = [9, 621]");
        Arc::new(Policy::parse("policy.toml", &text).expect("it is in order"))
    };
    let mut engine = Engine::new(reading("unambiguous"));
    let jdoe = engine.policy().profile_of("jdoe").expect("known");
    // It can be read in two ways.
    let lock = Lock::new([Demand::any(5000, &[621]), Demand::any(257, &[9])]);
    let lock = lock.encode(Sources::Repeated);
    assert!(!engine.opens(jdoe, &lock));
    assert_eq!(engine.odd_locks(), 1);
    engine.set_policy(reading("repeated"));
    engine.set_service(5000, "FEED");
    assert!(engine.opens(jdoe, &lock));
    assert_eq!((engine.odd_locks(), engine.locks()), (0, 1));
    engine.set_policy(reading("unambiguous"));
    assert!(!engine.opens(jdoe, &lock));
    assert_eq!(engine.odd_locks(), 1);
}

#[test]
fn logins_are_refused_with_the_codes_that_clients_know() {
    let engine = Engine::new(policy());
    let day = |year| Date::from_calendar_date(year, Month::January, 31).expect("a day");
    let good = Login {
        user: "jdoe",
        application: "256",
        position: "10.0.0.8/net",
        peer: [10, 0, 0, 8].into(),
        today: day(2027),
        other_positions: &[],
        roles: None,
    };
    let code = |login: Login<'_>| engine.decide_login(&login).map_err(|no| (no.code, no.text));
    assert_eq!(code(good).ok(), engine.policy().profile_of("jdoe"));
    for (login, code_of, text) in [
        (
            Login { user: "eve", ..good },
            StateCode::USER_UNKNOWN_TO_PERM_SYS,
            "User eve is unknown.",
        ),
        (
            Login { other_positions: &["10.0.0.7/net"], ..good },
            StateCode::DACS_MAX_LOGINS_REACHED,
            "User jdoe has 1 of 1 logins, at 10.0.0.7/net.",
        ),
        (
            Login { application: "7", ..good },
            StateCode::DACS_USER_ACCESS_TO_APP_DENIED,
            "User jdoe may not use application 7.",
        ),
        (
            Login { peer: [11, 0, 0, 8].into(), ..good },
            StateCode::NOT_ENTITLED,
            "User jdoe may not log in from 11.0.0.8.",
        ),
        (
            Login { today: day(2028), ..good },
            StateCode::NOT_ENTITLED,
            "User jdoe may not log in any more.",
        ),
    ] {
        assert_eq!(code(login), Err((code_of, text.to_owned())));
    }
    assert!(code(Login { other_positions: &["10.0.0.8/net"], ..good }).is_ok(), "one position");
}

#[test]
fn posts_and_publishers_need_a_role() {
    let engine = Engine::new(policy());
    let of = |name| engine.policy().profile_of(name).expect("known");
    let post = |name, right| engine.decide_post(of("jdoe"), asked("CONTRIB", name), right);
    assert!(post("DESK1.A", PostRight::Create).is_allowed());
    assert!(!post("DESK1.A", PostRight::Delete).is_allowed());
    assert!(!post("DESK2.A", PostRight::Create).is_allowed());
    assert!(engine.decide_publish(of("feeder"), "CONTRIB").is_allowed());
    assert!(!engine.decide_publish(of("feeder"), "FEED").is_allowed());
    assert!(!engine.decide_publish(of("jdoe"), "CONTRIB").is_allowed());
}

#[test]
fn reasons_name_the_rule_and_its_line() {
    let mut engine = Engine::new(policy());
    let mut why = |user: &str, asked: Asked<'_>, protection: Protection<'_>| {
        engine.explain(user, asked, protection).reason
    };
    let vod = asked("FEED", "VOD.L");
    assert_eq!(
        why("jdoe", vod, Protection::Lock(&[3, 1, 1, 0x62, 0xC0])),
        "policy.toml:30: role `equities` has product `LSE-L1` (policy.toml:14), with PE 62"
    );
    assert_eq!(
        why("jdoe", vod, Protection::Lock(&[3, 1, 1, 0x65, 0x62, 0xC0])),
        "policy.toml:19: PE 6562 is of product `LSE-L2`, in none of the roles [equities, fx]"
    );
    assert_eq!(
        why("jdoe", asked("FX", "EUR="), Protection::None),
        "policy.toml:36: a grant of a role names it"
    );
    assert_eq!(why("eve", vod, Protection::None), "policy.toml: no [[user]] has this name");
}

#[test]
fn tests_of_a_policy_tell_what_is_otherwise() {
    assert_eq!(policy().run_tests(), []);
    let wrong = POLICY.replace("expect = \"deny\"", "expect = \"allow\"");
    let policy = Arc::new(Policy::parse("policy.toml", &wrong).expect("it is in order"));
    let faults = policy.run_tests();
    assert_eq!(faults.len(), 1);
    assert!(faults[0].to_string().contains("VOD.L for jdoe is denied, and should be allowed"));
}

#[test]
fn faults_name_the_line_and_the_nearest_key() {
    assert_eq!(
        faults("version = 1\n[[role]]\nname = \"a\"\nproduct = []\n"),
        ["p.toml:4: unknown key `product` in [role]; did you mean `products`?"]
    );
    assert_eq!(
        faults("version = 1\n[[usr]]\nname = \"a\"\n"),
        ["p.toml:2: unknown table or key `usr`; did you mean `user`?"]
    );
    assert_eq!(
        faults(
            "version = 1\n[[user]]\nname = \"a\"\nroles = [\"equites\"]\n[[role]]\nname = \"equities\"\n"
        ),
        ["p.toml:4: there is no role `equites`; did you mean `equities`?"]
    );
    assert_eq!(
        faults("version = 1\n[[user]]\nname = \"a\"\n[[user]]\nname = \"a\"\n"),
        ["p.toml:4: user `a` is on line 2 already"]
    );
    assert_eq!(faults("default = \"deny\"\n"), ["p.toml:1: the policy needs `version = 1`"]);
    assert_eq!(
        faults("version = 1\n[[role]]\nname = \"a\"\ncontract = \"latest-within 250\"\n"),
        ["p.toml:4: `contract` is `latest-within 250`; give every, latest-when-slow, \
             latest-within N ms (1 to 65534) or at-most N/s (1 to 1000)"]
    );
    let all = faults(
        "version = 1\ndefault = \"yes\"\n[[product]]\nname = \"p\"\nservice = \"S\"\npe = [1, \"9-2\"]\n[[user]]\nname = \"a\"\nuntil = \"tomorrow\"\nnetworks = [\"10.0.0.0/99\"]\n",
    );
    assert_eq!(
        all,
        [
            "p.toml:2: `default` is `yes`; give one of allow, deny",
            "p.toml:6: `pe` in [product]: give codes as numbers, and ranges as \"144-160\"",
            "p.toml:9: `until` is a day; give \"2027-01-31\"",
            "p.toml:10: `networks` in [user]: `10.0.0.0/99` is no network; give \"10.0.0.0/8\"",
        ]
    );
}

fn changed(edit: impl Fn(&str) -> String) -> Vec<(String, bool)> {
    let new = Policy::parse("new.toml", &edit(POLICY)).expect("it is in order");
    let users = changed_users(&policy(), &new);
    users.into_iter().map(|user| (user.name, user.must_log_in)).collect()
}

#[test]
fn a_new_policy_changes_those_whose_rights_are_others() {
    assert_eq!(changed(|text| format!("# moved\n{text}")), []);
    let reordered = |text: &str| text.replace("[\"fx\", \"equities\"]", "[\"equities\", \"fx\"]");
    assert_eq!(changed(reordered), []);
    let fewer = |text: &str| text.replace("pe = [62, \"144-160\"]", "pe = [62]");
    let users = ["jdoe", "asmith", "nina"].map(|name| (name.to_owned(), false));
    assert_eq!(changed(fewer), users);
    let name = |text: &str| text.replace("\"EUR*\"", "\"EURG*\"");
    assert_eq!(changed(name), users[..2]);
    let network = |text: &str| text.replace("10.0.0.0/8", "10.1.0.0/16");
    assert_eq!(changed(network), [("jdoe".to_owned(), true)]);
    let gone = |text: &str| text.replace("name = \"feeder\"", "name = \"other\"");
    assert_eq!(changed(gone), [("feeder".to_owned(), true), ("other".to_owned(), true)]);
    assert_eq!(changed(|text| text.replace("id = 30", "id = 31")).len(), 4, "all");
}

#[test]
fn the_open_items_whose_answer_changes_are_found_a_slice_at_a_time() {
    let narrowed = POLICY.replace("pe = [62, \"144-160\"]", "pe = [62, 6562]");
    let new = Policy::parse("new.toml", &narrowed).expect("it is in order");
    let (mut old, mut new) = (Engine::new(policy()), Engine::new(Arc::new(new)));
    let locks = [62, 150, 6562]
        .map(|code| Lock::new([Demand::any(257, &[code])]).encode(Sources::default()));
    let mut watches = ["jdoe", "feeder", "eve"].into_iter().flat_map(|user| {
        let asked = asked("FEED", "VOD.L");
        locks.iter().map(move |lock| Watch {
            user,
            roles: None,
            asked,
            protection: Protection::Lock(lock),
        })
    });
    let mut found = Vec::new();
    for _ in 0..5 {
        let slice = watches.by_ref().take(2);
        found.extend(changes(&mut old, &mut new, slice).map(|change| {
            let Protection::Lock(lock) = change.watch.protection else {
                panic!("a lock was given")
            };
            (change.watch.user, lock == locks[1], change.after.is_allowed())
        }));
    }
    assert_eq!(found, [("jdoe", true, false), ("jdoe", false, true)]);
}

proptest::proptest! {
    /// What is remembered is what a plain look at the roles says, over services
    /// that come and policies that go.
    #[test]
    fn the_memo_changes_no_answer(
        owned in proptest::collection::vec((0u32..3, 0u32..3), 3),
        asks in proptest::collection::vec((0usize..3, 1u16..16, 0u32..3, 0u32..3, 0u8..2), 1..200),
    ) {
        let mut text = "version = 1\n[[lock-service]]\nid = 1\nservice = \"S\"\n".to_owned();
        for (at, (a, b)) in owned.iter().enumerate() {
            let part = format!(
                "[[product]]\nname = \"p{at}\"\nservice = \"S\"\npe = [\"{}-{}\"]\n\
                 [[role]]\nname = \"r{at}\"\nproducts = [\"p{at}\"]\n\
                 [[user]]\nname = \"u{at}\"\nroles = [\"r{at}\"]\n",
                a.min(b), a.max(b),
            );
            text.push_str(&part);
        }
        let policy = Arc::new(Policy::parse("p", &text).expect("it is in order"));
        let mut engine = Engine::new(Arc::clone(&policy));
        let mut is_two_known = false;
        for (user, choice, one, other, is_and) in asks {
            let service = 1 + choice % 2;
            if choice == 15 {
                match is_and == 1 {
                    true => engine.set_policy(Arc::clone(&policy)),
                    false => engine.set_service(2, "S"),
                }
                is_two_known |= is_and == 0;
                continue;
            }
            let (a, b) = owned[user];
            let has = |code: u32| a.min(b) <= code && code <= a.max(b);
            let codes = if is_and == 1 { has(one) && has(other) } else { has(one) || has(other) };
            let expected = codes && (service == 1 || is_two_known);
            let demand = if is_and == 1 { Demand::all } else { Demand::any };
            let lock = Lock::new([demand(service, &[one, other])]).encode(Sources::default());
            let profile = policy.profile_of(&format!("u{user}")).expect("known");
            proptest::prop_assert_eq!(engine.opens(profile, &lock), expected);
        }
    }
}
