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
//! that begins with the name of another host, or of this one and another instance, is
//! skipped. What there is not, or means nothing here, is told and stops nothing.
//!
//! | key | becomes |
//! |---|---|
//! | `*p2ps*PARAMETER` | a key of `[server]` |
//! | `*p2ps*PORT*PARAMETER` of connections | a key of a `[[server.port]]` |
//! | `*ads*USER*itemLimit` and such | a key of a `[[server.user]]` |
//! | `*SERVICE*PARAMETER` of services | a key of a `[[service]]` |
//! | `*ROUTE.route*PARAMETER` | a key of a `[[hub.source]]`; with `routeList`, of the routes in it |

mod known;
mod routes;
mod services;

use std::ops::Range;
use std::path::Path;

use toml::de::DeValue;

use self::known::{
    GUARANTEED, How, KNOWN, Known, OF_PORT, OF_USER, POOL_SIZE, Program, ROUTE, ROUTE_LIST,
    SERVICE, SERVICE_FLUSH, WITHOUT_EFFECT, list, program, programs,
};

use super::fault::{Fault, nearest};
use super::precedence::{Component, components, exactness};
use super::section::Section;
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

    /// The instance that it is for, if it names one behind the host.
    fn instance(&self) -> Option<&str> {
        let second = self.key.get(1).filter(|_| self.host().is_some() && self.key.len() > 2)?;
        let is_named = second.is_tight && second.name != "?" && program(second.name).is_none();
        is_named.then_some(second.name)
    }

    fn is_of(&self, site: Site<'_>) -> bool {
        self.host().is_none_or(|named| named.eq_ignore_ascii_case(site.host))
            && self.instance().is_none_or(|named| named.eq_ignore_ascii_case(site.instance))
    }

    /// The components between the host, or the instance behind it, and the parameter.
    fn objects(&self) -> impl Iterator<Item = &str> + Clone {
        let from = usize::from(self.host().is_some()) + usize::from(self.instance().is_some());
        self.key[from..].iter().rev().skip(1).rev().map(|object| object.name)
    }

    fn parameter(&self) -> &str {
        self.key.last().map_or("", |last| last.name)
    }

    /// Whether it is for a full name, be there more exact ones.
    fn is_for(&self, name: &[Vec<&str>]) -> bool {
        exactness(&self.key, name).is_some()
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
    lines.retain(|line| line.is_of(site));
    let ports = ports(&lines, site);
    let routes = routes::names(&lines, site);
    let mut file =
        File { settings, path, text, site, lines: &lines, faults, remarks: Remarks::default() };
    file.routes(&routes);
    file.services();
    for known in &KNOWN {
        file.known(known, &ports);
    }
    file.pool();
    file.ports(&ports);
    file.users(&ports);
    for line in &lines {
        if let Some(what) = nothing(line, site, &ports, &routes) {
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
        let (lines, site) = (self.lines, self.site);
        for line in lines {
            let Some((user, key)) = user_of(line, ports) else { continue };
            let counts = most_exact(lines, &name_of_user(site, user, key));
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

/// The user that a line is for, and the key of `[[server.user]]`.
fn user_of<'t>(line: &'t Line<'_>, ports: &[String]) -> Option<(&'t str, &'static str)> {
    let (_, key) = OF_USER.iter().find(|(name, _)| is_parameter(line, name))?;
    let mut objects = line.objects().skip_while(|object| program(object).is_none());
    let is_of_server = objects.next().and_then(program) == Some(Program::Server);
    let user = objects.next().filter(|user| is_of_server && *user != "?")?;
    let is_port = ports.iter().any(|port| port == user) || user.parse::<u16>().is_ok();
    (!is_port && objects.next().is_none()).then_some((user, *key))
}

/// Why a line changes nothing, if it does not.
fn nothing(line: &Line<'_>, site: Site<'_>, ports: &[String], routes: &[&str]) -> Option<String> {
    let parameter = line.parameter();
    let is_of_user =
        user_of(line, ports).is_some_and(|(user, key)| line.is_for(&name_of_user(site, user, key)));
    if is_of_user {
        return None;
    }
    let is_of_service = services::is_of_service(line);
    if is_of_service || routes::is_of_route_or_list(line) {
        return match is_of_service {
            true if services::is_meant(line, site) => services::nothing(line),
            false if routes::is_meant(line, site, routes) => None,
            _ => Some(format!(
                "`{parameter}` of `{}` changes nothing: there are *ROUTE.route*hostList, port \
                 and serviceList and *routeList of a hub, and *SERVICE*serviceId, cacheType, \
                 cacheLocation and rrmpFlushInterval",
                line.objects().collect::<Vec<_>>().join("*")
            )),
        };
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
    if OF_USER.iter().any(|(name, _)| is_parameter(line, name)) {
        return Some(format!("`{parameter}` changes nothing: write *ads*USER*{parameter}"));
    }
    if is_buffers || WITHOUT_EFFECT.iter().any(|name| is_parameter(line, name)) {
        return Some(format!(
            "`{parameter}` changes nothing: it says how the classic programs are built"
        ));
    }
    let all = KNOWN.iter().map(|(_, name, ..)| *name).chain(ROUTE).chain(WITHOUT_EFFECT);
    let all = all.chain(OF_USER.iter().map(|(name, _)| *name));
    let all = all.chain(SERVICE.iter().map(|(name, _)| *name));
    let all = all.chain([ROUTE_LIST, SERVICE_FLUSH, POOL_SIZE, GUARANTEED]);
    Some(format!("unknown key `{parameter}`{}", nearest(parameter, all)))
}

/// The full name of a parameter, each component with all its names. `object` is the
/// port that it is of; empty for all.
fn name_of<'n>(known: &'n Known, site: Site<'n>, object: &'n str) -> [Vec<&'n str>; 5] {
    let (owner, parameter, ..) = known;
    [vec![site.host], vec![site.instance], programs(*owner), vec![object], vec![*parameter]]
}

/// The full name of what becomes a key of a user, by all classic names of it.
fn name_of_user<'n>(site: Site<'n>, user: &'n str, key: &str) -> [Vec<&'n str>; 5] {
    let parameters = OF_USER.iter().filter(|(_, of)| *of == key).map(|(name, _)| *name);
    let (program, parameters) = (programs(Program::Server), parameters.collect());
    [vec![site.host], vec![site.instance], program, vec![user], parameters]
}

/// The line that counts for a parameter.
fn best<'l, 't>(
    known: &Known,
    lines: &'l [Line<'t>],
    site: Site<'_>,
    object: &str,
) -> Option<&'l Line<'t>> {
    most_exact(lines, &name_of(known, site, object))
}

/// The line that counts for a full name: the most exact one, and of those the last.
fn most_exact<'l, 't: 'l>(
    lines: impl IntoIterator<Item = &'l Line<'t>>,
    name: &[Vec<&str>],
) -> Option<&'l Line<'t>> {
    let fitting = lines.into_iter().filter_map(|line| Some((exactness(&line.key, name)?, line)));
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

/// Sets a key from the text of a TOML value.
fn set_key(section: &mut dyn Section, key: &str, value: &str) -> Result<(), String> {
    let quoted = value.to_owned().show();
    let value = DeValue::parse(value).or_else(|_| DeValue::parse(&quoted));
    let value = value.map_err(|error| error.message().to_owned())?;
    section.set(key, value.get_ref()).unwrap_or_else(|| Err("has no counterpart".to_owned()))
}

#[cfg(test)]
mod tests;
