//! The whole state of a market as bytes: all that entries up to one have led to.

use tapeline_instrument::{OrderId, Side};
use tapeline_layout::{Sections, Text, append_blob, append_section, message};
use tapeline_matching::BookId;
use tapeline_sequence::EventHash;

use super::Exchange;
use super::cache::Cache;
use super::floor::Floor;
use super::gate::Checked;
use super::ledger::{Kept, Ledger, Parties, Terms};

message! {
    /// What is of the whole market.
    Numbers: 48, fill 0 {
        0 => applied: u64,
        8 => hash: u64,
        16 => commands: u64,
        24 => check_index: u64,
        32 => check_hash: u64,
        40 => executions: u32,
    }
}

message! {
    /// What the engine does not know of an order that is alive, or that traded.
    KeptState: 152, fill 0 {
        0 => slot: u32,
        4 => user: u16,
        6 => book: u16,
        8 => id: u64,
        16 => name: Text<20>,
        36 => display: u32,
        40 => shown: u64,
        48 => traded_in: u64,
        56 => side: u8,
        57 => auto_cancel: u8,
        58 => capacity: u8,
        59 => order_type: u8,
        60 => time_in_force: u8,
        61 => sub_type: u8,
        62 => anonymity: u8,
        63 => passive_only: u8,
        64 => clearing_account: u8,
        65 => status: u8,
        68 => quantity: u32,
        72 => expire_s: u32,
        80 => limit: i64,
        88 => stop: i64,
        96 => account: Text<10>,
        106 => trader: Text<11>,
        117 => roles: u8,
        118 => mifid: u8,
        119 => group: u8,
        120 => client: u32,
        124 => investment: u32,
        128 => executing: u32,
        132 => min_quantity: u32,
        136 => offset_bp: i32,
        140 => pegged: u8,
        141 => owner_type: u8,
        144 => last_trade: u64,
    }
}

message! {
    /// The latest order of a name.
    Named: 32, fill 0 {
        0 => id: u64,
        8 => user: u16,
        12 => name: Text<20>,
    }
}

message! {
    /// Somebody who was let in unasked.
    Guest: 25, fill 0 {
        0 => name: Text<25>,
    }
}

message! {
    /// A report that can be had again, in front of its bytes.
    Report: 8, fill 0 {
        0 => number: i32,
        4 => user: u16,
        6 => len: u8,
    }
}

message! {
    /// The number that was given last.
    LastReport: 4, fill 0 {
        0 => number: i32,
    }
}

impl Exchange {
    /// Appends the state behind the last entry. `None` if some entries are not done
    /// yet: then there is no such state.
    pub fn save(&mut self, out: &mut Vec<u8>) -> Option<u64> {
        let (last, applied, _) = self.position();
        if last != applied || applied == 0 {
            return None;
        }
        self.gate.save(out);
        self.floor.save(out);
        Some(applied)
    }

    /// Takes up the state that [`save`](Self::save) wrote, in a new market of the
    /// same configuration. `None` if the bytes are not such a state; then it is of no
    /// use.
    pub fn restore(&mut self, bytes: &[u8]) -> Option<()> {
        let mut sections = Sections::new(bytes);
        self.gate.restore(&mut sections)?;
        self.floor.restore(&mut sections)?;
        sections.is_over().then_some(())
    }
}

impl Floor {
    fn save(&mut self, out: &mut Vec<u8>) {
        let numbers = Numbers {
            applied: self.applied,
            hash: self.hash.0,
            commands: self.commands,
            check_index: self.checkpoint.index,
            check_hash: self.checkpoint.hash,
            executions: self.executions,
        };
        append_section(out, [numbers]);
        let guests = (self.config.users.len()..self.users.len()).filter_map(|number| {
            self.users.get(number as u16).map(|user| Guest { name: user.name })
        });
        append_section(out, guests);
        self.market.engine().save(out);
        self.market.distribution().publisher().save(out);
        self.ledger.save(out);
        self.cache.save(out);
        self.desks.save(out);
        self.trades.save(out);
        self.sponsors.save(out);
        self.quotes.save(out);
        self.save_places(out);
    }

    fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let numbers: Numbers = sections.record()?;
        self.applied = numbers.applied;
        self.hash = EventHash(numbers.hash);
        self.commands = numbers.commands;
        self.checkpoint = Checked { index: numbers.check_index, hash: numbers.check_hash };
        self.executions = numbers.executions;
        let guests: Vec<Guest> = sections.records()?;
        for guest in guests {
            self.users.introduce(self.users.len() as u16, guest.name);
        }
        for instrument in std::mem::take(&mut self.config.instruments) {
            let (id, segment) = (instrument.id.0, Text::new(&instrument.segment));
            let book = self.market.add_known(instrument);
            self.note_instrument(id, segment, book);
        }
        self.market.restore(sections)?;
        self.ledger.restore(sections)?;
        self.cache.restore(sections)?;
        self.desks.restore(sections)?;
        self.trades.restore(sections)?;
        self.sponsors.restore(sections)?;
        self.quotes.restore(sections)?;
        self.restore_places(sections)
    }
}

