//! Servers on the backbone, and what they have asked for.

use tapeline_backbone::Incarnation;
use tapeline_backbone::repair::{Inquiry, Walk};
use tapeline_time::Time;

use tapeline_omm::pages::Table;

const NONE: u32 = u32::MAX;

/// Request numbers that are looked at in one step for one that is open.
const LOOKED_AT: u32 = 256;

/// One run of a server.
#[derive(Debug)]
pub(crate) struct Server {
    /// Which one.
    pub(crate) incarnation: Incarnation,
    /// By request; servers count their requests from 0.
    requests: Table<Request>,
    /// How many request numbers it uses.
    len: u32,
    open: usize,
    /// It is not on the backbone any more; up to which request it is cleared
    /// away.
    gone: Option<u32>,
    /// The serial of its last request.
    pub(crate) last_serial: u32,
    /// What it is asked when frames of it were lost.
    pub(crate) inquiry: Inquiry,
    /// What it is told when it lost frames of this hub.
    pub(crate) walk: Walk,
}

/// What a server asked for with one of its numbers.
#[derive(Debug, Clone, Copy)]
struct Request {
    item: u32,
    /// Tells it from an earlier one with the same number.
    serial: u32,
}

const NO_REQUEST: Request = Request { item: NONE, serial: 0 };

impl Server {
    /// The item of a request.
    pub(crate) fn item(&self, request: u32) -> Option<u32> {
        self.requests.get(request as usize).map(|it| it.item).filter(|item| *item != NONE)
    }

    /// The item of a request with this serial.
    pub(crate) fn item_of(&self, request: u32, serial: u32) -> Option<u32> {
        self.item(request).filter(|_| self.serial(request) == serial)
    }

    /// The serial of a request that is open.
    pub(crate) fn serial(&self, request: u32) -> u32 {
        self.requests.get(request as usize).map_or(0, |it| it.serial)
    }

    /// How many request numbers it uses.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// A request comes, which is no item's yet.
    pub(crate) fn begin(&mut self, request: u32, serial: u32) {
        self.entry(request).serial = serial;
    }

    fn entry(&mut self, request: u32) -> &mut Request {
        self.len = self.len.max(request.saturating_add(1));
        self.requests.entry(request as usize, NO_REQUEST)
    }

    /// Remembers the item of a request; not if it is out of bounds.
    pub(crate) fn set(&mut self, request: u32, item: u32) {
        if std::mem::replace(&mut self.entry(request).item, item) == NONE {
            self.open += 1;
        }
    }

    pub(crate) fn clear(&mut self, request: u32) {
        let known = self.requests.get_mut(request as usize).filter(|it| it.item != NONE);
        if let Some(known) = known {
            known.item = NONE;
            self.open -= 1;
        }
    }

    /// How many requests it has open.
    pub(crate) const fn open(&self) -> usize {
        self.open
    }

    /// The requests that are open, of some numbers: number, serial and item.
    pub(crate) fn requests(
        &self,
        from: u32,
        to: u32,
    ) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        (from..to.min(self.len)).filter_map(|number| {
            let known = self.requests.get(number as usize).filter(|it| it.item != NONE)?;
            Some((number, known.serial, known.item))
        })
    }
}

/// All servers.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    slots: Vec<Option<Server>>,
    /// One of them may have work: it is asked in each turn, and mostly none has.
    may_have_work: bool,
}

impl Servers {
    pub(crate) fn len(&self) -> usize {
        self.iter().count()
    }

    /// All that are there.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Server)> {
        self.with_gone().filter(|(_, server)| server.gone.is_none())
    }

    /// All, those included whose requests are yet to be closed.
    pub(crate) fn with_gone(&self) -> impl Iterator<Item = (u32, &Server)> {
        let slots = self.slots.iter().zip(0..);
        slots.filter_map(|(slot, index)| Some((index, slot.as_ref()?)))
    }

    /// Whether a list is to be written, or a server that is gone to be cleared
    /// away.
    pub(crate) fn has_work(&self) -> bool {
        let mut servers = self.slots.iter().flatten();
        self.may_have_work
            && servers.any(|server| server.gone.is_some() || server.walk.is_walking())
    }

    /// When the first server is to be asked what it wants.
    pub(crate) fn next_inquiry(&self) -> Option<Time> {
        let servers = self.slots.iter().flatten().filter(|_| self.may_have_work);
        servers.filter(|it| it.gone.is_none()).filter_map(|it| it.inquiry.deadline()).min()
    }

    /// A server is to be asked what it wants, or told what is open for it.
    pub(crate) fn note_work(&mut self) {
        self.may_have_work = true;
    }

    /// What was to be done is done for now.
    pub(crate) fn look_for_work(&mut self) {
        let has_work = self.has_work() || self.next_inquiry().is_some();
        self.may_have_work = has_work;
    }

    /// Whether a server with work is known to have some.
    pub(crate) fn check(&self) {
        let mut servers = self.slots.iter().flatten();
        let has_work = servers.any(|server| {
            server.gone.is_some() || server.walk.is_walking() || server.inquiry.deadline().is_some()
        });
        assert!(self.may_have_work || !has_work, "a server has work that nobody looks for");
    }

    /// Requests of servers that are gone and still to be closed.
    pub(crate) fn left_over(&self) -> usize {
        let gone = self.slots.iter().flatten().filter(|server| server.gone.is_some());
        gone.map(|server| server.open).sum()
    }

    /// A server is gone. Its place is free when its requests are closed.
    pub(crate) fn is_gone(&mut self, index: u32) {
        if let Some(server) = self.get_mut(index) {
            server.gone = Some(0);
            self.may_have_work = true;
        }
    }

    /// The next request of a server that is gone, to be closed.
    pub(crate) fn next_of_gone(&mut self) -> Option<(u32, u32)> {
        let is_gone = |slot: &Option<Server>| slot.as_ref().is_some_and(|it| it.gone.is_some());
        let place = self.slots.iter().position(is_gone)?;
        let index = place as u32;
        let server = self.get_mut(index)?;
        let from = server.gone?;
        let next = server.requests(from, from.saturating_add(LOOKED_AT)).next();
        let reached = next.map_or(from.saturating_add(LOOKED_AT), |(request, ..)| request);
        server.gone = Some(reached);
        if next.is_none() && reached >= server.len() {
            self.slots[place] = None;
        }
        Some((index, next.map_or(NONE, |(request, ..)| request)))
    }

    /// A server by who it is. There are few.
    pub(crate) fn find(&self, incarnation: Incarnation) -> Option<u32> {
        let mut servers = self.iter();
        servers.find(|(_, server)| server.incarnation == incarnation).map(|(index, _)| index)
    }

    pub(crate) fn insert(&mut self, incarnation: Incarnation) -> u32 {
        let free = self.slots.iter().position(Option::is_none);
        let place = free.unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[place] = Some(Server {
            incarnation,
            requests: Table::default(),
            len: 0,
            open: 0,
            gone: None,
            last_serial: 0,
            inquiry: Inquiry::default(),
            walk: Walk::default(),
        });
        place as u32
    }

    pub(crate) fn get(&self, index: u32) -> Option<&Server> {
        self.slots.get(index as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut Server> {
        self.slots.get_mut(index as usize)?.as_mut()
    }

    /// Where frames for a server go; nowhere if it is gone.
    pub(crate) fn target(&self, index: u32) -> Option<Incarnation> {
        self.there(index).map(|server| server.incarnation)
    }

    /// A server that is not gone.
    pub(crate) fn there(&self, index: u32) -> Option<&Server> {
        self.get(index).filter(|server| server.gone.is_none())
    }
}
