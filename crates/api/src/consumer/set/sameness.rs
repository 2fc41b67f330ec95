//! Whether a server is like the others of its set, so that one can go on where
//! another was.

use tapeline_omm::Text;
use tapeline_omm::directory::{Directory, ServiceInfo};
use tapeline_omm::login::{LoginFeatures, StandbyModes};

/// Whether a server can be in a set at all.
///
/// Errors: why it cannot.
pub(super) fn check_offer(features: &LoginFeatures, mode: StandbyModes) -> Result<(), String> {
    if features.supports_standby(mode) {
        return Ok(());
    }
    let kind = if mode == StandbyModes::LOGIN_BASED { "login" } else { "service" };
    Err(match (features.support_standby.unwrap_or(false), features.support_standby_mode) {
        (true, Some(modes)) => {
            format!("its login offers warm standby with SupportStandbyMode {modes}, not by {kind}")
        }
        _ => "its login does not offer warm standby (SupportStandby)".to_owned(),
    })
}

/// Whether logins are answered alike.
///
/// Errors: in what they differ.
pub(super) fn check_login(ours: &LoginFeatures, others: &LoginFeatures) -> Result<(), String> {
    let differences = [
        ("SingleOpen", ours.single_open, others.single_open),
        ("AllowSuspectData", ours.allow_suspect_data, others.allow_suspect_data),
        (
            "ProvidePermissionExpressions",
            ours.provide_permission_expressions,
            others.provide_permission_expressions,
        ),
        (
            "ProvidePermissionProfile",
            ours.provide_permission_profile,
            others.provide_permission_profile,
        ),
        ("SupportOMMPost", ours.support_post, others.support_post),
    ];
    match differences.into_iter().find(|(_, ours, others)| ours != others) {
        None => Ok(()),
        Some((element, ours, others)) => {
            let shown = |value: Option<bool>| {
                value.map_or_else(|| "absent".to_owned(), |value| u8::from(value).to_string())
            };
            let (ours, others) = (shown(ours), shown(others));
            Err(format!("its login has {element} {ours}, that of the active server {others}"))
        }
    }
}

/// Whether services have the same names and numbers, as far as both servers have
/// them.
///
/// Errors: the service that differs.
pub(super) fn check_names(ours: &Directory, others: &Directory) -> Result<(), String> {
    for (id, service) in ours.services() {
        let Some(name) = service.name() else { continue };
        if let Some(other) = others.service_id(name).filter(|other| *other != id) {
            return Err(format!("its service {name} has id {id}, elsewhere it has {other}"));
        }
        let other = others.service(id).and_then(|service| service.name());
        if let Some(other) = other.filter(|other| *other != name) {
            return Err(format!("its service with id {id} is {name}, elsewhere it is {other}"));
        }
    }
    Ok(())
}

/// Whether the services that both servers have offer the same.
///
/// Errors: the service that differs, and in what.
pub(super) fn check_services(ours: &Directory, others: &Directory) -> Result<(), String> {
    check_names(ours, others)?;
    for (id, service) in ours.services() {
        let others = others.service(id).and_then(|service| service.info.as_ref());
        let (Some(ours), Some(others)) = (service.info.as_ref(), others) else { continue };
        if let Some(element) = difference(ours, others) {
            let name = ours.name.clone().unwrap_or_default();
            return Err(format!(
                "its service {name} differs from the active server's in {element}"
            ));
        }
    }
    Ok(())
}

/// The order of lists says nothing of what a service offers, but for qualities,
/// the best of which comes first.
fn difference(ours: &ServiceInfo, others: &ServiceInfo) -> Option<&'static str> {
    let domains = |info: &ServiceInfo| {
        let mut domains = info.capabilities.clone().unwrap_or_default();
        domains.sort_unstable_by_key(|domain| domain.0);
        domains
    };
    let sorted = |names: &Option<Vec<Text>>| {
        let mut names = names.clone().unwrap_or_default();
        names.sort_unstable();
        names
    };
    let same = [
        ("Capabilities", domains(ours) == domains(others)),
        (
            "DictionariesProvided",
            sorted(&ours.dictionaries_provided) == sorted(&others.dictionaries_provided),
        ),
        ("DictionariesUsed", sorted(&ours.dictionaries_used) == sorted(&others.dictionaries_used)),
        ("QoS", ours.offered_qos() == others.offered_qos()),
        ("SupportsQoSRange", ours.supports_qos_range == others.supports_qos_range),
        ("ItemList", ours.item_list == others.item_list),
        (
            "SupportsOutOfBandSnapshots",
            ours.supports_out_of_band_snapshots == others.supports_out_of_band_snapshots,
        ),
        (
            "AcceptingConsumerStatus",
            ours.accepting_consumer_status == others.accepting_consumer_status,
        ),
    ];
    same.into_iter().find(|(_, is_same)| !is_same).map(|(element, _)| element)
}

