//! A cursor decodes to the encoded key or to an error; pages neither repeat nor skip a row that is not deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use proptest::prelude::*;
use serde_json::json;
use tidegate_core::measure::Meter;

use super::*;

/// `updatedAt` and `slug`, together unique.
type Key = (u8, u8);

fn keyset() -> Keyset<Key> {
    Keyset::with_secret([7; 32])
}

fn scope() -> Scope {
    Scope::of_tool("list_articles").with("site", &json!("harbour"))
}

#[test]
fn every_invalid_cursor_is_the_same_error() {
    let cursor = keyset().encode(&scope(), &(1, 2)).unwrap();
    assert_eq!(keyset().decode(&scope(), &cursor), Ok((1, 2)));
    let others = [Scope::of_tool("list_articles"), Scope::of_tool("list_articlessite")];
    for other in others.iter().chain([&Scope::of_tool("list_articles").with("site", &json!("pier"))]) {
        assert_eq!(keyset().decode(other, &cursor), Err(InvalidCursor));
    }
    assert_eq!(Keyset::<Key>::with_secret([8; 32]).decode(&scope(), &cursor), Err(InvalidCursor));
    assert_eq!(Keyset::<Key>::ephemeral().unwrap().decode(&scope(), &cursor), Err(InvalidCursor));
    assert_eq!(Keyset::<String>::with_secret([7; 32]).decode(&scope(), &cursor), Err(InvalidCursor));
    for wrong in ["", "!", "AAAA", &cursor[1..], &format!("{cursor}="), &"A".repeat(5000)] {
        assert_eq!(keyset().decode(&scope(), wrong), Err(InvalidCursor), "{wrong}");
    }
}

