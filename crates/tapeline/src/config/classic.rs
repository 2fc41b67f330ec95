//! Reads the keys of `rmds.cnf` files.
//!
//! ```text
//! ! a comment, as is a line with #
//! [host]*program*[object*…]parameter : value
//! *P2PS*14002*pingTimeout            : 30
//! {node}*Src_Dist*feed1.route*hostList : mds1, mds2
//! ```
//!
//! Names are compared without regard to case, and of several keys for one thing
//! that counts which is the most exact ([`precedence`](super::precedence)). A key
//! that begins with the name of another host is skipped. What there is not, or
//! means nothing here, is told and stops nothing.
//!
//! | key | becomes |
//! |---|---|
//! | `*p2ps*PARAMETER` | a key of `[server]` |
//! | `*p2ps*PORT*PARAMETER` of connections | a key of a `[[server.port]]` |
//! | `*ads*USER*itemLimit` and such | a key of a `[[server.user]]` |
//! | `*ROUTE.route*PARAMETER` | a key of a `[[hub.source]]`; with `routeList`, of the routes in it |

mod known;

use std::ops::Range;
use std::path::Path;

use toml::de::DeValue;

use self::known::{
    GUARANTEED, How, KNOWN, Known, OF_PORT, OF_USER, POOL_SIZE, PROGRAMS, Program, ROUTE,
    ROUTE_LIST, SERVICE_ID, WITHOUT_EFFECT, list, program,
};

use super::fault::{Fault, nearest};
use super::precedence::{Component, components, exactness};
use super::section::Section;
use super::sections::Source;
use super::services::Service;
use super::tables::{ServerPort, ServerUser};
use super::value::Setting;
use super::{BUFFER_BYTES, Settings};

/// The least that all outputs together may be bounded by.
const LEAST_POOL_BYTES: usize = 1 << 20;

/// Where consumers connect if the file does not say it.
const DEFAULT_PORT: &str = "14002";

/// Which process of which host reads the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'s> {
    /// The name of the host.
    pub(super) host: &'s str,
    /// The instance of the classic programs that it stands for.
    pub(super) instance: &'s str,
}

/// Where a key of ours comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The section and the key, as plans have them.
    pub(crate) key: String,
    /// The line, from 1.
    pub(crate) line: usize,
    /// What stands in it.
    pub(crate) text: String,
}

/// What a file says beside the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remarks {
    /// Lines that change nothing, with why.
    pub(crate) nothing: Vec<Fault>,
    /// Where the other keys come from.
    pub(crate) origins: Vec<Origin>,
}

/// One line: the components of its key, and its value.
struct Line<'t> {
    span: Range<usize>,
    key: Vec<Component<'t>>,
    value: &'t str,
}

impl Line<'_> {
    /// The host that it is for, if it names one.
    fn host(&self) -> Option<&str> {
        let first = self.key.first().filter(|first| first.is_tight && first.name != "?");
        first.map(|first| first.name).filter(|_| self.key.len() > 1)
    }

    /// The components between the host and the parameter.
    fn objects(&self) -> impl Iterator<Item = &str> + Clone {
        let from = usize::from(self.host().is_some());
        self.key[from..].iter().rev().skip(1).rev().map(|object| object.name)
    }

    fn parameter(&self) -> &str {
        self.key.last().map_or("", |last| last.name)
    }
}

/// Sets what a file says; all values that are wrong in it are told at once.
pub(super) fn read(
    settings: &mut Settings,
    path: &Path,
    text: &str,
    site: Site<'_>,
) -> Result<Remarks, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut lines = Vec::new();
    let mut start = 0;
    for raw in text.split_inclusive('\n') {
        let span = start..start + raw.len();
        start = span.end;
        match parse(raw, span.clone()) {
            Ok(line) => lines.extend(line),
            Err(what) => faults.push(Fault::at(path, text, span, what)),
        }
    }
    lines.retain(|line| line.host().is_none_or(|named| named.eq_ignore_ascii_case(site.host)));
    let ports = ports(&lines, site);
    let mut file =
        File { settings, path, text, site, lines: &lines, faults, remarks: Remarks::default() };
    file.routes();
    file.service_ids();
    for known in &KNOWN {
        file.known(known, &ports);
    }
    file.pool();
    file.ports(&ports);
    file.users(&ports);
    for line in &lines {
        if let Some(what) = nothing(line, site, &ports) {
            file.remarks.nothing.push(Fault::at(path, text, line.span.clone(), what));
        }
    }
    let File { mut faults, remarks, .. } = file;
    faults.sort_by_key(|fault| (fault.line, fault.column));
    if faults.is_empty() { Ok(remarks) } else { Err(faults) }
}

