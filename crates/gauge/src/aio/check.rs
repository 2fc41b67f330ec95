//! What of a flow cannot be, and what is unusual.

use std::collections::BTreeMap;
use std::fs;

use tapeline_measure::processor::allowed_cores;

use super::document::Reader;
use super::flow::{Flow, Kind, LinkSpec, ModuleSpec, Reply, Via};

/// Tells of all that cannot be, by its line, and collects warnings.
pub(super) fn check(flow: &mut Flow, reader: &Reader<'_>) {
    for link in &flow.links {
        ends(flow, link, reader);
    }
    ports(flow, reader);
    for module in &flow.modules {
        counts(module, reader);
        window(flow, module, reader);
    }
    cycles(flow, reader);
    if flow.modules.is_empty() {
        reader
            .fault(1, "there is no part with a module: give [[part]] [[part.thread]] module = […]");
    }
    flow.warnings = warnings(flow);
}

/// Whether the other end of a link is no module of this file: a tool, or
/// another run of this one.
pub(super) fn is_open(link: &LinkSpec) -> bool {
    link.port > 0 && (link.from.is_none() || link.to.is_none())
}

fn ends(flow: &Flow, link: &LinkSpec, reader: &Reader<'_>) {
    let name = &link.name;
    let fault = |what: String| reader.fault(link.line, what);
    let (from, to) = (flow.thread_of(link.from), flow.thread_of(link.to));
    let (Some(from), Some(to)) = (from, to) else {
        let missing = match (from, to) {
            (None, None) => "is at no module",
            (None, _) => "has nobody with it as `out`",
            _ => "has nobody with it as `in`",
        };
        let is_network =
            matches!(link.via, Via::Link(of) if of.is_network()) || link.via == Via::Raw;
        if !is_open(link) || !is_network || (from, to) == (None, None) {
            fault(format!(
                "link `{name}` {missing}; give it both ends, or a port if the other one is not of \
                 this file"
            ));
        }
        return;
    };
    let parts = [from, to].map(|thread| flow.threads[thread].part);
    match link.via {
        Via::Call if from != to => {
            fault(format!("link `{name}` is a call, and its ends are in two threads; give ring"));
        }
        Via::Call => {}
        _ if from == to => {
            fault(format!("link `{name}` has both ends in one thread; give via = \"call\""));
        }
        Via::Ring if parts[0] != parts[1] => {
            fault(format!(
                "link `{name}` is a ring, and its ends are in two parts; give unix_stream"
            ));
        }
        Via::Mcast if link.connections > 1 => {
            fault(format!(
                "link `{name}` is a group: there is one of it; leave `connections` away"
            ));
        }
        Via::Mcast => one_way(flow, link, reader),
        Via::Ring if link.connections > 1 => {
            fault(format!("link `{name}` is a ring: there is one of it; leave `connections` away"));
        }
        _ => {}
    }
}

/// From a group nothing comes back.
fn one_way(flow: &Flow, link: &LinkSpec, reader: &Reader<'_>) {
    let module = |end: Option<usize>| end.map(|number| &flow.modules[number]);
    let fault = |module: &ModuleSpec, what: &str| {
        let (link, kind, name) = (&link.name, module.kind.name(), &module.name);
        reader.fault(
            module.line,
            format!("link `{link}` is multicast and has no way back: {kind} `{name}` {what}"),
        );
    };
    if let Some(from) = module(link.from).filter(|of| matches!(of.kind, Kind::Client(_))) {
        fault(from, "would wait for answers; give a source");
    }
    if let Some(to) = module(link.to) {
        match to.kind {
            Kind::Server { reply: Reply::Full | Reply::Ack, .. } => {
                fault(to, "would answer; give reply = \"none\"");
            }
            Kind::Forward { acknowledges: true } => fault(to, "would answer; give ack = false"),
            _ => {}
        }
    }
}

