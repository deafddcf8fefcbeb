//! The answer of a tool that lists things: the first rows, each as an id and a label.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Item, MAX_ITEMS, ResponseLimits, result_bytes};

/// The answer of a tool that lists things: a summary, the first items and the total count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct List {
    summary: String,
    success: bool,
    items: Vec<Item>,
    total_count: usize,
    has_more: bool,
}

/// Why a list could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The limit is zero or too high.
    #[error("limit must be a whole number from 1 to {MAX_ITEMS}, not {given}")]
    Limit {
        /// The given limit.
        given: usize,
    },
    /// A row does not serialize.
    #[error("row {row} does not serialize as JSON")]
    Row {
        /// The position of the row, from zero.
        row: usize,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// A row has no id.
    #[error("row {row} has no `id` that is a string or a number")]
    NoId {
        /// The position of the row, from zero.
        row: usize,
    },
    /// No row has the label field.
    #[error("no row has the label field {field:?}; fields are {}", known.join(", "))]
    NoLabel {
        /// The label field.
        field: String,
        /// The fields of the first row.
        known: Vec<String>,
    },
    /// The ids are too long for the byte limit.
    #[error(
        "the list has {bytes} bytes, but at most {max_bytes} are allowed; use shorter ids or a lower limit"
    )]
    TooLarge {
        /// Bytes of the answer.
        bytes: usize,
        /// The limit.
        max_bytes: usize,
    },
}

/// Returns the first rows as ids and labels: ten, or fewer if `limit` is set.
///
/// `label_field` names the field used as the label, truncated to 50 characters. The id is the label if there is no label
/// field, or if a row lacks it. Only the rows in the answer are serialized.
///
/// ```
/// use serde_json::json;
/// use tidegate_sdk::contract::paginated_list;
///
/// let agents = [json!({"id": "a1", "name": "reviewer"}), json!({"id": "a2", "name": "tester"})];
/// let list = paginated_list(&agents, "agent", Some(1), Some("name"))?;
/// assert_eq!(
///     serde_json::to_value(&list).unwrap(),
///     json!({"summary": "2 agent(s)", "success": true, "items": [{"id": "a1", "label": "reviewer"}], "totalCount": 2, "hasMore": true})
/// );
/// # Ok::<(), tidegate_sdk::contract::ListError>(())
/// ```
///
/// # Errors
///
/// Fails if the limit is out of range, a row has no id, no row has the label field, or the ids are too long.
pub fn paginated_list<T: Serialize>(
    items: &[T],
    domain: &str,
    limit: Option<usize>,
    label_field: Option<&str>,
) -> Result<List, ListError> {
    let limit = limit.unwrap_or(MAX_ITEMS);
    if !(1..=MAX_ITEMS).contains(&limit) {
        return Err(ListError::Limit { given: limit });
    }
    let rows = items.iter().take(limit).enumerate().map(to_value).collect::<Result<Vec<_>, _>>()?;
    if let Some(field) = label_field {
        check_label(&rows, field)?;
    }
    let list = List {
        summary: format!("{} {domain}(s)", items.len()),
        success: true,
        items: rows.iter().enumerate().map(|row| item(row, label_field)).collect::<Result<_, _>>()?,
        total_count: items.len(),
        has_more: items.len() > limit,
    };
    let (bytes, max_bytes) = (result_bytes(&list), ResponseLimits::default().max_bytes);
    if bytes > max_bytes { Err(ListError::TooLarge { bytes, max_bytes }) } else { Ok(list) }
}

fn to_value<T: Serialize>((row, item): (usize, &T)) -> Result<Value, ListError> {
    serde_json::to_value(item).map_err(|source| ListError::Row { row, source })
}

/// Fails if no row has the field; a field that only some rows lack is fine.
fn check_label(rows: &[Value], field: &str) -> Result<(), ListError> {
    let Some(Value::Object(first)) = rows.first() else { return Ok(()) };
    if rows.iter().any(|row| row.get(field).is_some()) {
        return Ok(());
    }
    Err(ListError::NoLabel { field: field.to_owned(), known: first.keys().cloned().collect() })
}

fn item((row, value): (usize, &Value), label_field: Option<&str>) -> Result<Item, ListError> {
    let id = match value.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        _ => return Err(ListError::NoId { row }),
    };
    let label = match label_field.and_then(|field| value.get(field)) {
        None | Some(Value::Null) => id.clone(),
        Some(Value::String(label)) => label.clone(),
        Some(other) => other.to_string(),
    };
    Ok(Item::new(id, &label))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rows(count: usize) -> Vec<Value> {
        (0..count).map(|n| json!({"id": format!("r{n}"), "title": "t".repeat(60), "rank": n})).collect()
    }

    #[test]
    fn ten_rows_with_labels_of_fifty_characters() {
        let list = paginated_list(&rows(12), "bug", None, Some("title")).unwrap();
        assert_eq!((list.summary.as_str(), list.items.len()), ("12 bug(s)", 10));
        assert_eq!((list.total_count, list.has_more), (12, true));
        assert_eq!(list.items[0], Item::new("r0", &"t".repeat(50)));
        assert!(!paginated_list(&rows(10), "bug", None, None).unwrap().has_more);
        assert!(paginated_list::<Value>(&[], "bug", None, Some("title")).unwrap().items.is_empty());
    }

    #[test]
    fn a_row_without_a_label_shows_its_id() {
        let rows = [json!({"id": 7, "title": null}), json!({"id": "b"}), json!({"id": "c", "title": 5})];
        let list = paginated_list(&rows, "bug", None, Some("title")).unwrap();
        assert_eq!(list.items, [Item::new("7", "7"), Item::new("b", "b"), Item::new("c", "5")]);
    }

    #[test]
    fn the_schema_accepts_lists() {
        let schema = schemars::schema_for!(List).to_value();
        let accepts = |value: &Value| tidegate_testkit::schema::accepts(&schema, &schema, value);
        for count in [0, 1, 12] {
            let list = paginated_list(&rows(count), "bug", None, Some("title")).unwrap();
            assert!(accepts(&serde_json::to_value(&list).unwrap()));
        }
        assert!(!accepts(&json!({"summary": "s", "success": true, "items": []})), "without a count");
    }

    #[test]
    fn invalid_input_is_an_error() {
        for limit in [0, 11] {
            let error = paginated_list(&rows(3), "bug", Some(limit), None).unwrap_err();
            assert_eq!(error.to_string(), format!("limit must be a whole number from 1 to 10, not {limit}"));
        }
        let error = paginated_list(&rows(3), "bug", None, Some("titel")).unwrap_err();
        assert_eq!(error.to_string(), "no row has the label field \"titel\"; fields are id, rank, title");
        let error = paginated_list(&[json!({"id": "a"}), json!([1])], "bug", None, None).unwrap_err();
        assert!(matches!(error, ListError::NoId { row: 1 }));
        let error = paginated_list(&[json!({"id": "i".repeat(20_000)})], "bug", None, None).unwrap_err();
        assert!(matches!(error, ListError::TooLarge { .. }));
    }
}
