//! The shapes of keys and values.

/// One key of a map.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    /// One line for editors and docs.
    pub(crate) help: &'static str,
}

/// The keys of one kind of map.
#[derive(Debug)]
pub(crate) struct Table {
    /// Name with its article, for messages: `a workload`.
    pub(crate) what: &'static str,
    pub(crate) keys: &'static [Key],
    /// Words that people try, and the right words for them.
    pub(crate) instead: &'static [(&'static str, &'static str)],
}

/// The form of a value.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Any text.
    Text,
    /// A whole number or an expression.
    Integer,
    /// A size or an expression.
    Size,
    /// A time with its unit.
    Duration,
    /// A percentage.
    Percent,
    /// 0 or 1.
    Switch,
    /// One of these words, or a factor.
    Choice(&'static [&'static str]),
    /// One text or a list of them.
    Texts,
    /// A list of argument vectors, or a single one.
    Commands,
    /// A map with these keys.
    Map(&'static Table),
    /// A map with any safe names as keys.
    MapOf(&'static Shape),
    /// A list.
    ListOf(&'static Shape),
    /// One of several shapes.
    Either(&'static [Shape]),
    /// A single value or a list of single values.
    Levels,
    /// May be left empty.
    Empty,
}

pub(super) const fn key(name: &'static str, shape: Shape, help: &'static str) -> Key {
    Key { name, shape, required: false, help }
}

pub(super) const fn needed(name: &'static str, shape: Shape, help: &'static str) -> Key {
    Key { name, shape, required: true, help }
}
