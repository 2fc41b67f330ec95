//! Routes, which become sources of the same names.
//!
//! ```text
//! *adh*routeList                    : feed1, feed2
//! *Src_Dist*feed1.route*hostList    : mds1, mds2       host.instance.program.feed1.route.hostList
//! *adh*route*port                   : 14002            that of each route
//! ```

use super::known::{How, Known, Program, ROUTE, ROUTE_LIST, list, program, programs};
use super::{File, Line, Settings, Site, best, is_parameter, most_exact, set_key};
use crate::config::sections::Source;
use crate::config::value::Setting;

/// The component behind the name of a route.
pub(super) const BEHIND_NAME: &str = "route";

/// The name of the one that lines for all routes make where none is named.
const UNNAMED: &str = "route";

/// Parameters of routes, and the keys of `[[hub.source]]`.
const KEYS: [(&str, &str); 3] =
    [("hostList", "hosts"), ("port", "port"), ("serviceList", "services")];

const LIST: Known = (Program::Hub, ROUTE_LIST, "", "", How::Same);

impl File<'_, '_> {
    pub(super) fn routes(&mut self, names: &[&str]) {
        let (lines, site) = (self.lines, self.site);
        let listed = best(&LIST, lines, site, "").map(|line| list(line.value));
        let is_wanted = |name: &str| {
            let is_listed = |all: &Vec<String>| all.iter().any(|it| it.eq_ignore_ascii_case(name));
            listed.as_ref().is_none_or(is_listed)
        };
        for name in names.iter().filter(|name| is_wanted(name)) {
            for (parameter, key) in KEYS {
                let full = name_of_route(site, name, parameter);
                let Some(line) = most_exact(lines, &full) else { continue };
                let result = set_route(self.settings, name, (parameter, key), line.value);
                self.note(line, format!("hub.source {name}.{key}"), result.map(|()| true));
            }
        }
    }
}

/// Routes that lines name, in their order.
pub(super) fn names<'l>(lines: &'l [Line<'_>], site: Site<'_>) -> Vec<&'l str> {
    let mut names: Vec<&str> = Vec::new();
    for line in lines {
        let Some(name) = own_name(line) else { continue };
        let is_new = names.iter().all(|known| !known.eq_ignore_ascii_case(name));
        if is_new && is_of_route(line, site, name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        names.push(UNNAMED);
    }
    names
}

/// Whether a line says something of routes.
pub(super) fn is_of_route_or_list(line: &Line<'_>) -> bool {
    ROUTE.into_iter().chain([ROUTE_LIST]).any(|name| is_parameter(line, name))
}

/// Whether a line that says something of these changes something.
pub(super) fn is_meant(line: &Line<'_>, site: Site<'_>, names: &[&str]) -> bool {
    match is_parameter(line, ROUTE_LIST) {
        true => line.is_for(&super::name_of(&LIST, site, "")),
        false => names.iter().any(|name| is_of_route(line, site, name)),
    }
}

fn is_of_route(line: &Line<'_>, site: Site<'_>, name: &str) -> bool {
    let has_object = line.objects().any(|object| object.eq_ignore_ascii_case(BEHIND_NAME));
    has_object && ROUTE.iter().any(|parameter| line.is_for(&name_of_route(site, name, parameter)))
}

/// The route that a line names: what stands before `route`.
pub(super) fn own_name<'l>(line: &'l Line<'_>) -> Option<&'l str> {
    let is_behind = |object: &str| object.eq_ignore_ascii_case(BEHIND_NAME);
    let behind = line.objects().position(is_behind)?;
    let name = line.objects().nth(behind.checked_sub(1)?)?;
    (name != "?" && program(name).is_none()).then_some(name)
}

/// The full name of a parameter of a route.
fn name_of_route<'n>(site: Site<'n>, route: &'n str, parameter: &'n str) -> [Vec<&'n str>; 6] {
    let (host, instance) = (vec![site.host], vec![site.instance]);
    let program = programs(Program::Hub);
    [host, instance, program, vec![route], vec![BEHIND_NAME], vec![parameter]]
}

/// Sets a parameter of a route, which becomes a source of the same name.
fn set_route(
    settings: &mut Settings,
    name: &str,
    (parameter, key): (&str, &str),
    value: &str,
) -> Result<(), String> {
    let at = settings.sources.iter().position(|source| source.name.as_deref() == Some(name));
    let at = at.unwrap_or_else(|| {
        settings.sources.push(Source { name: Some(name.to_owned()), ..Source::default() });
        settings.sources.len() - 1
    });
    let value = if key == "port" { value.to_owned() } else { list(value).show() };
    set_key(&mut settings.sources[at], key, &value).map_err(|what| format!("`{parameter}` {what}"))
}
