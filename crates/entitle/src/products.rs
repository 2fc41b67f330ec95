//! Which products a user uses who sees an item, which is what exchanges are told, and
//! which ones a user lacks who does not.

use crate::document::NoLock;
use crate::engine::{Asked, Engine, Protection};
use crate::lock::Lock;
use crate::policy::ProfileId;

impl Engine {
    /// The names of the products by which a profile sees an item, one a line, in
    /// the order of the file: those of its roles that have a code by which the item
    /// is open. An item that a grant opens, and no code, is of no product.
    pub fn products_used(
        &mut self,
        profile: ProfileId,
        asked: Asked<'_>,
        protection: Protection<'_>,
    ) -> String {
        let mut used = match protection {
            Protection::Lock(bytes) if self.opens(profile, bytes) => {
                match Lock::decode(bytes, self.policy().document.lock_sources) {
                    Ok(lock) => self.products_of_lock(profile, &lock),
                    Err(_) => Vec::new(),
                }
            }
            Protection::Lock(_) => Vec::new(),
            Protection::ProdPerm(code) => match self.policy().no_lock(asked.service) {
                NoLock::ProdPerm => self.products_with_any(profile, asked.service, &[code]),
                _ => self.products_without_lock(profile, asked),
            },
            Protection::None => self.products_without_lock(profile, asked),
        };
        used.sort_unstable();
        used.dedup();
        let policy = self.policy();
        let names: Vec<&str> =
            used.into_iter().map(|index| policy.products()[index].name.as_str()).collect();
        names.join("\n")
    }

    /// The products that a profile lacks which is denied an item, by their places in
    /// the file: each that has a code of what is missing. Where no code would help, it
    /// is none.
    pub fn products_lacked(
        &self,
        profile: ProfileId,
        asked: Asked<'_>,
        protection: Protection<'_>,
    ) -> Vec<usize> {
        let policy = self.policy();
        let mut lacked = match protection {
            Protection::Lock(bytes) => match Lock::decode(bytes, policy.document.lock_sources) {
                Ok(lock) => {
                    let missing = lock.missing(|id, code| self.has_code(profile, id, code));
                    let demands = missing.demands().iter();
                    let lacked = demands.filter_map(|demand| {
                        let codes: Vec<u32> = demand.groups.iter().flatten().copied().collect();
                        Some(self.products_of(self.service_of(demand.service)?, &codes))
                    });
                    lacked.flatten().collect()
                }
                Err(_) => Vec::new(),
            },
            Protection::ProdPerm(code) if policy.no_lock(asked.service) == NoLock::ProdPerm => {
                self.products_of(asked.service, &[code])
            }
            _ => Vec::new(),
        };
        lacked.sort_unstable();
        lacked.dedup();
        lacked
    }

    /// All products of a service that have any of these codes.
    fn products_of(&self, service: &str, codes: &[u32]) -> Vec<usize> {
        let products = self.policy().products().iter().enumerate();
        let has = products.filter(|(_, product)| {
            product.service == service && codes.iter().any(|code| product.has(*code))
        });
        has.map(|(index, _)| index).collect()
    }

    fn products_of_lock(&self, profile: ProfileId, lock: &Lock) -> Vec<usize> {
        let demands = lock.demands().iter();
        let used = demands.filter_map(|demand| {
            let service = self.service_of(demand.service)?;
            let codes: Vec<u32> = demand.groups.iter().flatten().copied().collect();
            Some(self.products_with_any(profile, service, &codes))
        });
        used.flatten().collect()
    }

    /// Where items without a lock are shown to who has any code of the service,
    /// all products with such are used, unless a grant names the item.
    fn products_without_lock(&self, profile: ProfileId, asked: Asked<'_>) -> Vec<usize> {
        let policy = self.policy();
        let Some(access) = policy.access(profile, asked.service) else { return Vec::new() };
        let is_by_code = policy.no_lock(asked.service) == NoLock::Allow
            && policy.grant(access, asked.name, asked.domain, |_| true).is_none();
        if is_by_code { access.products.clone() } else { Vec::new() }
    }

