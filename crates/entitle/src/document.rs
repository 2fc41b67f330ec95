//! What a policy file says, before it is compiled.

use ipnet::IpNet;
use tapeline_omm::view::FieldMask;
use time::{Date, Month};
use toml::de::{DeTable, DeValue};

use crate::contract::Contract;
use crate::fault::{Fault, nearest};
use crate::lock::Sources;
use crate::names::Names;
use crate::read::{At, Reader, Table, number_of, text_of};

/// What happens to an item without a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoLock {
    /// Its field `PROD_PERM` is one permission code; without it, as `Subject`.
    #[default]
    ProdPerm,
    /// Its name decides.
    Subject,
    /// Whoever may use the service sees it.
    Allow,
    /// Nobody sees it.
    Deny,
}

/// Who is a unit of an exchange's count.
#[derive(Hash, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// A user.
    #[default]
    User,
    /// A position.
    Position,
    /// An application.
    Application,
    /// Nobody: the product is free.
    None,
}

/// A post's wish, and a role's right to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostRight {
    /// A new record.
    Create,
    /// New values of a record.
    Modify,
    /// The end of a record.
    Delete,
    /// New permission data of a record.
    ModifyPermission,
}

const RIGHTS: [(&str, PostRight); 4] = [
    ("create", PostRight::Create),
    ("modify", PostRight::Modify),
    ("delete", PostRight::Delete),
    ("modify-perm", PostRight::ModifyPermission),
];

/// Permission codes that are sold together.
#[derive(Debug)]
pub struct Product {
    /// Its name.
    pub name: String,
    /// Whose data it is; the product's own name if the policy does not say.
    pub exchange: String,
    /// The service whose codes these are.
    pub service: String,
    /// Ranges of its permission codes, both ends included.
    pub codes: Vec<(u32, u32)>,
    /// How its exchange counts.
    pub count: Count,
    pub(crate) line: usize,
}

impl Product {
    /// Whether a code of its service is among its codes.
    pub(crate) fn has(&self, code: u32) -> bool {
        self.codes.iter().any(|(first, last)| *first <= code && code <= *last)
    }
}

/// Names of a service that a role may open, or post to.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) service: String,
    /// As written, sorted; `None` is every name.
    pub(crate) subjects: Option<Vec<String>>,
    pub(crate) names: Names,
    /// Empty is every domain.
    pub(crate) domains: Vec<u8>,
    /// Whether the lock of such an item is not asked.
    pub(crate) is_locked: bool,
    /// Of posts.
    pub(crate) rights: Vec<PostRight>,
    pub(crate) line: usize,
}

impl Grant {
    pub(crate) fn covers(&self, name: &str, domain: u8) -> bool {
        (self.domains.is_empty() || self.domains.contains(&domain)) && self.names_item(name)
    }

    pub(crate) fn names_item(&self, name: &str) -> bool {
        self.subjects.is_none() || self.names.contains(name)
    }

    /// Whether both say the same, wherever they stand.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.service == other.service
            && self.domains == other.domains
            && self.is_locked == other.is_locked
            && self.rights == other.rights
            && self.subjects == other.subjects
    }
}

#[derive(Debug)]
pub(crate) struct Role {
    pub(crate) name: String,
    pub(crate) products: Vec<At<String>>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) posts: Vec<Grant>,
    /// Services that a provider with this role may publish into.
    pub(crate) publishes: Vec<At<String>>,
    pub(crate) fields: Option<FieldMask>,
    pub(crate) contract: Option<Contract>,
    pub(crate) item_limit: Option<u32>,
    pub(crate) max_priority_class: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) roles: Vec<At<String>>,
}

#[derive(Debug)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) roles: Vec<At<String>>,
    pub(crate) groups: Vec<At<String>>,
    pub(crate) positions: Option<u32>,
    /// Empty is every one, as are no networks.
    pub(crate) applications: Vec<String>,
    pub(crate) networks: Vec<IpNet>,
    pub(crate) until: Option<Date>,
    pub(crate) line: usize,
}

/// A question with the answer that the policy has to give.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) user: String,
    pub(crate) item: String,
    pub(crate) domain: u8,
    pub(crate) lock: Option<Vec<u8>>,
    pub(crate) is_allowed: bool,
    pub(crate) line: usize,
}

