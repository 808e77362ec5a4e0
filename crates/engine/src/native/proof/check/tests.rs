use super::check;
use crate::native::proof::diagnose::Fault;
use crate::native::proof::ledger::Expected;
use crate::native::proof::stamp::{Spot, Stamper};
use crate::native::proof::testing::{Case, case};
use proptest::prelude::{any, prop_assume, proptest};
use proptest::sample::Index;
use record::trial::FaultKind;

fn look(case: &Case, expected: Expected, unit: &[u8]) -> Option<Fault> {
    check(&case.stamper, case.spot, expected, unit)
}

fn kind(case: &Case, expected: Expected, unit: &[u8]) -> Option<FaultKind> {
    look(case, expected, unit).map(|fault| fault.kind)
}

/// Allows only the generation with which the case was written.
fn strict(case: &Case) -> Expected {
    Expected::only(case.generation)
}

/// The first sectors of one unit, followed by the others of another.
fn spliced(first: &[u8], rest: &[u8], at: Index) -> Vec<u8> {
    let cut = 512 * (1 + at.index(first.len() / 512));
    [&first[..cut], &rest[cut..]].concat()
}

fn first_difference(a: &[u8], b: &[u8]) -> u64 {
    a.iter().zip(b).position(|(a, b)| a != b).unwrap() as u64
}

proptest! {
    #[test]
    fn what_is_right_is_no_fault(case in case(), before in 0_u32..5, after in 0_u32..5) {
        let expected = Expected { oldest: case.generation.saturating_sub(before), newest: case.generation + after };
        assert_eq!(look(&case, expected, &case.unit), None);
    }

    #[test]
    fn any_wrong_byte_is_found_at_its_offset(case in case(), at in any::<Index>(), flip in 1_u8..) {
        let mut unit = case.unit.clone();
        let at = at.index(unit.len());
        unit[at] ^= flip;
        let fault = look(&case, strict(&case), &unit).unwrap();
        assert_eq!((fault.kind, fault.offset_bytes), (FaultKind::Corrupt, case.spot.offset_bytes + at as u64));
        let told = format!("is {:#04x} instead of {:#04x}, 1 byte is wrong", unit[at], case.unit[at]);
        assert!(fault.example.contains(&told), "{}", fault.example);
    }

    #[test]
    fn an_earlier_write_is_stale(case in case(), older in any::<Index>()) {
        prop_assume!(case.generation >= 2);
        let older = 1 + u32::try_from(older.index(case.generation as usize - 1)).unwrap();
        let fault = look(&case, strict(&case), &case.at(older)).unwrap();
        assert_eq!((fault.kind, fault.offset_bytes), (FaultKind::Stale, case.spot.offset_bytes));
        assert!(fault.example.contains(&format!("it holds write {older}")), "{}", fault.example);
    }

    #[test]
    fn what_was_before_the_trial_means_lost(case in case(), other in any::<u64>()) {
        let zeros = vec![0; case.unit.len()];
        let mut foreign = zeros.clone();
        Stamper::new(other, 30).stamp(case.spot, 1, &mut foreign);
        for before in [case.at(0), zeros, foreign] {
            let fault = look(&case, strict(&case), &before).unwrap();
            assert_eq!((fault.kind, fault.offset_bytes), (FaultKind::Lost, case.spot.offset_bytes));
        }
    }

    #[test]
    fn what_belongs_elsewhere_is_misdirected(case in case(), file in 0_u32..5, blocks in 0_u64..1000, generation in 0_u32..9) {
        let offset_bytes = case.spot.offset_bytes + blocks * case.unit.len() as u64;
        let spot = Spot { file, offset_bytes };
        prop_assume!(spot != case.spot);
        let fault = look(&case, strict(&case), &case.of(spot, generation)).unwrap();
        assert_eq!((fault.kind, fault.offset_bytes), (FaultKind::Misdirected, case.spot.offset_bytes));
        if blocks > 0 {
            assert!(fault.example.contains(&format!(" to {offset_bytes}")), "{}", fault.example);
        }
    }

    #[test]
    fn parts_of_two_writes_are_torn(case in case(), at in any::<Index>(), older in 1_u32..60, swap in any::<bool>()) {
        let old = case.at(case.generation.saturating_sub(older));
        let unit = if swap { spliced(&old, &case.unit, at) } else { spliced(&case.unit, &old, at) };
        // Where only the header distinguishes two writes, a part can equal the whole.
        prop_assume!(unit != old && unit != case.unit);
        let fault = look(&case, strict(&case), &unit).unwrap();
        let first = first_difference(&unit, &case.unit);
        assert_eq!((fault.kind, fault.offset_bytes), (FaultKind::Torn, case.spot.offset_bytes + first), "{}", fault.example);
    }

    #[test]
    fn parts_of_three_writes_are_torn(case in case(), at in any::<Index>(), then in any::<Index>()) {
        prop_assume!(case.generation >= 2);
        let (middle, old) = (case.at(case.generation - 1), case.at(case.generation - 2));
        let unit = spliced(&spliced(&old, &middle, at), &case.unit, then);
        prop_assume!([&middle, &old, &case.unit].iter().all(|whole| **whole != unit));
        assert_eq!(kind(&case, strict(&case), &unit), Some(FaultKind::Torn));
    }

    #[test]
    fn parts_of_elsewhere_are_corrupt(case in case(), at in any::<Index>()) {
        let spot = Spot { offset_bytes: case.spot.offset_bytes + case.unit.len() as u64, ..case.spot };
        let unit = spliced(&case.unit, &case.of(spot, 1), at);
        prop_assume!(unit != case.unit);
        let fault = look(&case, strict(&case), &unit).unwrap();
        let first = first_difference(&unit, &case.unit);
        assert_eq!((fault.kind, fault.offset_bytes), (FaultKind::Corrupt, case.spot.offset_bytes + first));
    }

    #[test]
    fn garbage_is_corrupt(case in case(), seed in any::<u64>()) {
        let mut random = crate::native::random::Random::new(seed, 1);
        let unit: Vec<u8> = case.unit.iter().map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        assert_eq!(kind(&case, strict(&case), &unit), Some(FaultKind::Corrupt));
    }

    /// A read during a write sees the one, the other, or any mixture.
    #[test]
    fn a_race_is_no_fault(case in case(), picks in any::<u64>()) {
        let expected = Expected { oldest: case.generation - 1, newest: case.generation };
        let old = case.at(case.generation - 1);
        assert_eq!(look(&case, expected, &old), None);
        let mixed = |(index, (a, b)): (usize, (&u8, &u8))| if picks >> (index % 61) & 1 == 1 { *a } else { *b };
        let unit: Vec<u8> = case.unit.iter().zip(&old).enumerate().map(mixed).collect();
        assert_eq!(look(&case, expected, &unit), None);
    }

    #[test]
    fn a_race_hides_no_older_write(case in case()) {
        prop_assume!(case.generation >= 3);
        let expected = Expected { oldest: case.generation - 1, newest: case.generation };
        assert_eq!(kind(&case, expected, &case.at(case.generation - 2)), Some(FaultKind::Stale));
        assert_eq!(kind(&case, expected, &case.at(0)), Some(FaultKind::Lost));
    }
}

