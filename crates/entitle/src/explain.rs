//! Why: the rule behind an answer, and the tests of a policy.

use std::sync::Arc;

use crate::document::NoLock;
use crate::engine::{Asked, Engine, Protection};
use crate::fault::Fault;
use crate::lock::Lock;
use crate::policy::{Policy, ProfileId};
use crate::verdict::{Explanation, Verdict, unknown_user};

impl Engine {
    /// Answers as [`Engine::decide_open`] does, and says why.
    pub fn explain(
        &mut self,
        user: &str,
        asked: Asked<'_>,
        protection: Protection<'_>,
    ) -> Explanation {
        let policy = Arc::clone(self.policy());
        let Some(profile) = policy.profile_of(user) else {
            let verdict = Verdict::Deny(unknown_user(user));
            return Explanation {
                verdict,
                reason: format!("{}: no [[user]] has this name", policy.file),
            };
        };
        let verdict = self.decide_open(profile, asked, protection);
        let reason = match verdict.is_allowed() {
            true => self.why_yes(&policy, profile, asked, protection),
            false => self.why_no(profile, asked, protection),
        };
        Explanation { verdict, reason }
    }

    fn why_yes(
        &self,
        policy: &Policy,
        profile: ProfileId,
        asked: Asked<'_>,
        protection: Protection<'_>,
    ) -> String {
        let Some(access) = policy.access(profile, asked.service) else {
            return format!(
                "{}: no rule speaks of {}, and `default` is allow",
                policy.file, asked.service
            );
        };
        let codes: Vec<(String, u32)> = match protection {
            Protection::Lock(bytes) => match Lock::decode(bytes, policy.document.lock_sources) {
                Ok(lock) => self.codes_that_open(profile, &lock),
                Err(_) => Vec::new(),
            },
            Protection::ProdPerm(code) if policy.no_lock(asked.service) == NoLock::ProdPerm => {
                vec![(asked.service.to_owned(), code)]
            }
            _ => Vec::new(),
        };
        let rules: Vec<String> = codes
            .iter()
            .filter_map(|(service, code)| code_rule(policy, profile, service, *code))
            .collect();
        if !rules.is_empty() {
            return rules.join("; ");
        }
        let only_locked = !matches!(protection, Protection::None);
        let grant = policy
            .grant(access, asked.name, asked.domain, |grant| grant.is_locked)
            .or_else(|| policy.grant(access, asked.name, asked.domain, |_| !only_locked))
            .or_else(|| policy.grant(access, asked.name, asked.domain, |_| true));
        match grant {
            Some(grant) => format!("{}: a grant of a role names it", policy.place(grant.line)),
            None => format!("{}: items without a lock are allowed by `no-lock`", policy.file),
        }
    }

    /// For each group of codes one that the profile has.
    fn codes_that_open(&self, profile: ProfileId, lock: &Lock) -> Vec<(String, u32)> {
        let mut codes = Vec::new();
        for demand in lock.demands() {
            let Some(service) = self.service_of(demand.service) else { continue };
            for group in &demand.groups {
                let has = |code: &&u32| self.has_code(profile, demand.service, **code);
                codes.extend(group.iter().find(has).map(|code| (service.to_owned(), *code)));
            }
        }
        codes
    }

    /// What of the policy keeps an item from a profile that is not shown it, with
    /// file and line.
    pub fn why_no(
        &self,
        profile: ProfileId,
        asked: Asked<'_>,
        protection: Protection<'_>,
    ) -> String {
        let policy = self.policy();
        let roles: Vec<&str> = policy.roles(profile).map(|role| role.name.as_str()).collect();
        let roles = format!("roles [{}]", roles.join(", "));
        let Protection::Lock(bytes) = protection else {
            return format!("{}: no rule of the {roles} allows it", policy.file);
        };
        let lock = match Lock::decode(bytes, policy.document.lock_sources) {
            Ok(lock) => lock.missing(|id, code| self.has_code(profile, id, code)),
            Err(error) => return format!("{}: {error}", policy.file),
        };
        let mut reasons = Vec::new();
        for demand in lock.demands() {
            let Some(service) = self.service_of(demand.service) else {
                let what = "is no service of the directory; add a [[lock-service]]";
                reasons.push(format!("{}: {} in the lock {what}", policy.file, demand.service));
                continue;
            };
            for code in demand.groups.iter().flatten() {
                let mut products = policy.products_with(service, *code).peekable();
                if products.peek().is_none() {
                    reasons.push(format!("{}: no product of {service} has PE {code}", policy.file));
                }
                reasons.extend(products.map(|product| {
                    let place = policy.place(product.line);
                    format!(
                        "{place}: PE {code} is of product `{}`, in none of the {roles}",
                        product.name
                    )
                }));
            }
        }
        if reasons.is_empty() {
            reasons
                .push(format!("{}: nothing in the {roles} is for {}", policy.file, asked.service));
        }
        reasons.join("; ")
    }
}

/// Through which role and product a profile has a code.
fn code_rule(policy: &Policy, profile: ProfileId, service: &str, code: u32) -> Option<String> {
    policy.products_with(service, code).find_map(|product| {
        let has = |name: &crate::read::At<String>| name.value == product.name;
        let mut roles = policy.roles(profile);
        let (role, line) = roles
            .find_map(|role| Some((&role.name, role.products.iter().find(|one| has(one))?.line)))?;
        Some(format!(
            "{}: role `{role}` has product `{}` ({}), with PE {code}",
            policy.place(line),
            product.name,
            policy.place(product.line),
        ))
    })
}

impl Policy {
    /// Runs the tests of a policy; a fault for each that has another answer.
    pub fn run_tests(self: &Arc<Self>) -> Vec<Fault> {
        let mut engine = Engine::new(Arc::clone(self));
        let mut faults = Vec::new();
        for case in &self.document.cases {
            let mut fault =
                |text| faults.push(Fault { file: self.file.clone(), line: case.line, text });
            let Some((service, name)) = case.item.split_once('/') else {
                fault(format!("`{}` is no item; give SERVICE/NAME", case.item));
                continue;
            };
            let asked = Asked { service, domain: case.domain, name };
            let protection = case.lock.as_deref().map_or(Protection::None, Protection::Lock);
            let answer = engine.explain(&case.user, asked, protection);
            if answer.verdict.is_allowed() != case.is_allowed {
                let (is, expected) = match case.is_allowed {
                    true => ("denied", "allowed"),
                    false => ("allowed", "denied"),
                };
                fault(format!(
                    "{} for {} is {is}, and should be {expected}; {}",
                    case.item, case.user, answer.reason
                ));
            }
        }
        faults
    }
}
