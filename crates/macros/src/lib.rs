//! The attribute `#[heavy]`: declares that the result of a tool may be large, and how to answer then.
//!
//! It adds its arguments to the `meta` of the `#[tool]` attribute below it, where `tidegate_sdk::Tidegate` reads them. The
//! function itself is not changed, and the behaviour is in `tidegate_sdk::heavy`. A value is a literal, which is checked
//! here, or a constant, which the compiler checks with the same message, in a constant with a private name. If the arguments
//! have a mistake, the function is emitted anyway, so that the mistake is the only error.

mod style;

use proc_macro::TokenStream;
use proc_macro2::{TokenStream as Tokens, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, ImplItemFn, Lit, Meta, MetaNameValue, Token};

/// Values of `style`.
const STYLES: [&str; 4] = ["overview", "probe", "contract", "error"];
/// Values of `probe_when` and `contract_when`.
const ANSWER_WHEN: [&str; 2] = ["over_budget", "always"];
/// Values of `compact`.
const COMPACT: [&str; 2] = ["off", "lossless"];
/// Values of `tier`.
const TIERS: [&str; 3] = ["read", "read_write", "admin"];
/// The keys, as an error message lists them.
const KEYS: &str = "style, probe_when, contract_when, label_field, id_field, budget_tokens, follow_up_tokens, line_tokens, compact, page_size, token_seconds, keep_seconds, auto_negotiate_bytes, full_cap_tokens, domain, tier";

/// The keys of `Rules` that `#[heavy]` does not have.
const KEYS_OF_RULES: [&str; 15] = [
    "keep",
    "compare",
    "max_bytes",
    "cap_tokens",
    "fields",
    "rows",
    "kind",
    "on_store_failure",
    "category_budgets",
    "max_items",
    "max_string",
    "max_lines",
    "max_depth",
    "offer_output",
    "session_max_bytes",
];

/// The keys of `Rules` that have an effect in `tidegate run` only.
const KEYS_OF_RUN: [&str; 5] =
    ["save", "save_max_bytes", "references", "references_from", "reference_max_bytes"];

