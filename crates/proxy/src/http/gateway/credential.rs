//! The credential of a caller for a server: found before each request, and put where the server looks for it.
//!
//! A connection that was begun with another credential is not used any more, so a credential that was changed or removed counts
//! for the next request. What the caller sent to the gateway itself plays no part here, and reaches no server.

use std::sync::Arc;

use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use tidegate_gateway::credentials::Credential;
use tidegate_gateway::log::Level;

use super::Gateway;
use super::dispatch::Asker;
use super::problem::Problem;
use super::settings::{CredentialPlace, UserCredential};
use super::upstream::Upstream;

impl UserCredential {
    /// Returns the variable of a process that holds a credential.
    pub(super) fn variable(&self, credential: &Credential) -> Option<(String, String)> {
        match &self.place {
            CredentialPlace::Variable(name) => Some((name.clone(), credential.secret().to_owned())),
            CredentialPlace::Bearer | CredentialPlace::Header(_) => None,
        }
    }

    /// Returns the header that holds a credential.
    pub(super) fn header(&self, credential: &Credential) -> Option<(HeaderName, HeaderValue)> {
        let (name, text) = match &self.place {
            CredentialPlace::Bearer => (AUTHORIZATION, format!("Bearer {}", credential.secret())),
            CredentialPlace::Header(name) => (name.clone(), credential.secret().to_owned()),
            CredentialPlace::Variable(_) => return None,
        };
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    }
}

impl Gateway {
    /// Returns the credential of the caller for a server; `None` for a server that gets none of its callers.
    pub(super) async fn credential_of(
        &self,
        upstream: &Arc<Upstream>,
        asker: &Asker,
    ) -> Result<Option<Credential>, Problem> {
        if upstream.settings.user_credential.is_none() {
            return Ok(None);
        }
        let (owner, server) = (asker.principal.name(), upstream.settings.name.as_str());
        let missing = || Problem::NoCredential { owner: owner.to_owned(), server: server.to_owned() };
        if owner.is_empty() {
            return Err(missing());
        }
        match self.credentials.find(owner, server).await {
            Ok(Some(credential)) => Ok(Some(credential)),
            Ok(None) => {
                // It may have had one until now.
                upstream.forget(&asker.whose());
                Err(missing())
            }
            Err(reason) => {
                // What is wrong with the store is for whoever runs the gateway.
                let message =
                    format!("the credential of {owner:?} for the server {server:?} cannot be read: {reason}");
                upstream.log.write(Level::Warn, &message);
                Err(Problem::CredentialUnreadable)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_credential_goes() {
        let credential = Credential::new("s3cret").unwrap();
        let of = |place| UserCredential { place, of_gateway: None };
        let bearer = of(CredentialPlace::Bearer);
        let (name, value) = bearer.header(&credential).unwrap();
        assert_eq!((name, value.to_str().unwrap()), (AUTHORIZATION, "Bearer s3cret"));
        assert!(value.is_sensitive());
        assert_eq!(bearer.variable(&credential), None);
        let header = of(CredentialPlace::Header(HeaderName::from_static("x-key")));
        assert_eq!(header.header(&credential).unwrap().1, "s3cret");
        let variable = of(CredentialPlace::Variable("TOKEN".into()));
        assert_eq!(variable.variable(&credential), Some(("TOKEN".into(), "s3cret".into())));
        assert_eq!(variable.header(&credential), None);
    }
}
