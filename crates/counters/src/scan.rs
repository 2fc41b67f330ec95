//! Rows of a table, looked for a slice at a time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::query::MAX_ROWS;
use crate::{Answer, Rates, Row, Rows, Value, View, Viewed};

/// Looks for rows that were asked for. It looks at so many places as it is told,
/// and goes on where it was.
///
/// What changes meanwhile may be in the answer or not; a row that is there all the
/// time and wanted is in it once.
#[derive(Debug)]
pub struct Scan {
    view: &'static View,
    rows: Rows,
    column: Option<usize>,
    /// The column that is a rate, and the one of which it is.
    rate: Option<(usize, usize)>,
    /// What was noted of the places before, and the time of this look in milliseconds.
    rates: Option<(Rates, u64)>,
    next: u32,
    /// With an order: the best places so far, the least of them on top.
    best: BinaryHeap<Reverse<(u64, Reverse<u32>)>>,
    found: Vec<Row>,
    /// The place of each.
    places: Vec<u32>,
}

impl Scan {
    /// One for these rows at `at`; `None` if there is no such table.
    pub fn new(rows: &Rows, at: &(impl Viewed + ?Sized)) -> Option<Self> {
        let view = at.views().iter().find(|view| view.name == rows.view)?;
        let rows = Rows { limit: rows.limit.clamp(1, MAX_ROWS), ..rows.clone() };
        let column = rows.by.as_deref().and_then(|by| view.column(by));
        let next = rows.from;
        let (best, found, places) = (BinaryHeap::new(), Vec::new(), Vec::new());
        Some(Self { view, rows, column, rate: view.rate(), rates: None, next, best, found, places })
    }

