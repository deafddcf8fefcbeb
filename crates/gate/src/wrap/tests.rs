//! For any data the answer is JSON within its byte limit and marks what is missing.

use proptest::prelude::*;

use super::*;

fn wrap(data: &Value) -> Wrapped {
    wrap_response(data, "a summary", ResponseLimits::default()).unwrap()
}

fn assert_bounded(wrapped: &Wrapped, max_bytes: usize) {
    let text = wrapped.text();
    let result = json!({"content": [{"type": "text", "text": text}], "isError": false}).to_string();
    assert!(wrapped.compact().len() <= text.len() && text.len() < result.len());
    assert!(result.len() <= max_bytes, "{} of {max_bytes}", result.len());
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read, wrapped.to_value());
    assert!(read["summary"].as_str().unwrap().chars().count() <= SUMMARY_CHARS);
}

#[test]
fn the_summary_comes_first_and_is_truncated() {
    let wrapped = wrap_response(&json!({"a": 1}), &"é".repeat(101), ResponseLimits::default()).unwrap();
    assert_eq!(wrapped.compact(), format!(r#"{{"summary":"{}","success":true,"a":1}}"#, "é".repeat(100)));
}

#[test]
fn every_kind_of_data_is_wrapped() {
    for (data, expected) in [
        (json!({"a": [1]}), json!({"a": [1]})),
        (json!([1, 2]), json!({"items": [1, 2], "totalCount": 2, "showing": 2})),
        (json!("text"), json!({"value": "text"})),
        (json!(null), json!({})),
    ] {
        let mut answer = wrap(&data).to_value();
        let answer = answer.as_object_mut().unwrap();
        assert_eq!(answer.remove("summary"), Some(json!("a summary")));
        assert_eq!(answer.remove("success"), Some(json!(true)));
        assert_eq!(Value::Object(answer.clone()), expected);
    }
}

#[test]
fn members_with_reserved_names_are_renamed() {
    let data = json!({"summary": 1, "data.summary": 2, "hasMore": false});
    assert_eq!(
        wrap(&data).to_value(),
        json!({"summary": "a summary", "success": true, "data.data.summary": 1, "data.summary": 2, "hasMore": false})
    );
    let stored = Response::new("s", &data).artifact("ax://a/b").wrap().unwrap().to_value();
    assert_eq!((&stored["hasMore"], &stored["data.hasMore"]), (&json!(true), &json!(false)));
}

#[test]
fn success_is_what_the_tool_or_its_data_says() {
    let failed = json!({"success": false, "error": "no such trace"});
    assert_eq!(wrap(&failed).to_value()["success"], false);
    assert!(wrap(&failed).to_value().get("data.success").is_none());
    let data = json!({"success": true});
    let answer = Response::new("s", &data).failed().wrap().unwrap().to_value();
    assert_eq!((&answer["success"], &answer["data.success"]), (&json!(false), &json!(true)));
    assert_eq!(wrap(&json!({"success": "mostly"})).to_value()["data.success"], "mostly");
}

#[test]
fn whatever_is_cut_is_stored() {
    let store = |_: &Value| Ok::<_, std::io::Error>("ax://x/1".to_owned());
    let limits = ResponseLimits::default();
    let stored = |data: &Value| wrap_or_store(data, "s", limits, store).unwrap().to_value();
    for shown in [json!(vec![1; 10]), json!({"a": {"b": {"c": {"d": {"e": 1}}}}}), json!("x".repeat(500))] {
        let answer = stored(&shown);
        assert!(answer.get("artifactRef").is_none() && answer.get("hasMore").is_none(), "{answer}");
    }
    let log = "line\n".repeat(21);
    for cut in
        [json!(vec![1; 50]), json!({"text": "x".repeat(5000)}), json!([[[[[1]]]]]), json!({"log": log})]
    {
        let answer = stored(&cut);
        assert_eq!((&answer["artifactRef"], &answer["hasMore"]), (&json!("ax://x/1"), &json!(true)));
        let unstored = wrap(&cut).to_value();
        assert_eq!((unstored.get("artifactRef"), &unstored["hasMore"]), (None, &json!(true)), "it says so");
    }
    let large = json!(vec!["x".repeat(400); 50]);
    let answer = wrap_or_store(&large, "s", limits, store).unwrap();
    assert_bounded(&answer, 10_240);
    assert!(answer.compact().ends_with(r#""artifactRef":"ax://x/1","hasMore":true}"#));
    let failing = |_: &Value| Err::<String, _>(std::io::Error::other("disk full"));
    assert!(matches!(wrap_or_store(&large, "s", limits, failing), Err(StoreError::Store(_))));
}

#[test]
fn wide_objects_and_huge_keys_are_bounded() {
    let wide: Map<String, Value> = (0..5000).map(|n| (format!("key{n}"), json!("v".repeat(30)))).collect();
    let keys: Map<String, Value> = (0..30).map(|n| ("k".repeat(20_000) + &n.to_string(), json!(n))).collect();
    let quotes = json!(vec![json!({"\"\n": "\u{1}\"\\".repeat(200), "wide": wide.clone()}); 40]);
    for data in [Value::Object(wide), Value::Object(keys), quotes, json!("\u{0}".repeat(50_000))] {
        for max_bytes in [700, 1536, 10_240] {
            let limits = ResponseLimits::default().with_max_bytes(max_bytes);
            assert_bounded(&wrap_response(&data, "s", limits).unwrap(), max_bytes);
        }
    }
}

#[test]
fn most_of_the_byte_limit_is_used() {
    let rows: Vec<Value> = (0..200).map(|n| json!({"id": n, "text": "y".repeat(2000)})).collect();
    let text = wrap(&json!(rows)).text();
    assert!(text.len() > 4000 && text.contains("\"showing\": 10"), "{}", text.len());
    let wide: Map<String, Value> = (0..5000).map(|n| (format!("key{n}"), json!(n))).collect();
    let text = wrap(&Value::Object(wide)).text();
    assert!(text.len() > 5000 && text.contains("more keys"), "{}", text.len());
}

#[test]
fn a_byte_limit_too_small_is_an_error() {
    let limits = ResponseLimits::default().with_max_bytes(60);
    let error = wrap_response(&json!([1]), "a summary", limits).unwrap_err();
    assert!(error.needed > 60 && error.to_string().contains("max_bytes is 60"), "{error}");
    assert!(Response::new("s", &json!([1])).artifact("r".repeat(20_000)).wrap().is_err());
}

fn text() -> impl Strategy<Value = String> {
    let nasty = "[\u{0}-\u{1f}\"\\\\é𝄞\n]{0,400}";
    prop_oneof![4 => ".{0,20}", 1 => "(.{0,30}\n){0,60}", 1 => nasty, 1 => "k{400,3000}"]
}

/// Any JSON: deep, wide, with long keys and many of them.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(7, 400, 30, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..30).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..30).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn levels(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

fn is_within(value: &Value, limits: &ResponseLimits) -> bool {
    match value {
        Value::Array(items) => {
            items.len() <= limits.max_array_items && items.iter().all(|item| is_within(item, limits))
        }
        Value::Object(members) => members.values().all(|member| is_within(member, limits)),
        Value::String(text) => {
            text.chars().count() <= limits.max_string_length && text.lines().count() <= limits.max_log_lines
        }
        _ => true,
    }
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(300))]

    #[test]
    fn every_answer_is_bounded(
        data in any_json(),
        summary in ".{0,150}",
        max_bytes in prop_oneof![Just(10_240usize), 1200usize..6000],
        stored in any::<bool>(),
    ) {
        let limits = ResponseLimits::default().with_max_bytes(max_bytes);
        let mut response = Response::new(&summary, &data).limits(limits);
        if stored {
            response = response.artifact("ax://trace/1");
        }
        let wrapped = response.wrap().unwrap();
        assert_bounded(&wrapped, max_bytes);
        prop_assert_eq!(wrapped.to_value().get("artifactRef").is_some(), stored);
        let is_cut = !shows_all(&wrapped.data, &response.flat());
        prop_assert_eq!(wrapped.to_value().get("hasMore").is_some(), stored || is_cut);
    }

    #[test]
    fn every_array_string_and_level_is_within_its_limit(data in any_json()) {
        let limits = ResponseLimits::default();
        for answer in [truncate(&data, &limits), wrap(&data).to_value()] {
            prop_assert!(is_within(&answer, &limits));
            prop_assert!(levels(&answer) <= limits.max_json_depth, "{}", answer);
        }
    }

    #[test]
    fn data_that_fits_is_only_truncated(data in any_json()) {
        let truncated = truncate(&data, &ResponseLimits::default());
        let wrapped = wrap(&data);
        if let Value::Object(members) = &truncated && data.is_object() && result_bytes(&truncated) < 10_000 {
            prop_assert_eq!(&wrapped.data, members);
        }
    }
}