/// A file on its way into the settings.
struct File<'f, 't> {
    settings: &'f mut Settings,
    path: &'f Path,
    text: &'t str,
    site: Site<'f>,
    lines: &'f [Line<'t>],
    faults: Vec<Fault>,
    remarks: Remarks,
}

impl File<'_, '_> {
    /// Takes note of how a line was set.
    fn note(&mut self, line: &Line<'_>, key: String, result: Result<bool, String>) {
        let at = Fault::at(self.path, self.text, line.span.clone(), String::new());
        match result {
            Ok(true) => {
                let text = self.text[line.span.clone()].trim().to_owned();
                self.remarks.origins.push(Origin { key, line: at.line, text });
            }
            Ok(false) => {}
            Err(text) => self.faults.push(Fault { text, ..at }),
        }
    }

    /// Sets a parameter of `[server]` and such, by the line that counts. What may be
    /// of one port is set where it is for all; the others as for the first port.
    fn known(&mut self, known: &Known, ports: &[String]) {
        let is_of_port = OF_PORT.contains(&known.1);
        let port = ports.first().filter(|_| !is_of_port).map_or("", String::as_str);
        let Some(line) = best(known, self.lines, self.site, port) else { return };
        let (_, parameter, section, key, how) = *known;
        let result = how.convert(line.value).and_then(|value| {
            let (Some(value), Some(section)) = (value, self.settings.section(section)) else {
                return Ok(false);
            };
            set_key(section, key, &value).map_err(|what| format!("`{parameter}` {what}"))?;
            Ok(true)
        });
        self.note(line, format!("{section}.{key}"), result);
    }

    /// What all mounts may have: the shared buffers and those of each.
    fn pool(&mut self) {
        let of = |parameter| {
            let name = (Program::Server, parameter, "", "", How::Same);
            best(&name, self.lines, self.site, "")
        };
        let (Some(pool), guaranteed) = (of(POOL_SIZE), of(GUARANTEED)) else { return };
        let count = |line: &Line<'_>| {
            let wrong = || format!("`{}` is no number of buffers", line.value);
            line.value.parse::<usize>().map_err(|_| wrong())
        };
        let of_each = guaranteed.map_or(Ok(0), count);
        let result = count(pool).and_then(|pool| {
            let all = of_each?.saturating_mul(self.settings.server.max_mounts).saturating_add(pool);
            let bytes = all.saturating_mul(BUFFER_BYTES).max(LEAST_POOL_BYTES);
            self.settings.server.output_pool_bytes = bytes;
            Ok(true)
        });
        self.note(pool, "server.output-pool-bytes".to_owned(), result);
    }

    /// Further ports, and what is of one port alone.
    fn ports(&mut self, ports: &[String]) {
        for (number, port) in ports.iter().enumerate() {
            let mut own = ServerPort::default();
            if set_key(&mut own, "port", port).is_err() {
                // It is told where it stands in the list.
                continue;
            }
            let mut has_own = number > 0;
            for known in KNOWN.iter().filter(|known| OF_PORT.contains(&known.1)) {
                let Some(line) = best(known, self.lines, self.site, port) else { continue };
                if !line.objects().any(|object| object == port) {
                    continue;
                }
                let (_, parameter, _, key, how) = *known;
                let result = how.convert(line.value).and_then(|value| {
                    let Some(value) = value else { return Ok(false) };
                    set_key(&mut own, key, &value)
                        .map_err(|what| format!("`{parameter}` {what}"))?;
                    Ok(true)
                });
                has_own = true;
                self.note(line, format!("server.port {port}.{key}"), result);
            }
            if has_own {
                self.settings.ports.push(own);
            }
        }
    }

    /// What is of one user alone.
    fn users(&mut self, ports: &[String]) {
        for line in self.lines {
            let Some((user, parameter, key)) = user_of(line, ports) else { continue };
            let name = (Program::Server, parameter, "", "", How::Same);
            let full = name_of(&name, self.site, user);
            let exact = |line: &Line<'_>| exactness(&line.key, &full);
            let is_same = |other: &&Line<'_>| {
                user_of(other, ports).is_some_and(|(its, _, of)| (its, of) == (user, key))
            };
            let others = self.lines.iter().filter(is_same);
            // Of equals the last.
            let counts = others.max_by(|a, b| exact(a).cmp(&exact(b)));
            if !counts.is_some_and(|counts| counts.span == line.span) {
                continue;
            }
            let users = &mut self.settings.users;
            let place = users.iter().position(|known| known.name == user);
            let place = place.unwrap_or_else(|| {
                users.push(ServerUser { name: user.to_owned(), ..ServerUser::default() });
                users.len() - 1
            });
            let result = set_key(&mut users[place], key, line.value)
                .map(|()| true)
                .map_err(|what| format!("`{}` {what}", line.parameter()));
            self.note(line, format!("server.user {user}.{key}"), result);
        }
    }

    /// The numbers of services.
    fn service_ids(&mut self) {
        for line in self.lines.iter().filter(|line| is_parameter(line, SERVICE_ID)) {
            let result = set_service_id(self.settings, line);
            let name = line.objects().last().unwrap_or_default();
            self.note(line, format!("service {name}.id"), result.map(|()| true));
        }
    }

    /// Routes become sources of the same names.
    fn routes(&mut self) {
        let listed = self.lines.iter().rev().find(|line| is_parameter(line, ROUTE_LIST));
        let listed = listed.map(|line| list(line.value));
        for line in self.lines.iter().filter(|line| is_of_route(line)) {
            let name = route_of(line);
            let is_wanted =
                |names: &Vec<String>| names.iter().any(|it| it.eq_ignore_ascii_case(name));
            if !listed.as_ref().is_none_or(is_wanted) {
                continue;
            }
            let result = set_route(self.settings, name, line.parameter(), line.value);
            let parameter = line.parameter().to_ascii_lowercase();
            let key = ROUTE_KEYS.iter().find(|(classic, _)| *classic == parameter);
            let key = key.map_or("", |(_, key)| *key);
            self.note(line, format!("hub.source {name}.{key}"), result.map(|()| true));
        }
    }
}

