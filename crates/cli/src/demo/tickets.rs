//! The data of the demo: 420 support tickets, the same on every machine.
//!
//! Each ticket is derived from its number alone, by a small pseudo-random generator.

use serde_json::{Value, json};

/// How many tickets there are.
pub(super) const COUNT: u64 = 420;
/// The number of the first ticket.
const FIRST_NUMBER: u64 = 1001;
/// Minutes between two tickets.
const INTERVAL_MINUTES: u64 = 683;

/// A product: its name, what fails, and where.
type Product = (&'static str, [&'static str; 4], &'static str);

const PRODUCTS: [Product; 6] = [
    (
        "billing",
        [
            "Invoice shows the wrong VAT rate",
            "Card was charged twice",
            "Refund has not arrived",
            "Cannot change the billing address",
        ],
        "billing-worker",
    ),
    (
        "exports",
        [
            "CSV export stops after 10,000 rows",
            "Export has broken umlauts",
            "Scheduled export was not sent",
            "Export times out",
        ],
        "export-service",
    ),
    (
        "search",
        [
            "Search misses recent documents",
            "Filters are ignored on page two",
            "Search returns archived items",
            "Search is slow since Monday",
        ],
        "search-api",
    ),
    (
        "mobile app",
        [
            "App crashes when opening an attachment",
            "Push notifications arrive hours late",
            "Login loops after the update",
            "Offline changes are lost",
        ],
        "mobile-gateway",
    ),
    (
        "sync",
        [
            "Calendar events are duplicated",
            "Sync stops with error 409",
            "Contacts disappear after a sync",
            "Two-way sync only works one way",
        ],
        "sync-engine",
    ),
    (
        "webhooks",
        [
            "Webhook is delivered three times",
            "Signature does not verify",
            "Webhooks stopped without notice",
            "Payload lacks the new fields",
        ],
        "webhook-dispatcher",
    ),
];

const CUSTOMERS: [&str; 16] = [
    "Alder & Finch",
    "Brightwater",
    "Cobalt Freight",
    "Dunmore Press",
    "Eastgate Dental",
    "Fennel Foods",
    "Glasswing",
    "Harbour Lane",
    "Ironbark",
    "Juniper Labs",
    "Kestrel Energy",
    "Lumen Studio",
    "Marlow Bank",
    "Northfold",
    "Orchard Homes",
    "Pinecrest",
];
const AGENTS: [&str; 7] =
    ["Ada Brandt", "Ben Osei", "Chiara Rossi", "Dev Patel", "Elif Kaya", "Farid Jensen", "Grace Lin"];
const TAGS: [&str; 8] =
    ["regression", "data-loss", "workaround", "needs-logs", "escalated", "duplicate", "vip", "eu-region"];

const OPENINGS: [&str; 4] = [
    "Hello, we have run into a problem that blocks our team and could not find anything about it in the help center.",
    "Hi support, this worked until last week and no one on our side changed a setting since then.",
    "Good morning, I am writing on behalf of our operations team; several colleagues report the same behaviour.",
    "Hi there, this is the second time this month that we see this, so we would like to understand the cause.",
];
const STEPS: [&str; 6] = [
    "Sign in as an administrator and open the workspace.",
    "Go to Settings and pick the affected project.",
    "Start the action with the default options.",
    "Wait until the progress bar reaches the end.",
    "Reload the page and compare the totals.",
    "Repeat it in a private window to rule out extensions.",
];
const ATTEMPTS: [&str; 5] = [
    "We cleared the cache, tried three browsers and two networks, and asked a colleague abroad to repeat it; the result \
     is the same everywhere.",
    "Disconnecting and reconnecting the integration helps for about an hour, then it fails again in the same way.",
    "With a small test project everything works, so we suspect that the size of our data matters.",
    "The status page shows no incident for that time, and other features keep working without delay.",
    "We restored the previous settings from our notes, which made no difference at all.",
];
const IMPACTS: [&str; 5] = [
    "Until this is solved we enter the data by hand, which costs about four hours a day.",
    "Our own customers have started to ask, and we promised them an answer by the end of the week.",
    "Month-end closing is due on Friday and depends on these numbers.",
    "It is an annoyance rather than a blocker, but it undermines the trust in the reports.",
    "We paused the rollout to the other 60 users because of this.",
];
const CLOSINGS: [&str; 3] = [
    "I can share a screen recording or give you access to a test account; just tell me what helps most.",
    "Please let us know whether there is a workaround in the meantime. Thank you for looking into it!",
    "Feel free to call me on the number in our account; mornings are best.",
];

