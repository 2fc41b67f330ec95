//! The page of all that an exchange and feed handlers count.

use tapeline_counters::{Counted, Rowed};

use crate::core::ExchangeCounts;
use crate::distributor::DistributionCounts;
use crate::feeding::{CmeCounts, FeedCounts, NasdaqCounts};
use crate::gateway::GatewayCounts;
use crate::shell::StageRow;

const HEAD: &str = "\
# Counters of the exchange

What `tapeline exchange run`, `demo`, `gateway`, `distribution`, `feed`, `nasdaq` and `cme` count, \
at the admin port as `exchange`, `gateway`, `distribution`, `feed`, `nasdaq` and `cme` \
([exchange.md](exchange.md)); how names and kinds are to be read is said in \
[counters.md](counters.md).

This page is printed by `tapeline exchange counters`.
";

/// The page, as Markdown.
pub fn counters_reference() -> String {
    let tables = [
        ExchangeCounts::TABLE,
        GatewayCounts::TABLE,
        DistributionCounts::TABLE,
        FeedCounts::TABLE,
        NasdaqCounts::TABLE,
        CmeCounts::TABLE,
    ];
    let whole = tapeline_counters::reference(&tables, &[StageRow::VIEW]);
    let tables = whole.find("\n## ").map_or("", |at| &whole[at..]);
    [HEAD, tables].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_that_of_the_tables() {
        let page = include_str!("../../../docs/exchange-counters.md");
        assert!(
            page == counters_reference(),
            "docs/exchange-counters.md is old: tapeline exchange counters > docs/exchange-counters.md"
        );
    }
}
