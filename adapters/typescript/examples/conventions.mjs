// Four conventions for large results, each as one small server on stdin and stdout.
//
//     node conventions.mjs orbit           a summary by default, everything on request
//     node conventions.mjs shop            probe and fetch
//     node conventions.mjs articles        fields, pages and links instead of everything
//     node conventions.mjs bugs            the response contract
//     node conventions.mjs bugs v1         the same with the first SDK, `@modelcontextprotocol/sdk`
//     node conventions.mjs bugs v2 8080    the same, over streamable HTTP at http://127.0.0.1:8080/mcp
import { Tidegate } from 'tidegate';
import * as z from 'zod/v4';

const text = (value) => ({ content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }] });
const range = (count) => Array.from({ length: count }, (_, index) => index);
const output = z.enum(['summary', 'full'], { error: 'output must be "summary" or "full"' }).default('summary');

/** A summary by default, everything on request. A full output above the cap is attached as a link. */
function orbit(server, tidegate) {
  const rules = { offer_output: true, full_cap_tokens: 10_000 };
  const state = (minute) => {
    const angle = (minute * 2 * Math.PI) / 92.7;
    const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
    return { minute, position: [6780 * cos, 6780 * sin, 0.1], velocity: [-7.66 * sin, 7.66 * cos, 0] };
  };
  server.registerTool(tidegate.heavy('propagate', rules), {
    description: 'Propagate a circular orbit minute by minute',
    inputSchema: z.object({ minutes: z.int().min(0), output }),
  }, ({ minutes, output }) => {
    const few = output === 'summary' && minutes >= 12;
    const shown = few ? range(12).map((step) => Math.round((step * minutes) / 11)) : range(minutes + 1);
    return text({ states: shown.map(state) });
  });
  server.registerTool(tidegate.heavy('porkchop', rules), {
    description: 'Total delta-v of transfers by departure and arrival',
    inputSchema: z.object({ samples_per_axis: z.int().min(2).max(60), output }),
  }, ({ samples_per_axis: size, output }) => {
    const dv = (x, y) => 5.6 + 9 * (x * x + y * y) + 0.3 * Math.sin(7 * x);
    // An arrival that is too early is not feasible.
    const grid = range(size).flatMap((departure) => range(size).filter((arrival) => arrival + 3 > departure)
      .map((arrival) => ({ departure, arrival, total_dv: dv(departure / size - 0.4, arrival / size - 0.6) })));
    const bestFirst = grid.toSorted((one, other) => one.total_dv - other.total_dv);
    const [best, worst] = [bestFirst[0], bestFirst.at(-1)];
    const picture = range(size).map(() => Array(size).fill(' '));
    grid.forEach((cell) => {
      const shade = cell === best ? '@' : '%#*+=-:.'[Math.floor((7 * cell.total_dv) / worst.total_dv)];
      picture[cell.departure][cell.arrival] = shade;
    });
    const ascii_summary = picture.map((row) => row.join('')).join('\n');
    return text(output === 'full' ? { grid, best, ascii_summary } : { best, top_cells: bestFirst.slice(0, 5), ascii_summary });
  });
}

/** The first answer is a preview with a token; the second fetches a part without running the tool. */
function shop(server, tidegate) {
  const inventory = ({ warehouse = 'WH-02', items = 430 }) => text(range(items).map((index) => ({
    id: index + 1, product: { name: `Widget ${index + 1}`, note: 'n'.repeat(120) }, quantity: ((index + 1) * 7) % 50, warehouse,
  })));
  const inputSchema = z.object({ warehouse: z.string().optional(), items: z.int().optional() });
  server.registerTool(tidegate.heavy('inventory.list_all', { style: 'probe' }),
    { description: 'List all inventory records', inputSchema }, inventory);
  server.registerTool(tidegate.heavy('products.search', { style: 'probe', probe_when: 'always', page_size: 7 }),
    { description: 'Search products', inputSchema }, inventory);
  server.registerTool(tidegate.heavy('dispatch', { style: 'probe' }), {
    description: 'Call any tool of the shop',
    inputSchema: z.object({ tool: z.enum(['inventory.list_all', 'products.search']), arguments: inputSchema }),
  }, (call) => inventory(call.arguments));
}

const article = (updatedAt, slug) => ({
  slug, title: `About ${slug}`, updatedAt, tags: ['one', 'two', 'three'], excerpt: 'A few words that say what it is about. '.repeat(40),
});
// Sessions and requests share the articles.
let articleRows = range(820).map((number) => article(Math.floor(number / 4), `article-${String(number).padStart(4, '0')}`));

