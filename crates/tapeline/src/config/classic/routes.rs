//! Routes, which become sources of the same names, and the numbers of services.
//!
//! ```text
//! *adh*routeList                    : feed1, feed2
//! *Src_Dist*feed1.route*hostList    : mds1, mds2       host.instance.program.feed1.route.hostList
//! *adh*route*port                   : 14002            that of each route
//! *FEED*serviceId                   : 257
//! ```

use super::known::{
    How, Known, PROGRAMS, Program, ROUTE, ROUTE_LIST, SERVICE_ID, list, program, programs,
};
use super::{File, Line, Settings, Site, best, is_parameter, most_exact, set_key};
use crate::config::sections::Source;
use crate::config::services::Service;
use crate::config::value::Setting;

/// The component behind the name of a route.
const BEHIND_NAME: &str = "route";

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

    /// The numbers of services.
    pub(super) fn service_ids(&mut self) {
        let (lines, site) = (self.lines, self.site);
        let of_services = || lines.iter().filter(|line| is_parameter(line, SERVICE_ID));
        for line in of_services() {
            let name = line.objects().last().filter(|name| program(name).is_none());
            // Without the name of a service there is nothing that a line could be for.
            let is_other = |name| {
                let same = of_services().filter(|other| other.objects().last() == Some(name));
                let counts = most_exact(same, &name_of_service(site, line, name));
                !counts.is_some_and(|counts| counts.span == line.span)
            };
            if name.is_some_and(is_other) {
                continue;
            }
            let result = set_service_id(self.settings, name, line.value);
            let key = format!("service {}.id", name.unwrap_or_default());
            self.note(line, key, result.map(|()| true));
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

/// Whether a line says something of routes or services.
pub(super) fn is_of_route_or_service(line: &Line<'_>) -> bool {
    let mut parameters = ROUTE.into_iter().chain([ROUTE_LIST, SERVICE_ID]);
    parameters.any(|name| is_parameter(line, name))
}

/// Why a line that says something of these changes nothing, if it does not.
pub(super) fn nothing(line: &Line<'_>, site: Site<'_>, names: &[&str]) -> Option<String> {
    let is_meant = if is_parameter(line, SERVICE_ID) {
        let name = line.objects().last().unwrap_or_default();
        line.is_for(&name_of_service(site, line, name))
    } else if is_parameter(line, ROUTE_LIST) {
        line.is_for(&super::name_of(&LIST, site, ""))
    } else {
        names.iter().any(|name| is_of_route(line, site, name))
    };
    (!is_meant).then(|| {
        let objects: Vec<_> = line.objects().collect();
        format!(
            "`{}` of `{}` changes nothing: there are *ROUTE.route*hostList, port and \
             serviceList and *routeList of a hub, and *SERVICE*serviceId",
            line.parameter(),
            objects.join("*")
        )
    })
}

fn is_of_route(line: &Line<'_>, site: Site<'_>, name: &str) -> bool {
    let has_object = line.objects().any(|object| object.eq_ignore_ascii_case(BEHIND_NAME));
    has_object && ROUTE.iter().any(|parameter| line.is_for(&name_of_route(site, name, parameter)))
}

/// The route that a line names: what stands before `route`.
fn own_name<'l>(line: &'l Line<'_>) -> Option<&'l str> {
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

/// The full name of the number of a service, which may be told of a route.
fn name_of_service<'n>(site: Site<'n>, line: &'n Line<'_>, name: &'n str) -> [Vec<&'n str>; 7] {
    let (host, instance) = (vec![site.host], vec![site.instance]);
    let program = PROGRAMS.iter().map(|(name, _)| *name).collect();
    let route = vec![own_name(line).unwrap_or_default()];
    [host, instance, program, route, vec![BEHIND_NAME], vec![name], vec![SERVICE_ID]]
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

/// Fixes the number of a service: `*FEED*serviceId : 257`.
fn set_service_id(settings: &mut Settings, name: Option<&str>, value: &str) -> Result<(), String> {
    let Some(name) = name else {
        return Err(format!("`{SERVICE_ID}` needs a service; write *FEED*{SERVICE_ID} : 257"));
    };
    let mut service = Service { name: name.to_owned(), ..Service::default() };
    set_key(&mut service, "id", value).map_err(|what| format!("`{SERVICE_ID}` {what}"))?;
    service.check(&settings.services)?;
    settings.services.push(service);
    Ok(())
}
