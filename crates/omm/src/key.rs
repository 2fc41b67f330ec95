//! Item keys: what makes two requests the same stream.

use core::borrow::Borrow;
use core::hash::{Hash, Hasher};

use tapeline_rwf::{DataType, Domain, Encoded, KeyFlags, MsgKey, Qos, Rate, Timeliness};

use crate::name::Name;

/// Name types of items.
pub mod name_type {
    /// Not given.
    pub const UNSPECIFIED: u8 = 0;
    /// An instrument code; what counts where none is given.
    pub const RIC: u8 = 1;
    /// The name of a contributor.
    pub const CONTRIBUTOR: u8 = 2;
}

/// Whether the domain is one of the administrative ones (login, directory,
/// dictionary): no posts go to them, and quality and open window do not apply.
pub const fn is_administrative(domain: Domain) -> bool {
    matches!(domain, Domain::LOGIN | Domain::SOURCE | Domain::DICTIONARY)
}

/// What makes two requests the same stream: domain, the full message key and
/// the quality that was matched. Borrowed, for lookups; [`ItemKey`] is kept.
///
/// An absent name type is the default one (1), so that `TRI.N` without a type
/// and `TRI.N` as RIC are one item. Private streams are never the same as
/// another and have no place in a table of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemKeyRef<'a> {
    /// Domain.
    pub domain: Domain,
    /// Service, by the number of one connection's directory.
    pub service_id: Option<u16>,
    /// Name; empty where the key has none.
    pub name: &'a [u8],
    /// Kind of name.
    pub name_type: u8,
    /// Filter of the key.
    pub filter: Option<u32>,
    /// Identifier of the key.
    pub identifier: Option<i32>,
    /// Container type and bytes of the attributes.
    pub attrib: Option<(DataType, &'a [u8])>,
    /// Quality that was matched. Whether it may change is no part of it: a
    /// service that says so of one day's streams has the same items the next.
    pub qos: Option<Qos>,
}

impl<'a> ItemKeyRef<'a> {
    /// The key of an item by service and name, at no quality in particular.
    pub const fn item(domain: Domain, service_id: u16, name: &'a str) -> Self {
        Self {
            domain,
            service_id: Some(service_id),
            name: name.as_bytes(),
            name_type: name_type::RIC,
            filter: None,
            identifier: None,
            attrib: None,
            qos: None,
        }
    }

    /// The key of a message, at a matched quality.
    pub fn of(domain: Domain, key: &MsgKey<'a>, qos: Option<Qos>) -> Self {
        Self {
            domain,
            service_id: key.service_id,
            name: key.name.unwrap_or_default(),
            name_type: key.name_type.unwrap_or(name_type::RIC),
            filter: key.filter,
            identifier: key.identifier,
            attrib: key.attrib.map(|data| (data.data_type(), data.bytes())),
            qos: qos.map(|qos| Qos { dynamic: false, ..qos }),
        }
    }

    /// The message key of this item, for requests and responses.
    pub fn msg_key(&self) -> MsgKey<'a> {
        let has_name = !self.name.is_empty();
        MsgKey {
            flags: KeyFlags::empty(),
            service_id: self.service_id,
            name: has_name.then_some(self.name),
            name_type: has_name.then_some(self.name_type),
            filter: self.filter,
            identifier: self.identifier,
            attrib: self.attrib.map(|(data_type, bytes)| Encoded::new(data_type, bytes)),
        }
    }

    /// The same, owned.
    pub fn to_owned(&self) -> ItemKey {
        ItemKey {
            domain: self.domain,
            service_id: self.service_id,
            name: self.name.into(),
            name_type: self.name_type,
            qos: self.qos.and_then(short_qos).unwrap_or(NO_QOS),
            rest: Rest::of(self).map(Box::new),
        }
    }
}

/// No quality in one byte, or one that does not fit.
const NO_QOS: u8 = 0;

/// A quality in one byte, as on the wire but for its lowest bit: that says
/// that there is one, as those of keys are not dynamic.
fn short_qos(qos: Qos) -> Option<u8> {
    let Qos { timeliness, rate, dynamic, time_info_s, rate_info_ms } = qos;
    let fits = timeliness.0 < 1 << 3 && rate.0 < 1 << 4 && !dynamic;
    (fits && time_info_s == 0 && rate_info_ms == 0).then_some(timeliness.0 << 5 | rate.0 << 1 | 1)
}

fn long_qos(short: u8) -> Option<Qos> {
    (short != NO_QOS).then_some(Qos {
        timeliness: Timeliness(short >> 5),
        rate: Rate(short >> 1 & 0x0F),
        dynamic: false,
        time_info_s: 0,
        rate_info_ms: 0,
    })
}

