//! Tables for lookup.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

/// A table that is the same on every run: the hasher has no random seed. Its
/// order is never looked at.
pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// A set of the same kind.
pub(super) type Set<K> = HashSet<K, BuildHasherDefault<DefaultHasher>>;
