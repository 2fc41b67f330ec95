//! Where a tool prints.

/// Where lines go.
pub trait Output {
    /// Lines of the result, with the end of the last.
    fn text(&mut self, text: &str);

    /// Something beside the result.
    fn say(&mut self, text: &str);
}
