//! What operators say at the admin port of an exchange that runs.
//!
//! ```text
//! halt [INSTRUMENT]     pause [INSTRUMENT]     call [INSTRUMENT]     resume [INSTRUMENT]
//! cancel-orders [INSTRUMENT] [user NAME]     cancel-order ID       cancel-trade ID
//! ```

use tapeline_exchange::{Operation, Scope};
use tapeline_layout::Text;

/// What is understood, for who said something else.
pub(super) const HELP: &str = "an exchange understands: halt [INSTRUMENT], pause [INSTRUMENT], \
    call [INSTRUMENT], resume [INSTRUMENT], cancel-orders [INSTRUMENT] [user NAME], cancel-order ID, \
    cancel-trade ID; an INSTRUMENT is the id of one, and without one all are meant";

/// Reads words.
///
/// Errors: what is not understood, with what is.
pub(super) fn operation(words: &[String]) -> Result<Operation, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let fault = |what: &str| format!("{what}; {HELP}");
    match words[..] {
        ["halt", ref rest @ ..] => Ok(Operation::Halt(scope(rest).map_err(|it| fault(&it))?)),
        ["pause", ref rest @ ..] => Ok(Operation::Pause(scope(rest).map_err(|it| fault(&it))?)),
        ["call", ref rest @ ..] => Ok(Operation::Call(scope(rest).map_err(|it| fault(&it))?)),
        ["resume", ref rest @ ..] => Ok(Operation::Resume(scope(rest).map_err(|it| fault(&it))?)),
        ["cancel-orders", ref rest @ .., "user", name] => {
            let scope = scope(rest).map_err(|it| fault(&it))?;
            Ok(Operation::CancelOrders(scope, Some(Text::new(name))))
        }
        ["cancel-orders", ref rest @ ..] => {
            Ok(Operation::CancelOrders(scope(rest).map_err(|it| fault(&it))?, None))
        }
        ["cancel-order", id] => {
            id.parse().map(Operation::CancelOrder).map_err(|error| fault(&error.to_string()))
        }
        ["cancel-trade", id] => {
            id.parse().map(Operation::CancelTrade).map_err(|error| fault(&error.to_string()))
        }
        _ => Err(fault(&format!("`{}` is not understood", words.join(" ")))),
    }
}

fn scope(words: &[&str]) -> Result<Scope, String> {
    match words {
        [] => Ok(Scope::All),
        // 0 stands for all where it is kept.
        [id] => match id.parse() {
            Ok(id @ 1..) => Ok(Scope::Instrument(id)),
            _ => Err(format!("`{id}` is no id of an instrument")),
        },
        _ => Err(format!("`{}` is more than one instrument", words.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use tapeline_instrument::{OrderId, TradeId};

    use super::*;

    fn said(line: &str) -> Result<Operation, String> {
        let words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
        operation(&words)
    }

    #[test]
    fn each_thing_that_operators_do_has_its_words() {
        let ann = Some(Text::new("ANN"));
        for (line, operation) in [
            ("halt", Operation::Halt(Scope::All)),
            ("halt 7", Operation::Halt(Scope::Instrument(7))),
            ("pause 7", Operation::Pause(Scope::Instrument(7))),
            ("call 7", Operation::Call(Scope::Instrument(7))),
            ("resume", Operation::Resume(Scope::All)),
            ("cancel-orders", Operation::CancelOrders(Scope::All, None)),
            ("cancel-orders 7", Operation::CancelOrders(Scope::Instrument(7), None)),
            ("cancel-orders user ANN", Operation::CancelOrders(Scope::All, ann)),
            ("cancel-orders 7 user ANN", Operation::CancelOrders(Scope::Instrument(7), ann)),
            ("cancel-order 000000000010", Operation::CancelOrder(OrderId(62))),
            ("cancel-trade GGGGGGGGGH", Operation::CancelTrade(TradeId(1))),
        ] {
            assert_eq!(said(line), Ok(operation), "{line}");
        }
    }

    #[test]
    fn what_is_not_understood_is_said_with_what_is() {
        for (line, fault) in [
            ("", "`` is not understood"),
            ("stop", "`stop` is not understood"),
            ("halt VOD", "`VOD` is no id of an instrument"),
            ("halt 0", "`0` is no id of an instrument"),
            ("resume 7 8", "`7 8` is more than one instrument"),
            ("cancel-order", "`cancel-order` is not understood"),
        ] {
            assert_eq!(said(line), Err(format!("{fault}; {HELP}")), "{line}");
        }
        assert!(said("cancel-order no-id").is_err_and(|fault| fault.ends_with(HELP)));
    }
}
