//! The items that wait to be requested, service by service.

use std::collections::BTreeMap;

use tapeline_omm::Text;
use tapeline_omm::directory::Directory;

use super::spec::{Handle, ServiceRef};

/// How a service was named by who asked for its items.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ServiceName {
    Name(Text),
    Id(u16),
}

impl From<ServiceRef<'_>> for ServiceName {
    fn from(service: ServiceRef<'_>) -> Self {
        match service {
            ServiceRef::Name(name) => Self::Name(name.into()),
            ServiceRef::Id(id) => Self::Id(id),
        }
    }
}

/// One service, as far as requests go.
#[derive(Debug)]
pub(super) struct ServiceQueue {
    name: ServiceName,
    /// Items that are to be requested, in the order they were opened in.
    pub(super) waiting: BTreeMap<u64, Handle>,
    /// Items that the service does not serve as it is: not in the way of the
    /// others.
    unserved: BTreeMap<u64, Handle>,
    /// Items whose image is on its way.
    pub(super) in_window: u64,
    /// Something may have changed for the items that wait.
    is_dirty: bool,
}

/// All services that items were asked of.
#[derive(Debug, Default)]
pub(super) struct Queues {
    services: Vec<ServiceQueue>,
    by_name: BTreeMap<ServiceName, usize>,
    dirty: Vec<usize>,
}

impl ServiceQueue {
    /// The number of the service in a directory.
    pub(super) fn service_id(&self, directory: &Directory) -> Option<u16> {
        match &self.name {
            ServiceName::Name(name) => directory.service_id(name),
            ServiceName::Id(id) => directory.service(*id).map(|_| *id),
        }
    }

    pub(super) const fn name(&self) -> Option<&Text> {
        match &self.name {
            ServiceName::Name(name) => Some(name),
            ServiceName::Id(_) => None,
        }
    }
}

impl Queues {
    /// The queue of a service.
    pub(super) fn of(&mut self, service: impl Into<ServiceName>) -> usize {
        let name = service.into();
        if let Some(index) = self.by_name.get(&name) {
            return *index;
        }
        let index = self.services.len();
        self.by_name.insert(name.clone(), index);
        self.services.push(ServiceQueue {
            name,
            waiting: BTreeMap::new(),
            unserved: BTreeMap::new(),
            in_window: 0,
            is_dirty: false,
        });
        index
    }

    pub(super) fn get(&self, index: usize) -> &ServiceQueue {
        &self.services[index]
    }

    /// An item is to be requested.
    pub(super) fn push(&mut self, index: usize, order: u64, handle: Handle) {
        self.services[index].waiting.insert(order, handle);
        self.touch(index);
    }

    /// An item is not to be requested any more, or not now.
    pub(super) fn remove(&mut self, index: usize, order: u64) {
        self.services[index].waiting.remove(&order);
        self.services[index].unserved.remove(&order);
    }

    /// An item cannot be requested until the service changes.
    pub(super) fn set_aside(&mut self, index: usize, order: u64) {
        let queue = &mut self.services[index];
        if let Some(handle) = queue.waiting.remove(&order) {
            queue.unserved.insert(order, handle);
        }
    }

    /// An image is on its way, or is there.
    pub(super) fn count(&mut self, index: usize, is_on_its_way: bool) {
        let queue = &mut self.services[index];
        queue.in_window = match is_on_its_way {
            true => queue.in_window + 1,
            false => queue.in_window.saturating_sub(1),
        };
        if !is_on_its_way {
            self.touch(index);
        }
    }

    /// Something may have changed for the items of a service.
    pub(super) fn touch(&mut self, index: usize) {
        let queue = &mut self.services[index];
        if !queue.is_dirty && !queue.waiting.is_empty() {
            queue.is_dirty = true;
            self.dirty.push(index);
        }
    }

    /// Services changed: all items are looked at again.
    pub(super) fn touch_all(&mut self) {
        for index in 0..self.services.len() {
            let queue = &mut self.services[index];
            let unserved = core::mem::take(&mut queue.unserved);
            queue.waiting.extend(unserved);
            self.touch(index);
        }
    }

    /// Whether there is a service whose items are to be looked at.
    pub(super) fn has_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// A service whose items are to be looked at.
    pub(super) fn next_dirty(&mut self) -> Option<usize> {
        let index = self.dirty.pop()?;
        self.services[index].is_dirty = false;
        Some(index)
    }
}
