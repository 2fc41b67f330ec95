//! Secrets by which a hub logs in.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// A password or a token. Clones are the same one: what it becomes holds for every
/// login from then on, and connections that stand are left alone.
///
/// It does not print.
#[derive(Clone)]
pub struct RouteSecret(Arc<RwLock<String>>);

impl RouteSecret {
    /// A secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Arc::new(RwLock::new(text.into())))
    }

    /// It is another one now.
    pub fn set(&self, text: impl Into<String>) {
        // Nothing in here panics half-way: what is behind a poisoned lock is whole.
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = text.into();
    }

    /// What it is now.
    pub fn reveal(&self) -> String {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for RouteSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Whether they are the same one, and not by chance alike: what is changed in one is
/// changed in the other.
impl PartialEq for RouteSecret {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for RouteSecret {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_are_the_same_secret_and_do_not_print() {
        let secret = RouteSecret::new("one");
        let clone = secret.clone();
        secret.set("two");
        assert_eq!((clone.reveal().as_str(), &clone), ("two", &secret));
        assert_ne!(RouteSecret::new("two"), secret);
        assert_eq!(format!("{secret:?}"), "***");
    }
}
