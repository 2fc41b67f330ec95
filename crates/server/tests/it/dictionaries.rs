//! Downloads of dictionaries.

use tapeline_channel::Sent;
use tapeline_omm::DictionaryMsg;
use tapeline_omm::dictionary::{DictionaryBuilder, DictionaryType, FieldDictionary, Verbosity};
use tapeline_rwf::Msg;

use crate::support::*;

fn download(world: &mut World, session: tapeline_channel::SessionId) -> (FieldDictionary, usize) {
    let mut builder = DictionaryBuilder::default();
    let mut parts = 0;
    for (name, dictionary) in
        [("RWFFld", DictionaryType::Fields), ("RWFEnum", DictionaryType::Enums)]
    {
        world.say(session, &dictionary_request(4, name, 0x7));
        let heard = world.heard_bytes(session);
        parts += heard.len();
        for (index, bytes) in heard.iter().enumerate() {
            let msg = Msg::decode(bytes).expect("a message");
            let Ok(DictionaryMsg::Refresh(part)) = DictionaryMsg::decode(&msg) else { panic!() };
            assert_eq!(part.part_num, Some(index as u16));
            assert_eq!(part.complete, index + 1 == heard.len());
            assert_eq!(part.clear_cache, index == 0);
            assert_eq!(part.verbosity, Some(7));
            let added = match dictionary {
                DictionaryType::Fields => builder.add_fields_part(&part.payload),
                DictionaryType::Enums => builder.add_enums_part(&part.payload),
            };
            added.expect("a part");
        }
        world.say(session, &close(4));
    }
    (builder.build(), parts)
}

#[test]
fn both_dictionaries_come_whole_and_in_parts() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    let (dictionary, parts) = download(&mut world, consumer);
    let builtin = FieldDictionary::builtin();
    assert_eq!(dictionary.fields().len(), builtin.fields().len());
    assert_eq!(dictionary.enum_tables().len(), builtin.enum_tables().len());
    assert!(parts > 3, "{parts}");
    assert_eq!(world.published(), [""; 0], "no hub is asked");
}

#[test]
fn the_least_verbosity_gives_the_versions_alone_and_a_reissue_more() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &dictionary_request(4, "RWFFld", Verbosity::Info.filter()));
    let heard = world.heard(consumer);
    assert_eq!(
        heard,
        ["REFRESH 4 DICTIONARY RWFFld@1 solicited clear part0 Open / Ok / None / \
             'Field Dictionary Refresh'"]
    );
    world.say(consumer, &dictionary_request(4, "RWFFld", Verbosity::Minimal.filter()));
    assert!(world.heard(consumer).len() > 1);
}

#[test]
fn a_download_goes_on_when_the_mount_has_caught_up() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.answer(consumer, Sent::Slow);
    world.say(consumer, &dictionary_request(4, "RWFFld", 0x7));
    assert_eq!(world.heard(consumer).len(), 1);
    world.say(consumer, &dictionary_request(5, "RWFEnum", 0x7));
    assert_eq!(world.heard(consumer).len(), 0);
    world.drain(consumer);
    let heard = world.heard(consumer);
    assert!(heard[0].starts_with("REFRESH 4 DICTIONARY RWFFld@1 solicited incomplete part1"));
    assert!(
        heard[heard.len() - 1].starts_with("REFRESH 5 DICTIONARY RWFEnum@1 solicited clear part0")
    );
}

#[test]
fn a_dictionary_of_which_a_part_is_longer_than_the_mount_takes_is_over() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.answer(consumer, Sent::TooLarge);
    world.say(consumer, &dictionary_request(4, "RWFFld", 0x7));
    world.answer(consumer, Sent::Queued);
    assert_eq!(world.heard(consumer).len(), 0, "the state was too long as well");
    // Nothing is left of it: the stream is another one's.
    world.say(consumer, &dictionary_request(4, "RWFEnum", 0x7));
    let heard = world.heard(consumer);
    assert!(heard[0].starts_with("REFRESH 4 DICTIONARY RWFEnum@1 solicited clear part0"));
    world.drain(consumer);
    assert_eq!(world.heard(consumer), [""; 0]);
}

#[test]
fn any_other_dictionary_is_asked_for_at_the_source() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.say(consumer, &dictionary_request(4, "OTHER", 0x7));
    assert_eq!(world.published(), ["Open 100 0 REQUEST 0 DICTIONARY OTHER@1 streaming 1/1"]);
}
