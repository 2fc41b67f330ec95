//! What is said of services.
//!
//! ```text
//! *FEED*serviceId                   : 257
//! *FEED*cacheType                   : sinkDriven       its providers are asked
//! *FEED*cacheLocation               : srcApp           nobody keeps its items but they
//! *FEED*rrmpFlushInterval           : 20
//! ```

use super::known::{PROGRAMS, SERVICE, SERVICE_FLUSH, SERVICE_ID, program};
use super::routes::{BEHIND_NAME, own_name};
use super::{File, Line, Settings, Site, is_parameter, most_exact, set_key};
use crate::config::services::Service;

/// What the classic system calls the kinds of services.
const KINDS: [(&str, &str); 2] =
    [("sinkDriven", "interactive"), ("sourceDriven", "non-interactive")];

/// And the places where their items are kept.
const PLACES: [(&str, &str); 5] =
    [("srcApp", "none"), ("srcDist", "hub"), ("adh", "hub"), ("p2ps", "server"), ("ads", "server")];

impl File<'_, '_> {
    pub(super) fn services(&mut self) {
        let lines = self.lines;
        for (parameter, key) in SERVICE {
            for line in lines.iter().filter(|line| is_parameter(line, parameter)) {
                let name = own_service(line);
                if !self.counts(line, parameter) || (name.is_none() && parameter != SERVICE_ID) {
                    continue;
                }
                let result = set_service(self.settings, name, (parameter, key), line.value);
                self.note(line, format!("service {}.{key}", name.unwrap_or_default()), result);
            }
        }
        self.flush_interval();
    }

    /// One way carries all services: none of them waits longer than is said of it.
    fn flush_interval(&mut self) {
        let (lines, mut shortest) = (self.lines, None);
        for line in lines.iter().filter(|line| is_parameter(line, SERVICE_FLUSH)) {
            if !self.counts(line, SERVICE_FLUSH) {
                continue;
            }
            let interval_ms = line.value.parse::<u32>().unwrap_or(u32::MAX);
            if interval_ms == u32::MAX || shortest.is_none_or(|(least, _)| interval_ms < least) {
                shortest = Some((interval_ms, line));
            }
            if interval_ms == u32::MAX {
                // No number: it is told below.
                break;
            }
        }
        let Some((_, line)) = shortest else { return };
        let result = set_key(&mut self.settings.backbone, "flush-interval-ms", line.value)
            .map(|()| true)
            .map_err(|what| format!("`{SERVICE_FLUSH}` {what}"));
        self.note(line, "backbone.flush-interval-ms".to_owned(), result);
    }

    /// Whether a line is the most exact one of those for the same service.
    fn counts(&self, line: &Line<'_>, parameter: &str) -> bool {
        let name = own_service(line);
        if name.is_none() && parameter == SERVICE_ID {
            // There is nothing that it could be for, which is told.
            return true;
        }
        let is_same =
            |other: &&Line<'_>| is_parameter(other, parameter) && own_service(other) == name;
        let full = name_of_service(self.site, line, name.unwrap_or_default(), parameter);
        let counts = most_exact(self.lines.iter().filter(is_same), &full);
        counts.is_some_and(|counts| counts.span == line.span)
    }
}

/// Whether a line says something of services.
pub(super) fn is_of_service(line: &Line<'_>) -> bool {
    let parameters = SERVICE.map(|(name, _)| name);
    parameters.into_iter().chain([SERVICE_FLUSH]).any(|name| is_parameter(line, name))
}

/// Whether a line that says something of these changes something.
pub(super) fn is_meant(line: &Line<'_>, site: Site<'_>) -> bool {
    let name = line.objects().last().unwrap_or_default();
    line.is_for(&name_of_service(site, line, name, line.parameter()))
}

/// What is to be said of a line that is meant and changes nothing all the same.
pub(super) fn nothing(line: &Line<'_>) -> Option<String> {
    let parameter = line.parameter();
    let (_, key) = SERVICE.into_iter().find(|(name, _)| is_parameter(line, name))?;
    if own_service(line).is_none() {
        return Some(format!("`{parameter}` changes nothing: write *SERVICE*{parameter}"));
    }
    let known = words(key)?;
    (word(known, line.value).is_none()).then(|| {
        let known: Vec<&str> = known.iter().map(|(classic, _)| *classic).collect();
        let known = known.join(", ");
        format!("`{parameter}` is `{}` and changes nothing: give one of {known}", line.value)
    })
}

/// The classic words of a key that has words.
fn words(key: &str) -> Option<&'static [(&'static str, &'static str)]> {
    match key {
        "kind" => Some(&KINDS),
        "cache" => Some(&PLACES),
        _ => None,
    }
}

fn word(known: &[(&str, &'static str)], value: &str) -> Option<&'static str> {
    known.iter().find(|(classic, _)| classic.eq_ignore_ascii_case(value)).map(|(_, own)| *own)
}

/// The service that a line names.
fn own_service<'l>(line: &'l Line<'_>) -> Option<&'l str> {
    line.objects().last().filter(|name| program(name).is_none())
}

/// The full name of a parameter of a service, which may be told of a route.
fn name_of_service<'n>(
    site: Site<'n>,
    line: &'n Line<'_>,
    name: &'n str,
    parameter: &'n str,
) -> [Vec<&'n str>; 7] {
    let (host, instance) = (vec![site.host], vec![site.instance]);
    let program = PROGRAMS.iter().map(|(name, _)| *name).collect();
    let route = vec![own_name(line).unwrap_or_default()];
    [host, instance, program, route, vec![BEHIND_NAME], vec![name], vec![parameter]]
}

/// Sets a key of a service: `*FEED*serviceId : 257`. Whether there was something to set.
fn set_service(
    settings: &mut Settings,
    name: Option<&str>,
    (parameter, key): (&str, &str),
    value: &str,
) -> Result<bool, String> {
    let Some(name) = name else {
        return Err(format!("`{SERVICE_ID}` needs a service; write *FEED*{SERVICE_ID} : 257"));
    };
    let value = match words(key).map(|known| word(known, value)) {
        None => value,
        Some(Some(word)) => word,
        Some(None) => return Ok(false),
    };
    let wrong = |what| format!("`{parameter}` {what}");
    let all = &mut settings.services;
    if let Some(known) = all.iter_mut().find(|known| known.name == name && parameter != SERVICE_ID)
    {
        return set_key(known, key, value).map(|()| true).map_err(wrong);
    }
    let mut service = Service { name: name.to_owned(), ..Service::default() };
    set_key(&mut service, key, value).map_err(wrong)?;
    service.check(all)?;
    all.push(service);
    Ok(true)
}