    /// It works out rates, from what was noted of this view before.
    #[must_use]
    pub fn with_rates(mut self, known: impl FnOnce(&'static View) -> Rates, now_ms: u64) -> Self {
        self.rates = self.rate.map(|_| (known(self.view), now_ms));
        self
    }

    /// What was noted, for the next look.
    pub fn take_rates(&mut self) -> Option<Rates> {
        self.rates.take().map(|(rates, _)| rates)
    }

    /// Looks at some more places. Whether it is done.
    pub fn step(&mut self, at: &(impl Viewed + ?Sized), places: u32) -> bool {
        let end = at.places(self.view).min(self.next.saturating_add(places));
        while self.next < end {
            if self.column.is_none() && self.found.len() == self.rows.limit {
                return true;
            }
            let place = self.next;
            self.next += 1;
            if !self.rows.of.is_empty() && !at.is_of(self.view, place, &self.rows.of) {
                continue;
            }
            match self.column {
                Some(column) => self.rank(at, place, column),
                None => {
                    let row = self.row(at, place);
                    if let Some(row) = row.filter(|row| self.is_wanted(row)) {
                        self.found.push(row);
                        self.places.push(place);
                    }
                }
            }
        }
        self.next >= at.places(self.view)
    }

    /// The row at a place, with its rate.
    fn row(&mut self, at: &(impl Viewed + ?Sized), place: u32) -> Option<Row> {
        let mut row = at.row(self.view, place)?;
        if let Some((rate, of)) = self.rate {
            let count = row.get(of).map_or(0, Value::rank);
            let per_s = self.look(at, place, count);
            if let Some(cell) = row.get_mut(rate) {
                *cell = per_s.into();
            }
        }
        Some(row)
    }

    fn look(&mut self, at: &(impl Viewed + ?Sized), place: u32, count: u64) -> Option<u64> {
        let (rates, now_ms) = self.rates.as_mut()?;
        rates.look(place, at.identity(self.view, place), count, *now_ms)
    }

    fn rank(&mut self, at: &(impl Viewed + ?Sized), place: u32, column: usize) {
        let rank = match self.rate {
            Some((rate, of)) if rate == column => {
                let count = at.rank(self.view, place, of);
                count.map(|count| self.look(at, place, count).unwrap_or(0))
            }
            _ => at.rank(self.view, place, column),
        };
        let Some(rank) = rank else { return };
        let candidate = Reverse((rank, Reverse(place)));
        let is_full = self.best.len() == self.rows.limit;
        if is_full && self.best.peek().is_some_and(|least| candidate >= *least) {
            return;
        }
        if !self.rows.filter.is_empty()
            && !at.row(self.view, place).is_some_and(|row| self.is_wanted(&row))
        {
            return;
        }
        if is_full {
            self.best.pop();
        }
        self.best.push(candidate);
    }

    fn is_wanted(&self, row: &Row) -> bool {
        let filter = &self.rows.filter;
        let has = |value: &Value| matches!(value, Value::Text(text) if text.contains(&**filter));
        filter.is_empty() || row.iter().any(has)
    }

    /// The answer of `of`.
    pub fn finish(&mut self, of: &str, at: &(impl Viewed + ?Sized)) -> Answer {
        let best = std::mem::take(&mut self.best).into_sorted_vec();
        for Reverse((_, Reverse(place))) in best {
            if let Some(row) = self.row(at, place) {
                self.found.push(row);
                self.places.push(place);
            }
        }
        let is_more = self.column.is_none() && self.next < at.places(self.view);
        Answer {
            of: of.to_owned(),
            view: Some(self.view),
            rows: std::mem::take(&mut self.found),
            places: std::mem::take(&mut self.places),
            next: is_more.then_some(self.next),
            done: 0,
            refused: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rowed;

    crate::rows! {
        /// For tests.
        struct Numbered = "numbers" {
            /// Its name.
            "name" => name: String;
            /// Its value.
            "value" => value: u64;
        }
    }

    /// Every third place is empty.
    struct Numbers(Vec<u64>);

    impl Viewed for Numbers {
        fn views(&self) -> &'static [&'static View] {
            &[Numbered::VIEW]
        }

        fn places(&self, _: &View) -> u32 {
            self.0.len() as u32
        }

        fn is_of(&self, _: &View, place: u32, mount: &str) -> bool {
            mount == "3.1" && place.is_multiple_of(5)
        }

        fn row(&self, _: &View, place: u32) -> Option<Row> {
            let value = *self.0.get(place as usize)?;
            let name = format!("n{place}");
            (place % 3 != 2).then(|| Numbered { name, value }.into_row())
        }
    }

    fn values(at: &Numbers, rows: &Rows, places: u32) -> (Vec<u64>, Option<u32>, usize) {
        let mut scan = Scan::new(rows, at).expect("it is there");
        let mut steps = 1;
        while !scan.step(at, places) {
            steps += 1;
        }
        let answer = scan.finish("x", at);
        (answer.rows.iter().map(|row| row[1].rank()).collect(), answer.next, steps)
    }

    #[test]
    fn rows_come_in_the_order_of_the_table_and_can_be_gone_on_with() {
        let at = Numbers((0..10).collect());
        let mut rows = Rows { view: "numbers".to_owned(), limit: 4, ..Rows::default() };
        assert_eq!(values(&at, &rows, 3), (vec![0, 1, 3, 4], Some(5), 2));
        rows.from = 5;
        assert_eq!(values(&at, &rows, 100), (vec![6, 7, 9], None, 1));
        rows.view = "letters".to_owned();
        assert!(Scan::new(&rows, &at).is_none());
    }

    #[test]
    fn the_highest_come_first_whatever_the_size_of_a_slice() {
        let at = Numbers((0..1_000).map(|value| value * 7_919 % 1_009).collect());
        let mut expected: Vec<u64> =
            (0..1_000).filter(|place| place % 3 != 2).map(|place| at.0[place]).collect();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        expected.truncate(20);
        let by = Some("value".to_owned());
        let rows = Rows { view: "numbers".to_owned(), by, limit: 20, ..Rows::default() };
        for places in [1, 7, 5_000] {
            assert_eq!(values(&at, &rows, places).0, expected, "{places} at a time");
        }
    }

    #[test]
    fn a_filter_leaves_out_what_has_not_the_text() {
        let at = Numbers((0..40).collect());
        for by in [None, Some("value".to_owned())] {
            let view = "numbers".to_owned();
            let rows = Rows { view, filter: "n3".to_owned(), by, limit: 3, ..Rows::default() };
            let mut found = values(&at, &rows, 5).0;
            found.sort_unstable();
            let expected = if rows.by.is_some() { [36, 37, 39] } else { [3, 30, 31] };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn each_row_has_its_place() {
        let at = Numbers((0..10).rev().collect());
        for (by, places) in [(None, [3, 4, 6]), (Some("value".to_owned()), [3, 4, 6])] {
            let view = "numbers".to_owned();
            let rows = Rows { view, by, from: 2, limit: 3, ..Rows::default() };
            let mut scan = Scan::new(&rows, &at).expect("it is there");
            while !scan.step(&at, 2) {}
            assert_eq!(scan.finish("x", &at).places, places);
        }
    }

    #[test]
    fn rows_of_a_mount_are_those_that_the_table_says() {
        let at = Numbers((0..30).collect());
        let by = Some("value".to_owned());
        let of = |mount: &str, by: Option<String>| {
            let (view, of) = ("numbers".to_owned(), mount.to_owned());
            values(&at, &Rows { view, of, by, limit: 9, ..Rows::default() }, 7).0
        };
        assert_eq!(of("3.1", None), [0, 10, 15, 25]);
        assert_eq!(of("3.1", by), [25, 15, 10, 0]);
        assert!(of("4.1", None).is_empty());
    }

    crate::rows! {
        /// With a rate.
        struct Counted = "counted" {
            /// Its count.
            "updates" => updates: u64;
            /// How fast it goes up.
            "updatesPerS" => updates_per_s: Option<u64>;
        }
    }

    struct Counts(Vec<u64>);

    impl Viewed for Counts {
        fn views(&self) -> &'static [&'static View] {
            &[Counted::VIEW]
        }

        fn places(&self, _: &View) -> u32 {
            self.0.len() as u32
        }

        fn row(&self, _: &View, place: u32) -> Option<Row> {
            let updates = *self.0.get(place as usize)?;
            Some(Counted { updates, updates_per_s: None }.into_row())
        }
    }

    #[test]
    fn the_busiest_of_the_last_second_come_first() {
        let mut rates = Rates::new(Counted::VIEW);
        let mut look = |counts: &[u64], now_ms| {
            let at = Counts(counts.to_vec());
            let by = Some("updatesPerS".to_owned());
            let rows = Rows { view: "counted".to_owned(), by, limit: 2, ..Rows::default() };
            let known = |_| std::mem::replace(&mut rates, Rates::new(Counted::VIEW));
            let mut scan = Scan::new(&rows, &at).expect("it is there").with_rates(known, now_ms);
            while !scan.step(&at, 1) {}
            let answer = scan.finish("x", &at);
            rates = scan.take_rates().expect("it has a rate");
            answer.rows
        };
        let row = |count: u64, rate: Option<u64>| vec![Value::from(count), Value::from(rate)];
        assert_eq!(look(&[900, 5, 70], 1_000), [row(900, None), row(5, None)]);
        assert_eq!(look(&[900, 25, 80], 2_000), [row(25, Some(20)), row(80, Some(10))]);
    }

    #[test]
    fn an_answer_has_a_bound_whatever_is_asked_for() {
        let at = Numbers((0..5_000).collect());
        let rows = Rows { view: "numbers".to_owned(), limit: usize::MAX, ..Rows::default() };
        assert_eq!(values(&at, &rows, 64).0.len(), MAX_ROWS);
    }
}