#[test]
fn a_write_that_was_never_issued_is_corrupt() {
    let stamper = Stamper::new(1, 0);
    let spot = Spot { file: 0, offset_bytes: 4096 };
    let mut unit = vec![0; 4096];
    stamper.stamp(spot, 8, &mut unit);
    let fault = check(&stamper, spot, Expected::only(7), &unit).unwrap();
    // The generation's byte in the header, or the checksum before it.
    assert_eq!((fault.kind, fault.offset_bytes), (FaultKind::Corrupt, 4096 + 8));
}

#[test]
fn it_is_said_in_words() {
    let stamper = Stamper::new(1, 0);
    let spot = Spot { file: 0, offset_bytes: 8192 };
    let of = |generation| {
        let mut unit = vec![0; 4096];
        stamper.stamp(spot, generation, &mut unit);
        unit
    };
    let example = |expected, unit: &[u8]| check(&stamper, spot, expected, unit).unwrap().example;
    let begin = "the block of 4096 bytes at 8192 should hold";
    let torn = [&of(3)[..2048], &of(2)[2048..]].concat();
    let said = example(Expected::only(3), &torn);
    assert_eq!(said, format!("{begin} write 3; its sectors hold: 0 to 3 write 3, 4 to 7 write 2"));
    assert_eq!(example(Expected::only(1), &of(0)), format!("{begin} write 1; it holds what was laid out"));
    let either = Expected { oldest: 0, newest: 1 };
    let said = example(either, &[0; 4096]);
    assert_eq!(said, format!("{begin} what was laid out or write 1; it holds only zeros"));
}