/// In few and long pieces. A hasher has to be called for each piece, which
/// costs more than the bytes of it, and each request for an item hashes its key
/// some ten times on its way through server and hub.
///
/// ```text
/// | u8 domain | u8 name type | u16 service | u16 name length | u8 flags | u8 container |
/// | u8 timeliness | u8 rate | u16 time info | u16 rate info | u16 of attributes |
/// | name | u32 filter, i32 identifier, attributes: where there are any |
/// ```
impl Hash for ItemKeyRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let has = [
            self.service_id.is_some(),
            self.filter.is_some(),
            self.identifier.is_some(),
            self.attrib.is_some(),
            self.qos.is_some(),
            self.qos.is_some_and(|qos| qos.dynamic),
        ];
        let flags = has.iter().fold(0, |flags, has| flags << 1 | u8::from(*has));
        let (data_type, attrib) = self.attrib.map_or((0, &[][..]), |(of, bytes)| (of.0, bytes));
        let [service_0, service_1] = self.service_id.unwrap_or_default().to_le_bytes();
        let [name_0, name_1] = (self.name.len() as u16).to_le_bytes();
        let qos = self.qos.unwrap_or(Qos::REALTIME_TICK_BY_TICK);
        let [time_0, time_1] = qos.time_info_s.to_le_bytes();
        let [rate_0, rate_1] = qos.rate_info_ms.to_le_bytes();
        let [attrib_0, attrib_1] = (attrib.len() as u16).to_le_bytes();
        #[rustfmt::skip]
        state.write(&[
            self.domain.0, self.name_type, service_0, service_1, name_0, name_1, flags, data_type,
            qos.timeliness.0, qos.rate.0, time_0, time_1, rate_0, rate_1, attrib_0, attrib_1,
        ]);
        state.write(self.name);
        if self.filter.is_some() || self.identifier.is_some() || self.attrib.is_some() {
            let numbers = u64::from(self.filter.unwrap_or_default()) << 32;
            state.write_u64(numbers | u64::from(self.identifier.unwrap_or_default() as u32));
            state.write(attrib);
        }
    }
}

/// What makes two requests the same stream, owned: the key of a table of
/// streams. It is looked up by [`ItemKeyRef`], without copying:
///
/// ```
/// use std::collections::HashMap;
/// use tapeline_omm::{AsItemKey, ItemKey, ItemKeyRef};
/// use tapeline_rwf::Domain;
///
/// let mut open: HashMap<ItemKey, u32> = HashMap::new();
/// let key = ItemKeyRef::item(Domain::MARKET_PRICE, 1, "TRI.N");
/// open.insert(key.to_owned(), 7);
/// assert_eq!(open.get(&key as &dyn AsItemKey), Some(&7));
/// ```
///
/// Items are many, and each has its key: one takes 40 bytes, and those of a name of more
/// than 22.
#[derive(Clone, Debug)]
pub struct ItemKey {
    domain: Domain,
    service_id: Option<u16>,
    name: Name,
    name_type: u8,
    /// See [`short_qos`]; one that does not fit is in the rest.
    qos: u8,
    rest: Option<Box<Rest>>,
}

/// What most keys do not have.
#[derive(Clone, Debug)]
struct Rest {
    qos: Option<Qos>,
    filter: Option<u32>,
    identifier: Option<i32>,
    attrib: Option<(DataType, Box<[u8]>)>,
}

impl Rest {
    fn of(key: &ItemKeyRef<'_>) -> Option<Self> {
        let ItemKeyRef { filter, identifier, attrib, .. } = *key;
        let qos = key.qos.filter(|qos| short_qos(*qos).is_none());
        let is_any = qos.is_some() || filter.is_some() || identifier.is_some() || attrib.is_some();
        is_any.then(|| Self {
            qos,
            filter,
            identifier,
            attrib: attrib.map(|(data_type, bytes)| (data_type, bytes.into())),
        })
    }
}

impl ItemKey {
    /// The id of its service, which costs less than all of it.
    #[inline]
    pub const fn service_id(&self) -> Option<u16> {
        self.service_id
    }

    /// The same, borrowed.
    pub fn as_ref(&self) -> ItemKeyRef<'_> {
        let rest = self.rest.as_deref();
        let attrib = rest.and_then(|rest| rest.attrib.as_ref());
        ItemKeyRef {
            domain: self.domain,
            service_id: self.service_id,
            name: &self.name,
            name_type: self.name_type,
            filter: rest.and_then(|rest| rest.filter),
            identifier: rest.and_then(|rest| rest.identifier),
            attrib: attrib.map(|(data_type, bytes)| (*data_type, &**bytes)),
            qos: long_qos(self.qos).or_else(|| rest.and_then(|rest| rest.qos)),
        }
    }
}

