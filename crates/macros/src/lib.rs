//! `#[heavy]`: says of a tool that its result may be large, and what to answer then.
//!
//! It adds what it says to the `#[tool]` below it, where `tidegate_sdk::Tidegate` finds it. The function stays as it is.

use proc_macro::TokenStream;
use proc_macro2::TokenTree;
use quote::quote;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, ImplItemFn, Lit, Meta, MetaNameValue, Token, parse_macro_input};

const STYLES: [&str; 4] = ["overview", "probe", "contract", "error"];
const WHEN: [&str; 2] = ["over_budget", "always"];
const TIERS: [&str; 3] = ["read", "read_write", "admin"];
const KEYS: &str = "style, probe_when, budget_tokens, page_size, ttl_seconds, auto_negotiate_bytes, full_cap_tokens, domain, tier";

/// Marks a tool whose result may be large; stands above `#[tool]`.
///
/// `#[heavy(style = "probe", budget_tokens = 2000, page_size = 25, ttl_seconds = 300, tier = "read_write")]`; every key may
/// be left out.
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
        return Err(Error::new(name, "#[heavy] belongs above a #[tool] of the same function"));
    };
    let meta =
        quote! { meta = ::tidegate_sdk::Heavy { #(#fields,)* ..::tidegate_sdk::Heavy::NOTHING }.meta() };
    let said = match &tool.meta {
        Meta::Path(_) => quote! {},
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(value) => {
            return Err(Error::new(value.span(), "#[tool] takes a list in parentheses"));
        }
    };
    if has_key(&said, "meta") {
        return Err(Error::new(tool.span(), "#[heavy] needs the `meta` of #[tool] for itself"));
    }
    let path = tool.path().clone();
    let comma = (!said.is_empty() && !said.to_string().trim_end().ends_with(',')).then(|| quote! { , });
    tool.meta = syn::parse2(quote! { #path(#said #comma #meta) })?;
    Ok(quote! { #function }.into())
}

/// Whether a list of `key = value` has a key.
fn has_key(said: &proc_macro2::TokenStream, key: &str) -> bool {
    let mut before = None;
    said.clone().into_iter().any(|token| {
        let found = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '=')
            && matches!(&before, Some(TokenTree::Ident(name)) if name == key);
        before = Some(token);
        found
    })
}

fn is_tool(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|last| last.ident == "tool")
}

/// What was said, as fields of `Heavy`.
fn fields(arguments: proc_macro2::TokenStream) -> Result<Vec<proc_macro2::TokenStream>, Error> {
    let parser = Punctuated::<MetaNameValue, Token![,]>::parse_terminated;
    let mut fields = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for argument in parser.parse2(arguments)? {
        let Some(key) = argument.path.get_ident().cloned() else {
            return Err(Error::new(argument.path.span(), format!("a key is one of {KEYS}")));
        };
        let name = key.to_string();
        if seen.contains(&name) {
            return Err(Error::new(key.span(), format!("{name} is said twice")));
        }
        let value = match name.as_str() {
            "style" => text(&argument.value, &name, &STYLES)?,
            "probe_when" => text(&argument.value, &name, &WHEN)?,
            "tier" => text(&argument.value, &name, &TIERS)?,
            "domain" => text(&argument.value, &name, &[])?,
            "budget_tokens" | "full_cap_tokens" => number(&argument.value, &name, 250)?,
            "page_size" | "ttl_seconds" | "auto_negotiate_bytes" => number(&argument.value, &name, 1)?,
            _ => return Err(Error::new(key.span(), format!("there is no key {name}; there are {KEYS}"))),
        };
        fields.push(quote! { #key: ::core::option::Option::Some(#value) });
        seen.push(name);
    }
    Ok(fields)
}

fn text(value: &Expr, key: &str, choices: &[&str]) -> Result<proc_macro2::TokenStream, Error> {
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = value else {
        return Err(Error::new(value.span(), format!("{key} should be a string")));
    };
    if !choices.is_empty() && !choices.contains(&text.value().as_str()) {
        return Err(Error::new(text.span(), format!("{key} is one of {}", choices.join(", "))));
    }
    Ok(quote! { #text })
}

fn number(value: &Expr, key: &str, least: u64) -> Result<proc_macro2::TokenStream, Error> {
    let wrong = || Error::new(value.span(), format!("{key} should be a whole number from {least}"));
    let Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) = value else { return Err(wrong()) };
    let read: u64 = number.base10_parse().map_err(|_| wrong())?;
    if read < least {
        return Err(wrong());
    }
    Ok(quote! { #read })
}
