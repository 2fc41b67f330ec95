//! Keys of services, and of how servers and sources of one stand in for each other.

use super::section::section;
use toml::de::DeValue;

use super::value::{Setting, choice};

choice! {
    /// Which kinds of warm standby a login is offered.
    WarmStandbyKind {
        /// Both.
        "both" => Both,
        /// By login: a client has the whole server active, or standing by.
        "login" => Login,
        /// By service.
        "service" => Service,
        /// None. Clients of the vendor's library drop the server from a group.
        "off" => Off,
    }
}

choice! {
    /// Whether the sources of a service stand in for each other with all they have.
    Mirror {
        /// Items are spread over them.
        "off" => Off,
        /// All have every item open, and their images are kept.
        "image" => Image,
        /// All have every item open, and no more than that is kept.
        "stream" => Stream,
    }
}

choice! {
    /// Which numbers the sources of a mirrored service give to what they send.
    MirrorSeq {
        /// Each its own, if any.
        "own" => Own,
        /// All the same ones, as they have them from one origin.
        "shared" => Shared,
    }
}

/// When the first source of a mirrored service is used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Failback {
    /// When the one that is used is lost.
    #[default]
    Never,
    /// When nothing has changed for a second.
    Idle,
    /// When it has been there for so long.
    AfterS(u32),
}

impl std::str::FromStr for Failback {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds = || text.strip_prefix("after ")?.trim().strip_suffix('s')?.trim().parse().ok();
        match text {
            "never" => Ok(Self::Never),
            "idle" => Ok(Self::Idle),
            _ => seconds()
                .map(Self::AfterS)
                .ok_or_else(|| format!("is `{text}`; give {}", Self::form())),
        }
    }
}

impl Setting for Failback {
    fn form() -> String {
        "one of never, idle, or seconds as in \"after 60s\"".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        String::read(value)?.parse()
    }

    fn show(&self) -> String {
        match self {
            Self::Never => "never".to_owned().show(),
            Self::Idle => "idle".to_owned().show(),
            Self::AfterS(seconds) => format!("after {seconds}s").show(),
        }
    }
}

/// What is made of how loaded the providers of a service are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rebalance {
    /// That is not looked at.
    Off,
    /// The least loaded is asked for what is new.
    #[default]
    New,
    /// And what is open goes there, so many items a second.
    Slow(u32),
}

impl std::str::FromStr for Rebalance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let per_s = || text.strip_prefix("slow ")?.trim().strip_suffix("/s")?.trim().parse().ok();
        match text {
            "off" => Ok(Self::Off),
            "new" => Ok(Self::New),
            _ => per_s()
                .filter(|per_s| *per_s > 0)
                .map(Self::Slow)
                .ok_or_else(|| format!("is `{text}`; give {}", Self::form())),
        }
    }
}

impl Setting for Rebalance {
    fn form() -> String {
        "one of off, new, or items a second as in \"slow 50/s\"".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        String::read(value)?.parse()
    }

    fn show(&self) -> String {
        match self {
            Self::Off => "off".to_owned().show(),
            Self::New => "new".to_owned().show(),
            Self::Slow(per_s) => format!("slow {per_s}/s").show(),
        }
    }
}

choice! {
    /// What becomes of an item that the source of a mirrored service closes for good which
    /// is used. One that is to be recovered goes on at another source in any case.
    MirrorClose {
        /// It is closed for consumers, whatever others have.
        "active" => Active,
        /// It goes on at another source that has it; it is closed when the last one
        /// closes it.
        "quorum" => Quorum,
    }
}

choice! {
    /// At which member of a group an item is asked for.
    Pick {
        /// At the first that takes it.
        "order" => Order,
        /// At the one with the fewest items open.
        "items" => Items,
    }
}

choice! {
    /// Which providers a service is for.
    ProviderKind {
        /// All, as `ni-services` of `[hub]` says.
        "any" => Any,
        /// Those that are asked.
        "interactive" => Interactive,
        /// Those that publish.
        "non-interactive" => NonInteractive,
    }
}

