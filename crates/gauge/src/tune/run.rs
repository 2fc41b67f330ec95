//! `check`, `apply` and `undo` from a command line.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use tapeline_measure::processor::{allowed_cores, cores};
use tapeline_measure::record::{Setting, ToolLine};
use tapeline_measure::stop;
use tapeline_measure::table::Table;

use super::change::{Done, apply, undo};
use super::machine::{Machine, Tree};
use super::rows::{Question, Row, State, rows};
use super::settings::{Profile, Reach, all};
use super::{judge, placement};
use crate::GaugeError;
use crate::arguments::{self, Arguments, Known, flag, value};
use crate::output::Output;
use crate::records::Records;

/// How long threads are looked at.
const PLACEMENT_LOOK: Duration = Duration::from_secs(1);

const KNOWN: [Known; 14] = [
    value("profile", "latency, throughput or realtime (latency)"),
    value("interface", "network interface whose settings are looked at"),
    value("cores", "cores that are kept for what is fast: 0,2-3"),
    value("only", "ids of settings, separated by commas"),
    flag("dry-run", "apply: say what would be set"),
    flag("with-advice", "apply: also what is only advised"),
    flag("host-wide", "apply: in a container, also what reaches the whole host"),
    flag("force", "undo: also what somebody else has set since"),
    value("state", "where old values are kept (/var/lib/tapeline/tune.json)"),
    value("root", "a tree of files in place of the machine"),
    value("json", "write a record a setting to this file"),
    flag("placement", "check: which cores and priorities hub, server, source and client have"),
    value("programs", "placement: names of other programs, separated by commas"),
    flag("help", "this text (-?)"),
];

/// Checks, applies or undoes as its command line has it. Returns whether
/// nothing differs, or all was set.
///
/// Errors: the command line is wrong, or old values cannot be kept.
pub fn run(typed: &[String], out: &mut dyn Output) -> Result<bool, GaugeError> {
    let given = Arguments::read(&KNOWN, typed)?;
    if given.has("help") {
        let usage = "tune check    each setting beside what is wanted of it\n\
                     tune apply    sets what can be set while the machine runs\n\
                     tune undo     sets back what apply has set\n\
                     tune judge ID whether one of them makes a difference here: without and with \
                     it, in turns\n\n";
        out.text(&format!("{usage}{}", arguments::help(&KNOWN)));
        return Ok(true);
    }
    let root = PathBuf::from(given.text("root").unwrap_or("/"));
    let state = match given.text("state") {
        Some(path) => PathBuf::from(path),
        None if given.has("root") => root.join("var/lib/tapeline/tune.json"),
        None => PathBuf::from("/var/lib/tapeline/tune.json"),
    };
    let mut machine = Tree { root, state };
    match given.positional.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["check"] if given.is_set("placement")? => placed(&machine, &given, out),
        ["check"] => check(&machine, &question(&given, &machine)?, &given, out),
        ["apply"] => {
            let question = question(&given, &machine)?;
            apply_all(&mut machine, &question, &given, out)
        }
        ["judge", id] => {
            let question = Question { only: vec![id.to_owned()], ..question(&given, &machine)? };
            known_setting(id)?;
            judge_one(machine, id, &question, &given, out)
        }
        ["undo"] => undo_all(&mut machine, given.is_set("force")?, out),
        _ => Err(GaugeError::Usage(
            "give check, apply, undo or judge ID; --help lists options".to_owned(),
        )),
    }
}

fn known_setting(id: &str) -> Result<(), GaugeError> {
    if all().any(|setting| setting.id == id) {
        return Ok(());
    }
    let near = all().min_by_key(|setting| strsim::damerau_levenshtein(setting.id, id));
    let near = near.map_or(String::new(), |near| format!("; did you mean {}?", near.id));
    Err(GaugeError::Usage(format!("there is no setting {id}{near}")))
}