fn ports(flow: &Flow, reader: &Reader<'_>) {
    let mut taken: BTreeMap<u16, &str> = BTreeMap::new();
    for link in flow.links.iter().filter(|link| link.port > 0 && link.to.is_some()) {
        if let Some(other) = taken.insert(link.port, &link.name) {
            let (name, port) = (&link.name, link.port);
            reader.fault(link.line, format!("port {port} of link `{name}` is that of `{other}`"));
        }
    }
}

/// How many inputs and outputs a module has.
fn counts(module: &ModuleSpec, reader: &Reader<'_>) {
    const MANY: usize = usize::MAX;
    let (inputs, outputs) = match &module.kind {
        Kind::Client(_) | Kind::Source(_) => (0..=0, 1..=1),
        Kind::Server { .. } | Kind::Sink => (1..=1, 0..=0),
        Kind::Forward { .. } | Kind::Work { .. } | Kind::Match { .. } | Kind::Delay(_) => {
            (1..=1, 1..=1)
        }
        Kind::Sequencer { .. } | Kind::Merge => (1..=MANY, 1..=1),
        Kind::Fanout | Kind::Route(_) => (1..=1, 1..=MANY),
        Kind::Journal(_) => (1..=1, 0..=1),
    };
    for (key, range, count) in
        [("in", inputs, module.inputs.len()), ("out", outputs, module.outputs.len())]
    {
        if range.contains(&count) {
            continue;
        }
        let (least, most) = (*range.start(), *range.end());
        let wanted = match () {
            () if most == 0 => "none".to_owned(),
            () if most == MANY => format!("{least} at least"),
            () if least == most => least.to_string(),
            () => format!("{least} to {most}"),
        };
        let (kind, name) = (module.kind.name(), &module.name);
        let what = format!("{kind} `{name}` has {count} links as `{key}`; it takes {wanted}");
        reader.fault(module.line, what);
    }
}

/// No more may be on the way than there is room for.
fn window(flow: &Flow, module: &ModuleSpec, reader: &Reader<'_>) {
    let Kind::Client(origin) = &module.kind else { return };
    let pool = flow.threads[module.thread].pool;
    let all = origin.window.saturating_mul(origin.clients);
    if all > pool {
        let what = format!(
            "client `{}` may have {all} messages without an answer (window × clients), and its \
             thread's pool is {pool}; give a smaller window or a larger pool",
            module.name
        );
        reader.fault(module.line, what);
    }
}

/// Messages that go round and round are of a client, which takes them.
fn cycles(flow: &Flow, reader: &Reader<'_>) {
    /// 0: not seen, 1: on the way, 2: done.
    fn visit(
        flow: &Flow,
        at: usize,
        state: &mut [u8],
        way: &mut Vec<usize>,
        found: &mut Vec<Vec<usize>>,
    ) {
        state[at] = 1;
        way.push(at);
        for link in &flow.modules[at].outputs {
            let Some(next) = flow.links[*link].to else { continue };
            match state[next] {
                0 => visit(flow, next, state, way, found),
                1 => {
                    let from = way.iter().position(|on| *on == next).unwrap_or(0);
                    found.push(way[from..].to_vec());
                }
                _ => {}
            }
        }
        way.pop();
        state[at] = 2;
    }
    let (mut state, mut found) = (vec![0; flow.modules.len()], Vec::new());
    for at in 0..flow.modules.len() {
        if state[at] == 0 {
            visit(flow, at, &mut state, &mut Vec::new(), &mut found);
        }
    }
    for cycle in found {
        let has_client = cycle.iter().any(|at| matches!(flow.modules[*at].kind, Kind::Client(_)));
        if let Some(first) = cycle.first().filter(|_| !has_client) {
            let names: Vec<&str> = cycle.iter().map(|at| flow.modules[*at].name.as_str()).collect();
            let what = format!("messages go round without an end: {}", names.join(" → "));
            reader.fault(flow.modules[*first].line, what);
        }
    }
}

