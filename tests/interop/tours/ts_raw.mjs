// Tour of the fixture raw_server.mjs:
//
//   ts_raw.mjs --sdk v1|v2 [--mode legacy|auto|2026-07-28] -- SERVER ARGS...
//
// Paged lists, results with an outputSchema that the client validates, and large results. The TypeScript clients drop
// progress events that arrive in the same read as the response, so other tests cover many events at once.
import { run } from './tour.mjs';

const STRUCTURED = ['match', 'extra-key', 'short-array', 'error-missing'];
const LARGE_BYTES = 1_000_000;
const LARGE_ROWS = 5_000;

/** Records the first page, the other pages as a list, and whether all pages have the same cacheScope. */
async function pages({ client, listPage, transcript }) {
  // The client takes the output schemas to validate against from this list.
  await client.listTools();
  const [first, ...others] = await walk(listPage);
  const scopes = new Set([first, ...others].map(page => page.cacheScope));
  transcript.record('tools', first);
  transcript.record('more-tools', others);
  transcript.record('one-scope', scopes.size === 1);
}

async function walk(listPage) {
  const found = [];
  let cursor;
  do {
    const page = await listPage(cursor === undefined ? {} : { cursor });
    found.push(page);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return found;
}

async function visit(session) {
  const { call, transcript } = session;
  await pages(session);
  for (const name of STRUCTURED) await transcript.step(name, () => call(name));
  await transcript.step('future', () => call('future'));
  await transcript.step('large-text', () => call('big', { bytes: LARGE_BYTES }));
  await transcript.step('large-rows', () => call('big-rows', { rows: LARGE_ROWS }));
  await transcript.step('small-rows', () => call('big-rows', { rows: 3 }));
}

await run(visit);
