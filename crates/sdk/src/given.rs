//! Arguments whose mistakes the model gets to read.
//!
//! rmcp answers arguments that cannot be read with an error of the protocol, which many clients keep from the model. Read
//! through [`Given`], they become an error of the tool, which says which argument is wrong and what is accepted.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The arguments of a call, not yet read as a `T`; they have its schema.
///
/// ```
/// use rmcp::handler::server::wrapper::Parameters;
/// use tidegate_sdk::Given;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Greeting { name: String }
///
/// // As a method of a server, under `#[tool]`.
/// async fn greet(Parameters(given): Parameters<Given<Greeting>>) -> Result<String, String> {
///     Ok(format!("hello {}", given.read()?.name))
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Given<T> {
    arguments: Map<String, Value>,
    read_as: PhantomData<fn() -> T>,
}

impl<'de, T> Deserialize<'de> for Given<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { arguments: Map::deserialize(deserializer)?, read_as: PhantomData })
    }
}

impl<T: JsonSchema> JsonSchema for Given<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<T: JsonSchema + DeserializeOwned> Given<T> {
    /// Reads the arguments. One that is null is as good as absent; one that the schema does not have is a mistake, since
    /// what it asked for would be ignored in silence.
    ///
    /// # Errors
    ///
    /// What is wrong, in words for the caller: return it as the error of the tool.
    pub fn read(mut self) -> Result<T, String> {
        self.arguments.retain(|_, value| !value.is_null());
        let schema = SchemaGenerator::default().into_root_schema_for::<T>();
        let known = schema.get("properties").and_then(Value::as_object);
        let open = known.is_none() || schema.get("additionalProperties").is_some_and(|more| *more != false);
        let names: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let takes = || format!("the arguments are {}", names.join(", "));
        if let Some(unknown) = self.arguments.keys().find(|name| !open && !names.contains(&name.as_str())) {
            return Err(format!("{:?} is no argument of this tool; {}", crate::shown(unknown), takes()));
        }
        read_as::<T>(&self.arguments).map_err(|mistake| match self.culprit(&mistake) {
            Some(name) => format!("{name}: {mistake}"),
            None => format!("{mistake}; {}", takes()),
        })
    }

    /// The argument a mistake is about: the one without which it is not made.
    fn culprit(&self, mistake: &str) -> Option<&str> {
        let without = |name: &str| {
            let mut rest = self.arguments.clone();
            rest.remove(name);
            read_as::<T>(&rest).err()
        };
        self.arguments.keys().find(|name| without(name).as_deref() != Some(mistake)).map(String::as_str)
    }
}

fn read_as<T: DeserializeOwned>(arguments: &Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments.clone())).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::OutputMode;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Axes {
        name: String,
        #[serde(default)]
        samples: usize,
        #[serde(default)]
        output: OutputMode,
    }

    fn read(arguments: Value) -> Result<Axes, String> {
        serde_json::from_value::<Given<Axes>>(arguments).unwrap().read()
    }

    #[test]
    fn arguments_are_read_and_null_is_absent() {
        let expected = Axes { name: "a".into(), samples: 0, output: OutputMode::Full };
        assert_eq!(read(json!({"name": "a", "samples": null, "output": "full"})), Ok(expected));
    }

    #[test]
    fn a_mistake_names_its_argument() {
        let wrong = |arguments| read(arguments).unwrap_err();
        assert_eq!(
            wrong(json!({"name": "a", "samples": "many"})),
            "samples: invalid type: string \"many\", expected usize"
        );
        assert_eq!(
            wrong(json!({"name": 1, "samples": "many"})),
            "name: invalid type: integer `1`, expected a string"
        );
        assert_eq!(
            wrong(json!({"name": "a", "output": "brief"})),
            "output: output must be \"summary\" or \"full\", not \"brief\""
        );
        assert_eq!(wrong(json!({})), "missing field `name`; the arguments are name, output, samples");
        assert_eq!(
            wrong(json!({"name": "a", "sample": 3})),
            "\"sample\" is no argument of this tool; the arguments are name, output, samples"
        );
    }

    #[test]
    fn the_schema_is_that_of_the_arguments() {
        let schema = |of: Schema| serde_json::to_value(of).unwrap();
        assert_eq!(schema(schemars::schema_for!(Given<Axes>)), schema(schemars::schema_for!(Axes)));
    }
}