fn warnings(flow: &Flow) -> Vec<String> {
    let mut all = Vec::new();
    let (cores, polling) =
        (allowed_cores(), flow.threads.iter().filter(|of| of.is_polling).count());
    if polling > cores.len() {
        all.push(format!(
            "{polling} threads poll, and there are {} cores: they take them from each other",
            cores.len()
        ));
    }
    let mut on_core: BTreeMap<usize, &str> = BTreeMap::new();
    for thread in flow.threads.iter().filter(|thread| thread.is_polling) {
        let Some(core) = thread.core else { continue };
        let (first, name) = (first_sibling(core), &thread.name);
        if let Some(other) = on_core.insert(first, name) {
            all.push(format!(
                "threads `{other}` and `{name}` poll on one core, or on two of its threads"
            ));
        }
    }
    all
}

/// The first of a core's hardware threads; itself where the kernel does not tell.
fn first_sibling(core: usize) -> usize {
    let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
    let text = fs::read_to_string(path).unwrap_or_default();
    let first = text.split([',', '-', '\n']).next().and_then(|word| word.parse().ok());
    first.unwrap_or(core)
}

/// Cores that are named and not there.
pub(super) fn missing_core(flow: &Flow) -> Option<usize> {
    let cores = allowed_cores();
    let named = flow.threads.iter().filter_map(|thread| thread.core);
    named.into_iter().find(|core| !cores.contains(core))
}

/// A sink that is on another host than what it hears from has another clock.
pub(super) fn far_sink(flow: &Flow, part: usize) -> Option<&ModuleSpec> {
    let is_here = |module: &ModuleSpec| flow.threads[module.thread].part == part;
    // Everything that leads to a module, through links of this file.
    let leads = |sink: usize| {
        let (mut open, mut seen) = (vec![sink], vec![false; flow.modules.len()]);
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let from = flow.modules[at].inputs.iter().filter_map(|link| flow.links[*link].from);
            open.extend(from);
        }
        seen
    };
    let sinks =
        flow.modules.iter().enumerate().filter(|(_, of)| of.kind == Kind::Sink && is_here(of));
    sinks.into_iter().find_map(|(number, sink)| {
        let seen = leads(number);
        let is_far = flow.modules.iter().zip(seen).any(|(module, seen)| {
            seen && matches!(module.kind, Kind::Source(_)) && !is_here(module)
        });
        is_far.then_some(sink)
    })
}