impl KeptState {
    fn terms(&self) -> Terms {
        Terms {
            quantity: self.quantity,
            order_type: self.order_type,
            time_in_force: self.time_in_force,
            sub_type: self.sub_type,
            anonymity: self.anonymity,
            passive_only: self.passive_only,
            clearing_account: self.clearing_account,
            expire_s: self.expire_s,
            limit: self.limit,
            stop: self.stop,
            account: self.account,
            parties: Parties {
                trader: self.trader,
                client: self.client,
                investment: self.investment,
                executing: self.executing,
                roles: self.roles,
            },
            mifid: self.mifid,
            group: self.group,
            min_quantity: self.min_quantity,
            offset_bp: self.offset_bp,
            pegged: self.pegged,
            owner_type: self.owner_type,
        }
    }

    /// The order. `None` if it has no side.
    pub(super) fn kept(&self) -> Option<Kept> {
        Some(Kept {
            id: OrderId(self.id),
            name: self.name,
            user: self.user,
            book: BookId(self.book),
            side: Side::BOTH.into_iter().find(|side| *side as u8 == self.side)?,
            display: self.display,
            shown: OrderId(self.shown),
            auto_cancel: self.auto_cancel != 0,
            capacity: self.capacity,
            terms: self.terms(),
            status: self.status,
            is_alive: true,
            traded_in: self.traded_in,
            last_trade: self.last_trade,
        })
    }

    pub(super) fn of(slot: u32, kept: &Kept) -> Self {
        let Kept { terms, .. } = kept;
        Self {
            slot,
            user: kept.user,
            book: kept.book.0,
            id: kept.id.0,
            name: kept.name,
            display: kept.display,
            shown: kept.shown.0,
            traded_in: kept.traded_in,
            last_trade: kept.last_trade,
            side: kept.side as u8,
            auto_cancel: u8::from(kept.auto_cancel),
            capacity: kept.capacity,
            status: kept.status,
            order_type: terms.order_type,
            time_in_force: terms.time_in_force,
            sub_type: terms.sub_type,
            anonymity: terms.anonymity,
            passive_only: terms.passive_only,
            clearing_account: terms.clearing_account,
            quantity: terms.quantity,
            expire_s: terms.expire_s,
            limit: terms.limit,
            stop: terms.stop,
            account: terms.account,
            trader: terms.parties.trader,
            roles: terms.parties.roles,
            client: terms.parties.client,
            investment: terms.parties.investment,
            executing: terms.parties.executing,
            mifid: terms.mifid,
            group: terms.group,
            min_quantity: terms.min_quantity,
            offset_bp: terms.offset_bp,
            pegged: terms.pegged,
            owner_type: terms.owner_type,
        }
    }
}

impl Ledger {
    fn save(&self, out: &mut Vec<u8>) {
        let alive = self.slots().filter(|(_, kept)| kept.is_alive);
        append_section(out, alive.map(|(slot, kept)| KeptState::of(slot, kept)));
        let mut names: Vec<Named> =
            self.names().map(|(user, name, id)| Named { id: id.0, user, name }).collect();
        names.sort_unstable_by_key(|named| named.id);
        append_section(out, names);
    }

    fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let all: Vec<KeptState> = sections.records()?;
        for kept in all {
            self.put_back(kept.slot, kept.kept()?)?;
        }
        let names: Vec<Named> = sections.records()?;
        for named in names {
            self.put_name(named.user, named.name, OrderId(named.id));
        }
        Some(())
    }
}

impl Cache {
    fn save(&self, out: &mut Vec<u8>) {
        append_section(out, [LastReport { number: self.last() }]);
        let mut kept = Vec::new();
        for number in self.oldest()..=self.last() {
            if let Some((user, bytes)) = self.kept(number) {
                let report = Report { number, user, len: bytes.len() as u8 };
                kept.extend_from_slice(&report.to_bytes());
                kept.extend_from_slice(bytes);
            }
        }
        append_blob(out, &kept);
    }

    fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let last: LastReport = sections.record()?;
        let mut rest = sections.blob()?;
        while !rest.is_empty() {
            let (head, behind) = rest.split_at_checked(Report::LEN)?;
            let report = Report::read(head)?;
            let (bytes, behind) = behind.split_at_checked(usize::from(report.len))?;
            self.put_back(report.number, report.user, bytes)?;
            rest = behind;
        }
        self.resume(last.number);
        Some(())
    }
}
