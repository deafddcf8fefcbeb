//! The servers behind the gateway, with their credentials from the environment and from files.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use tidegate_config::{
    Config, Upstream, UpstreamSharing, UpstreamTargetSetting, UserCredentialPlace, UserCredentialSetting,
};
use tidegate_gate::policy::Rules;
use tidegate_proxy::http::gateway::{
    CredentialPlace, Sharing, UpstreamSettings, UpstreamTarget, UserCredential,
};
use tidegate_proxy::http::{Remote, header_of};
use tidegate_store::Credential;

use crate::error::CommandError;
use crate::run::required_variable;

/// Reads the servers of a configuration.
pub(super) fn read(config: &Config) -> Result<Vec<UpstreamSettings>, CommandError> {
    config.upstreams().into_iter().map(|upstream| settings(config, upstream)).collect()
}

fn settings(config: &Config, upstream: Upstream) -> Result<UpstreamSettings, CommandError> {
    let policies = Arc::new(config.policies(&upstream.name, Rules::default()));
    Ok(UpstreamSettings {
        target: target(&upstream)?,
        user_credential: upstream
            .user_credential
            .as_ref()
            .map(|user| user_credential(&upstream.name, user))
            .transpose()?,
        sharing: match upstream.sharing {
            UpstreamSharing::Auto => Sharing::Auto,
            UpstreamSharing::Shared => Sharing::Shared,
            UpstreamSharing::Caller | UpstreamSharing::Sticky => Sharing::Caller,
        },
        keeps_names: upstream.keeps_names,
        timeout: upstream.timeout,
        start_timeout: upstream.start_timeout,
        idle_time: upstream.idle_time,
        max_processes: usize::try_from(upstream.max_processes).unwrap_or(usize::MAX),
        queue_time: upstream.queue_time,
        policies,
        name: upstream.name,
    })
}

fn target(upstream: &Upstream) -> Result<UpstreamTarget, CommandError> {
    let of_upstream = |error: CommandError| error.hint(format!("see [upstream.{}]", upstream.name));
    match &upstream.target {
        UpstreamTargetSetting::Command { command, env, env_from, env_file } => {
            let mut environment = env.clone();
            for (name, from) in env_from {
                environment.push((name.clone(), required_variable(from).map_err(of_upstream)?));
            }
            for (name, file) in env_file {
                environment.push((name.clone(), secret(file).map_err(of_upstream)?));
            }
            let command = command.iter().map(OsString::from).collect();
            Ok(UpstreamTarget::Command { command, environment })
        }
        UpstreamTargetSetting::Url { url, header_env, bearer_env, bearer_file } => {
            let mut headers = hyper::HeaderMap::new();
            let mut put = |name: &str, value: &str| {
                let (name, value) = header_of(name, value).map_err(CommandError::bad_input)?;
                headers.insert(name, value);
                Ok(())
            };
            for (name, from) in header_env {
                put(name, &required_variable(from).map_err(of_upstream)?).map_err(of_upstream)?;
            }
            let token = match (bearer_env, bearer_file) {
                (Some(from), _) => Some(required_variable(from).map_err(of_upstream)?),
                (None, Some(file)) => Some(secret(file).map_err(of_upstream)?),
                (None, None) => None,
            };
            if let Some(token) = token {
                put("Authorization", &format!("Bearer {token}")).map_err(of_upstream)?;
            }
            let remote = Remote::new(url, headers).map_err(CommandError::bad_input).map_err(of_upstream)?;
            Ok(UpstreamTarget::Url(Arc::new(remote)))
        }
    }
}

/// Returns where the credential of each caller goes, with the one that the gateway reads lists with.
fn user_credential(name: &str, user: &UserCredentialSetting) -> Result<UserCredential, CommandError> {
    let of_upstream = |error: CommandError| error.hint(format!("see [upstream.{name}]"));
    let place = match &user.place {
        UserCredentialPlace::Bearer => CredentialPlace::Bearer,
        UserCredentialPlace::Variable(variable) => CredentialPlace::Variable(variable.clone()),
        UserCredentialPlace::Header(header) => {
            let (name, _) = header_of(header, "").map_err(CommandError::bad_input).map_err(of_upstream)?;
            CredentialPlace::Header(name)
        }
    };
    let list = match (&user.list_env, &user.list_file) {
        (Some(from), _) => Some(required_variable(from).map_err(of_upstream)?),
        (None, Some(file)) => Some(secret(file).map_err(of_upstream)?),
        (None, None) => None,
    };
    let credential = |text: String| {
        let invalid =
            || CommandError::bad_input("the credential to read lists with cannot be sent in a header");
        Credential::new(&text).ok_or_else(invalid).map_err(of_upstream)
    };
    Ok(UserCredential { place, of_gateway: list.map(credential).transpose()? })
}

/// Reads a secret from a file, without the line end that editors add.
fn secret(file: &Path) -> Result<String, CommandError> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        CommandError::bad_input(format!("the file {} cannot be read: {error}", file.display()))
    })?;
    match text.trim_end_matches(['\n', '\r']) {
        "" => Err(CommandError::bad_input(format!("the file {} is empty", file.display()))),
        secret => Ok(secret.to_owned()),
    }
}
