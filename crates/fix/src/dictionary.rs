//! Which fields a client's messages may have, and which they must (MIT202, 5).

use crate::header::Header;
use crate::message::{Field, Message};
use crate::value::unsigned;

/// Every tag there is here, in rising order.
const KNOWN: &[u32] = &[
    1, 7, 8, 9, 10, 11, 14, 16, 17, 19, 22, 30, 31, 32, 34, 35, 36, 37, 38, 39, 40, 41, 43, 44, 45,
    48, 49, 52, 54, 56, 58, 59, 60, 95, 96, 97, 98, 99, 102, 103, 108, 110, 112, 115, 117, 122,
    123, 126, 128, 132, 133, 134, 135, 141, 150, 151, 263, 278, 336, 371, 372, 373, 378, 379, 380,
    386, 432, 434, 447, 448, 452, 453, 487, 522, 526, 528, 530, 531, 532, 552, 553, 554, 568, 569,
    571, 572, 573, 581, 583, 584, 585, 625, 828, 851, 856, 880, 923, 924, 925, 1003, 1084, 1091,
    1123, 1128, 1137, 1138, 1180, 1300, 1369, 1409, 1461, 1462, 1463, 1464, 1724, 2376, 2593, 2594,
    2595, 2668, 2669, 2670, 9730, 20_000, 27_010, 27_017, 27_018, 27_021,
];

/// Tags below this are found by a table, the few above one by one.
const DENSE: usize = 2700;

/// No tag.
const NONE: u8 = u8::MAX;

/// The place of each tag among those that are known.
static PLACES: [u8; DENSE] = {
    let mut places = [NONE; DENSE];
    let mut at = 0;
    while at < KNOWN.len() && (KNOWN[at] as usize) < DENSE {
        places[KNOWN[at] as usize] = at as u8;
        at += 1;
    }
    places
};

/// How many known tags the table holds.
const IN_TABLE: usize = {
    let mut at = 0;
    while at < KNOWN.len() && (KNOWN[at] as usize) < DENSE {
        at += 1;
    }
    at
};

#[inline]
fn place(tag: u32) -> Option<usize> {
    match PLACES.get(tag as usize) {
        Some(&NONE) => None,
        Some(&place) => Some(usize::from(place)),
        None => {
            let above = KNOWN[IN_TABLE..].iter().position(|&known| known == tag)?;
            Some(IN_TABLE + above)
        }
    }
}

/// Known tags, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Set(u128);

impl Set {
    /// Tags that must be known, or it does not compile.
    const fn of(tags: &[u32]) -> Self {
        let (mut set, mut at) = (0, 0);
        while at < tags.len() {
            let mut place = 0;
            while KNOWN[place] != tags[at] {
                place += 1;
            }
            set |= 1 << place;
            at += 1;
        }
        Self(set)
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The one of a tag; empty if it is not known.
    #[inline]
    fn one(tag: u32) -> Self {
        place(tag).map_or(Self(0), |place| Self(1 << place))
    }

    const fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn has(self, one: Self) -> bool {
        self.0 & one.0 != 0
    }

    /// Returns whether it was there before.
    const fn insert(&mut self, one: Self) -> bool {
        let had = self.has(one);
        self.0 |= one.0;
        had
    }
}

/// What every message may have in front.
const HEADER: Set = Set::of(&[34, 43, 49, 52, 56, 97, 115, 122, 128, 1128]);

/// What has been there before the first of a message's [`Message::fields`], and what
/// will be behind the last.
const FRAME: Set = Set::of(&[8, 9, 10, 35]);

/// A repeating group.
#[derive(Debug)]
struct Shape {
    count: u32,
    /// Its tags; an entry begins with the first.
    members: &'static [u32],
    set: Set,
    /// What every entry must have besides.
    required: Option<u32>,
}

const fn shape(count: u32, members: &'static [u32], required: Option<u32>) -> Shape {
    Shape { count, members, set: Set::of(members), required }
}

static GROUPS: [Shape; 5] = [
    shape(453, &[448, 447, 452, 2376], Some(452)),
    shape(386, &[336], None),
    shape(1461, &[1462, 1463, 1464], None),
    shape(2593, &[2594, 2595], None),
    shape(2668, &[2669, 2670], None),
];

/// What says how many entries there are.
const COUNTS: Set = Set::of(&[386, 453, 1461, 2593, 2668]);

/// What all groups have in their entries.
const MEMBERS: Set = Set::of(&[336, 447, 448, 452, 1462, 1463, 1464, 2376, 2594, 2595, 2669, 2670]);

/// The tags of a group's entries.
pub(crate) fn members(count_tag: u32) -> Option<&'static [u32]> {
    GROUPS.iter().find(|group| group.count == count_tag).map(|group| group.members)
}

