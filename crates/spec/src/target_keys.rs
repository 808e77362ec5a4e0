//! What the experiment says of every machine, whoever makes it: price, limits, address, what it shares.

use crate::diagnostic::printable;
use crate::fields::{Fields, list};
use crate::limits::MAX_TARGETS;
use crate::number::Number;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tariff::PriceList;
use crate::tree::{Key, Node, find};
use crate::vocabulary::{CEILING, HOSTED_BY};
use crate::{price, value};
use record::target::{Ceiling, HostedBy};

const EXPECTED_ADDRESS: &str = "a name or an IPv4 address, e.g. nas.example or 10.0.0.7";

const EXPECTED_GUEST: &str = "the guest's name or UUID, as `virsh list --all` shows it";

/// Reads the price of a machine.
pub(crate) fn price_of(
    name: &str,
    node: &Node,
    list: Option<&PriceList>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Number> {
    let node = find(node, "price")?;
    let price = price::read(node, scope, problems)?;
    price::of_machine(&price, name, node, list, problems)
}

/// Reads what a machine passes on.
pub(crate) fn ceiling(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Ceiling> {
    let fields = Fields::open(node, &CEILING, problems)?;
    let ceiling = Ceiling {
        iops: fields.get("iops").and_then(|node| value::integer(node, 1..=100_000_000, scope, problems)),
        bytes_per_second: fields.get("bps").and_then(|node| value::size(node, scope, problems)),
    };
    if fields.entries().is_empty() {
        problems
            .add_missing(node.span, "limits of a machine without a limit")
            .expected("`iops`, `bps` or both, e.g. `{ iops: 16000, bps: 593m }`");
        return None;
    }
    Some(ceiling)
}

/// Reads the names of what a machine shares with others.
pub(crate) fn shares(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    const EXPECTED: &str = "names of what it shares with other machines, e.g. `[switch1]`";
    let items = list(node);
    if let Some(item) = items.get(MAX_TARGETS) {
        problems.add(item.span, format!("more than {MAX_TARGETS} names"));
        return None;
    }
    let mut names = Vec::new();
    for item in items {
        let key = Key { span: item.span, text: value::text(item, EXPECTED, scope, problems)? };
        crate::name::check_plain(&key, "what machines share", problems)?;
        names.push(key.text);
    }
    Some(names)
}

/// Reads the ssh destination. ssh must not take it for an option, nor for several words.
pub(crate) fn destination(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
    const EXPECTED: &str = "what `ssh` takes: host, user@host, or a name of ~/.ssh/config";
    let text = value::text(node, EXPECTED, scope, problems)?;
    if text.is_empty() || text.starts_with('-') || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        problems
            .add(node.span, format!("`{}` is not a destination", printable(&text, 60)))
            .expected(EXPECTED)
            .help("a port or key belongs into ~/.ssh/config");
        return None;
    }
    Some(text)
}

/// Reads which machine runs a guest.
pub(crate) fn hosted_by(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<HostedBy> {
    let fields = Fields::open(node, &HOSTED_BY, problems)?;
    let machine = destination(fields.get("machine")?, scope, problems)?;
    let guest_node = fields.get("guest")?;
    let guest = value::text(guest_node, EXPECTED_GUEST, scope, problems)?;
    // virsh takes a word that begins with `-` for an option.
    if guest.is_empty() || guest.starts_with('-') || guest.chars().any(char::is_control) {
        problems
            .add(guest_node.span, format!("`{}` is no name of a guest", printable(&guest, 60)))
            .expected(EXPECTED_GUEST);
        return None;
    }
    Some(HostedBy { machine, guest })
}

/// Reads a name or an IPv4 address of a network.
pub(crate) fn plain_address(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let text = value::text(node, EXPECTED_ADDRESS, scope, problems)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if text.is_empty() || text.len() > 253 || text.starts_with('-') || !text.bytes().all(plain) {
        problems
            .add(node.span, format!("`{}` is not an address", printable(&text, 60)))
            .expected(EXPECTED_ADDRESS);
        return None;
    }
    Some(text)
}
