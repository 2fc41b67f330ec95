//! Servers that stand by for the one that the data come from.

use std::time::Duration;

use clap::ValueEnum;
use tapeline_api::{Server, ServerOrder, StandbyMode, StandbySet};

/// Several servers.
#[derive(Debug, clap::Args)]
pub(super) struct StandingBy {
    /// Begin with any of the servers instead of the first one, so that many clients
    /// are spread over them
    #[arg(long)]
    round_robin: bool,

    /// A server that stands by: it has all items open too, and goes on when the
    /// active one is lost; repeatable, in the order to take over
    #[arg(long, value_name = "HOST:PORT")]
    standby: Vec<Server>,

    /// Whether one server is active for everything, or one for each service
    #[arg(long, value_name = "NAME", requires = "standby", default_value = "login")]
    standby_mode: Mode,

    /// The server that began is the active one again when it has been back for so
    /// many seconds, or for 10
    #[arg(long, value_name = "SECONDS", requires = "standby")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "10")]
    preferred: Option<u64>,
}

/// What a server is active for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Everything
    Login,
    /// Single services
    Service,
}

impl StandingBy {
    /// With which server to begin.
    pub(super) const fn order(&self) -> ServerOrder {
        if self.round_robin { ServerOrder::RoundRobin } else { ServerOrder::InOrder }
    }

    /// The set, if there are servers that stand by.
    pub(super) fn set(&self) -> Option<StandbySet> {
        if self.standby.is_empty() {
            return None;
        }
        let mode = match self.standby_mode {
            Mode::Login => StandbyMode::Login,
            Mode::Service => StandbyMode::Service,
        };
        let preferred = self.preferred.map(Duration::from_secs);
        Some(StandbySet { mode, preferred, ..StandbySet::by_login(self.standby.clone()) })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Client {
        #[command(flatten)]
        args: StandingBy,
        items: Vec<String>,
    }

    fn client(options: &[&str]) -> Result<Client, clap::Error> {
        Client::try_parse_from(std::iter::once("client").chain(options.iter().copied()))
    }

    fn set(options: &[&str]) -> Option<StandbySet> {
        client(options).unwrap_or_else(|error| panic!("{error}")).args.set()
    }

    #[test]
    fn a_set_has_the_servers_in_the_order_to_take_over() {
        assert_eq!(set(&[]), None);
        let two = || ["b:1", "c:2"].map(|server| server.parse().expect("a server"));
        let options = ["--standby", "b:1", "--standby", "c:2"];
        assert_eq!(set(&options), Some(StandbySet::by_login(two())));
        let options = [&options[..], &["--standby-mode", "service", "--preferred=60"]].concat();
        let by_service = StandbySet::by_service(two().map(Into::into));
        assert_eq!(set(&options), Some(by_service.preferred(Duration::from_secs(60))));
    }

    #[test]
    fn the_preferred_server_has_a_usual_time_and_takes_no_item_for_it() {
        let client = client(&["--standby", "b:1", "--preferred", "TRI.N"]).expect("valid");
        let set = client.args.set().expect("a set");
        assert_eq!(set.preferred, Some(Duration::from_secs(10)));
        assert_eq!(client.items, ["TRI.N"]);
    }

    #[test]
    fn what_is_of_a_set_needs_one() {
        for alone in ["--preferred", "--standby-mode=service"] {
            let error = client(&[alone]).expect_err("no server stands by");
            assert_eq!(error.kind(), clap::error::ErrorKind::MissingRequiredArgument, "{alone}");
        }
        let order = |options: &[&str]| client(options).expect("valid").args.order();
        assert_eq!(order(&[]), ServerOrder::InOrder);
        assert_eq!(order(&["--round-robin"]), ServerOrder::RoundRobin);
    }
}
