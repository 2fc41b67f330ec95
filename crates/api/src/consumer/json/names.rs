//! Services by name, as servers call them in JSON.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use tapeline_json::Services;
use tapeline_omm::directory::Directory;

/// The numbers of the services that the directory has or had.
///
/// It is learned while a frame is read, whence the cells.
#[derive(Debug)]
pub(in crate::consumer) struct Names {
    numbers: RefCell<HashMap<String, u16>>,
    /// A number that no service has.
    unknown: Cell<u16>,
}

impl Default for Names {
    fn default() -> Self {
        Self { numbers: RefCell::default(), unknown: Cell::new(u16::MAX) }
    }
}

impl Names {
    /// Takes over the services of a directory. A service that is gone keeps its
    /// name, as there may be words of it yet.
    pub(in crate::consumer) fn learn(&self, directory: &Directory) {
        let mut numbers = self.numbers.borrow_mut();
        for (id, service) in directory.services() {
            if let Some(name) = service.name() {
                numbers.insert(name.to_string(), id);
            }
        }
        let is_free = |id: &u16| numbers.values().all(|taken| taken != id);
        self.unknown.set((0..=u16::MAX).rev().find(is_free).unwrap_or(0));
    }
}

impl Services for Names {
    fn name(&self, _: u16) -> Option<&str> {
        None
    }

    fn id(&self, name: &str) -> Option<u16> {
        let known = self.numbers.borrow().get(name).copied();
        Some(known.unwrap_or_else(|| self.unknown.get()))
    }
}