choice! {
    /// Who keeps the last value of each item of a service.
    CacheOf {
        /// Whoever keeps it of all: `cache` of `[hub]` and of `[server]`.
        "default" => Default,
        /// Nobody but the source.
        "none" => Nobody,
        /// The hub.
        "hub" => Hub,
        /// The server.
        "server" => Server,
        /// Both.
        "both" => Both,
    }
}

impl CacheOf {
    /// Whether the hub keeps it, if that is not as of all.
    pub(crate) fn at_hub(self) -> Option<bool> {
        (self != Self::Default).then_some(matches!(self, Self::Hub | Self::Both))
    }

    /// Whether the server keeps it, if that is not as of all.
    pub(crate) fn at_server(self) -> Option<bool> {
        (self != Self::Default).then_some(matches!(self, Self::Server | Self::Both))
    }
}

choice! {
    /// What a client is sent on request for which the server stands by.
    StandbyAnswer {
        /// A refresh without content.
        "empty" => Empty,
        /// The whole image.
        "full" => Full,
    }
}

choice! {
    /// What becomes of posts of a client for which the server stands by.
    StandbyPost {
        /// They are acknowledged; the active server passes them on.
        "ack" => Ack,
        /// They are passed on, so that the source gets each from every server.
        "forward" => Forward,
        /// They are refused.
        "nak" => Nak,
    }
}

section! {
    /// A service, as consumers see it; there may be any number of these.
    Service = "service" {
        /// Its name.
        "name" => name: String = String::new();
        /// The number by which consumers know it. Servers that stand in for each
        /// other are to have the same numbers. Without it, the hub's number, or the
        /// next one that is free.
        "id" => id: Option<u16> = None;
        /// Most items of it at a time, at the hub, and at all shards of a server together.
        /// At the bound one that is wanted less gives way, or more are refused with
        /// `TOO_MANY_ITEMS`. 0: as many as `[hub]` and `[server]` may have.
        "max-items" => max_items: usize = 0, in 0..=100_000_000;
        /// At the hub: which providers it is for. Into one for `interactive` ones nobody
        /// publishes, and one for `non-interactive` ones is not taken from who offers to
        /// be asked; `any`: as `ni-services` of `[hub]` says.
        "kind" => kind: ProviderKind = ProviderKind::Any;
        /// Who keeps the last value of each of its items: `none` but the source, `hub`,
        /// `server`, `both`; `default`: as `cache` of `[hub]` and of `[server]` says.
        "cache" => cache: CacheOf = CacheOf::Default;
        /// At the hub: `image` has all of its interactive providers have every item
        /// open. The first by `order` is used; when it is lost, another goes on
        /// where it was, without a request, and without a word for items of which
        /// both have the same. `stream` has them open as well, and keeps no images of
        /// those that stand by: items go on with an image that is asked for then.
        "mirror" => mirror: Mirror = Mirror::Off;
        /// At the hub, of a service with `mirror = "image"`: `shared` where its providers
        /// number their updates alike. Which of two has more of an item is known by the
        /// numbers then, not by what is in it, and updates of one that is behind are
        /// dropped for as long as consumers had them.
        "mirror-seq" => mirror_seq: MirrorSeq = MirrorSeq::Own;
        /// At the hub, of a mirrored service: for how many milliseconds the provider that
        /// is used may be down, or take no requests, until another one is used. One whose
        /// connection is lost is replaced at once.
        "failover-after-ms" => failover_after_ms: u32 = 0;
        /// At the hub, of a mirrored service: when the first of its providers, by `order`,
        /// is used again after it was away: `never` before the one that is used is lost,
        /// `"after 60s"` when it has been there for so long, `idle` when it has all that is
        /// open and nothing has changed for a second.
        "failback" => failback: Failback = Failback::Never;
        /// At the hub, of a mirrored service: what becomes of an item that the provider
        /// which is used closes.
        "mirror-close" => mirror_close: MirrorClose = MirrorClose::Active;
        /// At the hub, of a service that is not mirrored, with several interactive providers:
        /// what is made of how loaded they say that they are (`LoadFactor`). `new`: an item
        /// is asked for at the least loaded, and stays there. `off`: that is not looked at,
        /// and the one with the fewest items for its `weight` is asked. `"slow 50/s"`: as
        /// `new`, and up to so many open items a second move to a provider that is asked
        /// before theirs (`order`), is less loaded by more than 10, or is no more loaded and
        /// has less than nine tenths of the items for its `weight`. Consumers get an image of
        /// each (`FAILOVER_COMPLETED`).
        "rebalance" => rebalance: Rebalance = Rebalance::New;
        /// At the hub: the services of sources that are one by this name. Consumers
        /// do not see their own names. An item is asked for at one of them, and goes on
        /// at another one when that is down.
        "members" => members: Vec<String> = Vec::new();
        /// At the hub, of `members`: `order` is the first of them that takes an item,
        /// `items` the one with the fewest items open.
        "pick" => pick: Pick = Pick::Order;
    }
}

