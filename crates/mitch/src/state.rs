//! What a publisher is in, as bytes: so that who takes over gives the same numbers,
//! and has the same messages for who missed some.

use std::collections::BTreeMap;

use tapeline_instrument::{Price, Side};
use tapeline_layout::{Sections, Text, append_blob, append_section, message};

use crate::book::{Books, Quoted};
use crate::publisher::Publisher;

message! {
    /// What is of the whole group.
    Numbers: 16, fill 0 {
        0 => next: u32,
        4 => second: u32,
        8 => has_second: u8,
    }
}

message! {
    /// One order that is shown.
    Shown: 56, fill 0 {
        0 => id: u64,
        8 => instrument: u32,
        12 => side: u8,
        13 => is_market: u8,
        14 => is_named: u8,
        16 => quantity: u32,
        24 => price: i64,
        32 => arrival: u64,
        40 => name: Text<11, b' '>,
    }
}

impl Publisher {
    /// Appends its whole state, with nothing left to be sent.
    pub fn save(&self, out: &mut Vec<u8>) {
        let (next, second) = self.numbers();
        let numbers = Numbers {
            next,
            second: second.unwrap_or_default(),
            has_second: u8::from(second.is_some()),
        };
        append_section(out, [numbers]);
        append_section(out, self.statuses().iter().copied());
        append_section(out, self.tops());
        let mut ring = Vec::new();
        for bytes in self.kept() {
            ring.push(bytes.len() as u8);
            ring.extend_from_slice(bytes);
        }
        append_blob(out, &ring);
        self.books().save(out);
    }

    /// Takes up the state that [`save`](Self::save) wrote, in a new publisher of the
    /// same group. `None` if the bytes are not such a state; then it is of no use.
    pub fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let numbers: Numbers = sections.record()?;
        let known = (sections.records()?, sections.records()?);
        let second = (numbers.has_second != 0).then_some(numbers.second);
        let (mut kept, mut rest) = (Vec::new(), sections.blob()?);
        while let Some((len, behind)) = rest.split_first() {
            let (message, behind) = behind.split_at_checked(usize::from(*len))?;
            kept.push(message);
            rest = behind;
        }
        self.resume(numbers.next, second, known, &kept)?;
        self.books_mut().restore(sections)
    }
}

impl Books {
    /// Appends all orders: of each side in the order in which they came.
    fn save(&self, out: &mut Vec<u8>) {
        let mut all: Vec<Shown> = self
            .all()
            .map(|(id, quoted, arrival, name)| Shown {
                id,
                instrument: quoted.instrument,
                side: quoted.side as u8,
                is_market: u8::from(quoted.is_market),
                is_named: u8::from(name.is_some()),
                quantity: quoted.quantity,
                price: quoted.price.0,
                arrival,
                name: name.unwrap_or_default(),
            })
            .collect();
        all.sort_unstable_by_key(|shown| shown.arrival);
        append_section(out, all);
    }

    fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let all: Vec<Shown> = sections.records()?;
        let sides: BTreeMap<u8, Side> = Side::BOTH.map(|side| (side as u8, side)).into();
        for shown in all {
            let quoted = Quoted {
                side: *sides.get(&shown.side)?,
                price: Price(shown.price),
                is_market: shown.is_market != 0,
                quantity: shown.quantity,
                instrument: shown.instrument,
            };
            let name = (shown.is_named != 0).then_some(shown.name);
            self.put_back(shown.id, quoted, shown.arrival, name);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{
        AddAttributedOrder, AddOrder, Executed, Message, OrderDeleted, OrderModified, SignedPrice,
        SymbolStatus, TopOfBook,
    };

    fn message(step: u64) -> Message {
        let order = 1 + step % 97;
        let price = SignedPrice(Price(1_000 + (step * 7 % 13) as i64));
        let side = if step.is_multiple_of(2) { b'B' } else { b'S' };
        let (instrument, quantity) = (7 + (step % 3) as u32, 10 + (step % 5) as u32);
        match step % 7 {
            0..=2 => {
                AddOrder { order, side, quantity, instrument, price, ..Default::default() }.into()
            }
            3 => AddAttributedOrder {
                order,
                side,
                quantity,
                instrument,
                price,
                attribution: Text::new("ACME"),
                ..Default::default()
            }
            .into(),
            4 => Executed { order: 1 + step * 31 % 97, quantity: 3, ..Default::default() }.into(),
            5 if step.is_multiple_of(3) => {
                TopOfBook { instrument, bid: price, bid_size: quantity, ..Default::default() }
                    .into()
            }
            5 => OrderDeleted { order: 1 + step * 17 % 97, ..Default::default() }.into(),
            _ if step.is_multiple_of(2) => {
                let status = if step.is_multiple_of(4) { b'T' } else { b'G' };
                SymbolStatus { instrument, status, ..Default::default() }.into()
            }
            _ => OrderModified { order: 1 + step * 5 % 97, price, quantity, ..Default::default() }
                .into(),
        }
    }

    fn said(publisher: &mut Publisher, steps: std::ops::Range<u64>) -> Vec<Vec<u8>> {
        let mut units = Vec::new();
        for step in steps {
            publisher.publish((step / 100) as u32, &message(step), &mut |unit| {
                units.push(unit.to_vec());
            });
        }
        publisher.flush(&mut |unit| units.push(unit.to_vec()));
        units
    }

    fn answers(publisher: &Publisher, first: u32) -> Vec<Vec<u8>> {
        let mut units = Vec::new();
        publisher.snapshot(5, "SETS", &mut |unit| units.push(unit.to_vec()));
        let count = (publisher.next() - first).min(60_000) as u16;
        let sent = publisher.replay(b'A', first, count, &mut |unit| units.push(unit.to_vec()));
        sent.expect("they are kept");
        units
    }

    #[test]
    fn a_publisher_that_is_restored_goes_on_with_the_same_bytes() {
        // With a ring that is not full, just full, and gone round.
        for steps in [10, 64_000, 150_000] {
            let mut first = Publisher::with_room(b'A', 200);
            said(&mut first, 0..steps);
            let mut bytes = Vec::new();
            first.save(&mut bytes);
            let mut second = Publisher::with_room(b'A', 200);
            let mut sections = Sections::new(&bytes);
            second.restore(&mut sections).expect("a state");
            assert!(sections.is_over());
            let oldest = first.next().saturating_sub(60_000).max(1);
            assert!(answers(&first, oldest) == answers(&second, oldest), "{steps} steps");
            let more = steps..steps + 2_000;
            assert!(said(&mut first, more.clone()) == said(&mut second, more), "{steps} steps");
            let later = first.next().saturating_sub(1_000).max(1);
            assert!(answers(&first, later) == answers(&second, later), "{steps} steps");
            for len in (0..bytes.len()).step_by(bytes.len() / 50) {
                let mut none = Publisher::new(b'A');
                assert_eq!(none.restore(&mut Sections::new(&bytes[..len])), None, "{len} bytes");
            }
        }
    }
}
