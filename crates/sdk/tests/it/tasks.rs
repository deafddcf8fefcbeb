//! Results of tasks go through the gate like any other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult, CustomRequest,
    CustomResult, DetailedTask, GetTaskParams, GetTaskResult, ServerCapabilities, ServerConfig, Task,
    TaskPayload, TaskStatus,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tidegate_sdk::{Artifacts, StoreLocation, Tidegate};

use crate::callers::seat::Seat;

/// A server that answers every call with a task, which has ended at once.
#[derive(Clone, Default)]
struct Slow {
    polls: Arc<AtomicU64>,
}

fn rows(count: usize) -> CallToolResult {
    let row = |number: usize| json!({"id": number, "name": format!("row {number}")});
    let rows = Value::from((0..count).map(row).collect::<Vec<_>>());
    CallToolResult::success(vec![ContentBlock::text(rows.to_string())])
}

fn task(id: &str) -> Task {
    Task::new(id, TaskStatus::Working, "2026-07-28T00:00:00Z", "2026-07-28T00:00:00Z")
}

impl ServerHandler for Slow {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CreateTaskResult::new(task(&request.name)).into())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.polls.fetch_add(1, Ordering::SeqCst);
        let payload = match request.task_id.as_str() {
            "fail" => {
                let error =
                    json!({"code": -32000, "message": "no ".repeat(50_000), "data": {"reason": "quota"}});
                TaskPayload::Failed { error: error.as_object().unwrap().clone() }
            }
            "small" => TaskPayload::Completed { result: object(&rows(3)) },
            _ => TaskPayload::Completed { result: object(&rows(20_000)) },
        };
        Ok(GetTaskResult::new(DetailedTask::new(task(&request.task_id), payload)))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        assert_eq!(request.method, "tasks/result");
        Ok(CustomResult(Value::Object(object(&rows(20_000)))))
    }
}

fn object(result: &CallToolResult) -> serde_json::Map<String, Value> {
    serde_json::to_value(result).unwrap().as_object().unwrap().clone()
}

async fn seat(artifacts: &Artifacts) -> Seat {
    let server = Tidegate::wrap(Slow::default()).artifacts(artifacts).quiet();
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    Seat::pipe_with(server, capabilities).await
}

/// Regression: results of tasks passed whole (20,000 rows).
#[tokio::test]
async fn the_result_of_a_task_is_shaped_once() {
    let artifacts = Artifacts::store_in(StoreLocation::Memory);
    let mut seat = seat(&artifacts).await;
    let created = seat.call("export", json!({})).await;
    assert_eq!(created["result"]["taskId"], "export", "{created}");
    let mut answers = Vec::new();
    for _ in 0..2 {
        let state = seat.request("tasks/get", json!({"taskId": "export"})).await;
        assert_eq!(state["result"]["status"], "completed", "{state}");
        answers.push(state["result"]["result"]["content"][0]["text"].as_str().unwrap().to_owned());
    }
    assert!(
        answers[0].starts_with("export returned 20,000 rows") && answers[0].len() < 10_000,
        "{}",
        answers[0]
    );
    assert_eq!(answers[0], answers[1], "the same answer, with the same id");
    let id = answers[0].split('"').nth(1).unwrap();
    let last = seat.text("result_query", json!({"id": id, "path": "/19999"})).await;
    assert!(last.contains("row 19999"), "{last}");
    let listed = seat.request("resources/list", json!({})).await;
    assert_eq!(listed["result"]["resources"].as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn small_results_pass_and_large_errors_of_tasks_keep_their_data() {
    let artifacts = Artifacts::store_in(StoreLocation::Memory);
    let mut seat = seat(&artifacts).await;
    let small = seat.request("tasks/get", json!({"taskId": "small"})).await;
    assert_eq!(small["result"]["result"], Value::Object(object(&rows(3))));
    let failed = seat.request("tasks/get", json!({"taskId": "fail"})).await;
    let error = &failed["result"]["error"];
    assert_eq!((&error["code"], &error["data"]), (&json!(-32000), &json!({"reason": "quota"})));
    assert!(error["message"].as_str().unwrap().len() < 10_000);
}

#[tokio::test]
async fn the_method_of_the_revision_before_is_shaped_too() {
    let artifacts = Artifacts::store_in(StoreLocation::Memory);
    let mut seat = seat(&artifacts).await;
    seat.call("export", json!({})).await;
    let result = seat.request("tasks/result", json!({"taskId": "export"})).await;
    let text = result["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("export returned 20,000 rows"), "{text}");
}
