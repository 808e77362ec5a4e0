//! Text that compresses like real text: words drawn by Zipf's law, repeated phrases, sentences, lines.

use crate::native::random::Random;
use std::sync::OnceLock;

/// Common words, most frequent first.
const COMMON: &str = "the of and to a in is that for it with as was on be at by i this had not are but from or have an they which one you \
were her all she there would their we him been has when who will more no if out so said what up its about into than them can only other \
new some could time these two may then do first any my now such like our over man me even most made after also did many before must through \
back years where much your way well down should because each just those people mr how too little state good very make world still own see \
men work long get here between both life being under never day same another know while last might us great old year off come since against \
go came right used take three server file mail list message patch kernel driver problem thanks please version release error system network";

/// The number of words.
const WORDS: usize = 3072;
/// The bits of a draw.
const DRAW_BITS: u32 = 16;

/// The syllables of the rarer words.
const SYLLABLES: [&str; 48] = [
    "con", "ter", "ment", "tion", "pro", "re", "in", "de", "ing", "er", "al", "ex", "com", "per", "ver",
    "pre", "sub", "tra", "ble", "ly", "ous", "ant", "ist", "ful", "ness", "sta", "mar", "gen", "lo", "ri",
    "ca", "po", "mi", "su", "den", "ol", "um", "ar", "ta", "ne", "vi", "gra", "sen", "ther", "work", "land",
    "port", "ward",
];

/// The vocabulary, and the word for each draw.
pub(crate) struct Words {
    text: String,
    /// The begin and length of each word in `text`.
    places: Vec<(u32, u8)>,
    by_draw: Vec<u16>,
}

impl Words {
    /// The vocabulary, which is built once.
    pub(crate) fn get() -> &'static Self {
        static WORDS: OnceLock<Words> = OnceLock::new();
        WORDS.get_or_init(Self::make)
    }

    fn make() -> Self {
        let mut random = Random::new(0x0064_6973_6b70_726f, 0);
        let (mut text, mut places) = (String::new(), Vec::with_capacity(WORDS));
        let mut add = |word: &str| {
            let begin = u32::try_from(text.len()).unwrap_or(0);
            text.push_str(word);
            places.push((begin, u8::try_from(word.len()).unwrap_or(u8::MAX)));
        };
        for word in COMMON.split_ascii_whitespace() {
            add(word);
        }
        for _ in COMMON.split_ascii_whitespace().count()..WORDS {
            let syllables = 1 + random.below(2) + random.below(2);
            let word: String = (0..syllables).map(|_| pick(&SYLLABLES, &mut random)).collect();
            add(&word);
        }
        Self { text, places, by_draw: zipf(WORDS) }
    }

    fn word(&self, draw: u64) -> &str {
        let index = usize::try_from(draw & ((1 << DRAW_BITS) - 1)).unwrap_or(0);
        let word = self.by_draw.get(index).copied().unwrap_or(0);
        let (begin, length) = self.places.get(usize::from(word)).copied().unwrap_or((0, 1));
        let begin = usize::try_from(begin).unwrap_or(0);
        self.text.get(begin..begin + usize::from(length)).unwrap_or("the")
    }

    /// Draws a word by its frequency.
    pub(crate) fn draw(&self, random: &mut Random) -> &str {
        self.word(random.next())
    }

    /// Appends sentences in lines of about 70 characters, each line after `prefix`; between `least` and `least + more` bytes.
    pub(crate) fn paragraph(
        &self,
        random: &mut Random,
        prefix: &str,
        least: usize,
        more: u64,
        out: &mut Vec<u8>,
    ) {
        let end = out.len() + least + usize::try_from(random.below(more.max(1))).unwrap_or(0);
        let mut left_in_sentence = 0_u64;
        while out.len() < end {
            out.extend_from_slice(prefix.as_bytes());
            let line_end = out.len() + 70 - prefix.len().min(30);
            while out.len() < line_end {
                let draws = random.next();
                for part in 0..3 {
                    let word = self.word(draws >> (part * DRAW_BITS)).as_bytes();
                    if left_in_sentence == 0 {
                        left_in_sentence = 6 + (draws >> 48) % 17;
                        out.push(word[0].to_ascii_uppercase());
                        out.extend_from_slice(&word[1..]);
                    } else {
                        out.extend_from_slice(word);
                    }
                    left_in_sentence -= 1;
                    let mark: &[u8] = match (left_in_sentence, draws >> 60) {
                        (0, _) => b". ",
                        (_, 0) => b", ",
                        _ => b" ",
                    };
                    out.extend_from_slice(mark);
                }
            }
            if let Some(last) = out.last_mut() {
                *last = b'\n';
            }
        }
    }
}

/// The word for each draw: the word of rank r has a share proportional to 1 / (r + 1).
fn zipf(words: usize) -> Vec<u16> {
    let weight = |rank: usize| (1_u64 << 40) / (rank as u64 + 1);
    let sum: u64 = (0..words).map(weight).sum();
    let draws = 1_u64 << DRAW_BITS;
    let (mut table, mut reached) = (Vec::with_capacity(1 << DRAW_BITS), 0_u64);
    for rank in 0..words {
        reached += weight(rank);
        let until = u128::from(reached) * u128::from(draws) / u128::from(sum);
        let until = usize::try_from(until).unwrap_or(1 << DRAW_BITS);
        table.resize(until.max(table.len()), u16::try_from(rank).unwrap_or(0));
    }
    table
}

/// One of several texts.
pub(crate) fn pick<'t>(from: &[&'t str], random: &mut Random) -> &'t str {
    let index = usize::try_from(random.below(from.len() as u64)).unwrap_or(0);
    from.get(index).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Random, WORDS, Words, zipf};

    #[test]
    fn every_draw_is_a_word_and_frequent_words_come_first() {
        let table = zipf(WORDS);
        assert_eq!(table.len(), 1 << 16);
        let count = |rank: u16| table.iter().filter(|word| **word == rank).count();
        assert!(count(0) > count(10) && count(10) > count(100) && count(100) > 10);
        assert!(count(u16::try_from(WORDS).unwrap() - 100) > 0, "rare words are drawn too");
    }

    #[test]
    fn text_is_lines_of_words() {
        let mut out = Vec::new();
        Words::get().paragraph(&mut Random::new(1, 1), "> ", 2000, 0, &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.starts_with("> ") && line.len() < 110), "{text}");
        assert!((2000..2200).contains(&text.len()) && text.contains(". "));
    }
}