/// A line; `None` for one that says nothing.
fn parse(raw: &str, span: Range<usize>) -> Result<Option<Line<'_>>, String> {
    let line = raw.trim();
    if line.is_empty() || line.starts_with(['!', '#']) {
        return Ok(None);
    }
    let Some((key, value)) = line.split_once([':', '=']) else {
        return Err(format!("`{line}` has no value; write key : value"));
    };
    let key = components(key);
    if key.is_empty() {
        return Err("the line has no key; write key : value".to_owned());
    }
    Ok(Some(Line { span, key, value: value.trim() }))
}

fn is_parameter(line: &Line<'_>, name: &str) -> bool {
    line.parameter().eq_ignore_ascii_case(name)
}

/// Whether a line is of a route: of a hub, or without a program.
fn is_of_route(line: &Line<'_>) -> bool {
    let is_of_hub = line.objects().find_map(program).is_none_or(|it| it == Program::Hub);
    is_of_hub
        && line.objects().any(|object| object.eq_ignore_ascii_case("route"))
        && ROUTE.iter().any(|name| is_parameter(line, name))
}

/// The name of the route of a line.
fn route_of<'t>(line: &'t Line<'_>) -> &'t str {
    let is_name = |name: &&str| !name.eq_ignore_ascii_case("route") && program(name).is_none();
    line.objects().find(is_name).unwrap_or("route")
}

/// The user that a line is for, the parameter, and the key of `[[server.user]]`.
fn user_of<'t>(
    line: &'t Line<'_>,
    ports: &[String],
) -> Option<(&'t str, &'static str, &'static str)> {
    let (parameter, key) = OF_USER.iter().find(|(name, _)| is_parameter(line, name))?;
    let mut objects = line.objects().skip_while(|object| program(object).is_none());
    let is_of_server = objects.next().and_then(program) == Some(Program::Server);
    let user = objects.next().filter(|user| is_of_server && *user != "?")?;
    let is_port = ports.iter().any(|port| port == user) || user.parse::<u16>().is_ok();
    (!is_port && objects.next().is_none()).then_some((user, *parameter, *key))
}

/// Why a line changes nothing, if it does not.
fn nothing(line: &Line<'_>, site: Site<'_>, ports: &[String]) -> Option<String> {
    let parameter = line.parameter();
    let is_taken = is_of_route(line)
        || [ROUTE_LIST, SERVICE_ID].iter().any(|name| is_parameter(line, name))
        || user_of(line, ports).is_some();
    if is_taken {
        return None;
    }
    let is_buffers = [POOL_SIZE, GUARANTEED].iter().any(|name| is_parameter(line, name));
    if is_buffers && line.objects().find_map(program) == Some(Program::Server) {
        return None;
    }
    let mut known = KNOWN.iter().filter(|known| is_parameter(line, known.1)).peekable();
    if known.peek().is_some() {
        let fits =
            |known: &Known, port: &str| exactness(&line.key, &name_of(known, site, port)).is_some();
        if known.any(|known| fits(known, "") || ports.iter().any(|port| fits(known, port))) {
            return None;
        }
        let objects: Vec<_> = line.objects().collect();
        return Some(format!(
            "`{parameter}` of `{}` changes nothing: there are settings for all, for the ports {} \
             and, of items, for users",
            objects.join("*"),
            ports.join(" ")
        ));
    }
    if is_buffers || WITHOUT_EFFECT.iter().any(|name| is_parameter(line, name)) {
        return Some(format!(
            "`{parameter}` changes nothing: it says how the classic programs are built"
        ));
    }
    let all = KNOWN.iter().map(|(_, name, ..)| *name).chain(ROUTE).chain(WITHOUT_EFFECT);
    let all = all.chain([ROUTE_LIST, SERVICE_ID, POOL_SIZE, GUARANTEED]);
    Some(format!("unknown key `{parameter}`{}", nearest(parameter, all)))
}