#[cfg(test)]
mod tests {
    use tapeline_omm::directory::DirectoryUpdate;
    use tapeline_rwf::Domain;

    use super::*;
    use crate::ServiceSpec;

    fn offer(standby: Option<bool>, modes: Option<u64>) -> LoginFeatures {
        LoginFeatures {
            support_standby: standby,
            support_standby_mode: modes,
            ..LoginFeatures::default()
        }
    }

    #[test]
    fn a_login_offers_the_mode_or_the_server_is_told_to_lack_it() {
        let check = |standby, modes, wanted| check_offer(&offer(standby, modes), wanted);
        let (login, service) = (StandbyModes::LOGIN_BASED, StandbyModes::SERVICE_BASED);
        for (modes, wanted) in [(None, login), (Some(3), login), (Some(2), service)] {
            assert_eq!(check(Some(true), modes, wanted), Ok(()));
        }
        let refused = |standby, modes, wanted| check(standby, modes, wanted).expect_err("refused");
        let none = "its login does not offer warm standby (SupportStandby)";
        assert_eq!(refused(None, None, login), none);
        assert_eq!(refused(Some(false), Some(3), login), none);
        let by_login = "its login offers warm standby with SupportStandbyMode 1, not by service";
        assert_eq!(refused(Some(true), Some(1), service), by_login);
    }

    #[test]
    fn logins_are_alike_in_what_items_depend_on() {
        let posts = |posts| LoginFeatures { support_post: posts, ..LoginFeatures::default() };
        assert_eq!(check_login(&posts(Some(true)), &posts(Some(true))), Ok(()));
        let views = LoginFeatures { support_view_requests: Some(true), ..posts(None) };
        assert_eq!(check_login(&views, &posts(None)), Ok(()));
        assert_eq!(
            check_login(&posts(None), &posts(Some(true))).expect_err("they differ"),
            "its login has SupportOMMPost absent, that of the active server 1"
        );
    }

    fn directory(services: &[ServiceSpec]) -> Directory {
        let mut directory = Directory::default();
        let entries = services.iter().map(|service| service.clone().entry()).collect();
        directory.apply_update(&DirectoryUpdate::new(2, entries));
        directory
    }

    #[test]
    fn a_service_may_be_missing_but_has_one_number_everywhere() {
        let (feed, rates) = (ServiceSpec::new(1, "FEED"), ServiceSpec::new(2, "RATES"));
        let both = directory(&[feed.clone(), rates]);
        assert_eq!(check_services(&both, &directory(&[feed])), Ok(()));
        assert_eq!(
            check_names(&directory(&[ServiceSpec::new(7, "FEED")]), &both).expect_err("another id"),
            "its service FEED has id 7, elsewhere it has 1"
        );
        assert_eq!(
            check_names(&directory(&[ServiceSpec::new(1, "OTHER")]), &both).expect_err("a name"),
            "its service with id 1 is OTHER, elsewhere it is FEED"
        );
    }

    #[test]
    fn what_a_service_offers_is_the_same_in_any_order() {
        let (book, list) = (Domain::MARKET_BY_ORDER, Domain::SYMBOL_LIST);
        let one = ServiceSpec::new(1, "FEED").domain(book).domain(list);
        let other = ServiceSpec::new(1, "FEED").domain(list).domain(book);
        let one = directory(&[one]);
        assert_eq!(check_services(&one, &directory(&[other])), Ok(()));
        let less = directory(&[ServiceSpec::new(1, "FEED").domain(list)]);
        assert_eq!(
            check_services(&less, &one).expect_err("they differ"),
            "its service FEED differs from the active server's in Capabilities"
        );
    }
}