/// What an application message of a client may have.
#[derive(Debug)]
struct Definition {
    may: Set,
    must: &'static [u32],
    must_set: Set,
}

const fn definition(may: &[u32], must: &'static [u32]) -> Definition {
    Definition { may: HEADER.and(Set::of(may)).and(Set::of(must)), must, must_set: Set::of(must) }
}

static NEW_ORDER: Definition = definition(
    &[
        448, 447, 452, 2376, 386, 336, 1, 1091, 59, 126, 432, 1084, 44, 99, 526, 583, 27_010, 110,
        2593, 2594, 2595, 1724, 27_017, 27_018, 27_021, 522,
    ],
    &[11, 453, 48, 22, 40, 54, 38, 1138, 581, 528, 60],
);

/// Both sides at once, or one of them.
static QUOTE: Definition = definition(
    &[448, 447, 452, 2376, 1, 132, 133, 134, 135, 1724, 2593, 2594, 2595, 27_021],
    &[117, 453, 48, 22, 581, 528, 60],
);

static CANCEL: Definition = definition(&[41, 37, 453, 448, 447, 452, 2376], &[11, 48, 22, 54, 60]);

static CANCEL_REPLACE: Definition = definition(
    &[41, 37, 453, 448, 447, 452, 2376, 40, 44, 99, 126, 432, 1, 1084, 27_010, 110, 583],
    &[11, 48, 22, 54, 60, 38, 1138],
);

static MASS_CANCEL: Definition =
    definition(&[27_017, 48, 22, 1461, 1462, 1463, 1464, 1300], &[11, 530, 60]);

/// What a drop copy asks about orders.
static ORDER_STATUS: Definition = definition(&[48, 22, 453, 448, 447, 452, 2376], &[584, 585]);

/// What it asks about users.
static USER_STATUS: Definition = definition(&[], &[923, 924, 553]);

/// What post trade asks about trades.
static TRADES: Definition = definition(&[263, 48, 22], &[568, 569]);

/// What post trade asks about one trade: that it be cancelled. The group of its sides has
/// one entry, whose fields are like those before it.
static TRADE_CANCEL: Definition = definition(
    &[572, 573, 1123, 150, 880, 30, 60, 37, 11],
    &[571, 487, 856, 1003, 48, 22, 32, 31, 552, 54],
);

fn definition_of(msg_type: &[u8]) -> Option<&'static Definition> {
    Some(match msg_type {
        b"D" => &NEW_ORDER,
        b"S" => &QUOTE,
        b"F" => &CANCEL,
        b"G" => &CANCEL_REPLACE,
        b"q" => &MASS_CANCEL,
        b"AF" => &ORDER_STATUS,
        b"BE" => &USER_STATUS,
        b"AD" => &TRADES,
        b"AE" => &TRADE_CANCEL,
        _ => return None,
    })
}

/// Whether a message is about the session itself.
pub(crate) const fn is_admin(msg_type: &[u8]) -> bool {
    matches!(msg_type, [b'0'..=b'5' | b'A'])
}

