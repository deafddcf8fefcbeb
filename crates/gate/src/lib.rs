//! The gate between an agent and its MCP servers, over raw JSON.
//!
//! A [`Gate`] combines policy, store and engine: it shapes the results that would flood the agent's context, answers
//! follow-ups from the store, and makes the few changes to lists that tell the agent how to ask. It knows nothing about
//! transports: the proxy and the SDK call it with the parts of their messages that matter.

mod alerts;
mod caller;
mod capabilities;
mod choice;
mod client_behavior;
pub mod conflict;
mod error;
mod exact;
mod follow_up;
mod gate;
mod kept_result;
mod negotiation;
mod other_results;
mod output;
mod overflow;
pub mod policy;
pub mod profile;
pub mod raw;
mod references;
mod repeat;
mod reply;
mod resources;
mod save_request;
mod saved_link;
mod schema;
mod server_artifact;
mod servers;
mod session;
pub mod style;
pub mod text;
pub mod tier;
mod tools;
mod user_store;
pub mod wrap;

pub use alerts::{AlertLimits, Alerts};
pub use caller::{Caller, CallerId, Principal};
pub use capabilities::Capabilities;
pub use client_behavior::ClientBehavior;
pub use error::{RpcError, causes, not_kept};
pub use gate::{
    ARTIFACT, Decision, DownloadError, Gate, LIST, MORE_OF_LIST, Observer, PassedResult, REFUSED, Setup,
    ToolCall, age_text, short_arguments,
};
pub use kept_result::{KeptResult, duration_text, retention_note};
pub use other_results::{OtherResults, other_names};
pub use references::{CallArguments, is_reference};
pub use reply::{error_response, response};
pub use resources::Address;
pub use saved_link::{SavedLink, encode as encode_file_name};
pub use server_artifact::{ArtifactError, ServerArtifacts, StoredArtifact};
pub use servers::{Servers, ToolOrigin};
pub use session::{MAX_SMALLEST_BYTES, SessionMeter};
pub use tools::listed_tokens;
pub use tools::reader_definition;
pub use tools::save::saver_definition;
pub use user_store::{
    FailureReport, MAX_MEMORY_BYTES, Opened, QuotaSettings, RemoteCredentials, RemoteObjects, RemoteStore,
    StoreLocation, StoreSettings, UserStore, without_secrets,
};
