//! Which part its server plays for a consumer that has several: see
//! [`Requests::set_role`](super::Requests::set_role).

use std::collections::BTreeMap;

use tapeline_omm::Text;
use tapeline_omm::directory::{ConsumerStatus, ConsumerStatusEntry, DirectoryChange};
use tapeline_omm::login::{ConsumerConnectionStatus, WarmStandbyMode};
use tapeline_rwf::MapAction;

use super::core::{ConsumerCore, ConsumerOutputs, Phase, Run};
use super::streams::{DIRECTORY_STREAM, LOGIN_STREAM};

/// The roles that a server is given, now and after each login.
#[derive(Debug, Default)]
pub(super) struct Roles {
    /// Of the whole server,
    login: Option<WarmStandbyMode>,
    /// and of services, by name.
    services: BTreeMap<Text, WarmStandbyMode>,
}

impl ConsumerCore {
    /// Whether the server takes roles now.
    pub(super) fn is_logged_in(&self) -> bool {
        matches!(self.phase, Phase::Directory { .. } | Phase::Dictionary { .. } | Phase::Ready)
    }

    pub(super) fn set_role(
        &mut self,
        mode: Option<WarmStandbyMode>,
        out: &mut dyn ConsumerOutputs,
    ) {
        let before = core::mem::replace(&mut self.roles.login, mode);
        self.roles.services.clear();
        if self.is_logged_in() && (mode.is_some() || before.is_some()) {
            self.say_role(mode, out);
        }
    }

    pub(super) fn set_service_role(
        &mut self,
        service: &str,
        mode: Option<WarmStandbyMode>,
        out: &mut dyn ConsumerOutputs,
    ) {
        match mode {
            Some(mode) => _ = self.roles.services.insert(service.into(), mode),
            None => _ = self.roles.services.remove(service.as_bytes()),
        }
        let id = self.directory.service_id(service.as_bytes());
        if let Some(id) = id.filter(|_| self.is_logged_in()) {
            self.say_service_role(id, mode, out);
        }
    }

    /// Says the role of the whole server; none takes it back.
    fn say_role(&mut self, mode: Option<WarmStandbyMode>, out: &mut dyn ConsumerOutputs) {
        let action = if mode.is_some() { MapAction::ADD } else { MapAction::DELETE };
        let status =
            ConsumerConnectionStatus { stream_id: LOGIN_STREAM, action: Some(action), mode };
        match self.send(out, |encoder| status.encode(encoder)) {
            Ok((sent, _)) => self.note_sent(sent),
            Err(error) => self.note_error(&error),
        }
    }

    pub(super) fn say_service_role(
        &mut self,
        service_id: u16,
        mode: Option<WarmStandbyMode>,
        out: &mut dyn ConsumerOutputs,
    ) {
        let entry = ConsumerStatusEntry {
            action: if mode.is_some() { MapAction::ADD } else { MapAction::DELETE },
            service_id,
            source_mirroring: None,
            warm_standby: mode,
        };
        let status = ConsumerStatus { stream_id: DIRECTORY_STREAM, entries: vec![entry] };
        match self.send(out, |encoder| status.encode(encoder)) {
            Ok((sent, _)) => self.note_sent(sent),
            Err(error) => self.note_error(&error),
        }
    }
}

impl Run<'_> {
    /// The login is accepted: the server is told its role before anything is
    /// asked of it.
    pub(super) fn say_login_role(&mut self) {
        if let Some(mode) = self.core.roles.login {
            self.core.say_role(Some(mode), self.out);
        }
    }

    /// Services are there that the server has a role with.
    pub(super) fn say_service_roles(&mut self, changes: &[DirectoryChange]) {
        for change in changes {
            let DirectoryChange::Added { service_id } = change else { continue };
            let service = self.core.directory.service(*service_id);
            let mode =
                service.and_then(|service| self.core.roles.services.get(service.name()?)).copied();
            if mode.is_some() {
                self.core.say_service_role(*service_id, mode, self.out);
            }
        }
    }
}
