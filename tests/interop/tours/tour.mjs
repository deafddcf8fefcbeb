// Shared by the TypeScript tours: the SDKs, the transcript, and the responses to requests of the server.
//
// Run a tour as `node TOUR.mjs --sdk v1|v2 [--mode legacy|auto|2026-07-28] -- SERVER ARGS...`, or with `--url URL`
// instead of the server. INTEROP_JS is the folder that holds node_modules. It prints its transcript to stdout, one
// JSON object with a member per step. v1 is @modelcontextprotocol/sdk (legacy era only),
// v2 is @modelcontextprotocol/client (both eras).
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';

const CLIENT = { name: 'tour', version: '1' };
const CAPABILITIES = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } };
const CALL_TIMEOUT = 20_000;
const PLACEHOLDERS = [
  [/\d{1,2}:\d{2}:\d{2} [AP]M/g, '<time>'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<instant>'],
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>'],
];

const load = createRequire(path.join(process.env.INTEROP_JS ?? '.', 'package.json'));

/** Returns the value without what differs from run to run. */
function normalised(value) {
  const text = JSON.stringify(value) ?? 'null';
  return JSON.parse(PLACEHOLDERS.reduce((result, [pattern, placeholder]) => result.replace(pattern, placeholder), text));
}

export const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

/** What the client saw, step by step. */
class Transcript {
  steps = {};

  record(name, value) {
    this.steps[name] = normalised(value);
  }

  // Records the result or the error of a request.
  async step(name, request) {
    try {
      this.record(name, await request());
    } catch (error) {
      const message = String(error.message).slice(0, 300);
      this.record(name, { error: error.constructor.name, code: error.code, message });
    }
  }

  // Records a step and its progress events. `request` takes the options of the call.
  async progress(name, request) {
    const events = [];
    await this.step(name, () => request({ onprogress: event => events.push(event) }));
    this.record('progress', events);
  }
}

/** Responds to requests of the server, and records them. */
class Host {
  seen = { sampled: [], elicited: [], rootsAsked: 0, logged: [] };

  constructor(reply, form) {
    this.reply = reply;
    this.form = form;
  }

  sample({ params }) {
    this.seen.sampled.push(params);
    const content = { type: 'text', text: this.reply };
    return { role: 'assistant', content, model: 'fake', stopReason: 'endTurn' };
  }

  elicit({ params }) {
    this.seen.elicited.push(params);
    return { action: 'accept', content: this.form(params.requestedSchema) };
  }

  roots() {
    this.seen.rootsAsked += 1;
    return { roots: [{ uri: 'file:///tmp', name: 'tmp' }] };
  }

  log({ params }) {
    this.seen.logged.push(params);
  }
}

function registerHandlers(client, host, { sampling, elicitation, roots, log }) {
  client.setRequestHandler(sampling, request => host.sample(request));
  client.setRequestHandler(elicitation, request => host.elicit(request));
  client.setRequestHandler(roots, () => host.roots());
  client.setNotificationHandler(log, notification => host.log(notification));
}

function createV1Client(host) {
  const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport: Stdio } = load('@modelcontextprotocol/sdk/client/stdio.js');
  const { StreamableHTTPClientTransport: Http } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const types = load('@modelcontextprotocol/sdk/types.js');
  const client = new Client(CLIENT, { capabilities: CAPABILITIES });
  registerHandlers(client, host, {
    sampling: types.CreateMessageRequestSchema,
    elicitation: types.ElicitRequestSchema,
    roots: types.ListRootsRequestSchema,
    log: types.LoggingMessageNotificationSchema,
  });
  const call = (name, args = {}, options = {}) =>
    client.callTool({ name, arguments: args }, undefined, { timeout: CALL_TIMEOUT, ...options });
  const listPage = params => client.request({ method: 'tools/list', params }, types.ListToolsResultSchema);
  return { client, call, listPage, Stdio, Http };
}

function createV2Client(host, mode) {
  const { Client, StreamableHTTPClientTransport: Http } = load('@modelcontextprotocol/client');
  const { StdioClientTransport: Stdio } = load('@modelcontextprotocol/client/stdio');
  const wanted = mode === 'auto' ? 'auto' : { pin: mode };
  const versionNegotiation = mode === 'legacy' ? undefined : { mode: wanted };
  const client = new Client(CLIENT, { capabilities: CAPABILITIES, versionNegotiation });
  registerHandlers(client, host, {
    sampling: 'sampling/createMessage',
    elicitation: 'elicitation/create',
    roots: 'roots/list',
    log: 'notifications/message',
  });
  const call = (name, args = {}, options = {}) =>
    client.callTool({ name, arguments: args }, { timeout: CALL_TIMEOUT, ...options });
  // Its listTools() fetches all pages.
  const listPage = params => client.request({ method: 'tools/list', params });
  return { client, call, listPage, Stdio, Http };
}

/** Returns the transport to a URL, or to a server process that it starts. */
function createTransport({ Stdio, Http }, url, [command, ...args]) {
  if (url !== undefined) return new Http(new URL(url));
  // By default the SDK passes on only a few variables.
  return new Stdio({ command, args, env: process.env, stderr: 'inherit' });
}

/** Connects to the server, runs the tour and prints the transcript. */
async function runTour(makeTour, host, { sdk, mode, url }, server) {
  const sdkClient = sdk === 'v1' ? createV1Client(host) : createV2Client(host, mode);
  const { client } = sdkClient;
  const transport = createTransport(sdkClient, url, server);
  await client.connect(transport);
  const transcript = new Transcript();
  transcript.record('server', {
    version: client.getNegotiatedProtocolVersion?.(),
    info: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
  });
  await makeTour({ ...sdkClient, transcript, sdk });
  transcript.record('seen', host.seen);
  // Over HTTP, close() does not end the session.
  await transport.terminateSession?.();
  await client.close();
  process.stdout.write(JSON.stringify(transcript.steps, null, 1) + '\n', () => process.exit(0));
}

/** Runs the tour of the server on the command line. */
export async function run(makeTour, { reply = 'Paris', form = () => ({}) } = {}) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      sdk: { type: 'string', default: 'v1' },
      mode: { type: 'string', default: 'legacy' },
      url: { type: 'string' },
    },
  });
  try {
    await runTour(makeTour, new Host(reply, form), values, positionals);
  } catch (error) {
    console.error(`${error.name}: ${error.message}`);
    process.exit(1);
  }
}