/// What is wrong with the fields of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A field is there twice.
    Doubled,
    /// A type that is not taken.
    NotOffered,
    /// What a session-level Reject says.
    Rejected { reason: u16, tag: u32, text: &'static str },
}

const fn rejected(reason: u16, tag: u32, text: &'static str) -> Fault {
    Fault::Rejected { reason, tag, text }
}

/// Goes through a message once: its header, and what is wrong with its fields.
pub(crate) fn check<'m>(message: &Message<'m>) -> (Header<'m>, Option<Fault>) {
    let definition = definition_of(message.msg_type());
    let mut checks = Checks { definition, seen: FRAME, entries: Entries::default() };
    let (mut header, mut fault) = (Header::default(), None);
    for field in message.fields() {
        header.note(&field);
        match checks.field(&field) {
            // Nothing that follows makes it better.
            Err(Fault::Doubled) => return (header, Some(Fault::Doubled)),
            Err(found) => fault = fault.or(Some(found)),
            Ok(()) => {}
        }
    }
    let fault = match definition {
        None if is_admin(message.msg_type()) => None,
        None => Some(Fault::NotOffered),
        Some(definition) => fault.or_else(|| checks.end(definition).err()),
    };
    (header, fault)
}

struct Checks {
    /// `None` for messages of the session, where what is not known is ignored.
    definition: Option<&'static Definition>,
    seen: Set,
    entries: Entries,
}

/// Where in a group it is.
#[derive(Clone, Copy, Default)]
struct Entries {
    group: Option<&'static Shape>,
    /// How many there are to be, and how many have begun.
    said: u64,
    found: u64,
    /// The fields of this one.
    seen: Set,
}

impl Checks {
    #[inline]
    fn field(&mut self, field: &Field<'_>) -> Result<(), Fault> {
        let one = Set::one(field.tag);
        let Some(definition) = self.definition else {
            // Of a type that is not known, groups may repeat anything.
            let is_doubled = !MEMBERS.has(one) && self.seen.insert(one);
            return if is_doubled { Err(Fault::Doubled) } else { Ok(()) };
        };
        if one.is_empty() {
            return Err(match field.tag {
                0 => rejected(0, 0, "a field without a tag"),
                tag => rejected(3, tag, "no such tag"),
            });
        }
        let is_defined = definition.may.has(one);
        if is_defined && MEMBERS.has(one) {
            return self.member(field, one);
        }
        if self.seen.insert(one) {
            return Err(Fault::Doubled);
        }
        if !is_defined {
            return Err(rejected(2, field.tag, "not a tag of this message"));
        }
        if field.value.is_empty() {
            return Err(rejected(4, field.tag, "a tag without a value"));
        }
        let ended = match self.entries.group {
            Some(_) => self.entries.end(),
            None => Ok(()),
        };
        if COUNTS.has(one) {
            self.begin_group(field)?;
        }
        ended
    }

    fn begin_group(&mut self, field: &Field<'_>) -> Result<(), Fault> {
        let said = unsigned(field.value);
        let said = said.ok_or(rejected(6, field.tag, "the count of a group is no number"))?;
        let group = GROUPS.iter().find(|group| group.count == field.tag);
        self.entries = Entries { group, said, ..Entries::default() };
        Ok(())
    }

    fn member(&mut self, field: &Field<'_>, one: Set) -> Result<(), Fault> {
        let entries = &mut self.entries;
        let Some(group) = entries.group.filter(|group| group.set.has(one)) else {
            return Err(rejected(15, field.tag, "a field of a group outside of it"));
        };
        if field.tag == group.members[0] {
            let before = entries.entry();
            entries.found += 1;
            entries.seen = one;
            before?;
        } else if entries.found == 0 {
            return Err(rejected(15, field.tag, "an entry of a group begins with another field"));
        } else if entries.seen.insert(one) {
            return Err(Fault::Doubled);
        }
        if field.value.is_empty() {
            return Err(rejected(4, field.tag, "a tag without a value"));
        }
        Ok(())
    }