#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) name: String,
    pub(crate) no_lock: Option<NoLock>,
}

/// All that a file says.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) is_allowed_by_default: bool,
    pub(crate) no_lock: NoLock,
    pub(crate) is_odd_lock_allowed: bool,
    pub(crate) lock_sources: Sources,
    pub(crate) is_last_login_kept: bool,
    pub(crate) lock_services: Vec<(u16, String)>,
    pub(crate) services: Vec<Service>,
    pub(crate) products: Vec<Product>,
    pub(crate) roles: Vec<Role>,
    pub(crate) groups: Vec<Group>,
    pub(crate) users: Vec<User>,
    pub(crate) cases: Vec<Case>,
}

const NO_LOCKS: [(&str, NoLock); 4] = [
    ("prod-perm", NoLock::ProdPerm),
    ("subject", NoLock::Subject),
    ("allow", NoLock::Allow),
    ("deny", NoLock::Deny),
];
const ALLOW_DENY: [(&str, bool); 2] = [("allow", true), ("deny", false)];

impl Document {
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, Vec<Fault>> {
        let mut reader = Reader::new(file, text);
        let (tables, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let what = error.message().trim_end().replace('\n', "; ");
            reader.fault_at(&error.span().unwrap_or_default(), what);
        }
        if !reader.faults.is_empty() {
            return Err(reader.faults);
        }
        let mut document = Self::default();
        let mut table = Table::new("", tables.get_ref(), 1, &mut reader);
        document.read(&mut table);
        table.end();
        document.check(&mut reader);
        reader.faults.sort_by_key(|fault| fault.line);
        if reader.faults.is_empty() { Ok(document) } else { Err(reader.faults) }
    }

    fn read(&mut self, table: &mut Table<'_, '_, '_>) {
        if table.number("version", &(1..=1)).is_none() && table.reader.faults.is_empty() {
            table.reader.fault(1, "the policy needs `version = 1`");
        }
        self.is_allowed_by_default = table.word("default", &ALLOW_DENY).unwrap_or(false);
        table.table("entitle", |table| {
            self.no_lock = table.word("no-lock", &NO_LOCKS).unwrap_or_default();
            self.is_odd_lock_allowed = table.word("odd-lock", &ALLOW_DENY).unwrap_or(false);
            let ways = [
                ("unambiguous", Sources::Unambiguous),
                ("aligned", Sources::Aligned),
                ("repeated", Sources::Repeated),
                ("packed", Sources::Packed),
            ];
            self.lock_sources = table.word("lock-sources", &ways).unwrap_or_default();
            let ways = [("refuse", false), ("last-wins", true)];
            self.is_last_login_kept = table.word("positions-full", &ways).unwrap_or(false);
        });
        table.tables("lock-service", |table| {
            let id = table.number("id", &(0..=u32::from(u16::MAX)));
            if let (Some(id), Some(service)) = (id, table.needed("service")) {
                self.lock_services.push((id as u16, service.value));
            }
        });
        table.tables("service", |table| {
            let no_lock = table.word("no-lock", &NO_LOCKS);
            let name = table.needed("name");
            self.services.extend(name.map(|name| Service { name: name.value, no_lock }));
        });
        table.tables("product", |table| self.products.extend(product(table)));
        table.tables("role", |table| self.roles.extend(role(table)));
        table.tables("group", |table| {
            let roles = table.texts("roles").unwrap_or_default();
            let name = table.needed("name");
            self.groups.extend(name.map(|name| Group { name: name.value, roles }));
        });
        table.tables("user", |table| self.users.extend(user(table)));
        table.tables("test", |table| self.cases.extend(case(table)));
    }

