//! How often something was denied for lack of which product of the policy.
//!
//! There is one count for each product of the policy in force, so that there are no
//! more than somebody wrote down.

use std::collections::HashMap;

use tapeline_channel::SessionId;
use tapeline_entitle::Policy;
use tapeline_omm::ItemKeyRef;

use super::Core;
use super::entitlements::Guard;
use super::permit::named;
use crate::rows::ProductRow;

/// By the places of products in the policy's file.
#[derive(Debug, Default)]
pub(super) struct Denials(Vec<u64>);

impl Denials {
    pub(super) fn add(&mut self, product: usize) {
        if self.0.len() <= product {
            self.0.resize(product + 1, 0);
        }
        self.0[product] += 1;
    }

    fn of(&self, product: usize) -> u64 {
        self.0.get(product).copied().unwrap_or(0)
    }

    /// Another policy is in force: what is counted of a product goes on with its name.
    pub(super) fn carry_over(&mut self, before: &Policy, after: &Policy) {
        let before = before.products().iter().map(|it| &it.name);
        let places: HashMap<_, _> = before.enumerate().map(|(at, name)| (name, at)).collect();
        let counts = after.products().iter().map(|it| places.get(&it.name));
        self.0 = counts.map(|at| at.map_or(0, |&at| self.of(at))).collect();
    }
}

impl Core {
    /// The user of a mount was denied an item with such a guard.
    pub(super) fn count_denial(&mut self, session: SessionId, key: &ItemKeyRef<'_>, guard: Guard) {
        self.mounts.deny(session);
        let Some(profile) = self.profile_of(session) else { return };
        if !self.entitlements.has_products() {
            return;
        }
        let Self { services, entitlements, .. } = self;
        entitlements.count_denial(profile, &named(services, key), guard);
    }

    /// Places of products.
    pub fn product_places(&self) -> u32 {
        self.entitlements.policy().map_or(0, |policy| policy.products().len() as u32)
    }

    /// The product at a place.
    pub fn product_row(&self, place: u32) -> Option<ProductRow> {
        let product = self.entitlements.policy()?.products().get(place as usize)?;
        Some(ProductRow {
            name: product.name.clone(),
            exchange: product.exchange.clone(),
            service: product.service.clone(),
            denied: self.entitlements.denials.of(place as usize),
        })
    }
}
