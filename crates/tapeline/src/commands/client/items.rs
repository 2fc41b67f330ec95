//! Which items are opened or published.

use std::path::Path;

use tapeline_feed::ItemList;
use tapeline_rwf::Domain;

use crate::failure::Failure;

/// The names of items of a domain from everywhere they can be given, in that
/// order: on the command line, in a list, in a file.
pub(crate) fn item_names(
    domain: Domain,
    names: &[String],
    list: &[String],
    file: Option<&Path>,
) -> Result<Vec<String>, Failure> {
    let mut all: Vec<String> = names.iter().chain(list).cloned().collect();
    if let Some(path) = file {
        all.extend_from_slice(ItemList::open_of(path, domain)?.names());
    }
    all.retain(|name| !name.is_empty());
    match all.is_empty() {
        true => Err(Failure::Setting("no items; name them, or a file of names with -f".to_owned())),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_everywhere_are_joined() {
        let text = |text: &str| text.to_owned();
        let names = item_names(Domain::MARKET_PRICE, &[text("A")], &[text("B"), text("")], None);
        assert_eq!(names.expect("names"), ["A", "B"]);
        let failure = item_names(Domain::MARKET_PRICE, &[], &[], None).expect_err("no names");
        assert_eq!(failure.to_string(), "no items; name them, or a file of names with -f");
    }
}