/// Marks a tool whose result may be large. Write it above `#[tool]`.
///
/// Every key is optional; for a key that is left out, the rules for all tools apply. A value is a literal or a constant: a
/// number is a `u64`, a text a `&'static str`. The compiler checks both.
///
/// | key | value | meaning |
/// |---|---|---|
/// | `style` | `"overview"`, `"probe"`, `"contract"`, `"error"` | the answer to a result that is too large |
/// | `budget_tokens` | at least 250 | maximum tokens of a first answer |
/// | `follow_up_tokens` | at least 250 | maximum tokens of follow-ups, pages and queries |
/// | `line_tokens` | at least `budget_tokens` | results up to this size pass unchanged (style `overview`) |
/// | `compact` | `"off"`, `"lossless"` | whether results that pass are sent in a shorter form |
/// | `page_size` | at least 1 | records per page |
/// | `probe_when` | `"over_budget"`, `"always"` | style `probe` only: `always` probes small results too |
/// | `contract_when` | `"over_budget"`, `"always"` | style `contract` only: `always` answers every result in its shape |
/// | `label_field`, `id_field` | a path such as `"product.name"` | the fields that label and identify the items of a contract |
/// | `token_seconds` | at least 1 | how long the token of a probe is valid |
/// | `keep_seconds` | at least 1 | how long a result is kept (`ttl_seconds` in `Rules`) |
/// | `auto_negotiate_bytes` | at least 1 | a result above this size becomes a probe, whatever the style |
/// | `full_cap_tokens` | at least 250 | adds an `output` argument; a full result above this size is attached |
/// | `domain` | a text | the domain in `ax://<domain>/<id>` |
/// | `tier` | `"read"`, `"read_write"`, `"admin"` | who may call the tool |
///
/// All other keys of `tidegate.toml` are set with `Tidegate::tools("name", Rules { .. })`, which also wins over `#[heavy]`.
#[proc_macro_attribute]
pub fn heavy(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let kept = Tokens::from(item.clone());
    let expanded = syn::parse::<ImplItemFn>(item).and_then(|function| expand(arguments.into(), function));
    expanded
        .unwrap_or_else(|error| {
            let error = error.to_compile_error();
            quote! { #error #kept }
        })
        .into()
}

fn expand(arguments: Tokens, mut function: ImplItemFn) -> Result<Tokens, Error> {
    let tool_name = function.sig.ident.to_string();
    let fields = fields(arguments, &tool_name)?;
    let name = function.sig.ident.span();
    let tool = function.attrs.iter_mut().find(|attribute| is_tool(attribute));
    let Some(tool) = tool else {
        return Err(Error::new(name, "#[heavy] must be above the #[tool] of the same function"));
    };
    let meta =
        quote! { meta = ::tidegate_sdk::Heavy { #(#fields,)* ..::tidegate_sdk::Heavy::NOTHING }.meta() };
    let tool_arguments = match &tool.meta {
        Meta::Path(_) => quote! {},
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(value) => {
            return Err(Error::new(value.span(), "#[tool] takes a list in parentheses"));
        }
    };
    if has_key(&tool_arguments, "meta") {
        return Err(Error::new(tool.span(), "#[heavy] sets the `meta` of #[tool]; remove it there"));
    }
    let path = tool.path().clone();
    let needs_comma = !tool_arguments.is_empty() && !tool_arguments.to_string().trim_end().ends_with(',');
    let comma = needs_comma.then(|| quote! { , });
    tool.meta = syn::parse2(quote! { #path(#tool_arguments #comma #meta) })?;
    Ok(function.into_token_stream())
}

/// Returns whether a list of `key = value` has a key.
fn has_key(arguments: &Tokens, key: &str) -> bool {
    let mut previous = None;
    arguments.clone().into_iter().any(|token| {
        let found = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '=')
            && matches!(&previous, Some(TokenTree::Ident(name)) if name == key);
        previous = Some(token);
        found
    })
}

fn is_tool(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|last| last.ident == "tool")
}

/// Parses the arguments into field initializers of `Heavy`.
fn fields(arguments: Tokens, tool: &str) -> Result<Vec<Tokens>, Error> {
    let parser = Punctuated::<MetaNameValue, Token![,]>::parse_terminated;
    let mut fields = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let arguments = parser.parse2(arguments)?;
    let given = |key: &str| arguments.iter().find(|argument| argument.path.is_ident(key));
    let (budget, style) = (given("budget_tokens"), given("style"));
    for argument in &arguments {
        let Some(key) = argument.path.get_ident().cloned() else {
            return Err(Error::new(argument.path.span(), format!("expected one of {KEYS}")));
        };
        let name = key.to_string();
        if seen.contains(&name) {
            return Err(Error::new(key.span(), format!("{name} is given twice")));
        }
        let value = &argument.value;
        let value = match name.as_str() {
            "style" => text(value, &name, &STYLES)?,
            "probe_when" => style::only_with("probe", style, &key, text(value, &name, &ANSWER_WHEN)?)?,
            "contract_when" => style::only_with("contract", style, &key, text(value, &name, &ANSWER_WHEN)?)?,
            "compact" => text(value, &name, &COMPACT)?,
            "tier" => text(value, &name, &TIERS)?,
            "domain" | "label_field" | "id_field" => text(value, &name, &[])?,
            "line_tokens" => line(value, budget.map(|budget| &budget.value))?,
            "budget_tokens" | "follow_up_tokens" | "full_cap_tokens" => number(value, &name, 250)?,
            "page_size" | "token_seconds" | "keep_seconds" | "auto_negotiate_bytes" => {
                number(value, &name, 1)?
            }
            "ttl_seconds" => {
                let words = "ttl_seconds is two keys: token_seconds is how long the token of a probe is valid, \
                             keep_seconds how long the result is kept";
                return Err(Error::new(key.span(), words));
            }
            other if KEYS_OF_RULES.contains(&other) => {
                let words = format!(
                    "{name} is not a key of #[heavy]; set it with \
                     `.tools(\"{tool}\", Rules {{ {name}: Some(..), ..Rules::default() }})` on `Tidegate::wrap(..)`"
                );
                return Err(Error::new(key.span(), words));
            }
            other if KEYS_OF_RUN.contains(&other) => {
                let words =
                    format!("{name} has an effect in `tidegate run` only; set it in tidegate.toml there");
                return Err(Error::new(key.span(), words));
            }
            _ => return Err(Error::new(key.span(), format!("unknown key {name}; expected one of {KEYS}"))),
        };
        fields.push(quote! { #key: ::core::option::Option::Some(#value) });
        seen.push(name);
    }
    Ok(fields)
}

/// Checks `line_tokens`, which is at least the budget: a result within the budget is within the line.
fn line(value: &Expr, budget: Option<&Expr>) -> Result<Tokens, Error> {
    let checked = number(value, "line_tokens", 250)?;
    let Some(budget) = budget else { return Ok(checked) };
    match (integer(value), integer(budget)) {
        (Some(line), Some(budget)) if line < budget => {
            Err(Error::new(value.span(), format!("line_tokens must be at least budget_tokens, {budget}")))
        }
        (Some(_), Some(_)) => Ok(checked),
        _ => Ok(quote! {
            {
                const __TIDEGATE_LINE: u64 = #checked;
                const _: () = ::core::assert!(__TIDEGATE_LINE >= #budget, "line_tokens must be at least budget_tokens");
                __TIDEGATE_LINE
            }
        }),
    }
}

/// Checks a text: a literal here, and a constant when it is compiled.
fn text(value: &Expr, key: &str, choices: &[&str]) -> Result<Tokens, Error> {
    let message = format!("{key} must be one of {}", choices.join(", "));
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
            match choices.is_empty() || choices.contains(&text.value().as_str()) {
                true => Ok(quote! { #text }),
                false => Err(Error::new(text.span(), message)),
            }
        }
        _ if !is_constant(value) => {
            Err(Error::new(value.span(), format!("{key} must be a string or a constant")))
        }
        _ if choices.is_empty() => Ok(quote! { { const __TIDEGATE_TEXT: &str = #value; __TIDEGATE_TEXT } }),
        _ => Ok(quote! {
            {
                const __TIDEGATE_TEXT: &str = ::tidegate_sdk::Heavy::one_of(#value, &[#(#choices),*], #message);
                __TIDEGATE_TEXT
            }
        }),
    }
}

/// Checks a number: a literal here, and a constant when it is compiled.
fn number(value: &Expr, key: &str, minimum: u64) -> Result<Tokens, Error> {
    let message = format!("{key} must be a whole number of at least {minimum}");
    if is_constant(value) {
        return Ok(quote! {
            {
                const __TIDEGATE_NUMBER: u64 = ::tidegate_sdk::Heavy::at_least(#value, #minimum, #message);
                __TIDEGATE_NUMBER
            }
        });
    }
    let number = integer(value).filter(|number| *number >= minimum);
    number.map(|number| quote! { #number }).ok_or_else(|| Error::new(value.span(), message))
}

/// Returns whether a value is an expression for the compiler to evaluate, and not a literal.
fn is_constant(value: &Expr) -> bool {
    match value {
        Expr::Lit(_) => false,
        Expr::Unary(unary) => is_constant(&unary.expr),
        _ => true,
    }
}

fn integer(value: &Expr) -> Option<u64> {
    let Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) = value else { return None };
    number.base10_parse().ok()
}
