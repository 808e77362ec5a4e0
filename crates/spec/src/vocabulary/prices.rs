//! Price lists: `prices` of an experiment, or a file of its own.

use super::shape::{Shape, Table, key, needed};

/// A price list.
pub(crate) static PRICES: Table = Table {
    what: "a price list",
    keys: &[
        key("currency", Shape::Text, "Name of the money, e.g. EUR"),
        key(
            "date",
            Shape::Text,
            "When the prices were read: a day, month or year (2026-11-26, 2026-11, 2026)",
        ),
        key("source", Shape::Text, "Where they were read: a page, an offer, a contract"),
        key("valid_until", Shape::Text, "The last day, month or year in which they hold"),
        needed("offers", Shape::MapOf(&Shape::Map(&OFFER)), "What is sold, by names of your own"),
    ],
    instead: &[
        ("prices", "write the offers below `offers:`"),
        ("expires", "write `valid_until`"),
        ("url", "write `source`"),
    ],
};

/// One offer of a price list.
pub(crate) static OFFER: Table = Table {
    what: "an offer",
    keys: &[
        key("per_hour", Shape::Text, "Money per hour"),
        key("per_month", Shape::Text, "Money per month of 730 hours, a started month in full"),
        key("per_cpu_hour", PRICE, "Money per CPU and hour"),
        key("per_memory_gb_hour", PRICE, "Money per GB of memory (1024^3 bytes) and hour"),
        key("per_gb_month", PRICE, "Money per GB of the volume (1024^3 bytes) and month"),
        key("per_iops_month", PRICE, "Money per provisioned IOPS and month"),
        key("per_throughput_month", PRICE, "Money per provisioned MB/s (1024^2 bytes) and month"),
        key("per_network_hour", Shape::Text, "Money for the network per hour"),
        key("per_network_gb", PRICE, "Money per GB (1024^3 bytes) that is sent"),
        key("billed_by", Shape::Choice(BILLED_BY), "What is paid in full once begun (default: hour)"),
        key("upfront", Shape::Text, "Money paid once for the whole term"),
        key("term", Shape::Duration, "How long `upfront` is paid for: 3y, 36 months, 365d"),
        key(
            "discounts",
            Shape::ListOf(&Shape::Map(&DISCOUNT)),
            "Shares taken off the whole sum from a monthly sum on, `upfront` not counted",
        ),
        key("usage", Shape::Map(&USAGE), "How much of it is used; a volume's declaration stands in for it"),
    ],
    instead: &[
        ("price", "write `per_hour`, `per_month` or `per_gb_month`"),
        ("hourly", "write `per_hour`"),
        ("monthly", "write `per_month`"),
        ("unit", "write `billed_by: second`, `minute` or `hour`"),
        ("per_gb", "write `per_gb_month`"),
        ("per_iops", "write `per_iops_month`"),
        ("per_mbps_month", "write `per_throughput_month`"),
        ("reserved", "write `upfront`, `term` and `per_hour`"),
        ("size", "write `usage: { size: ... }`"),
        ("count", "write `usage: { count: ... }`"),
    ],
};

/// A price per unit: one for all units, one behind a free allowance, or one for each tier.
const PRICE: Shape = Shape::Either(&[Shape::Text, Shape::Map(&ALLOWANCE), Shape::ListOf(&Shape::Map(&TIER))]);

/// What may be paid in full once begun.
pub(crate) static BILLED_BY: &[&str] = &["second", "minute", "hour"];

/// A price behind a free allowance.
pub(crate) static ALLOWANCE: Table = Table {
    what: "a price per unit",
    keys: &[
        needed("price", Shape::Text, "Money per unit beyond the free ones"),
        key("free", Shape::Text, "Units that cost nothing"),
    ],
    instead: &[
        ("included", "write `free`"),
        ("tiers", "write the tiers as a list: [ { up_to, price }, { price } ]"),
    ],
};

/// One tier of a graduated price.
pub(crate) static TIER: Table = Table {
    what: "a tier",
    keys: &[
        key(
            "up_to",
            Shape::Text,
            "The last unit of the tier, counted from the first of all; not in the last tier",
        ),
        needed("price", Shape::Text, "Money per unit within the tier"),
    ],
    instead: &[("from", "a tier begins where the one before it ends"), ("free", "write `price: 0`")],
};

/// A discount.
pub(crate) static DISCOUNT: Table = Table {
    what: "a discount",
    keys: &[
        needed("from", Shape::Text, "The monthly sum from which on it holds"),
        needed("off", Shape::Percent, "The share of the whole sum that is taken off"),
    ],
    instead: &[("percent", "write `off: 10%`")],
};

/// How much of an offer is used.
pub(crate) static USAGE: Table = Table {
    what: "`usage`",
    keys: &[
        key("count", Shape::Integer, "How many of it (default: 1)"),
        key("cpus", Shape::Text, "CPUs of each"),
        key("memory", Shape::Size, "Memory of each"),
        key("size", Shape::Size, "Size of each volume"),
        key("iops", Shape::Integer, "Provisioned IOPS of each"),
        key("throughput", Shape::Size, "Provisioned bytes per second of each"),
        key("sent_per_month", Shape::Size, "Bytes that each sends in a month"),
    ],
    instead: &[
        ("cpu", "write `cpus`"),
        ("ram", "write `memory`"),
        ("bps", "write `throughput`"),
        ("bw", "write `throughput`"),
        ("network", "write `sent_per_month`"),
    ],
};

/// The price of a volume by an offer.
pub(crate) static VOLUME_PRICE: Table = Table {
    what: "`price` of a volume",
    keys: &[
        needed("offer", Shape::Text, "Name of one of `prices: { offers: ... }`"),
        key("usage", Shape::Map(&USAGE), "What is paid for, where it differs from what the volume declares"),
    ],
    instead: &[("name", "write `offer`"), ("per_month", "write `price: 8/month`")],
};
