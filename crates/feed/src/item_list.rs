//! Lists of item names.

use std::fs;
use std::path::Path;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use tapeline_rwf::Domain;

use crate::FeedError;

/// Names of items, one a line; what is behind a `#` is a comment, blank lines
/// do not count. The item files of the vendor's performance tools
/// (`350k.xml`) are read too:
///
/// ```text
/// itemList
/// └ item …   name="RDT0" domain="MarketPrice"
/// ```
///
/// ```
/// use tapeline_feed::ItemList;
///
/// let list = ItemList::parse("# indices\nDAX.X\n FTSE.X  # London\n\n");
/// assert_eq!(list.names(), ["DAX.X", "FTSE.X"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ItemList {
    names: Vec<String>,
}

impl ItemList {
    /// Reads a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FeedError> {
        let file = path.as_ref().display().to_string();
        match fs::read_to_string(path) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) => Err(FeedError::Io { file, error }),
        }
    }

    /// Reads a file, as XML if its name ends in `.xml`; of such a file the items
    /// of one domain.
    pub fn open_of(path: impl AsRef<Path>, domain: Domain) -> Result<Self, FeedError> {
        let path = path.as_ref();
        if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("xml")) {
            return Self::open(path);
        }
        let file = path.display().to_string();
        match fs::read_to_string(path) {
            Ok(text) => Self::read_xml(&file, &text, domain),
            Err(error) => Err(FeedError::Io { file, error }),
        }
    }

    /// Reads the items of one domain from a text of the vendor's form. An item
    /// without a domain is a market price.
    ///
    /// ```
    /// use tapeline_feed::ItemList;
    /// use tapeline_rwf::Domain;
    ///
    /// let text = r#"<itemList><item domain="MarketPrice" name="RDT0"/>
    ///               <item domain="MarketByOrder" name="RDT1"/></itemList>"#;
    /// let list = ItemList::parse_xml(text, Domain::MARKET_BY_ORDER)?;
    /// assert_eq!(list.names(), ["RDT1"]);
    /// # Ok::<(), tapeline_feed::FeedError>(())
    /// ```
    pub fn parse_xml(text: &str, domain: Domain) -> Result<Self, FeedError> {
        Self::read_xml("item file", text, domain)
    }

    fn read_xml(file: &str, text: &str, domain: Domain) -> Result<Self, FeedError> {
        let mut reader = Reader::from_str(text);
        let mut names = Vec::new();
        let mut number = 0_usize;
        loop {
            let place = format!("item {number}");
            let fault = |fault: String| FeedError::DataFile {
                file: file.to_owned(),
                place: place.clone(),
                fault,
            };
            match reader.read_event().map_err(|error| fault(format!("no XML: {error}")))? {
                Event::Start(start) | Event::Empty(start) if start.name().as_ref() == b"item" => {
                    names.extend(item_of(&start, domain).map_err(fault)?);
                    number += 1;
                }
                Event::Eof => return Ok(Self { names }),
                _ => {}
            }
        }
    }

    /// Reads a text.
    pub fn parse(text: &str) -> Self {
        let names = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim())
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        Self { names }
    }

    /// `count` names of a prefix and a number from 0: `RDT0`, `RDT1`.
    pub fn numbered(prefix: &str, count: usize) -> Self {
        Self { names: (0..count).map(|number| format!("{prefix}{number}")).collect() }
    }

    /// The names in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

/// The name of an item, if it is of the domain.
fn item_of(item: &BytesStart<'_>, domain: Domain) -> Result<Option<String>, String> {
    let of = match attribute(item, "domain")? {
        Some(name) => domain_of(&name).ok_or_else(|| format!("domain {name} is not known"))?,
        None => Domain::MARKET_PRICE,
    };
    let name = attribute(item, "name")?.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| "it has no name".to_owned())?;
    Ok((of == domain).then_some(name))
}

/// A domain by a name like `MarketPrice`.
fn domain_of(name: &str) -> Option<Domain> {
    let mut snake = String::with_capacity(name.len() + 2);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_uppercase());
    }
    Domain::from_name(&snake)
}

fn attribute(item: &BytesStart<'_>, key: &str) -> Result<Option<String>, String> {
    let found = item.try_get_attribute(key).map_err(|error| error.to_string())?;
    let value = found.map(|found| found.normalized_value(XmlVersion::Implicit1_0));
    let value = value.transpose().map_err(|error| error.to_string())?;
    Ok(value.map(std::borrow::Cow::into_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ITEMS: &str = r#"<?xml version="1.0"?>
        <!-- items -->
        <itemList>
          <item domain="MarketPrice" name="RDT0" post="true"/>
          <item domain="MarketByOrder" name="MBO0"></item>
          <item name="A&amp;B"/>
        </itemList>"#;

    #[test]
    fn an_item_file_in_xml_has_the_items_of_each_domain() {
        let names = |domain| ItemList::parse_xml(ITEMS, domain).expect("valid").names;
        assert_eq!(names(Domain::MARKET_PRICE), ["RDT0", "A&B"]);
        assert_eq!(names(Domain::MARKET_BY_ORDER), ["MBO0"]);
        assert_eq!(names(Domain::SYMBOL_LIST).len(), 0);
    }

    #[test]
    fn what_is_wrong_in_it_is_told_with_its_place() {
        for (text, fault) in [
            (
                r#"<item name="A"/><item domain="Bond" name="B"/>"#,
                "item 1: domain Bond is not known",
            ),
            (r#"<item domain="MarketPrice"/>"#, "item 0: it has no name"),
            ("<item name=\"A\"></wrong>", "item 1: no XML: "),
        ] {
            let error = ItemList::parse_xml(text, Domain::MARKET_PRICE).expect_err(text);
            let text = error.to_string();
            assert!(text.starts_with(&format!("item file: {fault}")), "{text}");
        }
    }
}
