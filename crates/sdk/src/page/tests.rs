//! Valid arguments are read as sent; every error lists the valid choices.

use super::*;

fn rules() -> PageRules {
    PageRules::with_fields(&["slug", "title", "author.name"])
}

fn error(arguments: Value) -> String {
    rules().read(&arguments).unwrap_err().to_string()
}

#[test]
fn absent_arguments_mean_the_defaults() {
    let expected = PageRequest { limit: 20, cursor: None, fields: None, max_tokens: Tokens(1000) };
    for arguments in [json!(null), json!({}), json!({"limit": null, "fields": [], "site": "harbour"})] {
        assert_eq!(rules().read(&arguments), Ok(expected.clone()));
    }
    let short = PageRules { default_fields: vec!["slug".into()], default_limit: 5, ..rules() };
    let request = short.read(&json!({})).unwrap();
    assert_eq!((request.limit, request.fields.unwrap().paths()), (5, ["slug".to_owned()].as_slice()));
}

#[test]
fn valid_arguments_are_read() {
    let request =
        rules().read(&json!({"limit": 1, "cursor": "c", "fields": ["author"], "maxTokens": 10_000})).unwrap();
    assert_eq!((request.limit, request.cursor.as_deref()), (1, Some("c")));
    assert_eq!(
        (request.fields.unwrap().paths(), request.max_tokens),
        (["author".to_owned()].as_slice(), Tokens(10_000))
    );
}

#[test]
fn every_error_names_the_choices() {
    for (limit, quoted) in
        [(json!(0), "0"), (json!(21), "21"), (json!(-1), "-1"), (json!(1.5), "1.5"), (json!("5"), "\"5\"")]
    {
        assert_eq!(
            error(json!({"limit": limit})),
            format!("limit must be a whole number from 1 to 20, not {quoted}")
        );
    }
    assert_eq!(error(json!({"max_tokens": 0})), "max_tokens must be a whole number from 1 to 10000, not 0");
    assert_eq!(
        error(json!({"fields": ["titel"]})),
        "unknown field \"titel\"; valid names are slug, title, author.name"
    );
    for fields in [json!("slug"), json!([1])] {
        let message = error(json!({"fields": fields}));
        assert!(
            message.starts_with("fields must be a list") && message.ends_with("slug, title, author.name"),
            "{message}"
        );
    }
    assert!(error(json!({"cursor": 5})).contains("nextCursor of the previous page, a string, not 5"));
    assert!(error(json!([1])).starts_with("arguments must be an object"));
    assert!(error(json!({"limit": "x".repeat(9000)})).len() < 300);
}

#[test]
fn a_tool_can_flatten_the_arguments_into_its_own() {
    #[derive(Deserialize)]
    struct Listing {
        site: String,
        #[serde(flatten)]
        page: PageArguments,
    }
    let listing: Listing = serde_json::from_value(json!({"site": "harbour", "limit": 3})).unwrap();
    assert_eq!((listing.site.as_str(), rules().resolve(&listing.page).unwrap().limit), ("harbour", 3));
}

#[test]
fn a_page_has_a_cursor_only_if_there_is_more() {
    let page = Page { items: vec![1], total: 7, next_cursor: None };
    assert_eq!(serde_json::to_string(&page).unwrap(), r#"{"items":[1],"total":7}"#);
    let page = Page { next_cursor: Some("c".into()), ..page }.map(|row| row + 1);
    let text = r#"{"items":[2],"total":7,"nextCursor":"c"}"#;
    assert_eq!(serde_json::to_string(&page).unwrap(), text);
    assert_eq!(serde_json::from_str::<Page<i32>>(text).unwrap(), page);
}

#[test]
fn the_schema_has_limits_and_field_names() {
    let properties = rules().properties();
    assert_eq!(properties["limit"], json!({"type": "integer", "minimum": 1, "maximum": 20, "default": 20}));
    assert_eq!(properties["fields"]["items"]["enum"], json!(["slug", "title", "author.name"]));
    assert!(!PageRules::default().properties().contains_key("fields"));
}

/// The articles of the tests, with rules of their own.
#[derive(JsonSchema)]
struct Articles;

impl Paged for Articles {
    fn rules() -> PageRules {
        PageRules { default_limit: 5, max_limit: 50, max_tokens: Tokens(1200), ..rules() }
    }
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is of interest")]
struct Listing<P: Paged> {
    site: String,
    #[serde(flatten)]
    page: PageArguments<P>,
}

/// Regression: the schema had the default limits, whatever the rules of the tool.
#[test]
fn the_schema_of_the_arguments_has_their_rules() {
    let schema = schemars::schema_for!(Listing<Articles>).to_value();
    let mut properties = Articles::rules().properties();
    properties.insert("site".into(), json!({"type": "string"}));
    assert_eq!(schema["properties"], Value::Object(properties));
    let accepts = |value: Value| tidegate_testkit::schema::accepts(&schema, &schema, &value);
    assert!(accepts(json!({"site": "harbour", "limit": 50, "fields": ["slug"], "max_tokens": 1200})));
    assert!(!accepts(json!({"site": "harbour", "limit": 51})));
    assert!(!accepts(json!({"site": "harbour", "fields": ["slugs"]})));
    assert!(!accepts(json!({"site": "harbour", "max_tokens": 1201})));
    let default = schemars::schema_for!(Listing<()>).to_value();
    assert_eq!(default["properties"]["limit"]["maximum"], 20);
    assert_eq!(default["properties"]["fields"]["items"], json!({"type": "string"}));
}

#[test]
fn arguments_are_checked_by_the_rules_of_their_type() {
    let request =
        |arguments: Value| serde_json::from_value::<PageArguments<Articles>>(arguments).unwrap().request();
    assert_eq!(request(json!({})).unwrap().limit, 5);
    assert_eq!(request(json!({"limit": 50})).unwrap().limit, 50);
    assert_eq!(request(json!({"maxTokens": 1200})).unwrap().max_tokens, Tokens(1200));
    let error = request(json!({"limit": 51})).unwrap_err();
    assert_eq!(error.to_string(), "limit must be a whole number from 1 to 50, not 51");
}

#[test]
fn the_schema_of_a_page_accepts_pages() {
    #[derive(Serialize, JsonSchema)]
    struct Row {
        slug: String,
        words: Option<u32>,
    }
    let schema = schemars::schema_for!(Page<Row>).to_value();
    let accepts = |value: &Value| tidegate_testkit::schema::accepts(&schema, &schema, value);
    let rows = |words| vec![Row { slug: "tide".into(), words }];
    for items in [Vec::new(), rows(None), rows(Some(7))] {
        for next_cursor in [None, Some("c".to_owned())] {
            let page = Page { items: items.iter().collect(), total: 7, next_cursor };
            assert!(accepts(&serde_json::to_value(&page).unwrap()));
        }
    }
    assert!(!accepts(&json!({"items": []})), "without a total");
    assert!(!accepts(&json!({"items": [{"words": 7}], "total": 1})), "a row without a slug");
    assert!(!accepts(&json!({"items": [], "total": 1, "nextCursor": 7})));
    assert!(schema["properties"].get("nextCursor").is_some(), "the name that is sent");
}