fn core_count(machine: &dyn Machine, is_tree: bool) -> usize {
    let listed = machine.list("sys/devices/system/cpu");
    let is_core = |name: &&String| {
        name.strip_prefix("cpu").is_some_and(|digits| {
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    listed.iter().filter(is_core).count().max(if is_tree { 1 } else { allowed_cores().len() })
}

fn question(given: &Arguments, machine: &dyn Machine) -> Result<Question, GaugeError> {
    let profile = match given.text("profile").unwrap_or("latency") {
        "latency" => Profile::Latency,
        "throughput" => Profile::Throughput,
        "realtime" => Profile::RealTime,
        other => {
            let what = "give latency, throughput or realtime";
            return Err(GaugeError::option("profile", other, what));
        }
    };
    let only: Vec<String> = given
        .text("only")
        .map(|ids| ids.split(',').map(str::to_owned).collect())
        .unwrap_or_default();
    only.iter().try_for_each(|id| known_setting(id))?;
    let kept = match given.text("cores") {
        None => Vec::new(),
        Some(list) => cores(list)
            .ok_or_else(|| GaugeError::option("cores", list, "give cores as 0 or 0,2-3"))?,
    };
    let is_tree = given.has("root");
    let core_count = core_count(machine, is_tree);
    if let Some(core) = kept.iter().find(|core| **core >= core_count) {
        let what = format!("core {core} is not there: this machine has {core_count}");
        return Err(GaugeError::option("cores", given.text("cores").unwrap_or_default(), &what));
    }
    Ok(Question {
        profile,
        cores: kept,
        core_count,
        interface: given.text("interface").map(str::to_owned).or_else(|| {
            let names = machine.list("sys/class/net");
            names.into_iter().find(|name| {
                name != "lo"
                    && machine.read(&format!("sys/class/net/{name}/tx_queue_len")).is_some()
            })
        }),
        only,
        is_tree,
    })
}

fn check(
    machine: &Tree,
    question: &Question,
    given: &Arguments,
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    let rows = rows(machine, question);
    out.text(&table(&rows, question));
    let mut records = Records::create(given.text("json").map(std::path::Path::new))?;
    for row in &rows {
        records.write(&ToolLine::Setting(Box::new(Setting {
            id: row.id.to_owned(),
            present: row.present.clone(),
            wanted: row.wanted.clone(),
            state: row.state.name().to_owned(),
            profile: question.profile.name().to_owned(),
            source: row.source.to_owned(),
        })))?;
    }
    Ok(rows.iter().all(|row| row.state != State::Differs))
}

/// Where the threads of a running system are. Returns whether none of them is in
/// another's way.
fn placed(machine: &Tree, given: &Arguments, out: &mut dyn Output) -> Result<bool, GaugeError> {
    let programs: Vec<String> = given
        .text("programs")
        .map(|names| names.split(',').map(str::to_owned).collect())
        .unwrap_or_default();
    let before = placement::look(machine, &programs);
    let began = Instant::now();
    while began.elapsed() < PLACEMENT_LOOK {
        stop::check()?;
        thread::sleep(PLACEMENT_LOOK.saturating_sub(began.elapsed()).min(PLACEMENT_LOOK / 10));
    }
    let after = placement::look(machine, &programs);
    let siblings = placement::siblings(machine, core_count(machine, given.has("root")));
    let all = placement::judged(&before, &after, began.elapsed().as_secs_f64(), &siblings);
    if all.is_empty() {
        let what = "no thread of hub, server, source or client is at work on this host";
        return Err(GaugeError::Unsupported(format!(
            "{what}; start them, or name other programs: --programs NAME,NAME"
        )));
    }
    let mut records = Records::create(given.text("json").map(std::path::Path::new))?;
    let mut table = Table::new(&["thread", "cores", "policy", "had %", "wants %", "state"])
        .with_last("source")
        .with_last("");
    for of in &all {
        let lines = of.findings.iter().map(Some).chain(of.findings.is_empty().then_some(None));
        for (at, finding) in lines.enumerate() {
            let first = |text: String| if at == 0 { text } else { String::new() };
            let [state, source, told] =
                finding.map_or(["ok".to_owned(), String::new(), String::new()], |of| {
                    [
                        of.state.name().to_owned(),
                        of.source.to_owned(),
                        format!("{}: {}", of.what, of.command),
                    ]
                });
            table.row(vec![
                first(of.who()),
                first(of.cores()),
                first(of.policy()),
                first(of.busy()),
                first(of.wanted()),
                state,
                source,
                told,
            ]);
        }
        let worst = of.findings.first();
        records.write(&ToolLine::Setting(Box::new(Setting {
            id: format!("placement {}", of.who()),
            present: format!(
                "cores {}, {}, has {} % and wants {} %",
                of.cores(),
                of.policy(),
                of.busy(),
                of.wanted()
            ),
            wanted: worst.map_or(String::new(), |finding| finding.command.clone()),
            state: of.state().name().to_owned(),
            profile: "placement".to_owned(),
            source: worst.map_or(String::new(), |finding| finding.source.to_owned()),
        })))?;
    }
    let differ = all.iter().filter(|of| of.state() == State::Differs).count();
    out.text(&format!(
        "{} threads at work, {differ} in another's way or out of place\n{table}",
        all.len()
    ));
    Ok(differ == 0)
}

fn table(rows: &[Row], question: &Question) -> String {
    let count = |name: &str| rows.iter().filter(|row| row.state.name() == name).count();
    let head = format!(
        "tune check --profile {}: {} differ, {} ok, {} advice, {} cannot, {} unknown, {} gone\n",
        question.profile.name(),
        count("differs"),
        count("ok"),
        count("advice"),
        count("cannot"),
        count("unknown"),
        count("gone"),
    );
    let mut table =
        Table::new(&["setting", "present", "wanted", "state"]).with_last("source").with_last("");
    for row in rows {
        let told = match &row.state {
            State::Cannot(why) => why.clone(),
            State::Gone => "this kernel has it no more".to_owned(),
            State::Ok => String::new(),
            _ => row.command.clone(),
        };
        let present = match row.present.chars().count() {
            0..=28 => row.present.clone(),
            _ => row.present.chars().take(27).chain(['…']).collect(),
        };
        table.row(vec![
            row.id.to_owned(),
            present,
            row.wanted.clone(),
            row.state.name().to_owned(),
            row.source.to_owned(),
            told,
        ]);
    }
    format!("{head}{table}")
}

/// Whether this is a container, where the kernel is not its own.
fn is_container(machine: &dyn Machine) -> bool {
    machine.read("run/.containerenv").is_some()
        || machine.read(".dockerenv").is_some()
        || machine.read("proc/1/cgroup").is_some_and(|text| {
            ["docker", "kubepods", "containerd", "lxc"].iter().any(|word| text.contains(word))
        })
}

fn apply_all(
    machine: &mut Tree,
    question: &Question,
    given: &Arguments,
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    let with_advice = given.is_set("with-advice")?;
    let may_reach_host = given.is_set("host-wide")? || !is_container(machine);
    let dry = given.is_set("dry-run")?;
    let (mut set, mut refused) = (0, 0);
    for row in rows(machine, question) {
        let is_wanted = match row.state {
            State::Differs => true,
            State::Advice => with_advice && !row.writes.is_empty(),
            _ => false,
        };
        if !is_wanted {
            continue;
        }
        let why_not = match row.reach {
            Reach::Host if !may_reach_host => {
                Some("it reaches the whole host; --host-wide sets it")
            }
            Reach::Boot => Some("it needs a boot or the firmware's menu"),
            Reach::Told => Some("it is not set by a program"),
            _ if row.writes.is_empty() => Some("there is nothing to write"),
            _ => None,
        };
        if let Some(why) = why_not {
            refused += 1;
            out.text(&format!("{}: left as it is: {why}. {}\n", row.id, row.command));
            continue;
        }
        for write in &row.writes {
            if dry {
                out.text(&format!("{}: /{}: {} -> {}\n", row.id, write.path, write.old, write.new));
                continue;
            }
            let keeping =
                format!("keeping the old value of {} in {}", row.id, machine.state.display());
            match apply(machine, write).map_err(GaugeError::io(keeping))? {
                Done::Set => {
                    set += 1;
                    out.text(&format!("{}: {} -> {}\n", row.id, write.old, write.new));
                }
                Done::Refused(why) => {
                    refused += 1;
                    out.text(&format!("{}: cannot: {why}\n", row.id));
                }
            }
        }
    }
    out.text(&format!("{set} set, {refused} left as they are; `tune undo` sets them back\n"));
    Ok(refused == 0)
}

/// Measures without one setting and with it. Returns whether it makes no
/// difference.
fn judge_one(
    machine: Tree,
    id: &str,
    question: &Question,
    given: &Arguments,
    out: &mut dyn Output,
) -> Result<bool, GaugeError> {
    let may_reach_host = given.is_set("host-wide")? || !is_container(&machine);
    // What it sets is kept apart from what `apply` has set, and set back first if
    // a judge before was cut short.
    let state = machine.state.with_extension("judge.json");
    let mut machine = Tree { state, ..machine };
    undo(&mut machine, false).map_err(GaugeError::io("setting back an earlier judge's value"))?;
    let row = rows(&machine, question).into_iter().find(|row| row.id == id);
    let row = row.ok_or_else(|| GaugeError::Usage(format!("there is no setting {id} here")))?;
    let why_not = match row.state {
        _ if row.writes.is_empty() && row.state == State::Ok => {
            Some("it is as wanted already: there is nothing to compare with".to_owned())
        }
        State::Cannot(why) => Some(why),
        _ if row.reach == Reach::Host && !may_reach_host => {
            Some("it reaches the whole host; --host-wide judges it".to_owned())
        }
        _ if row.writes.is_empty() => Some("it is not set while the machine runs".to_owned()),
        _ => None,
    };
    if let Some(why) = why_not {
        return Err(GaugeError::Unsupported(format!("{id}: {why}")));
    }
    out.say(&format!("{id}: ten rounds of half a second, without it and with {}", row.wanted));
    let sides = judge::in_turns(&mut machine, &row.writes, &mut |_| judge::round())?;
    let (differs, text) = judge::told(id, &sides);
    out.text(&text);
    Ok(!differs)
}

fn undo_all(machine: &mut Tree, forces: bool, out: &mut dyn Output) -> Result<bool, GaugeError> {
    let reading = format!("the old values in {}", machine.state.display());
    let (back, left) = undo(machine, forces).map_err(GaugeError::io(reading))?;
    for of in &left {
        out.text(&format!("/{}: left: {}\n", of.path, of.why));
    }
    out.text(&format!("{back} set back, {} left\n", left.len()));
    Ok(left.is_empty())
}
