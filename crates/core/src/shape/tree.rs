//! The strategy for nested objects: their scalars with values and their containers with sizes, level by level from the
//! top.
//!
//! It covers the objects that occur once at their path; lists of records are the business of other strategies.

use std::io;

use super::blob;
use super::section_writer::SectionWriter;
use super::table::scalar_text;
use crate::data::Data;
use crate::json::value::{ReadLimits, Value};
use crate::profile::node::Child;
use crate::profile::{NodeId, PathNode, PathStep};
use crate::{visible, write};

/// Lists and maps up to this many bytes are shown as they are.
const MAX_INLINE_LIST_BYTES: u64 = 100;
/// The maximum number of characters shown of a scalar.
const MAX_SCALAR_CHARACTERS: usize = 80;

/// Writes one line per object that occurs once, from the root down; returns how many scalars are shown in full.
pub(crate) fn compose(data: &Data<'_>, writer: &mut SectionWriter<'_>, section: usize) -> io::Result<u64> {
    compose_around(data, None, writer, section)
}

/// Does the same as [`compose`] without the string that begins at an offset, and names the fields of the lists of objects
/// that it may be in.
pub(crate) fn compose_around(
    data: &Data<'_>,
    without: Option<u64>,
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<u64> {
    let profile = &data.profile;
    write_hinted(data, writer, section)?;
    let mut level = vec![profile.root()];
    let mut shown = 0;
    while !level.is_empty() {
        let mut next = Vec::new();
        for id in level {
            let node = profile.node(id);
            if node.types.objects == 1 && node.values.is_none() && !node.children.is_empty() {
                match write_object(data, id, without, writer, section)? {
                    Some(scalars) => shown += scalars,
                    None => continue,
                }
            }
            if without.is_some() {
                write_records(data, id, writer, section);
            }
            if node.types.objects <= 1 {
                let below = profile.children(id).filter(|(_, child)| occurs_once(child));
                let mut below: Vec<(NodeId, u64)> = below.map(|(id, child)| (id, child.bytes)).collect();
                below.sort_by_key(|&(id, bytes)| (bytes, id));
                next.extend(below.into_iter().map(|(id, _)| id));
            }
        }
        level = next;
    }
    Ok(shown)
}

/// Writes how many objects a list has and the names of their fields, as many as fit.
fn write_records(data: &Data<'_>, list: NodeId, writer: &mut SectionWriter<'_>, section: usize) {
    let profile = &data.profile;
    let node = profile.node(list);
    let Some(items) = node.items.map(|items| profile.node(items)).filter(|items| items.types.objects > 1)
    else {
        return;
    };
    let path = profile.path(profile.root(), list);
    let place = if path.is_empty() { path } else { format!("{path}: ") };
    let names: Vec<String> = items.children.iter().map(|child| name(profile.node(child.node))).collect();
    let mut shown = names.len();
    while !names.is_empty() {
        let fields = match (names[..shown].join(","), names.len() - shown) {
            (names, 0) => names,
            (names, more) => format!("{names} +{more} more fields").trim_start().to_owned(),
        };
        let line = format!("{place}{} objects with {fields}", items.types.objects);
        if writer.push(section, line) || shown == 0 {
            break;
        }
        shown = shown * 3 / 4;
    }
}

/// Writes the members that the policy names, if the root has them; what is left of the budget goes to the others.
fn write_hinted(data: &Data<'_>, writer: &mut SectionWriter<'_>, section: usize) -> io::Result<()> {
    let mut members = Vec::new();
    for path in &data.hints.fields {
        if let Some(id) = member_at(data, path) {
            members.push(member(data, id, visible::line(path))?);
        }
    }
    let all = members.len();
    while !members.is_empty() {
        let rest =
            if members.len() < all { format!("; +{} more", all - members.len()) } else { String::new() };
        if writer.push(section, format!("fields: {}{rest}", members.join("; "))) {
            break;
        }
        members.pop();
    }
    Ok(())
}

/// Returns the node at a path of names joined by dots, if it occurs once.
fn member_at(data: &Data<'_>, path: &str) -> Option<NodeId> {
    let profile = &data.profile;
    let id = path.split('.').try_fold(profile.root(), |id, name| {
        let is_named = |node: &PathNode| matches!(&node.step, PathStep::Key(key) if **key == *name);
        profile.children(id).find(|(_, child)| is_named(child)).map(|(id, _)| id)
    })?;
    let types = &profile.node(id).types;
    (types.containers() + types.scalars() == 1).then_some(id)
}

fn occurs_once(node: &PathNode) -> bool {
    node.types.containers() == 1 && node.types.scalars() == 0 && !matches!(node.step, PathStep::Values)
}

/// Writes the members of one object, cut or only by name if they do not fit; returns how many scalars are shown whole.
fn write_object(
    data: &Data<'_>,
    id: NodeId,
    without: Option<u64>,
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<Option<u64>> {
    let profile = &data.profile;
    let node = profile.node(id);
    let is_shown = |child: &&Child| without.is_none_or(|at| profile.node(child.node).first_at != at);
    let children: Vec<&Child> = node.children.iter().filter(is_shown).collect();
    if children.is_empty() {
        return Ok(Some(0));
    }
    let path = profile.path(profile.root(), id);
    let title = if path.is_empty() { "top level".to_owned() } else { path };
    let members: Vec<String> = children
        .iter()
        .map(|child| member(data, child.node, name(profile.node(child.node))))
        .collect::<io::Result<_>>()?;
    let scalar = |at: &usize| profile.node(children[*at].node).types.containers() == 0;
    // What decides the entries of a map tells more than the rest.
    let width = |at: usize, limit: usize| if decides(&members[at]) { limit * 5 } else { limit };
    for limit in [10_000, 60, 30] {
        let cut: Vec<String> =
            (0..members.len()).map(|at| visible::cut(&members[at], width(at, limit))).collect();
        if writer.push(section, format!("{title}: {}", cut.join("; "))) {
            let whole = (0..members.len()).filter(scalar).filter(|&at| !cut[at].contains('…'));
            return Ok(Some(whole.count() as u64));
        }
    }
    // Names alone, as many as fit.
    let names: Vec<String> = children.iter().map(|child| name(profile.node(child.node))).collect();
    let mut shown = names.len();
    while shown > 2 {
        let more =
            if shown < names.len() { format!(" +{} more keys", names.len() - shown) } else { String::new() };
        if writer.push(section, format!("{title}: {}{more}", names[..shown].join(","))) {
            return Ok(Some(0));
        }
        shown = shown * 3 / 4;
    }
    Ok(None)
}

fn name(node: &PathNode) -> String {
    match &node.step {
        PathStep::Key(key) => visible::key(key),
        _ => String::new(),
    }
}

/// Returns whether a member is written by [`deciding_values`].
fn decides(member: &str) -> bool {
    member.split_once(" {").is_some_and(|(name, entries)| !name.contains('=') && entries.contains('='))
}

/// The maximum number of entries of a map that is shown by what decides each.
const MAX_DECIDED_ENTRIES: u64 = 24;
/// The maximum number of bytes of such a map.
const MAX_DECIDED_BYTES: u64 = 256 * 1024;

/// Writes the values that decide each entry of a small map of objects: `a score=0.9, b score=0.4`; `None` if they have no
/// such values in common.
fn deciding_values(data: &Data<'_>, node: &PathNode) -> io::Result<Option<String>> {
    let count = node.members.as_ref().map_or(0, |members| members.max);
    let objects = node.children.iter().all(|child| data.profile.node(child.node).types.objects > 0);
    if !(2..=MAX_DECIDED_ENTRIES).contains(&count) || node.bytes > MAX_DECIDED_BYTES || !objects {
        return Ok(None);
    }
    let limits = ReadLimits { depth: 2, elements: 40, string_bytes: 64, values: 1000 };
    let Some(Value::Object(entries)) = data.value_at(node.first_at, limits)? else { return Ok(None) };
    let names = deciding_names(&entries.read);
    if names.is_empty() || entries.read.len() as u64 != entries.total {
        return Ok(None);
    }
    let entry = |(key, value): &(Box<str>, Value)| {
        let pairs = names.iter().filter_map(|name| Some((name, value.get(name)?)));
        let pairs = pairs.map(|(name, value)| {
            format!(" {}={}", visible::key(name), scalar_text(value, MAX_DECIDING_CHARACTERS))
        });
        format!("{}{}", visible::key(key), pairs.collect::<String>())
    };
    Ok(Some(entries.read.iter().map(entry).collect::<Vec<_>>().join(", ")))
}

/// The maximum number of characters of a value that decides an entry.
const MAX_DECIDING_CHARACTERS: usize = 24;

/// Returns the members that decide the entries of a map: at most two that nearly all entries have, that differ, and that
/// are short; numbers come first.
fn deciding_names(entries: &[(Box<str>, Value)]) -> Vec<String> {
    let Some(Value::Object(members)) = entries.first().map(|(_, value)| value) else { return Vec::new() };
    let mut ranked: Vec<(usize, String)> = Vec::new();
    for (name, _) in &members.read {
        let values: Vec<(&str, &Value)> =
            entries.iter().filter_map(|(key, value)| Some((&**key, value.get(name)?))).collect();
        let texts: Vec<String> = values.iter().map(|(_, value)| scalar_text(value, 200)).collect();
        let short = texts.iter().all(|text| text.chars().count() <= MAX_DECIDING_CHARACTERS);
        let repeats_key = values.iter().zip(&texts).all(|((key, _), text)| key.eq_ignore_ascii_case(text));
        let differ = texts.iter().any(|text| *text != texts[0]);
        if values.len() * 5 < entries.len() * 4 || !short || !differ || repeats_key {
            continue;
        }
        let of_kind = |is_kind: fn(&Value) -> bool| values.iter().any(|(_, value)| is_kind(value));
        if of_kind(|value| matches!(value, Value::Array(_) | Value::Object(_) | Value::Unread(_))) {
            continue;
        }
        let rank = if of_kind(|value| matches!(value, Value::Number(_))) {
            0
        } else if of_kind(|value| matches!(value, Value::String(_))) {
            1
        } else {
            2
        };
        ranked.push((rank, name.to_string()));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let best = ranked.first().map(|(rank, _)| *rank);
    ranked.into_iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, name)| name).take(2).collect()
}

/// The maximum number of texts of a list that are shown, and the maximum number of characters of each.
const MAX_LISTED_TEXTS: u64 = 5;
const MAX_LISTED_TEXT_CHARACTERS: usize = 100;
/// The maximum number of bytes of a list whose texts are shown.
const MAX_LISTED_TEXT_BYTES: u64 = 2000;

/// Writes the texts of a list that holds nothing but a few.
fn few_texts(data: &Data<'_>, node: &PathNode, count: u64) -> io::Result<Option<String>> {
    let texts = node.items.is_some_and(|items| {
        let types = &data.profile.node(items).types;
        types.strings == count && types.containers() == 0
    });
    if !texts || !(1..=MAX_LISTED_TEXTS).contains(&count) || node.bytes > MAX_LISTED_TEXT_BYTES {
        return Ok(None);
    }
    let limits = ReadLimits { depth: 1, elements: 8, string_bytes: 400, values: 16 };
    let Some(Value::Array(elements)) = data.value_at(node.first_at, limits)? else { return Ok(None) };
    let texts = elements.read.iter().map(|text| scalar_text(text, MAX_LISTED_TEXT_CHARACTERS));
    Ok(Some(texts.collect::<Vec<_>>().join(", ")))
}

/// Writes a small member as it is.
fn inline(data: &Data<'_>, node: &PathNode, name: &str) -> io::Result<String> {
    let raw = data.text.read(node.first_at..node.first_at + node.bytes)?;
    Ok(format!("{name}={}", visible::line(&String::from_utf8_lossy(&raw))))
}

/// Writes a member: `key=value` for a scalar, `key [12] 3.4 kB` for a list, `key {a,b,c} 3.4 kB` for an object.
fn member(data: &Data<'_>, id: NodeId, name: String) -> io::Result<String> {
    let node = data.profile.node(id);
    if node.types.containers() == 0 {
        return Ok(match data.scalar(node.first_at)? {
            Some(Value::Null) => format!("{name}=null"),
            Some(Value::String(text)) if blob::is_base64(&text.text) => {
                let length = node.lengths.as_ref().map_or(0, |lengths| lengths.max);
                let format = blob::format(text.text.as_bytes()).unwrap_or("binary data");
                format!("{name}=base64 of {format}, {} characters", write::grouped(length))
            }
            Some(Value::String(text)) if text.text.is_empty() => format!("{name}=\"\""),
            Some(Value::String(text)) if text.left_out > 0 => {
                let length = node.lengths.as_ref().map_or(0, |lengths| lengths.max);
                format!(
                    "{name}={}… ({} characters)",
                    visible::cut(&text.text, MAX_SCALAR_CHARACTERS),
                    write::grouped(length)
                )
            }
            Some(value) => format!("{name}={}", scalar_text(&value, MAX_SCALAR_CHARACTERS)),
            None => name,
        });
    }
    let count = node.members.as_ref().map_or(0, |members| members.max);
    let size = write::size(node.bytes);
    if node.types.arrays > 0 {
        if node.bytes <= MAX_INLINE_LIST_BYTES {
            return inline(data, node, &name);
        }
        let elements = few_texts(data, node, count)?.map(|texts| format!(": {texts}")).unwrap_or_default();
        return Ok(format!("{name} [{count}] {size}{elements}"));
    }
    if let Some(entries) = deciding_values(data, node)? {
        return Ok(format!("{name} {{{entries}}} {size}"));
    }
    if node.values.is_some() {
        if node.bytes <= MAX_INLINE_LIST_BYTES {
            return inline(data, node, &name);
        }
        return Ok(format!("{name} {{{count} keys}} {size}"));
    }
    let keys: Vec<String> =
        node.children.iter().map(|child| self::name(data.profile.node(child.node))).collect();
    Ok(match keys.len() {
        0 => format!("{name}={{}}"),
        1..=6 => format!("{name} {{{}}} {size}", keys.join(",")),
        all => format!("{name} {{{all} keys: {} +{} more}} {size}", keys[..5].join(","), all - 5),
    })
}
