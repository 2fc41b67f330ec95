//! What was interrupted is no result. In a program of its own, since the flag is
//! one for all of a process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tapeline_bench::{BenchError, Output, Value, interrupt_when, quick, quick_options};

/// Somebody wants the program to end as soon as there is a first result.
struct Impatient {
    flag: Arc<AtomicBool>,
    tables: usize,
}

impl Output for Impatient {
    fn table(&mut self, _: &str) {
        self.tables += 1;
    }

    fn result(&mut self, _: &Value) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

#[test]
fn the_table_of_aims_has_no_rows_when_it_is_interrupted() {
    let flag = Arc::new(AtomicBool::new(false));
    interrupt_when(Arc::clone(&flag));
    let mut out = Impatient { flag, tables: 0 };
    for only in ["no such row", "memory", "latency"] {
        let rows = quick(&quick_options(), Some(only), None, &mut out);
        assert!(matches!(rows, Err(BenchError::Interrupted(_))), "{only}: {rows:?}");
    }
    assert_eq!(out.tables, 0);
}
