//! `tapeline run`, `hub` and `server`.

use std::time::Duration;

use tapeline_admin::ConfigSender;
use tapeline_edge::Edge;
use tapeline_ending::Stop;
use tapeline_node::{Node, Shards};

use crate::composition::{self, Common, Credentials, HubFlags, Roles, ServerFlags};
use crate::config::Settings;
use crate::control::{Beginning, Control, Read};
use crate::descriptors;
use crate::failure::{Failure, Verdict};
use crate::secrets;

/// Run a hub and a server in one process
///
/// Providers may be absent at first, come and go: the hub keeps trying, and
/// services are there when a provider's directory has them. What listens where
/// is logged and, with --ready-file, written as lines like
/// `rssl=127.0.0.1:14002`.
///
/// Exit status: 0 after SIGTERM, SIGINT or --seconds, 2 if it could not start
/// or the backbone failed.
#[derive(clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    hub: HubFlags,
    #[command(flatten)]
    server: ServerFlags,
}

/// Run a hub: the place where sources are
///
/// Exit status as of `tapeline run`.
#[derive(clap::Args)]
pub(crate) struct HubArgs {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    hub: HubFlags,
}

/// Run a server: the place where consumers are
///
/// Exit status as of `tapeline run`.
#[derive(clap::Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    server: ServerFlags,
}

pub(crate) fn run(args: &RunArgs) -> Result<Verdict, Failure> {
    let roles = Roles { is_hub: true, is_server: true };
    start(&args.common, Some(&args.hub), Some(&args.server), roles)
}

pub(crate) fn hub(args: &HubArgs) -> Result<Verdict, Failure> {
    let roles = Roles { is_hub: true, is_server: false };
    start(&args.common, Some(&args.hub), None, roles)
}

pub(crate) fn server(args: &ServerArgs) -> Result<Verdict, Failure> {
    let roles = Roles { is_hub: false, is_server: true };
    start(&args.common, None, Some(&args.server), roles)
}

/// Changes what flags say.
fn overlay(settings: &mut Settings, hub: Option<&HubFlags>, server: Option<&ServerFlags>) {
    if let Some(flags) = hub {
        flags.apply(settings);
    }
    if let Some(flags) = server {
        flags.apply(settings);
    }
}

/// Reads a configuration as the process was started: its flags win over the file.
fn reader(common: &Common, hub: Option<&HubFlags>, server: Option<&ServerFlags>) -> Read {
    let (common, hub, server) = (common.clone(), hub.cloned(), server.cloned());
    Box::new(move |path, text| {
        let mut settings =
            Settings::parse(path, text, &common.instance).map_err(Failure::Config)?;
        common.apply(&mut settings);
        overlay(&mut settings, hub.as_ref(), server.as_ref());
        crate::log::check(&settings.log).map_err(Failure::Log)?;
        Ok(settings)
    })
}

fn start(
    common: &Common,
    hub: Option<&HubFlags>,
    server: Option<&ServerFlags>,
    roles: Roles,
) -> Result<Verdict, Failure> {
    let (mut settings, levels) = common.settings()?;
    overlay(&mut settings, hub, server);
    descriptors::check(&settings, descriptors::raise());
    secrets::keep(&settings);
    let after = common.seconds.map(Duration::from_secs);
    // Before anything listens: who sees the ready file may end it at once.
    let stop = Stop::on_signals(after).map_err(Failure::Signals)?;
    let edge = Edge::start()?;
    let policies = composition::policies(&edge, &settings)?;
    let port = composition::edge_port(&edge, &settings, policies.as_ref())?;
    let credentials = Credentials::default();
    let config = composition::node_config(&settings, roles, port.as_ref(), &credentials)?;
    let (configure, requests) = ConfigSender::queue();
    let control = Control::new(
        Beginning {
            file: common.file().map(ToOwned::to_owned),
            settings: settings.clone(),
            config: config.clone(),
            levels,
            credentials: credentials.clone(),
        },
        reader(common, hub, server),
        {
            let credentials = credentials.clone();
            Box::new(move |settings| {
                composition::node_config(settings, roles, port.as_ref(), &credentials)
            })
        },
    );
    control.start(&edge, requests)?;
    let mut node = Node::start(config.clone())?;
    let admin = composition::start_admin(
        &edge,
        (&settings, &credentials),
        &config.registry,
        (common.events(), configure),
    )?;
    node.await_backbone(|| !stop.is_asked())?;
    let stop_of_shards = stop.clone();
    let shards = Shards::start(&config, &node, move || !stop_of_shards.is_asked())?;
    shards.await_start(&mut node);
    if !shards.has_ended() {
        composition::announce(&node, admin.as_ref(), common.ready_file.as_deref())?;
    }
    // A shard that ends takes the others with it.
    node.run_while(|_| !stop.is_asked() && !shards.has_ended());
    stop.ask();
    shards.await_end(&mut node);
    node.leave();
    shards.join()?;
    Ok(Verdict::Good)
}
