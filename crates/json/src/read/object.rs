//! Objects whose members are found in one pass.

use tapeline_rwf::DataType;

use super::code::wrong_kind;
use super::{Refusal, shortened};
use crate::error::{Fault, TokenKind};
use crate::short_name::ShortName;
use crate::tape::{Kind, Value};

macro_rules! members {
    ($($member:ident $name:literal,)*) => {
        /// The members that objects can have, whatever object they are in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Member {
            $($member,)*
        }

        impl Member {
            const ALL: &[Self] = &[$(Self::$member,)*];
            const NAMES: &[&'static str] = &[$($name,)*];
        }
    };
}

members! {
    // Of messages; some of them are members of other objects too.
    Id "ID", Type "Type", Domain "Domain", Key "Key", ReqKey "ReqKey", Streaming "Streaming",
    Priority "Priority", KeyInUpdates "KeyInUpdates", ConfInfoInUpdates "ConfInfoInUpdates",
    Refresh "Refresh", Qos "Qos", QosInCapitals "QOS", WorstQos "WorstQos", Private "Private",
    Qualified "Qualified", Pause "Pause", ExtHdr "ExtHdr", ViewType "ViewType", View "View",
    State "State", Complete "Complete", ClearCache "ClearCache", DoNotCache "DoNotCache",
    PostUserInfo "PostUserInfo", PartNumber "PartNumber", PermData "PermData",
    SeqNumber "SeqNumber", Solicited "Solicited", UpdateType "UpdateType",
    DoNotConflate "DoNotConflate", DoNotRipple "DoNotRipple", Discardable "Discardable",
    ConflationInfo "ConflationInfo", SecSeqNumber "SecSeqNumber",
    ProviderDriven "ProviderDriven", PostId "PostID", Ack "Ack",
    PostUserRights "PostUserRights", AckId "AckID", NakCode "NakCode", Text "Text",
    // Of messages, entries and summaries: containers.
    Fields "Fields", FieldList "FieldList", Elements "Elements", ElementList "ElementList",
    FilterList "FilterList", Map "Map", Vector "Vector", Series "Series", Message "Message",
    Opaque "Opaque", Xml "Xml", Json "Json", AnsiPage "AnsiPage",
    // Of keys.
    Service "Service", NameType "NameType", Name "Name", Filter "Filter",
    Identifier "Identifier",
    // Of states, qualities, priorities, conflation, users.
    Stream "Stream", Data "Data", Code "Code", Timeliness "Timeliness", Rate "Rate",
    Dynamic "Dynamic", TimeInfo "TimeInfo", RateInfo "RateInfo", Class "Class", Count "Count",
    Time "Time", Address "Address", UserId "UserID",
    // Of containers, their entries, and arrays.
    KeyType "KeyType", KeyFieldId "KeyFieldID", Summary "Summary", CountHint "CountHint",
    SupportSorting "SupportSorting", Entries "Entries", Index "Index", Action "Action",
    Length "Length",
}

/// Where the names are found: a table with at most one of them in a slot.
struct Slots {
    factor: u64,
    /// Index into the names, or [`EMPTY`].
    index: [u8; 1 << SLOT_BITS],
}

const SLOT_BITS: u32 = 9;
const EMPTY: u8 = u8::MAX;

static SLOTS: Slots = Slots::new(&SHORT_NAMES);
/// None for the few names that are not short.
static SHORT_NAMES: [Option<ShortName>; Member::COUNT] = short_names();

const fn short_names() -> [Option<ShortName>; Member::COUNT] {
    let mut short = [None; Member::COUNT];
    let mut at = 0;
    while at < Member::COUNT {
        short[at] = ShortName::new(Member::NAMES[at].as_bytes());
        at += 1;
    }
    short
}

