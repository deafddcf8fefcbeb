//! Methods of `ServerHandler` that go to another handler as they are.

/// Requests that go to the handler in a field.
macro_rules! pass {
    ($to:ident: $($name:ident($params:ty) -> $answer:ty;)*) => {
        $(async fn $name(&self, params: $params, context: RequestContext<RoleServer>) -> Result<$answer, ErrorData> {
            self.$to.$name(params, context).await
        })*
    };
}

/// Notifications that go to the handler in a field.
macro_rules! notify {
    ($to:ident: $($name:ident($($params:ident: $type:ty)?);)*) => {
        $(async fn $name(&self, $($params: $type,)? context: NotificationContext<RoleServer>) {
            self.$to.$name($($params,)? context).await;
        })*
    };
}

pub(super) use {notify, pass};
