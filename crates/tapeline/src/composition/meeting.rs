//! Where hubs and servers meet, and whether they can.

use tapeline_backbone::Carrier;

use super::Roles;
use crate::config::{Driver, Settings};
use crate::failure::Failure;

/// Whether no other process can use the media driver.
fn has_no_guests(settings: &Settings) -> bool {
    settings.backbone.driver == Driver::Embedded && settings.backbone.dir.is_none()
}

/// What carries frames between the roles, as the file says it or by default.
pub(super) fn carrier(settings: &Settings, roles: Roles) -> Result<Carrier, Failure> {
    let is_whole = roles.is_hub && roles.is_server;
    match &settings.backbone.channel {
        Some(channel) => Ok(Carrier::parse(channel)?),
        None if is_whole && has_no_guests(settings) => Ok(Carrier::LOCAL),
        None => Ok(Carrier::parse("aeron:ipc")?),
    }
}

/// Whether hub and server can meet: a driver that nobody else knows of leads
/// nowhere over shared memory, nor do rings lead to another process.
pub(super) fn check(settings: &Settings, carrier: &Carrier, roles: Roles) -> Result<(), Failure> {
    let is_single = roles.is_hub != roles.is_server;
    if carrier.is_local() {
        return check_local(settings, is_single);
    }
    if carrier.has_several_channels() && !roles.is_server {
        let text = "a hub is on one channel, and [backbone] channel has several; run a hub for \
                    the services of each, and give all channels to servers";
        return Err(Failure::Setting(text.to_owned()));
    }
    let is_embedded = settings.backbone.driver == Driver::Embedded;
    if carrier.is_network() || !is_single || !is_embedded {
        return Ok(());
    }
    if roles.is_server {
        let text = "a server with a media driver of its own meets no hub over aeron:ipc; use the \
                    hub's driver ([backbone] driver = \"external\" and its dir), or a channel \
                    over UDP";
        return Err(Failure::Setting(text.to_owned()));
    }
    if settings.backbone.dir.is_none() {
        tracing::warn!("servers meet this hub only in its driver's directory; set [backbone] dir");
    }
    Ok(())
}

fn check_local(settings: &Settings, is_single: bool) -> Result<(), Failure> {
    let text = if is_single {
        "hubs and servers of different processes do not meet over `local`; use `tapeline run`, or \
         give [backbone] channel as aeron:ipc or aeron:udp?..."
    } else if !has_no_guests(settings) {
        "[backbone] channel is local, which has no media driver; leave `driver` and `dir` out, or \
         give aeron:ipc as channel"
    } else {
        return Ok(());
    };
    Err(Failure::Setting(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Roles = Roles { is_hub: true, is_server: true };
    const HUB: Roles = Roles { is_hub: true, is_server: false };
    const SERVER: Roles = Roles { is_hub: false, is_server: true };

    fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
        let mut settings = Settings::default();
        change(&mut settings);
        settings
    }

    #[test]
    fn one_process_needs_no_media_driver_by_default() {
        let settings = Settings::default();
        let carrier = carrier(&settings, BOTH).expect("good");
        assert_eq!(carrier, Carrier::LOCAL);
        assert!(check(&settings, &carrier, BOTH).is_ok());
    }

    #[cfg(feature = "aeron")]
    #[test]
    fn whoever_can_be_joined_by_others_has_a_media_driver_by_default() {
        let joined = [
            settings(|settings| settings.backbone.dir = Some("/dev/shm/x".into())),
            settings(|settings| settings.backbone.driver = Driver::External),
        ];
        for settings in joined {
            assert_eq!(carrier(&settings, BOTH).expect("good").to_string(), "aeron:ipc");
        }
        for roles in [HUB, SERVER] {
            let carrier = carrier(&Settings::default(), roles).expect("good");
            assert_eq!(carrier.to_string(), "aeron:ipc");
        }
    }

    #[cfg(feature = "aeron")]
    #[test]
    fn several_channels_are_for_servers() {
        let text = "aeron:udp?control=a:4000 + aeron:udp?control=b:4000";
        let settings = settings(|settings| settings.backbone.channel = Some(text.to_owned()));
        let carrier = carrier(&settings, SERVER).expect("good");
        assert!(check(&settings, &carrier, SERVER).is_ok());
        assert!(check(&settings, &carrier, BOTH).is_ok(), "its hub is on the first");
        let failure = check(&settings, &carrier, HUB).expect_err("which one?");
        assert!(failure.to_string().contains("run a hub for"), "{failure}");
    }

    #[test]
    fn rings_are_refused_where_they_lead_nowhere() {
        let local = settings(|settings| settings.backbone.channel = Some("local".to_owned()));
        for roles in [HUB, SERVER] {
            let failure = check(&local, &Carrier::LOCAL, roles).expect_err("nobody to meet");
            assert!(failure.to_string().contains("tapeline run"), "{failure}");
        }
        let mut with_driver = local;
        with_driver.backbone.dir = Some("/dev/shm/x".into());
        let failure = check(&with_driver, &Carrier::LOCAL, BOTH).expect_err("no driver");
        assert!(failure.to_string().contains("leave `driver` and `dir` out"), "{failure}");
    }
}
