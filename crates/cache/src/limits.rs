//! How much an image may grow.

/// How much one image, or one item's merged updates, may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most entries of a map, vector or series. Above 65,535 only
    /// [`parts`](crate::Image::parts) can give the image. Default 1,000,000.
    pub max_entries: u32,
    /// Most fields of one field list, or elements of one element list: they
    /// are found by walking. Default 4,096.
    pub max_list_entries: u16,
    /// Most bytes of content, without what the memory allocator adds. Default
    /// 256 MiB.
    pub max_bytes: u32,
}

impl Limits {
    /// What [`Conflation`](crate::Conflation) uses unless told otherwise:
    /// 10,000 entries, 1 MiB.
    pub const CONFLATION: Self =
        Self { max_entries: 10_000, max_list_entries: 4_096, max_bytes: 1 << 20 };
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_entries: 1_000_000, max_list_entries: 4_096, max_bytes: 256 << 20 }
    }
}