/** Fields, pages that survive changes, and links instead of contents; what is over its budget is an error with a hint. */
function articles(server, tidegate) {
  const isAfter = (row, [updatedAt, slug]) => row.updatedAt > updatedAt || (row.updatedAt === updatedAt && row.slug > slug);
  server.registerTool(tidegate.heavy('all_articles', { style: 'error' }),
    { description: 'All articles with all fields: what not to do' }, () => text(articleRows));
  server.registerTool(tidegate.heavy('list_articles', { style: 'error' }), {
    description: 'Articles of a site, oldest change first, by pages',
    inputSchema: z.object({ site: z.string(), limit: z.int().default(20), cursor: z.string().optional(), fields: z.array(z.string()).optional() }),
  }, ({ limit, cursor, fields = ['slug', 'title'] }) => {
    if (limit < 1 || limit > 20) throw new Error(`limit must be a whole number from 1 to 20, not ${limit}`);
    // The cursor is the key of the last row, so that rows before it may come and go.
    const after = cursor && decoded(cursor);
    const later = after ? articleRows.filter((row) => isAfter(row, after)) : articleRows;
    const shown = later.slice(0, limit);
    const items = shown.map((row) => Object.fromEntries(fields.filter((name) => name in row).map((name) => [name, row[name]])));
    const last = shown.at(-1);
    const more = later.length > limit && { nextCursor: Buffer.from(JSON.stringify([last.updatedAt, last.slug])).toString('base64url') };
    return text({ items, total: articleRows.length, ...more });
  });
  server.registerTool('link_articles', { description: 'Links to the first articles' }, () => ({
    content: articleRows.slice(0, 20).map(({ slug }) => ({ type: 'resource_link', uri: `article://${slug}`, name: slug })),
  }));
  const inputSchema = z.object({ slug: z.string() });
  server.registerTool('insert_article', { description: 'Add an article', inputSchema }, ({ slug }) => {
    const place = articleRows.findIndex((row) => isAfter(row, [3, slug]));
    articleRows = articleRows.toSpliced(place, 0, article(3, slug));
    return text('added');
  });
  server.registerTool('delete_article', { description: 'Remove an article', inputSchema }, ({ slug }) => {
    articleRows = articleRows.filter((row) => row.slug !== slug);
    return text('removed');
  });
}

function decoded(cursor) {
  try {
    const [updatedAt, slug] = JSON.parse(Buffer.from(cursor, 'base64url'));
    return [Number(updatedAt), String(slug)];
  } catch {
    throw new Error(`${JSON.stringify(cursor.slice(0, 60))} is not a cursor of list_articles; call it without a cursor`);
  }
}

/** A summary and a few items within 10 KB, with a reference to the rest. */
function bugs(server, tidegate) {
  const severities = ['critical', 'high', 'medium', 'low'];
  const found = (count) => range(count).map((n) => ({
    id: `bug-${n}`, title: `Something is wrong in part ${n}`, severity: severities[n % 4], log: 'line\n'.repeat(40),
  }));
  const inputSchema = z.object({ count: z.int() });
  server.registerTool('bugfix_scan', { description: 'Scan for bugs', inputSchema }, async ({ count }) => {
    const all = found(count);
    const of = (severity) => all.filter((bug) => bug.severity === severity).length;
    const counts = Object.fromEntries(severities.map((severity) => [severity, of(severity)]));
    const summary = await tidegate.createSummary('Found bugs', count, counts);
    return tidegate.wrapResponse({ bugs: all }, summary, { domain: 'bugfix' });
  });
  server.registerTool('bugfix_list', { description: 'List bugs', inputSchema }, ({ count }) => {
    const items = found(count).map((bug) => ({ id: bug.id, label: bug.title.slice(0, 50) }));
    return tidegate.wrapResponse(items, `${count} bug(s)`, { limits: { max_bytes: 2048 } });
  });
  server.registerTool('trace_get', { description: 'The first and last event of a trace', inputSchema }, async ({ count }) => {
    const events = range(count).map((at) => ({ at, event: `step ${at}` }));
    const shown = { traceId: 't1', status: 'done', eventCount: count, startEvent: events[0], endEvent: events.at(-1) };
    const artifactRef = await tidegate.storeArtifact('trace', events, `t1-${count}`);
    return tidegate.wrapResponse(shown, `Trace t1: done (${count} events)`, { artifactRef });
  });
  server.registerTool('artifact_get', {
    description: 'The artifact of a reference', inputSchema: z.object({ reference: z.string() }),
  }, async ({ reference }) => text(await tidegate.retrieveArtifact(reference)));
}

const servers = { orbit, shop, articles, bugs };
const [name, sdk, port] = process.argv.slice(2);
if (!Object.hasOwn(servers, name)) {
  console.error(`name one of ${Object.keys(servers).join(', ')}`);
  process.exit(1);
}
const tidegate = new Tidegate({ server: name });
const built = (McpServer) => {
  const server = new McpServer({ name, version: '1.0.0' });
  servers[name](server, tidegate);
  return tidegate.wrap(server);
};
if (sdk === 'v1') {
  const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js');
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  await built(McpServer).connect(new StdioServerTransport());
} else if (port) {
  const { McpServer, createMcpHandler } = await import('@modelcontextprotocol/server');
  const { toNodeHandler } = await import('@modelcontextprotocol/node');
  const { createServer } = await import('node:http');
  createServer(toNodeHandler(createMcpHandler(() => built(McpServer)))).listen(Number(port), '127.0.0.1');
} else {
  const { McpServer } = await import('@modelcontextprotocol/server');
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
  serveStdio(() => built(McpServer));
}
