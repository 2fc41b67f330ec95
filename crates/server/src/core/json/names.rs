//! Services by name, as JSON mounts call them.

use std::collections::HashMap;

use crate::core::services::Services;

/// The names and numbers of the services.
#[derive(Debug)]
pub(super) struct Names {
    by_id: HashMap<u16, String>,
    by_name: HashMap<String, u16>,
    configured_default: Option<String>,
    default: Option<u16>,
    /// A number that no service has: it stands for those that nobody knows, so
    /// that what is said of one is still converted.
    unknown: u16,
}

impl Names {
    pub(super) fn new(configured_default: Option<String>) -> Self {
        Self {
            by_id: HashMap::new(),
            by_name: HashMap::new(),
            configured_default,
            default: None,
            unknown: u16::MAX,
        }
    }

    /// Takes over what became known. Whether that was anything.
    pub(super) fn learn(&mut self, services: &Services) -> bool {
        // A service that is known stays known.
        if services.names().len() == self.by_id.len() {
            return false;
        }
        for (id, name) in services.names() {
            let name = name.to_string();
            self.by_name.insert(name.clone(), id);
            self.by_id.insert(id, name);
        }
        self.unknown = (0..=u16::MAX).rev().find(|id| !self.by_id.contains_key(id)).unwrap_or(0);
        self.default = match &self.configured_default {
            Some(name) => self.by_name.get(name).copied(),
            None if self.by_id.len() == 1 => self.by_id.keys().next().copied(),
            None => None,
        };
        true
    }

    pub(super) const fn is_unknown(&self, id: u16) -> bool {
        self.unknown == id
    }
}

impl tapeline_json::Services for Names {
    fn name(&self, id: u16) -> Option<&str> {
        self.by_id.get(&id).map(String::as_str)
    }

    fn id(&self, name: &str) -> Option<u16> {
        Some(self.by_name.get(name).copied().unwrap_or(self.unknown))
    }

    fn default_id(&self) -> Option<u16> {
        match (&self.configured_default, self.default) {
            (Some(_), None) => Some(self.unknown),
            (_, known) => known,
        }
    }
}
