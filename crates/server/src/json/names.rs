//! Services by name, as JSON mounts call them.

use std::cell::RefCell;
use std::collections::HashMap;

use tapeline_omm::Text;

use crate::core::AskedService;

/// The names and numbers of the services.
#[derive(Debug)]
pub(super) struct Names {
    by_id: HashMap<u16, String>,
    by_name: HashMap<Text, u16>,
    configured_default: Option<Text>,
    default: Option<u16>,
    /// A number that no service has: it stands for those that nobody knows, so
    /// that what is said of one is still converted.
    unknown: u16,
    /// What stands as that number in the message that is being converted.
    asked: RefCell<Option<AskedService>>,
}

impl Names {
    pub(super) fn new(configured_default: Option<&str>) -> Self {
        Self {
            by_id: HashMap::new(),
            by_name: HashMap::new(),
            configured_default: configured_default.map(Text::from),
            default: None,
            unknown: u16::MAX,
            asked: RefCell::new(None),
        }
    }

    /// Takes over what became known. Whether that was anything.
    pub(super) fn learn<'s>(
        &mut self,
        services: impl ExactSizeIterator<Item = (u16, &'s Text)>,
    ) -> bool {
        // A service that is known stays known.
        if services.len() == self.by_id.len() {
            return false;
        }
        for (id, name) in services {
            self.by_name.insert(name.clone(), id);
            self.by_id.insert(id, name.to_string());
        }
        self.unknown = (0..=u16::MAX).rev().find(|id| !self.by_id.contains_key(id)).unwrap_or(0);
        self.default = match &self.configured_default {
            Some(name) => self.known(name),
            None if self.by_id.len() == 1 => self.by_id.keys().next().copied(),
            None => None,
        };
        true
    }

    /// What the message that was converted last had said, if nobody knows it.
    pub(super) fn take_asked(&self) -> Option<AskedService> {
        self.asked.take()
    }

    /// What a message was for that has this number as its service and had
    /// `asked`; `None` if that is a service.
    pub(super) fn unknown(&self, id: u16, asked: Option<AskedService>) -> Option<AskedService> {
        match self.has(id) {
            true => None,
            false if id == self.unknown => Some(asked.unwrap_or(AskedService::Number(id))),
            false => Some(AskedService::Number(id)),
        }
    }

    pub(super) fn has(&self, id: u16) -> bool {
        self.by_id.contains_key(&id)
    }

    pub(super) fn known(&self, name: &[u8]) -> Option<u16> {
        self.by_name.get(name).copied()
    }
}

impl tapeline_json::Services for Names {
    fn name(&self, id: u16) -> Option<&str> {
        self.by_id.get(&id).map(String::as_str)
    }

    fn id(&self, name: &str) -> Option<u16> {
        let known = self.known(name.as_bytes());
        if known.is_none() {
            self.asked.replace(Some(AskedService::Name(name.into())));
        }
        Some(known.unwrap_or(self.unknown))
    }

    fn default_id(&self) -> Option<u16> {
        // Which service is the only one is not known before there is one.
        let may_be_known = self.configured_default.is_some() || self.by_id.is_empty();
        if self.default.is_none() && may_be_known {
            let asked = self.configured_default.clone();
            self.asked.replace(Some(asked.map_or(AskedService::Only, AskedService::Name)));
            return Some(self.unknown);
        }
        self.default
    }
}
