//! What the benchmarks of an order's way send.

use tapeline_layout::Text;
use tapeline_ntg::client::NewOrder;

/// An order that rests, or trades with the one before: sides take turns.
pub(crate) fn native_order(number: u64) -> NewOrder {
    NewOrder {
        cl_ord_id: Text::new(&format!("N{number}")),
        clearing_account: 1,
        instrument_id: 7,
        order_type: 2,
        side: 1 + (number % 2) as u8,
        quantity: 1,
        display: 1,
        limit: 1_000_000_000,
        capacity: 2,
        ..NewOrder::default()
    }
}
