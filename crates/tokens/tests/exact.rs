//! Compares counts with those of `bpe-openai`, an independent implementation: they must be equal for every text.
//!
//! Fixed texts cover every alternative of the patterns; random ones are made of the characters on which these depend.

use proptest::prelude::*;
use tidegate_tokens::Encoding;

fn assert_equal(text: &str) {
    for (ours, theirs) in
        [(Encoding::O200k, bpe_openai::o200k_base()), (Encoding::Cl100k, bpe_openai::cl100k_base())]
    {
        let expected = theirs.count(text);
        assert_eq!(ours.count(text), expected, "{ours:?} {text:?}");
        assert_eq!(ours.count_up_to(text, expected), Some(expected), "{ours:?} at the limit");
        if expected > 0 {
            assert_eq!(ours.count_up_to(text, expected - 1), None, "{ours:?} below the limit");
        }
    }
}

#[test]
fn every_alternative_of_the_patterns() {
    for text in [
        "",
        "Hello, World! It's we'LL they've I'M 'sure 'ſ 'x",
        "HTTPServer parseJSON ABCdef aBC ABC",
        "12 123 1234 12345678 ٣٤٥٦ ½",
        "a  b   c\t\td \n\n  e\r\n\r\nf   ",
        "path/to//file.rs:12:3: error[E0282]: //\n//x",
        "!!!\n\n??? ///\n/ $%&\r\n",
        "日本語のテキスト、中文。한국어 テスト",
        "e\u{301}cole \u{301}x \u{301}\u{301}X \u{301}ABC \u{301}",
        "ǅungla ʰa ªb AʰB Aʰ",
        "🙂🙃 👩‍👩‍👧 \u{200d}\u{fe0f}",
        "\u{85}x\u{2028}y\u{a0}z \u{3000}w",
        "\u{feff}{\"a\": [1.0, 1e400, -3]}\u{0}\u{7f}",
        " \u{301}",
        "\n\u{301}\n",
    ] {
        assert_equal(text);
    }
}

#[test]
fn long_pieces_use_the_heap() {
    for text in [
        "a".repeat(5000),
        "ab".repeat(2000),
        "語".repeat(1000),
        "-".repeat(3000),
        " ".repeat(3000),
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0".repeat(20),
    ] {
        assert_equal(&text);
    }
}

#[test]
fn a_huge_word_is_refused_without_merging_it() {
    let text = "a".repeat(50_000_000);
    assert_eq!(Encoding::O200k.count_up_to(&text, 1000), None);
}

/// Text of the characters on which the alternatives of the patterns depend.
fn tricky() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        6 => prop::char::range('a', 'z'),
        3 => prop::char::range('A', 'Z'),
        3 => prop::sample::select(vec![' ', '\n', '\r', '\t', '/', '\'', '"', '{', '}', ':', ',', '.', '-', '_']),
        2 => prop::char::range('0', '9'),
        2 => prop::sample::select(vec![
            'é', 'ß', 'ſ', 'Ω', 'ж', '語', '한', 'ʰ', 'ǅ', '\u{301}', '½', '٣', '\u{2028}', '\u{a0}', '😀',
        ]),
        1 => any::<char>(),
    ];
    prop::collection::vec(character, 0..200).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(4096))]

    #[test]
    fn random_texts(text in tricky()) {
        assert_equal(&text);
    }

    #[test]
    fn texts_of_words(words in prop::collection::vec("[ \n]?[A-Za-z']{1,12}[,.:/]?[0-9]{0,5}", 0..60)) {
        assert_equal(&words.concat());
    }
}