    fn products_with_any(&self, profile: ProfileId, service: &str, codes: &[u32]) -> Vec<usize> {
        let policy = self.policy();
        let Some(access) = policy.access(profile, service) else { return Vec::new() };
        let has = |index: &&usize| {
            let product = &policy.products()[**index];
            codes.iter().any(|code| product.has(*code))
        };
        access.products.iter().filter(has).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::policy::Policy;

    const POLICY: &str = r#"version = 1
[[service]]
name = "OPEN"
no-lock = "allow"
[[product]]
name = "L1"
service = "FEED"
pe = [62]
[[product]]
name = "DESKS"
service = "FEED"
pe = ["60-70"]
[[product]]
name = "L2"
service = "FEED"
pe = [63]
[[product]]
name = "ALL"
service = "OPEN"
pe = [1]
[[product]]
name = "FAR"
service = "FEED"
pe = ["71-75"]
[[product]]
name = "NEAR"
service = "FEED"
pe = [71]
[[product]]
name = "OTHER"
service = "FEED"
pe = [80]
[[role]]
name = "one"
products = ["DESKS", "L1", "ALL"]
grants = [{ service = "FEED", subjects = ["G*"], locked = true },
          { service = "OPEN", subjects = ["G*"] }]
[[user]]
name = "ann"
roles = ["one"]
"#;

    #[track_caller]
    fn assert_used(service: &str, name: &str, protection: Protection<'_>, expected: &[&str]) {
        let policy = Policy::parse("p", POLICY).expect("it is in order");
        let profile = policy.profile_of("ann").expect("she is there");
        let mut engine = Engine::new(Arc::new(policy));
        engine.set_service(257, "FEED");
        let asked = Asked { service, domain: 6, name };
        let used = engine.products_used(profile, asked, protection);
        assert_eq!(used.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_lock_is_of_the_products_that_the_user_has_with_a_code_of_it() {
        let [l1, l2, other] = [62, 63, 99].map(|code| {
            Lock::new([crate::Demand::any(257, &[code])]).encode(crate::Sources::Aligned)
        });
        assert_used("FEED", "VOD.L", Protection::Lock(&l1), &["L1", "DESKS"]);
        assert_used("FEED", "VOD.L", Protection::Lock(&l2), &["DESKS"]);
        // The grant opens it.
        assert_used("FEED", "GBP", Protection::Lock(&other), &[]);
        assert_used("FEED", "VOD.L", Protection::Lock(&[3, 1]), &[]);
    }

    #[track_caller]
    fn assert_lacked(service: &str, protection: Protection<'_>, expected: &[&str]) {
        let policy = Policy::parse("p", POLICY).expect("it is in order");
        let profile = policy.profile_of("ann").expect("she is there");
        let mut engine = Engine::new(Arc::new(policy));
        engine.set_service(257, "FEED");
        let asked = Asked { service, domain: 6, name: "VOD.L" };
        let lacked = engine.products_lacked(profile, asked, protection);
        let names = lacked.iter().map(|index| engine.policy().products()[*index].name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_lacked_is_each_product_with_a_code_of_what_is_missing() {
        let lock = |demand| Lock::new([demand]).encode(crate::Sources::Aligned);
        let all = crate::Demand::all(257, &[62, 71]);
        assert_lacked("FEED", Protection::Lock(&lock(all)), &["FAR", "NEAR"]);
        let any = crate::Demand::any(257, &[71, 80]);
        assert_lacked("FEED", Protection::Lock(&lock(any)), &["FAR", "NEAR", "OTHER"]);
        // Nothing is missing, nobody sells it, or no code would help.
        assert_lacked("FEED", Protection::Lock(&lock(crate::Demand::any(257, &[62, 71]))), &[]);
        assert_lacked("FEED", Protection::Lock(&lock(crate::Demand::any(257, &[999]))), &[]);
        assert_lacked("FEED", Protection::Lock(&[3, 1]), &[]);
        assert_lacked("FEED", Protection::ProdPerm(80), &["OTHER"]);
        assert_lacked("OPEN", Protection::ProdPerm(80), &[]);
        assert_lacked("FEED", Protection::None, &[]);
    }

    #[test]
    fn an_item_without_a_lock_is_of_the_products_by_which_it_is_shown() {
        assert_used("FEED", "VOD.L", Protection::ProdPerm(62), &["L1", "DESKS"]);
        assert_used("FEED", "GBP", Protection::None, &[]);
        assert_used("OPEN", "VOD.L", Protection::None, &["ALL"]);
        assert_used("OPEN", "GBP", Protection::None, &[]);
        assert_used("OPEN", "VOD.L", Protection::ProdPerm(62), &["ALL"]);
    }
}
