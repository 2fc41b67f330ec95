//! Tables for lookup.

use std::collections::{HashMap, HashSet};

use tapeline_omm::SeededHash;

/// A table whose keys peers may choose. Its order is another one in each run,
/// and never looked at.
pub(super) type Map<K, V> = HashMap<K, V, SeededHash>;

/// A set of the same kind.
pub(super) type Set<K> = HashSet<K, SeededHash>;
