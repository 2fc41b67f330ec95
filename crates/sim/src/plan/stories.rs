//! Courses of events that chance alone would seldom bring about, each behind
//! what else happens in a world.

use std::time::Duration;

use super::{Action, Images, MirrorWay, Plan, Size};
use crate::random::Random;

/// Whether there is one is left to a chance of its own: all else of a seed is
/// what it was without.
const STORIES: u64 = 0x5354_4f52_4945_5321;

/// By then, nothing of what happened before is broken any more.
const SETTLED: Duration = Duration::from_secs(40);

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// What is added to a plan, moment by moment.
struct Story<'a> {
    plan: &'a mut Plan,
    at: Duration,
}

impl Story<'_> {
    fn add(&mut self, action: Action) {
        self.plan.actions.push((self.at, action));
    }

    fn wait(&mut self, time: Duration) {
        self.at += time;
    }

    /// A consumer has all items open.
    fn open_all(&mut self, consumer: usize) {
        for service in 0..self.plan.shape.all_services() {
            self.add(Action::Batch { consumer, service });
        }
    }
}

impl Plan {
    /// Adds a story to some of the worlds.
    pub(super) fn add_story(&mut self, seed: u64, size: Size) {
        let mut random = Random::new(seed ^ STORIES);
        if size != Size::Small {
            return;
        }
        match random.below(100) {
            0..3 => self.closes_are_overtaken(&mut random),
            3..6 => self.nobody_takes_over(&mut random),
            6..9 => self.images_never_end(),
            9..12 => self.much_is_merged(&mut random),
            12..15 => self.a_publisher_stands_by_idly(),
            15..21 => self.sources_mirror_each_other(&mut random),
            21..30 => self.rights_come_and_go(&mut random),
            30..36 => self.the_backbone_takes_nothing(&mut random),
            _ => {}
        }
    }