/// A link of a part that is run alone leads somewhere.
pub(super) fn link_without_port(flow: &Flow, part: usize) -> Option<&LinkSpec> {
    flow.links.iter().find(|link| {
        let ends = [link.from, link.to].map(|module| flow.thread_of(module));
        let is_here =
            |thread: &Option<usize>| thread.is_some_and(|of| flow.threads[of].part == part);
        ends.iter().filter(|end| is_here(end)).count() == 1 && link.port == 0
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::super::document::Value;
    use super::super::{read, scenarios};

    /// A flow of a source, a sink and a link, with these lines in place of its
    /// own.
    fn error(text: &str) -> String {
        read::read("f.toml", text, &[]).err().map_or_else(String::new, |error| error.to_string())
    }

    /// A file of one thread each for modules, behind lines of links.
    fn of(links: &str, modules: &[&str]) -> String {
        let mut threads = String::new();
        for (n, module) in modules.iter().enumerate() {
            let _ = write!(threads, "[[part.thread]]\nname = \"t{n}\"\nmodule = [{module}]\n");
        }
        format!("name = \"x\"\n{links}\n[[part]]\nname = \"p\"\n{threads}")
    }

    const SOURCE: &str = r#"{ type = "source", name = "a", out = ["l"] }"#;
    const SINK: &str = r#"{ type = "sink", name = "b", in = ["l"] }"#;

    #[test]
    fn every_scenario_is_in_order() {
        for (name, text) in scenarios::ALL {
            let flow = read::read(name, text, &[]);
            assert!(flow.is_ok(), "{name}: {}", flow.err().unwrap());
        }
        let (name, text) = scenarios::ALL[0];
        let rate = [("rate".to_owned(), Value::Integer(77))];
        let flow = read::read(name, text, &rate).unwrap();
        let origin = flow.modules.iter().find_map(|module| module.kind.origin()).unwrap();
        assert!((origin.rate_per_s - 77.0).abs() < 1e-9);
        let wrong = [("rat".to_owned(), Value::Integer(77))];
        let error = read::read(name, text, &wrong).unwrap_err().to_string();
        assert_eq!(error, "order-native: there is no variable @rat; did you mean `rate`?");
    }

    #[test]
    fn a_flow_in_order_has_no_error() {
        assert_eq!(error(&of("link = [{ name = \"l\", via = \"ring\" }]", &[SOURCE, SINK])), "");
    }

    #[test]
    fn keys_variables_and_types_are_told_by_their_line() {
        let link = "link = [{ name = \"l\", vai = \"ring\" }]";
        let told = error(&of(link, &[SOURCE, SINK]));
        assert_eq!(told, "f.toml, line 2: a link has no key `vai`; did you mean `via`?");
        let link = "vars = { hop = \"tcp\" }\nlink = [{ name = \"l\", via = \"$hpo\" }]";
        let told = error(&of(link, &[SOURCE, SINK]));
        assert_eq!(told, "f.toml, line 3: there is no variable $hpo; did you mean `hop`?");
        let link = "link = [{ name = \"l\", via = \"tpc\" }]";
        assert!(
            error(&of(link, &[SOURCE, SINK])).contains("line 2: `via` is `tpc`; give one of ring")
        );
        let source = r#"{ type = "source", name = "a", out = ["l"], rate = 0 }"#;
        let told = error(&of("link = [{ name = \"l\" }]", &[source, SINK]));
        assert_eq!(told, "f.toml, line 7: `rate` is 0; give a number of 0.001 to 10000000");
        let source = r#"{ type = "sourc", name = "a", out = ["l"] }"#;
        let told = error(&of("link = [{ name = \"l\" }]", &[source, SINK]));
        assert!(told.contains("line 7: there is no module type `sourc`; did you mean `source`?"));
        let source = r#"{ type = "source", name = "a", out = ["ll"] }"#;
        let told = error(&of("link = [{ name = \"l\" }]", &[source, SINK]));
        assert!(
            told.contains("f.toml, line 7: there is no link `ll`; did you mean `l`?"),
            "{told}"
        );
        assert!(error("name = \"x\"\nlink = [\n").starts_with("f.toml, line "));
        assert!(error("name = \"x\"").contains("there is no part with a module"));
    }

    #[test]
    fn what_cannot_be_of_links_is_told_by_its_line() {
        let ring = "link = [{ name = \"l\", via = \"ring\" }]";
        let told = error(&of(ring, &[SOURCE]));
        assert!(told.contains("line 2: link `l` has nobody with it as `in`"), "{told}");
        let told = error(&of("link = [{ name = \"l\" }, { name = \"m\" }]", &[SOURCE, SINK]));
        assert!(told.contains("line 2: link `m` is at no module"), "{told}");
        let told = error(&of("link = [{ name = \"l\", via = \"call\" }]", &[SOURCE, SINK]));
        assert!(
            told.contains("line 2: link `l` is a call, and its ends are in two threads"),
            "{told}"
        );
        let both = format!("{SOURCE}, {SINK}");
        let told = error(&of("link = [{ name = \"l\", via = \"tcp\" }]", &[&both]));
        assert!(told.contains("line 2: link `l` has both ends in one thread"), "{told}");
        let parts = format!(
            "name = \"x\"\n{ring}\n[[part]]\nname = \"p\"\n[[part.thread]]\nname = \"t\"\n\
             module = [{SOURCE}]\n[[part]]\nname = \"q\"\n[[part.thread]]\nname = \"u\"\n\
             module = [{SINK}]\n"
        );
        let told = error(&parts);
        assert!(
            told.contains("line 2: link `l` is a ring, and its ends are in two parts"),
            "{told}"
        );
        let other = r#"{ type = "sink", name = "c", in = ["l"] }"#;
        let told = error(&of(ring, &[SOURCE, SINK, other]));
        assert!(told.contains("line 13: link `l` is taken from by `b` already"), "{told}");
        let ports = "link = [{ name = \"l\", via = \"tcp\", port = 7 },\n{ name = \"m\", via = \"tcp\", port = 7 }]";
        let modules = [
            SOURCE,
            SINK,
            r#"{ type = "source", name = "c", out = ["m"] }"#,
            r#"{ type = "sink", name = "d", in = ["m"] }"#,
        ];
        let told = error(&of(ports, &modules));
        assert!(told.contains("line 3: port 7 of link `m` is that of `l`"), "{told}");
    }

    #[test]
    fn what_cannot_be_of_modules_is_told_by_its_line() {
        let links = "link = [{ name = \"l\" }, { name = \"m\" }]";
        let round = [
            r#"{ type = "forward", name = "a", in = ["m"], out = ["l"] }"#,
            r#"{ type = "forward", name = "b", in = ["l"], out = ["m"] }"#,
        ];
        let told = error(&of(links, &round));
        assert!(told.contains("line 7: messages go round without an end: a → b"), "{told}");
        let told = error(&of(
            "link = [{ name = \"l\" }]",
            &[SOURCE, r#"{ type = "work", name = "b", in = ["l"] }"#],
        ));
        assert!(told.contains("line 10: work `b` has 0 links as `out`; it takes 1"), "{told}");
        let client =
            r#"{ type = "client", name = "a", out = ["l"], clients = 10, window = 10000 }"#;
        let server = r#"{ type = "server", name = "b", in = ["l"] }"#;
        let told = error(&of("link = [{ name = \"l\" }]", &[client, server]));
        assert!(
            told.contains("line 7: client `a` may have 100000 messages without an answer"),
            "{told}"
        );
    }

    #[test]
    fn a_sink_on_another_host_is_found_and_so_is_a_link_without_a_port() {
        let (name, text) = scenarios::ALL.iter().find(|(name, _)| *name == "nwtool-chain").unwrap();
        let flow = read::read(name, text, &[]).unwrap();
        // Its first side is a client: the sink hears from no source.
        assert!(super::far_sink(&flow, 2).is_none());
        assert_eq!(super::link_without_port(&flow, 1).map(|link| &link.name[..]), Some("first"));
        let text = text.replace("type = \"client\"", "type = \"source\"");
        let flow = read::read(name, &text, &[]).unwrap();
        assert_eq!(super::far_sink(&flow, 2).map(|sink| &sink.name[..]), Some("receive"));
    }

    #[test]
    fn more_threads_that_poll_than_cores_are_warned_of() {
        let (name, text) = scenarios::ALL[0];
        let of = [("polling".to_owned(), Value::Flag(true))];
        let flow = read::read(name, text, &of).unwrap();
        let cores = tapeline_measure::processor::allowed_cores().len();
        assert_eq!(
            flow.warnings.iter().any(|warning| warning.starts_with("5 threads poll")),
            cores < 5
        );
        let on_one = text
            .replace("cpu_client = -1", "cpu_client = 0")
            .replace("cpu_gateway = -1", "cpu_gateway = 0");
        let flow = read::read(name, &on_one, &of).unwrap();
        assert!(
            flow.warnings
                .iter()
                .any(|warning| warning.contains("`client` and `gateway` poll on one core"))
        );
    }
}