    /// Names that others refer to are there, once.
    fn check(&self, reader: &mut Reader<'_>) {
        let roles: Vec<&str> = self.roles.iter().map(|role| role.name.as_str()).collect();
        let groups: Vec<&str> = self.groups.iter().map(|group| group.name.as_str()).collect();
        let products: Vec<&str> = self.products.iter().map(|one| one.name.as_str()).collect();
        let mut refers = |what: &str, used: &[At<String>], known: &[&str]| {
            for name in used.iter().filter(|name| !known.contains(&name.value.as_str())) {
                let hint = nearest(&name.value, known.iter().copied());
                reader.fault(name.line, format!("there is no {what} `{}`{hint}", name.value));
            }
        };
        for role in &self.roles {
            refers("product", &role.products, &products);
        }
        for group in &self.groups {
            refers("role", &group.roles, &roles);
        }
        for user in &self.users {
            refers("role", &user.roles, &roles);
            refers("group", &user.groups, &groups);
        }
        let mut users = std::collections::HashMap::new();
        for user in &self.users {
            if let Some(line) = users.insert(&user.name, user.line) {
                reader.fault(user.line, format!("user `{}` is on line {line} already", user.name));
            }
        }
        // Records of usage have them one a line.
        for product in self.products.iter().filter(|product| product.name.contains('\n')) {
            reader.fault(product.line, "the name of a product has a line break; take it out");
        }
        for (what, names) in [("role", &roles), ("group", &groups), ("product", &products)] {
            let mut sorted = names.clone();
            sorted.sort_unstable();
            let twice = sorted.iter().zip(sorted.iter().skip(1)).find(|(a, b)| a == b);
            if let Some((name, _)) = twice {
                reader.fault(1, format!("{what} `{name}` is there twice"));
            }
        }
    }
}

fn product(table: &mut Table<'_, '_, '_>) -> Option<Product> {
    let words = [
        ("user", Count::User),
        ("position", Count::Position),
        ("application", Count::Application),
        ("none", Count::None),
    ];
    let count = table.word("count", &words).unwrap_or_default();
    let codes = table.list("pe", codes_of).unwrap_or_default();
    let exchange = table.text("exchange");
    let (name, service) = (table.needed("name"), table.needed("service"));
    let name = name?.value;
    Some(Product {
        exchange: exchange.map_or_else(|| name.clone(), |exchange| exchange.value),
        name,
        service: service?.value,
        codes: codes.into_iter().map(|code| code.value).collect(),
        count,
        line: table.line,
    })
}

fn codes_of(value: &DeValue<'_>) -> Result<(u32, u32), String> {
    let range = value.as_str().and_then(|text| {
        let (first, last) = text.split_once('-')?;
        Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
    });
    let code = number_of(value).map(|code| (code, code));
    let found = code.or(range).filter(|(first, last)| first <= last);
    found.ok_or_else(|| "give codes as numbers, and ranges as \"144-160\"".to_owned())
}

fn contract(table: &mut Table<'_, '_, '_>) -> Option<Contract> {
    let text = table.text("contract")?;
    let contract = Contract::parse(&text.value);
    if contract.is_none() {
        let what = format!("`contract` is `{}`; give {}", text.value, Contract::FORMS);
        table.reader.fault(text.line, what);
    }
    contract
}

fn role(table: &mut Table<'_, '_, '_>) -> Option<Role> {
    let mut role = Role {
        name: String::new(),
        products: table.texts("products").unwrap_or_default(),
        grants: Vec::new(),
        posts: Vec::new(),
        publishes: table.texts("publishes").unwrap_or_default(),
        fields: fields(table),
        contract: contract(table),
        item_limit: table.number("item-limit", &(0..=u32::MAX)),
        max_priority_class: table.number("max-priority-class", &(0..=255)),
    };
    table.tables("grants", |table| {
        let is_locked = table.flag("locked");
        role.grants.extend(grant(table, is_locked, Vec::new()));
    });
    table.tables("posts", |table| {
        let known = RIGHTS.map(|(word, _)| word).join(", ");
        let rights = table.list("rights", |value| {
            let found = RIGHTS.iter().find(|(word, _)| value.as_str() == Some(word));
            found.map(|(_, right)| *right).ok_or_else(|| format!("give some of {known}"))
        });
        let rights = rights.unwrap_or_default().into_iter().map(|right| right.value).collect();
        role.posts.extend(grant(table, false, rights));
    });
    role.name = table.needed("name")?.value;
    Some(role)
}