/// The full name of a parameter, each component with all its names. `object` is the
/// port or the user that it is of; empty for all.
fn name_of<'n>(known: &'n Known, site: Site<'n>, object: &'n str) -> [Vec<&'n str>; 5] {
    let (owner, parameter, ..) = known;
    let programs = PROGRAMS.iter().filter(|(_, program)| program == owner);
    let programs = programs.map(|(name, _)| *name).collect();
    [vec![site.host], vec![site.instance], programs, vec![object], vec![*parameter]]
}

/// The line that counts for a parameter: the most exact one, and of those the last.
fn best<'l, 't>(
    known: &Known,
    lines: &'l [Line<'t>],
    site: Site<'_>,
    object: &str,
) -> Option<&'l Line<'t>> {
    let name = name_of(known, site, object);
    let fitting = lines.iter().filter_map(|line| Some((exactness(&line.key, &name)?, line)));
    // Of equals the last.
    fitting.max_by(|a, b| a.0.cmp(&b.0)).map(|(_, line)| line)
}

/// The ports that consumers connect to, the one of RSSL first.
fn ports(lines: &[Line<'_>], site: Site<'_>) -> Vec<String> {
    let of_port = KNOWN.iter().filter(|known| matches!(known.4, How::Port));
    let mut all: Vec<String> = Vec::new();
    for line in of_port.filter_map(|known| best(known, lines, site, "")) {
        for port in list(line.value) {
            if !all.contains(&port) {
                all.push(port);
            }
        }
    }
    if all.is_empty() {
        all.push(DEFAULT_PORT.to_owned());
    }
    all
}

/// Parameters of routes in lower case, and the keys of `[[hub.source]]`.
const ROUTE_KEYS: [(&str, &str); 3] =
    [("hostlist", "hosts"), ("servicelist", "services"), ("port", "port")];

/// Sets a parameter of a route, which becomes a source of the same name.
fn set_route(
    settings: &mut Settings,
    name: &str,
    parameter: &str,
    value: &str,
) -> Result<(), String> {
    let at = settings.sources.iter().position(|source| source.name.as_deref() == Some(name));
    let at = at.unwrap_or_else(|| {
        settings.sources.push(Source { name: Some(name.to_owned()), ..Source::default() });
        settings.sources.len() - 1
    });
    let source = &mut settings.sources[at];
    let (key, value) = match parameter.to_ascii_lowercase().as_str() {
        "hostlist" => ("hosts", list(value).show()),
        "servicelist" => ("services", list(value).show()),
        _ => ("port", value.to_owned()),
    };
    set_key(source, key, &value).map_err(|what| format!("`{parameter}` {what}"))
}

/// Fixes the number of a service: `*FEED*serviceId : 257`.
fn set_service_id(settings: &mut Settings, line: &Line<'_>) -> Result<(), String> {
    let named = line.objects().last().filter(|name| program(name).is_none());
    let Some(name) = named else {
        return Err(format!("`{SERVICE_ID}` needs a service; write *FEED*{SERVICE_ID} : 257"));
    };
    let mut service = Service { name: name.to_owned(), ..Service::default() };
    set_key(&mut service, "id", line.value).map_err(|what| format!("`{SERVICE_ID}` {what}"))?;
    // Of several lines the last counts.
    settings.services.retain(|known| known.name != service.name);
    service.check(&settings.services)?;
    settings.services.push(service);
    Ok(())
}

/// Sets a key from the text of a TOML value.
fn set_key(section: &mut dyn Section, key: &str, value: &str) -> Result<(), String> {
    let quoted = value.to_owned().show();
    let value = DeValue::parse(value).or_else(|_| DeValue::parse(&quoted));
    let value = value.map_err(|error| error.message().to_owned())?;
    section.set(key, value.get_ref()).unwrap_or_else(|| Err("has no counterpart".to_owned()))
}

#[cfg(test)]
mod tests;
