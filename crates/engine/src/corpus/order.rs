//! The files of each writer, and their order.

use super::tree::{Kind, Tree};
use crate::native::random::Random;
use record::copy::CopyOrder;

/// The indices of a tree's files and links in this order; only those of the part `(number, of)`.
pub(crate) fn places(tree: &Tree, order: CopyOrder, part: (u32, u32), seed: u64) -> Vec<usize> {
    let mut places: Vec<usize> =
        (0..tree.entries.len()).filter(|place| tree.entries[*place].kind != Kind::Directory).collect();
    match order {
        CopyOrder::Ascending | CopyOrder::Listed => {}
        CopyOrder::Descending => places.reverse(),
        CopyOrder::Interleaved => places = from_both_ends(&places),
        CopyOrder::Random => shuffle(&mut places, &mut Random::new(seed, 0)),
    }
    let (number, of) = (u64::from(part.0), u64::from(part.1.max(1)));
    let all = places.len() as u64;
    let bound = |n: u64| usize::try_from(u128::from(all) * u128::from(n) / u128::from(of)).unwrap_or(0);
    places[bound(number)..bound(number + 1)].to_vec()
}

fn from_both_ends(places: &[usize]) -> Vec<usize> {
    let mut rest = places.iter();
    let mut out = Vec::with_capacity(places.len());
    while let Some(first) = rest.next() {
        out.push(*first);
        out.extend(rest.next_back());
    }
    out
}

/// Shuffles by Fisher and Yates.
fn shuffle(places: &mut [usize], random: &mut Random) {
    for last in (1..places.len()).rev() {
        let other = usize::try_from(random.below(last as u64 + 1)).unwrap_or(0);
        places.swap(last, other);
    }
}

#[cfg(test)]
mod tests {
    use super::places;
    use crate::corpus::tree::{Entry, Kind, Meta, Tree};
    use record::copy::CopyOrder;

    fn tree(files: usize) -> Tree {
        let entry = |kind, n| Entry { path: format!("f{n:03}").into(), kind, meta: Meta::default() };
        let mut entries = vec![entry(Kind::Directory, 0)];
        entries.extend((1..=files).map(|n| entry(Kind::File { offset: 0, bytes: 0 }, n)));
        Tree { entries, content: Box::new(Vec::new()) }
    }

    #[test]
    fn orders_are_as_named() {
        let of = |order| places(&tree(5), order, (0, 1), 9);
        assert_eq!(of(CopyOrder::Ascending), [1, 2, 3, 4, 5]);
        assert_eq!(of(CopyOrder::Descending), [5, 4, 3, 2, 1]);
        assert_eq!(of(CopyOrder::Interleaved), [1, 5, 2, 4, 3]);
        let mut random = of(CopyOrder::Random);
        random.sort_unstable();
        assert_eq!(random, [1, 2, 3, 4, 5]);
        let random = |seed| places(&tree(100), CopyOrder::Random, (0, 1), seed);
        assert_ne!(random(1), random(2));
    }

    #[test]
    fn parts_are_all_of_it_and_none_twice() {
        let parts: Vec<usize> =
            (0..3).flat_map(|n| places(&tree(11), CopyOrder::Descending, (n, 3), 1)).collect();
        assert_eq!(parts, (1..=11).rev().collect::<Vec<_>>());
    }
}
