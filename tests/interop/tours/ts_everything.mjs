// Tour of server-everything with the TypeScript SDKs:
//
//   ts_everything.mjs --sdk v1|v2 [--mode legacy|auto] -- SERVER ARGS...
//
// Tools with every type of content, errors, resources, prompts, completion, progress, sampling,
// elicitation, roots, tasks of protocol 2025-11-25 (v1 only), and a call that the client cancels.
import { run, sleep } from './tour.mjs';

// The server registers some tools only after it knows the client's capabilities.
const SETTLE = 700;

async function tools({ client, call, transcript }) {
  const annotated = { messageType: 'error', includeImage: true };
  const reference = { resourceType: 'Text', resourceId: 1 };
  await transcript.step('tools', () => client.listTools());
  await transcript.step('echo', () => call('echo', { message: 'héllo ✓' }));
  await transcript.step('sum', () => call('get-sum', { a: 2, b: 3 }));
  await transcript.step('bad-arguments', () => call('get-sum', { a: 'x' }));
  await transcript.step('unknown-tool', () => call('nope'));
  await transcript.step('structured', () => call('get-structured-content', { location: 'New York' }));
  await transcript.step('image', () => call('get-tiny-image'));
  await transcript.step('annotated', () => call('get-annotated-message', annotated));
  await transcript.step('links', () => call('get-resource-links', { count: 3 }));
  await transcript.step('reference', () => call('get-resource-reference', reference));
}

async function resourcesAndPrompts({ client, transcript }) {
  const ref = { type: 'ref/prompt', name: 'completable-prompt' };
  const city = { name: 'args-prompt', arguments: { city: 'Oslo' } };
  const department = { name: 'department', value: 'E' };
  const uri = 'demo://resource/dynamic/text/1';
  await transcript.step('resources', () => client.listResources());
  await transcript.step('templates', () => client.listResourceTemplates());
  await transcript.step('read', () => client.readResource({ uri }));
  await transcript.step('read-missing', () => client.readResource({ uri: 'demo://nope' }));
  await transcript.step('subscribe', () => client.subscribeResource({ uri }));
  await transcript.step('unsubscribe', () => client.unsubscribeResource({ uri }));
  await transcript.step('prompts', () => client.listPrompts());
  await transcript.step('prompt', () => client.getPrompt(city));
  await transcript.step('complete', () => client.complete({ ref, argument: department }));
}

async function requestsFromTheServer({ call, transcript }) {
  await transcript.step('sampling', () => call('trigger-sampling-request', { prompt: 'hi', maxTokens: 10 }));
  await transcript.step('elicitation', () => call('trigger-elicitation-request'));
  await transcript.step('roots', () => call('get-roots-list'));
}

/** Calls a tool as a task; records the kinds of its events, each once, and the content of the result. */
async function task(client) {
  const request = { name: 'simulate-research-query', arguments: { topic: 'x', ambiguous: false } };
  const events = new Set();
  const stream = client.experimental.tasks.callToolStream(request, undefined, { task: { ttl: 60000 } });
  for await (const event of stream) {
    if (event.type === 'result') events.add(`result: ${JSON.stringify(event.result.content)}`);
    else if (event.type === 'error') events.add(`error: ${event.error}`);
    else events.add(event.type);
  }
  return [...events];
}

/** A cancelled call returns at once, and the connection stays usable. */
async function cancellation({ call, transcript }) {
  const start = Date.now();
  const controller = new AbortController();
  setTimeout(() => controller.abort('user'), 800);
  const options = { signal: controller.signal };
  await call('trigger-long-running-operation', { duration: 8, steps: 4 }, options).catch(() => {});
  transcript.record('cancelled-early', Date.now() - start < 3000);
  await transcript.step('after-cancel', () => call('echo', { message: 'still alive' }));
}

async function visit(session) {
  const { client, call, transcript, sdk } = session;
  await sleep(SETTLE);
  await transcript.step('ping', () => client.ping());
  await transcript.step('log-level', () => client.setLoggingLevel('warning'));
  await tools(session);
  await resourcesAndPrompts(session);
  const long = { duration: 1, steps: 5 };
  await transcript.progress('long', options => call('trigger-long-running-operation', long, options));
  await requestsFromTheServer(session);
  if (sdk === 'v1') await transcript.step('task', () => task(client));
  await cancellation(session);
}

await run(visit, { reply: 'SAMPLED', form: () => ({ name: 'Ada', check: true }) });