/// Returns the ticket at an index, from 0.
pub(super) fn ticket(index: u64) -> Value {
    let mut random = Random::new(index);
    let (product, problems, service) = *random.pick(&PRODUCTS);
    let subject = *random.pick(&problems);
    // Most old tickets are solved.
    let status = match random.below(100) + 55 * index / COUNT {
        ..80 => "solved",
        80..105 => "waiting",
        _ => "open",
    };
    let priority = match random.below(100) {
        ..12 => "urgent",
        12..35 => "high",
        35..80 => "normal",
        _ => "low",
    };
    let is_unassigned = status == "open" && random.below(4) == 0;
    let opened_minutes = index * INTERVAL_MINUTES + random.below(600);
    let tags: Vec<&str> = TAGS.into_iter().filter(|_| random.below(5) == 0).collect();
    json!({
        "id": format!("T-{}", FIRST_NUMBER + index),
        "subject": subject,
        "status": status,
        "priority": priority,
        "product": product,
        "customer": random.pick(&CUSTOMERS),
        "plan": random.pick(&["free", "team", "team", "enterprise"]),
        "assignee": (!is_unassigned).then(|| *random.pick(&AGENTS)),
        "opened_at": timestamp(opened_minutes),
        "replies": random.below(14),
        "first_reply_minutes": (!is_unassigned).then(|| 4 + random.below(900)),
        "tags": tags,
        "body": body(subject, service, opened_minutes, &mut random),
    })
}

/// Writes the text of a ticket: the story, the steps, and a piece of a log.
fn body(subject: &str, service: &str, opened_minutes: u64, random: &mut Random) -> String {
    let mut body = format!("{}\n\n{subject}. To reproduce:\n", random.pick(&OPENINGS));
    for (number, step) in STEPS.iter().filter(|_| random.below(5) > 0).enumerate() {
        body.push_str(&format!("{}. {step}\n", number + 1));
    }
    for attempt in ATTEMPTS.iter().filter(|_| random.below(2) == 0) {
        body.push_str(&format!("\n{attempt}"));
    }
    body.push_str("\n\nThis is from the log of that time:\n");
    let request = random.below(1 << 32);
    for line in 0..4 + random.below(8) {
        let time = timestamp(opened_minutes.saturating_sub(60) + line);
        let message = match random.below(5) {
            0 => format!("ERROR upstream answered 409 after {} ms, giving up", 900 + random.below(9000)),
            1 => format!("WARN retry {} of 5, queue has {} items", 1 + random.below(5), random.below(4000)),
            _ => format!("INFO processed {} records in {} ms", random.below(500), random.below(2000)),
        };
        body.push_str(&format!("{time} {service} req={request:08x} {message}\n"));
    }
    body.push_str(&format!("\n{}\n\n{}", random.pick(&IMPACTS), random.pick(&CLOSINGS)));
    body
}

/// Returns the time at a number of minutes into 2026.
fn timestamp(minutes: u64) -> String {
    const DAYS: [u64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let (mut day, minute) = (minutes / 1440, minutes % 1440);
    let mut month = 0;
    while month < 11 && day >= DAYS[month] {
        day -= DAYS[month];
        month += 1;
    }
    format!("2026-{:02}-{:02}T{:02}:{:02}:00Z", month + 1, day + 1, minute / 60, minute % 60)
}

/// SplitMix64: a few lines, and good enough to look real.
struct Random(u64);

impl Random {
    fn new(index: u64) -> Self {
        Self(index.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x7469_6465_6761_7465)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a bound, which is not 0.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_stay_within_the_year() {
        assert_eq!(timestamp(0), "2026-01-01T00:00:00Z");
        assert_eq!(timestamp(59 * 1440 + 61), "2026-03-01T01:01:00Z");
        assert!(timestamp(COUNT * INTERVAL_MINUTES + 600).starts_with("2026-0"));
    }

    #[test]
    fn tickets_are_deterministic() {
        assert_eq!(ticket(7), ticket(7));
        let all: Vec<Value> = (0..COUNT).map(ticket).collect();
        for status in ["open", "waiting", "solved"] {
            assert!(all.iter().filter(|ticket| ticket["status"] == status).count() > 20, "{status}");
        }
    }
}
