//! Servers on the backbone, and what they have asked for.

use tapeline_backbone::Incarnation;

const NONE: u32 = u32::MAX;

/// One run of a server.
#[derive(Debug)]
pub(crate) struct Server {
    /// Which one.
    pub(crate) incarnation: Incarnation,
    /// From request to item; servers count their requests from 0.
    requests: Vec<u32>,
    open: usize,
}

impl Server {
    /// The item of a request.
    pub(crate) fn item(&self, request: u32) -> Option<u32> {
        self.requests.get(request as usize).copied().filter(|item| *item != NONE)
    }

    /// Remembers the item of a request; not if it is out of bounds.
    pub(crate) fn set(&mut self, request: u32, item: u32) {
        let place = request as usize;
        if place >= self.requests.len() {
            self.requests.resize(place + 1, NONE);
        }
        if self.requests[place] == NONE {
            self.open += 1;
        }
        self.requests[place] = item;
    }

    pub(crate) fn clear(&mut self, request: u32) {
        if self.item(request).is_some() {
            self.requests[request as usize] = NONE;
            self.open -= 1;
        }
    }

    /// All requests with their items.
    pub(crate) fn requests(&self) -> Vec<(u32, u32)> {
        let open = self.requests.iter().enumerate().filter(|(_, item)| **item != NONE);
        open.map(|(request, item)| (request as u32, *item)).collect()
    }
}

/// All servers.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    slots: Vec<Option<Server>>,
}

impl Servers {
    pub(crate) fn len(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// A server by who it is. There are few.
    pub(crate) fn find(&self, incarnation: Incarnation) -> Option<u32> {
        let is_it = |slot: &Option<Server>| {
            slot.as_ref().is_some_and(|server| server.incarnation == incarnation)
        };
        self.slots.iter().position(is_it).map(|place| place as u32)
    }

    pub(crate) fn insert(&mut self, incarnation: Incarnation) -> u32 {
        let free = self.slots.iter().position(Option::is_none);
        let place = free.unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[place] = Some(Server { incarnation, requests: Vec::new(), open: 0 });
        place as u32
    }

    pub(crate) fn remove(&mut self, index: u32) -> Option<Server> {
        self.slots.get_mut(index as usize)?.take()
    }

    pub(crate) fn get(&self, index: u32) -> Option<&Server> {
        self.slots.get(index as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut Server> {
        self.slots.get_mut(index as usize)?.as_mut()
    }

    /// Where frames for a server go; nowhere if it is gone.
    pub(crate) fn target(&self, index: u32) -> Option<Incarnation> {
        Some(self.get(index)?.incarnation)
    }
}
