//! What a source has to publish.

use std::sync::Arc;

use tapeline_feed::DataFile;
use tapeline_rwf::Domain;

use crate::sample;

/// The item that a data file is of, if nobody says which items there are.
const FILE_ITEM: &str = "SAMPLE";

/// The data of an item: messages that are encoded once, with stream id 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The item that the data is of.
    pub name: String,
    /// Its domain.
    pub domain: Domain,
    /// Its image, a refresh message for each part.
    pub image: Vec<Vec<u8>>,
    /// Its updates, sent one after the other and then from the first again.
    pub updates: Vec<UpdateTemplate>,
}

/// One update as encoded messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateTemplate {
    pub plain: Vec<u8>,
    /// The same with a time stamp as its last field, which
    /// [`DataFile::patch_stamp`] fills in.
    pub stamped: Vec<u8>,
}

/// All templates of a source. Any name can be asked for: one without a
/// template of its own gets the one that stands for all.
#[derive(Clone, Debug)]
pub struct Stock {
    templates: Vec<Arc<Template>>,
    /// The template for names without their own; without it, each domain's
    /// templates take turns.
    common: Option<String>,
    turn: usize,
}

impl Stock {
    /// These templates; `common` names the one for all other items.
    pub fn new(templates: Vec<Template>, common: Option<String>) -> Self {
        let templates = templates.into_iter().map(Arc::new).collect();
        Self { templates, common, turn: 0 }
    }

    /// The project's own sample.
    pub fn sample(common: Option<String>) -> Self {
        Self::new(sample::templates(), common)
    }

    /// The content of a data file, for items of any name; `name` is that of the
    /// file's own item.
    pub fn file(file: &DataFile, name: Option<String>) -> Self {
        let update = |number| UpdateTemplate {
            plain: file.update(number).to_vec(),
            stamped: file.stamped_update(number).to_vec(),
        };
        let template = Template {
            name: name.unwrap_or_else(|| FILE_ITEM.to_owned()),
            domain: file.domain(),
            image: vec![file.image().to_vec()],
            updates: (0..file.update_count()).map(update).collect(),
        };
        Self::new(vec![template], None)
    }

    /// Lets this field carry the time stamps.
    #[must_use]
    pub fn stamping(mut self, field_id: i16) -> Self {
        for template in &mut self.templates {
            for update in &mut Arc::make_mut(template).updates {
                DataFile::patch_stamp_field(&mut update.stamped, field_id);
            }
        }
        self
    }

    /// The template for an item; `None` if nothing of the domain is there.
    pub fn template(&mut self, domain: Domain, name: &str) -> Option<Arc<Template>> {
        let of_domain: Vec<&Arc<Template>> =
            self.templates.iter().filter(|template| template.domain == domain).collect();
        let named = |name: &str| of_domain.iter().find(|template| template.name == name);
        let own = named(name).or_else(|| named(self.common.as_deref()?));
        if let Some(template) = own {
            return Some(Arc::clone(template));
        }
        let next = *of_domain.get(self.turn % of_domain.len().max(1))?;
        self.turn += 1;
        Some(Arc::clone(next))
    }

    /// The domains that are there, each once.
    pub fn domains(&self) -> Vec<Domain> {
        let mut domains: Vec<Domain> = self.templates.iter().map(|t| t.domain).collect();
        domains.sort_unstable();
        domains.dedup();
        domains
    }

    /// The names of all templates of a domain.
    pub fn names(&self, domain: Domain) -> Vec<String> {
        let of_domain = self.templates.iter().filter(|template| template.domain == domain);
        of_domain.map(|template| template.name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::Msg;

    fn template(name: &str, domain: Domain) -> Template {
        Template { name: name.to_owned(), domain, image: Vec::new(), updates: Vec::new() }
    }

    #[test]
    fn a_data_file_is_the_template_of_every_name() {
        let mut stock = Stock::file(&DataFile::sample(), None);
        assert_eq!(stock.domains(), [Domain::MARKET_PRICE]);
        let template = stock.template(Domain::MARKET_PRICE, "ANY.X").expect("a template");
        assert_eq!((template.updates.len(), template.name.as_str()), (1, FILE_ITEM));
        let stock = Stock::file(&DataFile::sample(), Some("OWN.X".to_owned()));
        assert_eq!(stock.names(Domain::MARKET_PRICE), ["OWN.X"]);
    }

    #[test]
    fn any_field_may_carry_the_stamps() {
        let mut stock = Stock::sample(None).stamping(3903);
        let template = stock.template(Domain::MARKET_PRICE, "XXA=").expect("a template");
        for update in &template.updates {
            let fields = |message| Msg::decode(message).expect("valid").payload().field_list();
            let ids = |message| -> Vec<i16> {
                let list = fields(message).expect("fields");
                list.iter().map(|entry| entry.expect("valid").field_id).collect()
            };
            assert_eq!(ids(&update.stamped).last(), Some(&3903));
            assert!(!ids(&update.plain).contains(&3903));
        }
    }

    #[test]
    fn every_name_of_a_known_domain_has_a_template() {
        let price = Domain::MARKET_PRICE;
        let all = vec![template("A", price), template("B", price)];
        let name = |stock: &mut Stock, item: &str| {
            stock.template(price, item).map(|template| template.name.clone())
        };
        let mut turns = Stock::new(all.clone(), None);
        let names = ["B", "X", "Y", "Z"].map(|item| name(&mut turns, item).expect("a template"));
        assert_eq!(names, ["B", "A", "B", "A"]);
        let mut common = Stock::new(all, Some("B".to_owned()));
        assert_eq!(name(&mut common, "X").as_deref(), Some("B"));
        assert_eq!(common.template(Domain::MARKET_BY_ORDER, "A"), None);
    }
}
