//! Faults that are planted, so that it is seen that each is found.

/// A fault of a party of the world, as a bug of the code would look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Planted {
    /// None.
    #[default]
    Nothing,
    /// A source forgets to send one update of 16.
    LostUpdate,
    /// It sends one of 16 twice.
    RepeatedUpdate,
    /// It sends one of 16 behind the next one.
    SwappedUpdates,
    /// It sends one of 16 with a value that the item never had.
    FalseValue,
    /// One image of 4 is that of the item three changes ago.
    OldImage,
    /// One image of 4 does not reach the consumer.
    LostImage,
    /// Consumers are told nothing of a close in one case of 4.
    DeafClose,
    /// Sources never answer a request for the first item of a service.
    Silence,
}