impl Slots {
    /// Tries factors until no two names meet; done by the compiler.
    const fn new(names: &[Option<ShortName>]) -> Self {
        let mut factor = 0x9E37_79B9_7F4A_7C15_u64;
        'factor: loop {
            let mut index = [EMPTY; 1 << SLOT_BITS];
            let mut at = 0;
            while at < names.len() {
                if let Some(name) = names[at] {
                    let slot = Self::slot(name, factor);
                    if index[slot] != EMPTY {
                        factor = factor.wrapping_mul(5).wrapping_add(2);
                        continue 'factor;
                    }
                    index[slot] = at as u8;
                }
                at += 1;
            }
            return Self { factor, index };
        }
    }

    #[inline]
    const fn slot(name: ShortName, factor: u64) -> usize {
        (name.hash(factor) >> (u64::BITS - SLOT_BITS)) as usize
    }
}

impl Member {
    const COUNT: usize = Self::ALL.len();
    /// Those whose names are not short.
    const LONG: &[Self] = &[Self::ConfInfoInUpdates];

    /// The member of a short name; case counts.
    #[inline]
    fn of_short(name: ShortName) -> Option<Self> {
        let index = usize::from(SLOTS.index[Slots::slot(name, SLOTS.factor)]);
        let found = SHORT_NAMES.get(index)?;
        (*found == Some(name)).then(|| Self::ALL[index])
    }

    /// The member of a key with escapes or of a name that is not short.
    #[cold]
    #[inline(never)]
    fn of_any(key: &Value<'_>) -> Option<Self> {
        let name = key.string()?;
        match ShortName::new(name.as_bytes()) {
            Some(name) => Self::of_short(name),
            None => Self::LONG.iter().copied().find(|member| member.name() == name),
        }
    }

    #[inline]
    fn of_key(key: &Value<'_>) -> Option<Self> {
        match key.short_name() {
            Some(name) => Self::of_short(name),
            None => Self::of_any(key),
        }
    }

    pub(super) fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Whether a message can have it.
    pub(super) fn is_of_message(self) -> bool {
        self as u8 <= Self::AnsiPage as u8
    }

    /// The container that is its value, for those that say so.
    pub(super) fn container_type(self) -> Option<DataType> {
        Some(match self {
            Self::Fields | Self::FieldList => DataType::FIELD_LIST,
            Self::Elements | Self::ElementList => DataType::ELEMENT_LIST,
            Self::FilterList => DataType::FILTER_LIST,
            Self::Map => DataType::MAP,
            Self::Vector => DataType::VECTOR,
            Self::Series => DataType::SERIES,
            Self::Message => DataType::MSG,
            Self::Opaque => DataType::OPAQUE,
            Self::Xml => DataType::XML,
            Self::Json => DataType::JSON,
            Self::AnsiPage => DataType::ANSI_PAGE,
            _ => return None,
        })
    }
}

/// A value that has to be an object; `key` is where it is.
#[inline]
pub(super) fn object<'t>(value: Value<'t>, key: &str) -> Result<Value<'t>, Refusal> {
    match value.kind() {
        Kind::Object => Ok(value),
        _ => Err(wrong_kind(&value, key, TokenKind::Object)),
    }
}

/// An object, gone through once to know where its members are.
///
/// It is large: made where it stays, it is not copied.
pub(super) struct Object<'t> {
    value: Value<'t>,
    /// Index on the tape by member; of two of a name that of the last. 0, which
    /// is the whole text, is none.
    found: [u32; Member::COUNT],
    /// The container, and the key of another one, which is one too many.
    content: Option<(DataType, Value<'t>)>,
    second_content: Option<Value<'t>>,
}

impl<'t> Object<'t> {
    /// The members of an object; of anything else none.
    pub(super) fn new(value: Value<'t>) -> Self {
        let mut object =
            Self { value, found: [0; Member::COUNT], content: None, second_content: None };
        for (key, value) in value.members() {
            let Some(member) = Member::of_key(&key) else { continue };
            object.found[member as usize] = value.index();
            let Some(data_type) = member.container_type() else { continue };
            match object.content {
                None => object.content = Some((data_type, value)),
                Some(_) => object.second_content = object.second_content.or(Some(key)),
            }
        }
        object
    }

