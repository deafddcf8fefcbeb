// Tour of the fixture conf_server.py in the modern era:
//
//   ts_conf.mjs --sdk v2 --mode auto|2026-07-28 -- SERVER ARGS...
//
// Results that need input from the client, a subscription to list changes, plain calls, and progress.
import { run, sleep } from './tour.mjs';

const PLAIN = ['simple_text', 'image_content', 'embedded_resource', 'error_handling', 'tool_with_logging'];
const ROUNDS = ['elicitation', 'sampling', 'list_roots', 'request_state', 'multiple_inputs', 'multi_round'];
const NEEDS_INPUT = 'test_input_required_result_';
const EVENT_TIMEOUT = 4000;

/** Returns a value for every field of a form. */
function fillIn(schema) {
  const value = field => (field.type === 'boolean' ? true : 'Ada');
  return Object.fromEntries(Object.entries(schema.properties).map(([name, field]) => [name, value(field)]));
}

async function lists({ client, transcript }) {
  await transcript.step('tools', () => client.listTools());
  await transcript.step('resources', () => client.listResources());
  await transcript.step('templates', () => client.listResourceTemplates());
  await transcript.step('prompts', () => client.listPrompts());
}

/** Returns the first event of a subscription. */
async function listen({ client, call }) {
  const event = new Promise(resolve => {
    client.setNotificationHandler('notifications/tools/list_changed', () => resolve('tools/list_changed'));
  });
  const subscription = await client.listen({ toolsListChanged: true });
  await call('test_trigger_tool_change');
  const first = await Promise.race([event, sleep(EVENT_TIMEOUT).then(() => 'no event')]);
  await subscription.close?.();
  return first;
}

async function visit(session) {
  const { client, call, transcript } = session;
  await lists(session);
  for (const name of PLAIN) await transcript.step(name, () => call(`test_${name}`));
  for (const name of ROUNDS) await transcript.step(`rounds-${name}`, () => call(NEEDS_INPUT + name));
  await transcript.step('rounds-prompt', () => client.getPrompt({ name: `${NEEDS_INPUT}prompt` }));
  const place = { region: 'Hello, 世界', query: 'q' };
  await transcript.step('custom-header', () => call('test_custom_header', place));
  await transcript.progress('with-progress', options => call('test_tool_with_progress', {}, options));
  await transcript.step('read-binary', () => client.readResource({ uri: 'test://static-binary' }));
  await transcript.step('read-missing', () => client.readResource({ uri: 'test://nope' }));
  await transcript.step('listen', () => listen(session));
}

await run(visit, { form: fillIn });
