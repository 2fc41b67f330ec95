//! One stream of one mount on an item, as an update sees it.

/// How a watcher stands.
pub(super) mod mode {
    /// It gets updates.
    pub(in crate::core) const LIVE: u32 = 0x01;
    /// It waits for an image.
    pub(in crate::core) const WANTS: u32 = 0x02;
    /// It gets the parts of the image that is coming.
    pub(in crate::core) const IN_IMAGE: u32 = 0x04;
    /// It wants to know how much was merged into an update.
    pub(in crate::core) const CONFLATION_INFO: u32 = 0x08;
    /// Its image waits for the mount's output to drain.
    pub(in crate::core) const LATE: u32 = 0x10;
    /// Its updates are merged at the item until the mount's output has drained.
    pub(in crate::core) const MERGED: u32 = 0x20;
    /// The item has another guard, and whether this one may see it is not known
    /// yet: it gets nothing but states.
    pub(in crate::core) const UNCHECKED: u32 = 0x40;
    /// That it watches was written down.
    pub(in crate::core) const RECORDED: u32 = 0x80;
}

const FORM_SHIFT: u32 = 8;
const FORM_BITS: u32 = 5;
const SNAPSHOT_SHIFT: u32 = FORM_SHIFT + FORM_BITS;
const MOUNT_SHIFT: u32 = SNAPSHOT_SHIFT + 1;
const FORM_MASK: u32 = ((1 << FORM_BITS) - 1) << FORM_SHIFT;
const MOUNT_MASK: u32 = u32::MAX << MOUNT_SHIFT;
/// What must be as in a subscription that takes every update as it is.
const PLAIN_MASK: u32 = ((1 << SNAPSHOT_SHIFT) - 1) & !(mode::CONFLATION_INFO | mode::RECORDED);

/// One stream of one mount on an item.
///
/// ```text
///   | mount: 18 | snapshot: 1 | form: 5 | mode: 8 |   stream id: 32   |   8 bytes
/// ```
///
/// The mount is the number that the server gave it, not the index of its
/// session: see [`Mounts`](super::mount::Mounts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subscription {
    word: u32,
    stream_id: i32,
}

/// By what the subscriptions of an item are in order, each having its own: by mounts,
/// of each the streams with updates first, then by stream ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Order(u32, i32);

impl Subscription {
    /// Mounts have lower numbers than this.
    pub(super) const MOUNTS: u32 = 1 << (u32::BITS - MOUNT_SHIFT);

    /// Stands for a form whose number is kept aside.
    pub(super) const FAR: usize = (1 << FORM_BITS) - 1;

    pub(super) const fn new(mount: u32, stream_id: i32, is_streaming: bool) -> Self {
        let word = mount << MOUNT_SHIFT | (!is_streaming as u32) << SNAPSHOT_SHIFT;
        Self { word, stream_id }
    }

    /// The number of the mount.
    #[inline]
    pub(super) const fn mount(self) -> u32 {
        self.word >> MOUNT_SHIFT
    }

    /// The number of the mount if it [takes every update as it is](Self::is_plain), and
    /// otherwise a number that no mount has.
    #[inline]
    pub(super) const fn mount_if_plain(self) -> usize {
        ((self.word & (PLAIN_MASK | MOUNT_MASK)) ^ mode::LIVE).rotate_right(MOUNT_SHIFT) as usize
    }

    #[inline]
    pub(super) const fn stream_id(self) -> i32 {
        self.stream_id
    }

    /// Whether updates were asked for. It stays so.
    pub(super) const fn is_streaming(self) -> bool {
        self.word >> SNAPSHOT_SHIFT & 1 == 0
    }

    #[inline]
    pub(super) const fn has(self, bit: u32) -> bool {
        self.word & bit != 0
    }

    /// Whether it takes every update as it is.
    #[inline]
    pub(super) const fn is_plain(self) -> bool {
        self.word & PLAIN_MASK == mode::LIVE
    }

    pub(super) const fn set(&mut self, bits: u32, is_set: bool) {
        self.word = if is_set { self.word | bits } else { self.word & !bits };
    }

    /// The number of its form, 0 for the plain one, up to [`FAR`](Self::FAR).
    pub(super) const fn form(self) -> usize {
        ((self.word & FORM_MASK) >> FORM_SHIFT) as usize
    }

    pub(super) const fn set_form(&mut self, form: usize) {
        self.word = self.word & !FORM_MASK | (form as u32) << FORM_SHIFT;
    }

    #[inline]
    pub(super) const fn order(self) -> Order {
        Order(self.word >> SNAPSHOT_SHIFT, self.stream_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_is_eight_bytes() {
        assert_eq!(size_of::<Subscription>(), 8);
    }

    #[test]
    fn mount_form_and_mode_share_a_word() {
        for is_streaming in [true, false] {
            let mut subscription = Subscription::new(Subscription::MOUNTS - 1, -5, is_streaming);
            let order = subscription.order();
            subscription.set(mode::WANTS | mode::LIVE, true);
            assert!(
                subscription.has(mode::LIVE)
                    && subscription.has(mode::WANTS)
                    && !subscription.is_plain()
            );
            subscription.set_form(Subscription::FAR);
            subscription.set(mode::WANTS, false);
            assert_eq!((subscription.form(), subscription.is_plain()), (Subscription::FAR, false));
            subscription.set_form(0);
            assert!(subscription.is_plain());
            subscription.set(mode::MERGED, true);
            assert!(!subscription.is_plain(), "what is merged goes first");
            subscription.set(mode::MERGED, false);
            subscription.set(mode::CONFLATION_INFO, true);
            assert!(subscription.is_plain(), "an update as it is was not merged");
            subscription.set(mode::RECORDED, true);
            assert!(subscription.is_plain(), "what is written down changes nothing");
            subscription.set(mode::UNCHECKED, true);
            assert!(!subscription.is_plain(), "it may not be for this one");
            assert_eq!(
                (subscription.mount(), subscription.stream_id()),
                (Subscription::MOUNTS - 1, -5)
            );
            assert_eq!((subscription.is_streaming(), subscription.order()), (is_streaming, order));
        }
    }

    #[test]
    fn a_mounts_streams_with_updates_come_first() {
        let subscriptions =
            [(3, 9, true), (4, -2, true), (4, 7, true), (4, -5, false), (5, 1, true)];
        let orders = subscriptions
            .map(|(mount, id, is_streaming)| Subscription::new(mount, id, is_streaming).order());
        assert!(orders.is_sorted());
    }
}