    fn end(&mut self, definition: &Definition) -> Result<(), Fault> {
        self.entries.end()?;
        if self.seen.0 & definition.must_set.0 == definition.must_set.0 {
            return Ok(());
        }
        match definition.must.iter().find(|tag| !self.seen.has(Set::one(**tag))) {
            Some(&tag) => Err(rejected(1, tag, "a required tag is missing")),
            None => Ok(()),
        }
    }
}

impl Entries {
    /// An entry ends; it must have what each must have.
    fn entry(&self) -> Result<(), Fault> {
        match self.group.and_then(|group| group.required) {
            Some(tag) if self.found > 0 && !self.seen.has(Set::one(tag)) => {
                Err(rejected(1, tag, "a required tag is missing"))
            }
            _ => Ok(()),
        }
    }

    /// A group ends, if it is in one.
    fn end(&mut self) -> Result<(), Fault> {
        let entries = std::mem::take(self);
        let Some(group) = entries.group else { return Ok(()) };
        entries.entry()?;
        if entries.said == entries.found {
            return Ok(());
        }
        Err(rejected(16, group.count, "a group has not as many entries as it says"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::wire;

    /// An order with all that it must have, and `more`.
    fn order(more: &str) -> Vec<u8> {
        wire(&format!(
            "35=D|34=1|49=C|56=FGW|52=20261126-12:00:00|11=C1|453=1|448=7|447=D|452=76|48=133215|\
             22=8|40=2|54=1|38=10|1138=10|581=1|528=P|60=20261126-12:00:00|{more}"
        ))
    }

    fn fault(wire: &[u8]) -> Option<Fault> {
        check(&Message::read(wire).expect("a whole message")).1
    }

    /// The reason and the tag of a Reject.
    fn reason(wire: &[u8]) -> Option<(u16, u32)> {
        match fault(wire) {
            Some(Fault::Rejected { reason, tag, .. }) => Some((reason, tag)),
            None => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn known_tags_rise_and_are_all_found() {
        assert!(KNOWN.is_sorted_by(|a, b| a < b) && KNOWN.len() <= 128);
        for (at, &tag) in KNOWN.iter().enumerate() {
            assert_eq!(place(tag), Some(at));
        }
        assert_eq!((place(0), place(5000), place(u32::MAX)), (None, None, None));
    }

    #[test]
    fn an_order_may_have_what_the_table_says() {
        assert_eq!(fault(&order("")), None);
        assert_eq!(fault(&order("44=10.25|59=6|386=1|336=a|2593=1|2594=1|2595=2|27017=3|")), None);
    }

    #[test]
    fn questions_about_orders_users_and_trades_have_their_fields() {
        for good in [
            "35=AF|34=1|584=Q|585=7|",
            "35=AF|34=1|584=Q|585=1|48=7|22=8|",
            "35=AF|34=1|584=Q|585=8|453=1|448=ANN|447=D|452=76|",
            "35=BE|34=1|923=Q|924=4|553=ANN|",
            "35=AD|34=1|568=Q|569=1|263=0|48=7|22=8|",
            "35=AE|34=1|571=C|487=1|856=6|1003=T|48=7|22=8|32=20|31=10.25|552=1|54=1|11=A|37=B|",
        ] {
            assert_eq!(fault(&wire(good)), None, "{good}");
        }
        for (bad, tag) in [("35=AF|34=1|585=7|", 584), ("35=BE|34=1|923=Q|924=4|", 553)] {
            assert_eq!(reason(&wire(bad)), Some((1, tag)), "{bad}");
        }
        assert_eq!(reason(&wire("35=AF|34=1|584=Q|585=7|11=C|")), Some((2, 11)));
    }

    #[test]
    fn each_way_to_be_wrong_has_its_reason() {
        for (more, expected) in [
            ("nonsense|", (0, 0)),
            ("150=0|", (2, 150)),
            ("9999=1|", (3, 9999)),
            ("1234567890=1|", (0, 0)),
            ("44=|", (4, 44)),
            ("386=x|336=a|", (6, 386)),
            ("336=a|", (15, 336)),
            ("2593=1|2595=2|2594=1|", (15, 2595)),
            ("386=2|336=a|44=1|", (16, 386)),
            ("386=0|336=a|", (16, 386)),
            ("386=1|", (16, 386)),
        ] {
            assert_eq!(reason(&order(more)), Some(expected), "{more}");
        }
    }

    #[test]
    fn each_required_tag_is_missed() {
        for must in [NEW_ORDER.must, CANCEL.must, CANCEL_REPLACE.must, MASS_CANCEL.must] {
            assert!(must.contains(&11) && must.contains(&60));
        }
        for tag in NEW_ORDER.must {
            let whole = String::from_utf8(order("")).expect("text");
            let body = whole.split_once("\x0135=").expect("a type").1;
            let body = body.rsplit_once("10=").expect("a checksum").0;
            let is_kept = |field: &&str| {
                let members = ["448=", "447=", "452="];
                let of_group = *tag == 453 && members.iter().any(|name| field.starts_with(name));
                !field.starts_with(&format!("{tag}=")) && !of_group
            };
            let fields: Vec<&str> = body.split('\x01').filter(is_kept).collect();
            let without = wire(&format!("35={}", fields.join("|")));
            assert_eq!(reason(&without), Some((1, *tag)), "{tag}");
        }
    }

    #[test]
    fn every_party_has_a_role() {
        let of = |group: &str| {
            let whole = String::from_utf8(order("")).expect("text").replace('\x01', "|");
            let body = whole.split_once("|35=").expect("a type").1;
            let body = body.rsplit_once("10=").expect("a checksum").0;
            let body = body.replace("453=1|448=7|447=D|452=76|", group);
            reason(&wire(&format!("35={body}")))
        };
        assert_eq!(of("453=2|448=7|452=76|448=8|452=3|447=P|2376=24|"), None);
        assert_eq!(of("453=2|448=7|448=8|452=3|"), Some((1, 452)));
        assert_eq!(of("453=2|448=7|452=3|448=8|"), Some((1, 452)));
        assert_eq!(of("453=1|448=7|452=3|448=8|452=3|"), Some((16, 453)));
    }

    #[test]
    fn doubled_tags_are_found_in_all_messages_but_not_those_of_entries() {
        assert_eq!(fault(&order("11=C2|")), Some(Fault::Doubled));
        assert_eq!(fault(&order("35=D|")), Some(Fault::Doubled));
        assert_eq!(fault(&order("10=000|")), Some(Fault::Doubled));
        assert_eq!(fault(&order("9999=1|11=C2|")), Some(Fault::Doubled));
        assert_eq!(fault(&order("2593=1|2594=1|2594=1|")), Some(reject_count()));
        assert_eq!(fault(&order("2593=1|2594=1|2595=1|2595=1|")), Some(Fault::Doubled));
        assert_eq!(fault(&wire("35=0|34=1|34=1|")), Some(Fault::Doubled));
        assert_eq!(fault(&wire("35=0|9999=1|9999=1|x|")), None);
    }

    fn reject_count() -> Fault {
        rejected(16, 2593, "a group has not as many entries as it says")
    }

    #[test]
    fn what_is_not_offered_is_told_from_what_is() {
        for kind in ["i", "Z", "R", "AJ", "8", "ZZ"] {
            assert_eq!(fault(&wire(&format!("35={kind}|34=1|"))), Some(Fault::NotOffered));
        }
        for kind in ["A", "0", "1", "2", "3", "4", "5"] {
            assert_eq!(fault(&wire(&format!("35={kind}|34=1|"))), None);
        }
    }
}
