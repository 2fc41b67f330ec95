//! The page of all that can be seen of a running hub, server, source or client.

use crate::commands::watched;

/// It as Markdown.
pub(crate) fn reference() -> String {
    let tables = [&tapeline_node::TABLES[..], &watched::TABLES].concat();
    tapeline_counters::reference(&tables, &tapeline_node::VIEWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_that_of_the_tables() {
        let page = include_str!("../../../docs/counters.md");
        assert!(
            page == reference(),
            "docs/counters.md is old: tapeline config counters > docs/counters.md"
        );
    }

    #[test]
    fn no_two_counts_have_one_name() {
        let tables = tapeline_node::TABLES.iter().chain(&watched::TABLES);
        let mut names: Vec<_> = tables
            .flat_map(|table| table.counts.iter().map(|count| count.metric(table.group)))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