#[test]
fn a_cursor_is_url_safe_and_bounded() {
    let keys = Keyset::<String>::with_secret([7; 32]);
    let cursor = keys.encode(&scope(), &"ÿ".repeat(200)).unwrap();
    assert!(cursor.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{cursor}");
    assert!(matches!(keys.encode(&scope(), &"k".repeat(4000)), Err(KeysetError::TooLong { .. })));
}

#[test]
fn the_extra_row_makes_a_cursor() {
    let page = keyset().page(&scope(), vec![(1, 1), (1, 2), (1, 3)], 2, 9, |row| *row).unwrap();
    assert_eq!((page.items.as_slice(), page.total), ([(1, 1), (1, 2)].as_slice(), 9));
    assert_eq!(keyset().decode(&scope(), &page.next_cursor.unwrap()), Ok((1, 2)));
    let last = keyset().page(&scope(), vec![(1, 1), (1, 2)], 2, 9, |row| *row).unwrap();
    assert_eq!(last.next_cursor, None);
    assert!(keyset().page(&scope(), vec![(1, 1)], 0, 1, |row| *row).is_err());
}

fn request(limit: usize, max_tokens: u64) -> PageRequest {
    PageRequest { limit, cursor: None, fields: None, max_tokens: Tokens(max_tokens) }
}

/// Regression: a page ignored `max_tokens`.
#[test]
fn a_page_ends_where_its_tokens_end() {
    let rows = |count: u8| (0..count).map(|n| ((0, n), "word ".repeat(50)));
    let page = keyset().page_within(&scope(), rows(21), &request(20, 300), 99).unwrap();
    assert!((1..=5).contains(&page.items.len()), "each row has more than 50 tokens: {}", page.items.len());
    let last = u8::try_from(page.items.len() - 1).unwrap();
    assert_eq!(keyset().decode(&scope(), &page.next_cursor.unwrap()), Ok((0, last)));
    let page = keyset().page_within(&scope(), rows(3), &request(20, 300), 3).unwrap();
    assert_eq!((page.items.len(), page.next_cursor), (3, None));
    let page = keyset().page_within(&scope(), rows(0), &request(20, 300), 0).unwrap();
    assert_eq!((page.items.len(), page.next_cursor), (0, None));
    let error = keyset().page_within(&scope(), rows(2), &request(20, 40), 2).unwrap_err();
    assert!(
        error.to_string().ends_with("but max_tokens is 40; ask for fewer fields, or for more tokens"),
        "{error}"
    );
    assert!(matches!(
        keyset().page_within(&scope(), rows(2), &request(0, 300), 2),
        Err(KeysetError::NoLimit)
    ));
}

#[derive(Debug, Clone)]
enum Change {
    Insert(Key),
    Delete(Key),
}

/// A key from a small range, so that rows share a time and changes hit existing rows.
fn key() -> impl Strategy<Value = Key> {
    (0u8..6, 0u8..20)
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![key().prop_map(Change::Insert), key().prop_map(Change::Delete)];
    prop::collection::vec(change, 0..6)
}

/// Does what a database does for `where (updated_at, slug) > (?, ?) order by updated_at, slug limit ?`.
fn fetch(table: &BTreeMap<Key, u32>, after: Option<Key>, count: usize) -> Vec<(Key, u32)> {
    let start = after.map_or(Bound::Unbounded, Bound::Excluded);
    table.range((start, Bound::Unbounded)).take(count).map(|(key, row)| (*key, *row)).collect()
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(500))]

    #[test]
    fn rows_that_are_not_deleted_are_seen_exactly_once(
        start in prop::collection::btree_set(key(), 0..60),
        between in prop::collection::vec(changes(), 0..40),
        limit in 1usize..8,
    ) {
        let mut next_row = 0..;
        let mut table: BTreeMap<Key, u32> = start.iter().copied().zip(&mut next_row).collect();
        let mut staying: BTreeSet<u32> = table.values().copied().collect();
        let (mut seen, mut cursor, mut between) = (Vec::new(), None::<String>, between.into_iter());
        loop {
            let after = cursor.as_deref().map(|cursor| keyset().decode(&scope(), cursor).unwrap());
            let rows = fetch(&table, after, limit + 1);
            let page = keyset().page(&scope(), rows, limit, table.len() as u64, |(key, _)| *key).unwrap();
            prop_assert!(page.items.len() <= limit);
            seen.extend(page.items.into_iter().map(|(_, row)| row));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
            for change in between.next().unwrap_or_default() {
                match change {
                    Change::Insert(key) => { table.entry(key).or_insert_with(|| next_row.next().unwrap()); }
                    Change::Delete(key) => { table.remove(&key).map(|row| staying.remove(&row)); }
                }
            }
        }
        let unique: BTreeSet<u32> = seen.iter().copied().collect();
        prop_assert_eq!(unique.len(), seen.len(), "a row was repeated");
        prop_assert!(staying.is_subset(&unique), "a row was skipped");
    }

    #[test]
    fn pages_hold_their_tokens_and_lose_no_row(
        texts in prop::collection::vec(".{0,60}|[a-z ]{0,300}", 0..40),
        limit in 1usize..12,
        max_tokens in 60u64..400,
    ) {
        let keys = Keyset::<usize>::with_secret([7; 32]);
        let (mut seen, mut start) = (Vec::new(), 0);
        loop {
            let rows = texts.iter().cloned().enumerate().skip(start).take(limit + 1);
            let page = match keys.page_within(&scope(), rows, &request(limit, max_tokens), texts.len() as u64) {
                Ok(page) => page,
                Err(KeysetError::RowTooLarge { tokens, .. }) => {
                    prop_assert!(tokens > Tokens(max_tokens));
                    return Ok(());
                }
                Err(other) => panic!("{other}"),
            };
            let tokens = Meter::default().count(&serde_json::to_string(&page).unwrap());
            prop_assert!(tokens <= Tokens(max_tokens), "{tokens} of {max_tokens}");
            prop_assert!(page.items.len() <= limit);
            seen.extend(page.items);
            let Some(cursor) = page.next_cursor else { break };
            start = keys.decode(&scope(), &cursor).unwrap() + 1;
        }
        prop_assert_eq!(seen, texts);
    }

    #[test]
    fn a_modified_cursor_is_rejected(key in any::<Key>(), at in any::<prop::sample::Index>(), with in "[A-Za-z0-9_-]") {
        let cursor = keyset().encode(&scope(), &key).unwrap();
        let at = at.index(cursor.len());
        let changed = format!("{}{with}{}", &cursor[..at], &cursor[at + 1..]);
        let expected = if changed == cursor { Ok(key) } else { Err(InvalidCursor) };
        prop_assert_eq!(keyset().decode(&scope(), &changed), expected);
    }

    #[test]
    fn any_text_decodes_without_a_panic(text in ".{0,200}") {
        prop_assert_eq!(keyset().decode(&scope(), &text), Err(InvalidCursor));
    }

    #[test]
    fn a_key_round_trips_exactly(number in prop::num::f64::NORMAL, text in ".{0,50}", id in any::<u64>()) {
        let keys = Keyset::with_secret([1; 32]);
        let key = (number, text, id);
        let cursor = keys.encode(&scope(), &key).unwrap();
        prop_assert_eq!(keys.decode(&scope(), &cursor), Ok(key));
    }
}
