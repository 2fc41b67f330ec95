//! Which of several lines of an `rmds.cnf` counts, by the rules of X resources.
//!
//! A key is compared component by component with the full name of what is set,
//! `host.instance.program.object.parameter`. `.` binds tightly, `*` stands for any
//! number of components, `?` for any one. Of two keys that fit, the one that is more
//! exact at the first component where they differ counts:
//!
//! ```text
//! named behind `.`  >  named behind `*`  >  `?` behind `.`  >  `?` behind `*`  >  skipped
//! ```

/// A component of a key, and how it is bound to what is before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Component<'t> {
    pub(super) name: &'t str,
    pub(super) is_tight: bool,
}

/// The components of a key.
pub(super) fn components(key: &str) -> Vec<Component<'_>> {
    let mut all = Vec::new();
    let (mut rest, mut is_tight) = (key.trim(), true);
    while !rest.is_empty() {
        let end = rest.find(['.', '*']).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if !name.trim().is_empty() {
            all.push(Component { name: name.trim(), is_tight });
            is_tight = true;
        }
        is_tight &= !behind.starts_with('*');
        rest = behind.get(1..).unwrap_or("");
    }
    all
}

/// How exactly a key names each component of a full name, from the left; the
/// greater one counts. `None`: it is for something else. A component of the name
/// may have several names.
pub(super) fn exactness<'n, N: AsRef<[&'n str]>>(
    key: &[Component<'_>],
    name: &[N],
) -> Option<Vec<u8>> {
    let (Some((level, lower)), Some((first, rest))) = (name.split_first(), key.split_first())
    else {
        return (name.is_empty() && key.is_empty()).then(Vec::new);
    };
    let is_named = level.as_ref().iter().any(|known| known.eq_ignore_ascii_case(first.name));
    let here = match (is_named, first.name == "?", first.is_tight) {
        (true, _, true) => Some(4),
        (true, _, false) => Some(3),
        (false, true, true) => Some(2),
        (false, true, false) => Some(1),
        (false, false, _) => None,
    };
    let behind = |exact: u8, key: &[Component<'_>]| {
        let mut all = vec![exact];
        all.extend(exactness(key, lower)?);
        Some(all)
    };
    let taken = here.and_then(|exact| behind(exact, rest));
    let skipped = (!first.is_tight).then(|| behind(0, key)).flatten();
    taken.max(skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of the limit of items at a port of a host.
    const NAME: [&[&str]; 5] = [&["me"], &["1"], &["ads", "p2ps"], &["14002"], &["itemLimit"]];

    fn exact(key: &str) -> Option<Vec<u8>> {
        exactness(&components(key), &NAME)
    }

    #[test]
    fn keys_are_split_where_they_are_bound() {
        let shown = |key: &str| {
            let bound = |it: Component<'_>| [if it.is_tight { "." } else { "*" }, it.name].concat();
            components(key).into_iter().map(bound).collect::<Vec<_>>().concat()
        };
        assert_eq!(shown("*P2PS*14002*pingTimeout"), "*P2PS*14002*pingTimeout");
        assert_eq!(shown("me*Src_Dist*feed1.route*hostList"), ".me*Src_Dist*feed1.route*hostList");
        assert_eq!(shown("me.1.ads.itemLimit"), ".me.1.ads.itemLimit");
        assert_eq!(shown("*ads.*itemLimit"), "*ads*itemLimit");
    }

    #[test]
    fn a_key_is_for_what_it_names_and_for_nothing_else() {
        for key in
            ["*itemLimit", "*ads*itemLimit", "me.1.p2ps.14002.itemLimit", "?.?.ads*itemlimit"]
        {
            assert!(exact(key).is_some(), "{key}");
        }
        for key in [
            "*ads*BIGUSER*itemLimit",
            "other*ads*itemLimit",
            "*adh*itemLimit",
            "*ads.itemLimit",
            "*ads*itemLimits",
        ] {
            assert_eq!(exact(key), None, "{key}");
        }
    }

    #[test]
    fn the_first_difference_from_the_left_decides() {
        // The one before counts.
        for (before, after) in [
            ("*ads*itemLimit", "*itemLimit"),
            ("*ads*itemLimit", "*14002*itemLimit"),
            ("*ads*14002*itemLimit", "*ads*itemLimit"),
            ("me*itemLimit", "*ads*14002*itemLimit"),
            ("*ads.14002.itemLimit", "*ads*14002*itemLimit"),
            ("*ads.14002*itemLimit", "*ads.?*itemLimit"),
            ("*ads.?*itemLimit", "*ads*itemLimit"),
            ("me*ads*itemLimit", "?*ads*itemLimit"),
            ("?*itemLimit", "*ads*itemLimit"),
            ("*1*itemLimit", "*ads*itemLimit"),
        ] {
            assert!(exact(before) > exact(after), "{before} {after}");
            assert!(exact(after).is_some(), "{after}");
        }
    }
}