    /// The value of a member; of two of a name the last.
    #[inline]
    pub(super) fn get(&self, member: Member) -> Option<Value<'t>> {
        match self.found[member as usize] {
            0 => None,
            index => Some(self.value.at(index)),
        }
    }

    /// The value of a member that has to be there; `parent` is what the object
    /// is, if it is not a message.
    pub(super) fn required(
        &self,
        member: Member,
        parent: Option<&'static str>,
    ) -> Result<Value<'t>, Refusal> {
        self.get(member).ok_or_else(|| Refusal::missing(member.name(), parent))
    }

    /// The one container of a message, an entry or a summary.
    pub(super) fn content(&self) -> Result<Option<(DataType, Value<'t>)>, Refusal> {
        match self.second_content {
            None => Ok(self.content),
            Some(key) => Err(unexpected_key(&key)),
        }
    }

    /// Refuses a member that is not one of the known.
    pub(super) fn check_members(&self, is_known: impl Fn(Member) -> bool) -> Result<(), Refusal> {
        let unknown = |key: &Value<'_>| !Member::of_key(key).is_some_and(&is_known);
        match self.value.members().map(|(key, _)| key).find(unknown) {
            None => Ok(()),
            Some(key) => Err(unexpected_key(&key)),
        }
    }
}

fn unexpected_key(key: &Value<'_>) -> Refusal {
    Refusal::at(key, Fault::UnexpectedKey { key: shortened(key.raw()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names;
    use crate::tape::Tape;

    /// The member of a key in its quotes.
    fn of(name: &str) -> Option<Member> {
        let text = format!("\"{name}\"");
        let mut tape = Tape::default();
        let document = tape.parse(&text, 8).expect("JSON");
        Member::of_key(&document.root())
    }

    #[test]
    fn members_are_found_by_their_names_and_by_nothing_else() {
        for member in Member::ALL {
            assert_eq!(of(member.name()), Some(*member));
            assert_eq!(of(&member.name()[1..]), None);
            assert_eq!(of(&member.name().to_lowercase()), None);
            assert_eq!(of(&format!("{}s", member.name())), None);
        }
        assert_eq!(of(""), None);
        assert_eq!(of("Nothing"), None);
        // The first letter as an escape.
        assert_eq!(of("\\u0049D"), Some(Member::Id));
        assert_eq!(of("\\u0043onfInfoInUpdates"), Some(Member::ConfInfoInUpdates));
        assert_eq!(of("\\u0049DX"), None);
    }

    #[test]
    fn only_names_that_are_not_short_are_in_the_list_of_those() {
        let is_long = |member: &&Member| ShortName::new(member.name().as_bytes()).is_none();
        let long: Vec<Member> = Member::ALL.iter().filter(is_long).copied().collect();
        assert_eq!(long, Member::LONG);
    }

    #[test]
    fn containers_are_those_that_are_written() {
        for member in Member::ALL {
            let code = match member.name() {
                "FieldList" => Some(DataType::FIELD_LIST.0),
                "ElementList" => Some(DataType::ELEMENT_LIST.0),
                name => names::container::code(name),
            };
            assert_eq!(member.container_type(), code.map(DataType), "{member:?}");
        }
    }

    #[test]
    fn of_two_members_the_last_counts_and_of_two_containers_none() {
        let text = r#"{"ID":1,"x":2,"\u0049D":3,"Map":{},"Fields":{}}"#;
        let mut tape = Tape::default();
        let document = tape.parse(text, 8).expect("JSON");
        let object = Object::new(document.root());
        assert_eq!(object.get(Member::Id).and_then(|id| id.number()), Some(&b"3"[..]));
        assert!(object.get(Member::Type).is_none());
        assert!(object.content().is_err_and(|refusal| refusal.0.offset == Some(36)));
        assert!(object.check_members(Member::is_of_message).is_err());
    }
}
