//! The attribute `#[heavy]`: declares that the result of a tool may be large, and how to answer then.
//!
//! It adds its arguments to the `meta` of the `#[tool]` attribute below it, where `tidegate_sdk::Tidegate` reads them. The
//! function itself is not changed, and the behaviour is in `tidegate_sdk::heavy`.

use proc_macro::TokenStream;
use proc_macro2::TokenTree;
use quote::quote;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, ImplItemFn, Lit, Meta, MetaNameValue, Token, parse_macro_input};

/// Values of `style`.
const STYLES: [&str; 4] = ["overview", "probe", "contract", "error"];
/// Values of `probe_when` and `contract_when`.
const ANSWER_WHEN: [&str; 2] = ["over_budget", "always"];
/// Values of `compact`.
const COMPACT: [&str; 2] = ["off", "lossless"];
/// Values of `tier`.
const TIERS: [&str; 3] = ["read", "read_write", "admin"];
/// The keys, as an error message lists them.
const KEYS: &str = "style, probe_when, contract_when, label_field, id_field, budget_tokens, follow_up_tokens, line_tokens, compact, page_size, ttl_seconds, auto_negotiate_bytes, full_cap_tokens, domain, tier";

/// Marks a tool whose result may be large. Write it above `#[tool]`.
///
/// `#[heavy(style = "probe", budget_tokens = 1500, page_size = 25, ttl_seconds = 300, tier = "read_write")]`; every key is
/// optional.
#[proc_macro_attribute]
pub fn heavy(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let function = parse_macro_input!(item as ImplItemFn);
    expand(arguments.into(), function).unwrap_or_else(|error| error.to_compile_error().into())
}

fn expand(arguments: proc_macro2::TokenStream, mut function: ImplItemFn) -> Result<TokenStream, Error> {
    let fields = fields(arguments)?;
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
    Ok(quote! { #function }.into())
}

/// Returns whether a list of `key = value` has a key.
fn has_key(arguments: &proc_macro2::TokenStream, key: &str) -> bool {
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
fn fields(arguments: proc_macro2::TokenStream) -> Result<Vec<proc_macro2::TokenStream>, Error> {
    let parser = Punctuated::<MetaNameValue, Token![,]>::parse_terminated;
    let mut fields = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let arguments = parser.parse2(arguments)?;
    for argument in &arguments {
        let Some(key) = argument.path.get_ident().cloned() else {
            return Err(Error::new(argument.path.span(), format!("expected one of {KEYS}")));
        };
        let name = key.to_string();
        if seen.contains(&name) {
            return Err(Error::new(key.span(), format!("{name} is given twice")));
        }
        let value = match name.as_str() {
            "style" => text(&argument.value, &name, &STYLES)?,
            "probe_when" | "contract_when" => text(&argument.value, &name, &ANSWER_WHEN)?,
            "compact" => text(&argument.value, &name, &COMPACT)?,
            "tier" => text(&argument.value, &name, &TIERS)?,
            "domain" | "label_field" | "id_field" => text(&argument.value, &name, &[])?,
            "budget_tokens" | "follow_up_tokens" | "line_tokens" | "full_cap_tokens" => {
                number(&argument.value, &name, 250)?
            }
            "page_size" | "ttl_seconds" | "auto_negotiate_bytes" => number(&argument.value, &name, 1)?,
            _ => return Err(Error::new(key.span(), format!("unknown key {name}; expected one of {KEYS}"))),
        };
        fields.push(quote! { #key: ::core::option::Option::Some(#value) });
        seen.push(name);
    }
    line_above_budget(&arguments)?;
    Ok(fields)
}

/// Checks that a result within the budget is within the line.
fn line_above_budget(arguments: &Punctuated<MetaNameValue, Token![,]>) -> Result<(), Error> {
    let value_of = |name| arguments.iter().find(|argument| argument.path.is_ident(name));
    let (Some(line), Some(budget)) = (value_of("line_tokens"), value_of("budget_tokens")) else {
        return Ok(());
    };
    match (integer(&line.value), integer(&budget.value)) {
        (Some(line_tokens), Some(budget)) if line_tokens < budget => Err(Error::new(
            line.value.span(),
            format!("line_tokens must be at least budget_tokens, {budget}"),
        )),
        _ => Ok(()),
    }
}

fn text(value: &Expr, key: &str, choices: &[&str]) -> Result<proc_macro2::TokenStream, Error> {
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value else {
        return Err(Error::new(value.span(), format!("{key} must be a string")));
    };
    if !choices.is_empty() && !choices.contains(&text.value().as_str()) {
        return Err(Error::new(text.span(), format!("{key} must be one of {}", choices.join(", "))));
    }
    Ok(quote! { #text })
}

fn number(value: &Expr, key: &str, minimum: u64) -> Result<proc_macro2::TokenStream, Error> {
    let error = || Error::new(value.span(), format!("{key} must be a whole number of at least {minimum}"));
    let number = integer(value).filter(|number| *number >= minimum).ok_or_else(error)?;
    Ok(quote! { #number })
}

fn integer(value: &Expr) -> Option<u64> {
    let Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) = value else { return None };
    number.base10_parse().ok()
}