impl Service {
    /// What is in a group is in no other, and consumers do not see it.
    fn check_members(&self, others: &[Self]) -> Result<(), String> {
        let Self { name, members, mirror, .. } = self;
        let of_mirrored = [
            ("mirror-seq", self.mirror_seq != MirrorSeq::Own),
            ("failover-after-ms", self.failover_after_ms > 0),
            ("failback", self.failback != Failback::Never),
            ("mirror-close", self.mirror_close != MirrorClose::Active),
        ];
        let stray = of_mirrored.iter().find(|(_, is_set)| *is_set && *mirror == Mirror::Off);
        if let Some((key, _)) = stray {
            return Err(format!(
                "service `{name}` has `{key}` and is not mirrored: give it \
                 `mirror = \"image\"`, or leave the key out"
            ));
        }
        if *mirror == Mirror::Stream && self.mirror_seq == MirrorSeq::Shared {
            return Err(format!(
                "service `{name}` has `mirror-seq = \"shared\"`, which compares with the image of \
                 the source that stands by, and `mirror = \"stream\"`, which keeps none: give it \
                 `mirror = \"image\"`, or leave `mirror-seq` out"
            ));
        }
        if *mirror != Mirror::Off && self.rebalance != Rebalance::New {
            return Err(format!(
                "service `{name}` has `rebalance` and `mirror`, by which all its sources have all \
                 items open: leave one of the keys out"
            ));
        }
        if *mirror != Mirror::Off && !members.is_empty() {
            return Err(format!(
                "service `{name}` has `members` and `mirror`; sources mirror each other in one \
                 service only: leave one of the keys out"
            ));
        }
        for other in others {
            let both = members.iter().find(|member| other.members.contains(member));
            if let Some(member) = both {
                let other = &other.name;
                return Err(format!(
                    "`{member}` is a member of `{other}` and of `{name}`; leave it out of one"
                ));
            }
            let (inner, outer) = match members.contains(&other.name) {
                true => (other, self),
                false if other.members.contains(name) => (self, other),
                false => continue,
            };
            return Err(format!(
                "service `{}` is a member of `{}`, so that consumers do not see it; leave its \
                 [[service]] out",
                inner.name, outer.name
            ));
        }
        Ok(())
    }

    /// It has a name, and neither that nor its number is that of another one.
    pub(super) fn check(&self, others: &[Self]) -> Result<(), String> {
        let Self { name, id, .. } = self;
        if name.is_empty() {
            return Err("a service needs `name`".to_owned());
        }
        self.check_members(others)?;
        match others.iter().find(|other| other.name == *name || id.is_some() && other.id == *id) {
            None => Ok(()),
            Some(other) if other.name == *name => {
                Err(format!("service `{name}` is there already; give each once"))
            }
            Some(other) => Err(format!(
                "services `{}` and `{name}` have the same `id`; give each its own",
                other.name
            )),
        }
    }
}
