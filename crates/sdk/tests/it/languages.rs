//! jq and SQL are offered where they can run, and nowhere else.

use std::process::Stdio;

use rmcp::ServiceExt;
use serde_json::{Value, json};
use tidegate_sdk::{StoreLocation, Tidegate};

use crate::shop::Shop;
use crate::{Client, ERAS};

/// Returns whether a server offers jq, in the schema of our tool and in the call that reads on, and an overview.
async fn offers_jq(client: &Client) -> ([bool; 2], String) {
    let tools = serde_json::to_value(client.tools().await).unwrap();
    let ours = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "result_query").unwrap();
    let overview = client.text("plain", json!({})).await;
    ([ours.to_string().contains("jq"), overview.lines().last().unwrap().contains("\"jq\"")], overview)
}

/// Regression: jq was offered when it could not run.
#[tokio::test]
async fn jq_is_not_offered_without_a_program_for_it() {
    for era in ERAS {
        let server = Tidegate::wrap(Shop::new()).store_in(StoreLocation::Memory).quiet();
        let client = Client::connect(server.without_worker(), era).await;
        let (offered, overview) = offers_jq(&client).await;
        assert_eq!(offered, [false, false]);
        let id = overview.split('"').nth(1).unwrap();
        let refused = client.tool_error("result_query", json!({"id": id, "jq": ".[0]"})).await;
        let why = "jq needs the tidegate program, which could not be started: it is not installed. Use path";
        assert!(refused.contains(why), "{refused}");
        let unknown = client.tool_error("result_query", json!({"id": id, "limit": 5})).await;
        assert!(unknown.contains("there is no argument \"limit\"") && !unknown.contains("jq"), "{unknown}");
        // The engine of SQL is built into these tests.
        let sql = client.text("result_query", json!({"id": id, "sql": "select count(*) from t"})).await;
        assert!(sql.contains("430") && overview.contains("\"sql\""), "{sql}");
    }
}

#[tokio::test]
async fn jq_is_offered_with_a_program_that_is_there() {
    let server = || Tidegate::wrap(Shop::new()).store_in(StoreLocation::Memory).quiet();
    let there = Client::connect(server().worker(std::env::current_exe().unwrap()), ERAS[0]).await;
    assert_eq!(offers_jq(&there).await.0, [true, true]);
    let missing = Client::connect(server().worker("/nonexistent/tidegate"), ERAS[0]).await;
    assert_eq!(offers_jq(&missing).await.0, [false, false]);
}

/// The example calls `run_worker`, so that it needs no other program.
#[tokio::test]
async fn a_server_can_be_its_own_worker() {
    let tests = std::env::current_exe().unwrap();
    let example = tests.ancestors().nth(2).unwrap().join("examples/conventions");
    let mut command = tokio::process::Command::new(example);
    command.arg("shop").env("PATH", "/nonexistent").kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = command.spawn().unwrap();
    let pipes = (server.stdout.take().unwrap(), server.stdin.take().unwrap());
    let client = ().serve(pipes).await.unwrap();
    let call = async |tool: &'static str, arguments: Value| {
        let mut params = rmcp::model::CallToolRequestParams::new(tool);
        params.arguments = arguments.as_object().cloned();
        let result = serde_json::to_value(client.call_tool(params).await.unwrap()).unwrap();
        result["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let overview = call("plain", json!({})).await;
    let id = overview.split('"').nth(1).unwrap();
    let names = call("result_query", json!({"id": id, "jq": ".[3].product.name"})).await;
    assert!(names.contains("\"Widget 4\""), "{names}");
}