    fn story(&mut self) -> Story<'_> {
        let last = self.actions.last().map_or(Duration::ZERO, |(at, _)| *at);
        Story { plan: self, at: last + SETTLED }
    }

    /// Closes wait for the backbone, and requests with their numbers do not: they
    /// come to the server in the moment in which it takes frames again.
    fn closes_are_overtaken(&mut self, random: &mut Random) {
        let shape = &mut self.shape;
        shape.queue_bytes = 1 << 10;
        shape.items = shape.items.max(12);
        shape.socket_jitter = Duration::ZERO;
        let (delay, items) = (shape.socket_delay, shape.all_items());
        let consumer = random.below(64);
        let stuck = millis(20) + 2 * delay;
        let mut story = self.story();
        for _ in 0..3 {
            story.open_all(consumer);
            story.wait(Duration::from_secs(4));
            for server in 0..2 {
                story.add(Action::StickServer { server, ms: stuck.as_millis() as u64 });
            }
            story.add(Action::CloseAll { consumer });
            story.wait(stuck.saturating_sub(delay + millis(2)));
            for item in 0..items {
                story.add(Action::Open { consumer, item, view: false, paused: false });
                story.wait(Duration::from_micros(5000 / items as u64));
            }
            story.wait(millis(2000));
            story.add(Action::UpdateAll);
            story.wait(Duration::from_secs(24));
        }
        story.add(Action::UpdateAll);
    }

    /// A source is lost, and the one that is asked in its place does not answer.
    fn nobody_takes_over(&mut self, random: &mut Random) {
        let shape = &mut self.shape;
        shape.sources = 2;
        shape.own_sources = false;
        shape.make_fast();
        let first = random.below(2);
        let mut story = self.story();
        story.open_all(0);
        story.wait(Duration::from_secs(10));
        for lost in [first, 1 - first] {
            story.add(Action::Mute { source: 1 - lost, ms: 9000 });
            story.wait(millis(100));
            story.add(Action::CrashSource { source: lost, ms: 9000 });
            story.wait(Duration::from_secs(30));
        }
        story.add(Action::UpdateAll);
    }

    /// Somebody asks for items in the middle of images that do not end and are
    /// asked for again and again, each a little behind the one that is asked for
    /// next, of a server that asks for one at a time.
    fn images_never_end(&mut self) {
        let shape = &mut self.shape;
        (shape.hubs, shape.servers, shape.sources) = (1, 2, 1);
        shape.server_window = 1;
        shape.items = shape.items.max(14);
        if shape.consumers.len() < 2 {
            shape.consumers.push(false);
        }
        (shape.open_window, shape.open_limit) = (0, 0);
        shape.make_fast();
        shape.images = Images { most_parts: 50, apart_ms: 5, endless_percent: 100, ..shape.images };
        let (services, items) = (shape.all_services(), shape.items);
        self.actions.clear();
        let mut story = self.story();
        let open = |consumer, name: usize| {
            // An item of the first service.
            Action::Open { consumer, item: name * services, view: false, paused: false }
        };
        // Each of the two is at a server of its own.
        for name in 0..items {
            story.add(open(0, name));
            story.wait(millis(3000 / items as u64));
        }
        story.wait(millis(4000));
        for name in (0..items).rev() {
            story.add(open(1, name));
        }
        story.wait(Duration::from_secs(60));
        story.add(Action::UpdateAll);
    }

    /// More is merged for a mount that does not read than may be; or it is not too
    /// much, and images come in between.
    fn much_is_merged(&mut self, random: &mut Random) {
        let shape = &mut self.shape;
        let is_bounded = random.percent(50);
        shape.merged_bytes = if is_bounded { 100 } else { 0 };
        shape.output_bytes = 32 << 10;
        shape.window_bytes = shape.window_bytes.min(2 << 10);
        shape.items = shape.items.max(12);
        shape.images.padding_bytes = 0;
        let mut story = self.story();
        story.open_all(0);
        story.wait(Duration::from_secs(10));
        story.add(Action::StallConsumer { consumer: 0, ms: 5000 });
        for _ in 0..40 {
            story.add(Action::UpdateAll);
            story.wait(millis(50));
            let (source, item, open) = (random.below(2), random.below(64), random.below(64));
            match random.below(4) {
                0 => story.add(Action::Unasked { source, item }),
                1 => story.add(Action::Change { consumer: 0, open, view: None }),
                _ => {}
            }
        }
        story.wait(Duration::from_secs(20));
        story.add(Action::UpdateAll);
    }

    /// The backbone takes nothing of a hub, for less time than it takes to be given
    /// up, while everything changes: far more than its queue holds.
    fn the_backbone_takes_nothing(&mut self, random: &mut Random) {
        let shape = &mut self.shape;
        shape.queue_bytes = 4 << 10;
        shape.items = shape.items.max(8);
        shape.images.padding_bytes = 0;
        let mut story = self.story();
        story.open_all(0);
        story.wait(Duration::from_secs(15));
        for _ in 0..4 {
            story.add(Action::StickHub { hub: 0, ms: 300 });
            for _ in 0..40 {
                story.add(Action::UpdateAll);
                story.wait(millis(8));
                let (source, item, open) = (random.below(2), random.below(64), random.below(64));
                match random.below(8) {
                    0 => story.add(Action::Unasked { source, item }),
                    1 => story.add(Action::Change { consumer: 0, open, view: None }),
                    _ => {}
                }
            }
            story.wait(Duration::from_secs(4));
        }
        story.wait(Duration::from_secs(10));
        story.add(Action::UpdateAll);
    }

    /// A publisher is gone for longer than its items are kept, and another one
    /// has them, too, and says nothing.
    fn a_publisher_stands_by_idly(&mut self) {
        let shape = &mut self.shape;
        (shape.publishers, shape.hubs) = (2, 1);
        shape.published = shape.published.max(1);
        shape.own_sources &= shape.sources == 1;
        let mut story = self.story();
        story.open_all(0);
        story.wait(Duration::from_secs(15));
        for publisher in 0..2 {
            story.add(Action::CrashPublisher { publisher, ms: 14_000 });
            story.wait(Duration::from_secs(30));
        }
        story.add(Action::UpdateAll);
    }

    /// All that is open is so at both sources, and each of them is lost in turn.
    fn sources_mirror_each_other(&mut self, random: &mut Random) {
        let shape = &mut self.shape;
        shape.sources = 2;
        shape.own_sources = false;
        shape.mirrored = true;
        let has_numbers = shape.mirror_way == MirrorWay::Numbers;
        let first = random.below(2);
        let mut story = self.story();
        story.open_all(0);
        story.wait(Duration::from_secs(20));
        story.add(Action::UpdateAll);
        for source in [first, 1 - first, first] {
            story.wait(Duration::from_secs(15));
            if has_numbers {
                // The other one is behind, and says later what servers had.
                story.add(Action::StallSource { source: 1 - source, ms: 900 });
                story.add(Action::UpdateAll);
                story.wait(millis(500));
            }
            story.add(Action::LoseMirror { source, ms: 6000 });
            story.wait(millis(random.between(0, 500)));
            story.add(Action::UpdateAll);
        }
        story.wait(Duration::from_secs(15));
        story.add(Action::UpdateAll);
    }

    /// Consumers lose the right to items and have it again, now and then and when
    /// nothing else is the matter.
    fn rights_come_and_go(&mut self, random: &mut Random) {
        self.shape.locks = true;
        self.shape.items = self.shape.items.max(3);
        let mut story = self.story();
        let quiet = story.at;
        for _ in 0..random.between(2, 12) {
            story.at = millis(random.between(0, quiet.as_millis() as u64));
            let (consumer, codes) = (random.below(64), random.below(4) as u8);
            story.add(Action::Rights { consumer, codes });
        }
        story.at = quiet;
        story.add(Action::Rights { consumer: 0, codes: 3 });
        story.add(Action::Rights { consumer: 1, codes: 3 });
        story.open_all(0);
        story.wait(Duration::from_secs(5));
        for codes in [2, 3, 0, 3, 1] {
            story.add(Action::Rights { consumer: 0, codes });
            for _ in 0..3 {
                story.wait(millis(random.between(0, 1500)));
                story.add(Action::UpdateAll);
                // Also at the moment in which the rights change, and from elsewhere.
                story.open_all(0);
                story.open_all(1);
            }
            story.wait(millis(random.between(500, 4000)));
        }
        story.wait(Duration::from_secs(10));
        self.actions.sort_by_key(|(at, _)| *at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_is_in_order_and_some_worlds_have_a_story() {
        let mut told = 0;
        for seed in 0..400 {
            let actions = Plan::of(seed).actions;
            assert!(actions.is_sorted_by_key(|(at, _)| *at), "seed {seed}");
            let is_pause = |(first, second): (&(Duration, _), &(Duration, _))| {
                second.0.saturating_sub(first.0) >= SETTLED
            };
            told += usize::from(actions.iter().zip(&actions[1..]).any(is_pause));
        }
        assert!((40..160).contains(&told), "{told} of 400 have a story");
    }
}