fn grant(table: &mut Table<'_, '_, '_>, is_locked: bool, rights: Vec<PostRight>) -> Option<Grant> {
    let domains = table.list("domains", |value| {
        number_of(value).ok_or_else(|| "give numbers of domains, 0 to 255".to_owned())
    });
    let subjects = table.texts("subjects");
    let service = table.needed("service");
    let patterns = subjects.iter().flatten().map(|subject| subject.value.as_str());
    let names = match Names::of(patterns) {
        Ok(names) => names,
        Err(what) => {
            table.reader.fault(table.line, format!("`subjects`: {}", what.replace('\n', " ")));
            return None;
        }
    };
    let mut subjects: Option<Vec<String>> =
        subjects.map(|list| list.into_iter().map(|subject| subject.value).collect());
    if let Some(subjects) = &mut subjects {
        subjects.sort_unstable();
    }
    let domains = domains.unwrap_or_default().into_iter().map(|domain| domain.value).collect();
    let line = table.line;
    Some(Grant { service: service?.value, subjects, names, domains, is_locked, rights, line })
}

fn fields(table: &mut Table<'_, '_, '_>) -> Option<FieldMask> {
    let line = table.line;
    let list = table.list("fields", |value| match value.as_str() {
        Some(word) => Ok(Err(word.to_owned())),
        None => {
            number_of(value).map(Ok).ok_or_else(|| "give field ids, -32768 to 32767".to_owned())
        }
    })?;
    let words = list.iter().filter_map(|entry| entry.value.as_ref().err());
    let words: Vec<&str> = words.map(String::as_str).collect();
    let fids = list.iter().filter_map(|entry| entry.value.as_ref().ok().copied());
    match words[..] {
        ["allow"] => Some(FieldMask::only(fids)),
        ["deny"] => Some(FieldMask::all_but(fids)),
        _ => {
            let what = "`fields` begins with \"allow\" or \"deny\", then come numbers of fields";
            table.reader.fault(line, what);
            None
        }
    }
}

fn user(table: &mut Table<'_, '_, '_>) -> Option<User> {
    let networks = table.list("networks", |value| {
        let text = text_of(value)?;
        text.parse::<IpNet>().map_err(|_| format!("`{text}` is no network; give \"10.0.0.0/8\""))
    });
    let until = table.text("until").and_then(|text| {
        let date = date_of(&text.value);
        if date.is_none() {
            table.reader.fault(text.line, "`until` is a day; give \"2027-01-31\"");
        }
        date
    });
    let applications = table.texts("applications").unwrap_or_default();
    Some(User {
        roles: table.texts("roles").unwrap_or_default(),
        groups: table.texts("groups").unwrap_or_default(),
        positions: table.number("positions", &(1..=u32::MAX)),
        applications: applications.into_iter().map(|one| one.value).collect(),
        networks: networks.unwrap_or_default().into_iter().map(|one| one.value).collect(),
        until,
        line: table.line,
        name: table.needed("name")?.value,
    })
}

/// A day as `2027-01-31`.
pub(crate) fn date_of(text: &str) -> Option<Date> {
    let mut parts = text.splitn(3, '-');
    let year = parts.next()?.parse().ok()?;
    let month = Month::try_from(parts.next()?.parse::<u8>().ok()?).ok()?;
    Date::from_calendar_date(year, month, parts.next()?.parse().ok()?).ok()
}

fn case(table: &mut Table<'_, '_, '_>) -> Option<Case> {
    let lock = table.text("lock").map(|text| (hex_of(&text.value), text.line));
    if let Some((None, line)) = lock {
        table.reader.fault(line, "`lock` is in hexadecimal; give \"03 01 01 62 C0\"");
    }
    let domain = table.number("domain", &(0..=255)).unwrap_or(6);
    let (user, item, expect) = (table.needed("user"), table.needed("item"), table.needed("expect"));
    let is_allowed = table.word("expect", &ALLOW_DENY);
    let _ = expect?;
    Some(Case {
        user: user?.value,
        item: item?.value,
        domain: domain as u8,
        lock: lock.and_then(|(lock, _)| lock),
        is_allowed: is_allowed?,
        line: table.line,
    })
}

/// Bytes in hexadecimal, with or without spaces.
pub fn hex_of(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|character| character.to_digit(16).map(|digit| digit as u8))
        .collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