/// Both forms of an item key, for lookups in maps of [`ItemKey`].
pub trait AsItemKey {
    /// The key, borrowed.
    fn as_item_key(&self) -> ItemKeyRef<'_>;
}

impl AsItemKey for ItemKey {
    fn as_item_key(&self) -> ItemKeyRef<'_> {
        self.as_ref()
    }
}

impl AsItemKey for ItemKeyRef<'_> {
    fn as_item_key(&self) -> ItemKeyRef<'_> {
        *self
    }
}

impl<'a> Borrow<dyn AsItemKey + 'a> for ItemKey {
    fn borrow(&self) -> &(dyn AsItemKey + 'a) {
        self
    }
}

impl PartialEq for dyn AsItemKey + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.as_item_key() == other.as_item_key()
    }
}

impl Eq for dyn AsItemKey + '_ {}

impl Hash for dyn AsItemKey + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_item_key().hash(state);
    }
}

impl PartialEq for ItemKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for ItemKey {}

impl Hash for ItemKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_part_of_the_key_tells_items_apart() {
        let item = ItemKeyRef::item(Domain::MARKET_PRICE, 1, "TRI.N");
        let others = [
            ItemKeyRef { domain: Domain::MARKET_BY_ORDER, ..item },
            ItemKeyRef { service_id: Some(2), ..item },
            ItemKeyRef { name: b"TRI.TO", ..item },
            ItemKeyRef { name_type: name_type::CONTRIBUTOR, ..item },
            ItemKeyRef { filter: Some(0), ..item },
            ItemKeyRef { identifier: Some(0), ..item },
            ItemKeyRef { attrib: Some((DataType::ELEMENT_LIST, &[])), ..item },
            ItemKeyRef { attrib: Some((DataType::OPAQUE, &[])), ..item },
            ItemKeyRef { qos: Some(Qos::REALTIME_TICK_BY_TICK), ..item },
        ];
        let mut table: HashSet<ItemKey> = others.iter().map(ItemKeyRef::to_owned).collect();
        assert_eq!(table.len(), others.len());
        assert!(!table.contains(&item as &dyn AsItemKey));
        assert!(table.insert(item.to_owned()));
        assert!(others.iter().all(|other| table.contains(other as &dyn AsItemKey)));
        assert!(others.iter().all(|other| other.to_owned().as_ref() == *other));
    }

    #[test]
    fn a_key_is_small_and_has_any_quality() {
        assert_eq!(size_of::<ItemKey>(), 40);
        let tick = Qos::REALTIME_TICK_BY_TICK;
        let of = [
            tick,
            Qos { timeliness: Timeliness(0), rate: Rate(0), ..tick },
            Qos { timeliness: Timeliness(7), rate: Rate(15), ..tick },
            Qos { timeliness: Timeliness(8), ..tick },
            Qos { rate: Rate(16), ..tick },
            Qos { time_info_s: 900, ..tick },
            Qos { rate_info_ms: 500, ..tick },
            Qos { dynamic: true, ..tick },
        ];
        let item = ItemKeyRef::item(Domain::MARKET_PRICE, 1, "TRI.N");
        let keys: HashSet<_> =
            of.map(|qos| ItemKeyRef { qos: Some(qos), ..item }.to_owned()).into();
        assert_eq!(keys.len(), of.len());
        for qos in of {
            let key = ItemKeyRef { qos: Some(qos), ..item };
            assert_eq!(key.to_owned().as_ref(), key);
            assert!(keys.contains(&key as &dyn AsItemKey));
        }
    }

    #[test]
    fn the_default_name_type_and_none_are_one_item() {
        let with = MsgKey { name_type: Some(name_type::RIC), ..MsgKey::item(1, "TRI.N") };
        let key = |key| ItemKeyRef::of(Domain::MARKET_PRICE, &key, None).to_owned();
        assert_eq!(key(with), key(MsgKey::item(1, "TRI.N")));
        assert_eq!(key(with).as_ref().msg_key(), with);
    }

    #[test]
    fn whether_a_quality_may_change_makes_no_other_item() {
        let of = |dynamic| {
            let qos = Some(Qos { dynamic, ..Qos::REALTIME_TICK_BY_TICK });
            ItemKeyRef::of(Domain::MARKET_PRICE, &MsgKey::item(1, "TRI.N"), qos).to_owned()
        };
        assert_eq!(of(true), of(false));
    }

    #[test]
    fn only_three_domains_are_administrative() {
        let found: Vec<_> = (0..=255).filter(|code| is_administrative(Domain(*code))).collect();
        assert_eq!(found, [1, 4, 5]);
    }
}
