// What the TypeScript tours share: the SDKs, the transcript, and the client's answers to a server.
//
// A tour is run as `node TOUR.mjs --sdk v1|v2 [--mode legacy|auto|2026-07-28] -- SERVER ARGS...`, or with
// `--url URL` in place of the server, and with INTEROP_JS naming the folder that holds node_modules. It prints
// its transcript, one JSON object with a member per step. v1 is @modelcontextprotocol/sdk (legacy era only),
// v2 is @modelcontextprotocol/client (both eras).
import { createRequire } from 'node:module';
import path from 'node:path';
import { parseArgs } from 'node:util';

const CLIENT = { name: 'tour', version: '1' };
const CAPABILITIES = { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } };
const CALL_TIME = 20_000;
const MARKS = [
  [/\d{1,2}:\d{2}:\d{2} [AP]M/g, '<time>'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<instant>'],
  [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>'],
];

const load = createRequire(path.join(process.env.INTEROP_JS ?? '.', 'package.json'));

/** The value without what differs from run to run. */
function normalised(value) {
  const text = JSON.stringify(value) ?? 'null';
  return JSON.parse(MARKS.reduce((marked, [pattern, mark]) => marked.replace(pattern, mark), text));
}

export const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

/** What the client saw, step by step. */
class Transcript {
  steps = {};

  record(name, value) {
    this.steps[name] = normalised(value);
  }

  // The error is as much a part of the transcript as a result.
  async step(name, request) {
    try {
      this.record(name, await request());
    } catch (error) {
      const message = String(error.message).slice(0, 300);
      this.record(name, { error: error.constructor.name, code: error.code, message });
    }
  }

  // A step whose progress events are recorded as well. `request` takes the options of the call.
  async progress(name, request) {
    const events = [];
    await this.step(name, () => request({ onprogress: event => events.push(event) }));
    this.record('progress', events);
  }
}

/** The client's side: answers what the server asks, and notes that it was asked. */
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

function listen(client, host, { sampling, elicitation, roots, log }) {
  client.setRequestHandler(sampling, request => host.sample(request));
  client.setRequestHandler(elicitation, request => host.elicit(request));
  client.setRequestHandler(roots, () => host.roots());
  client.setNotificationHandler(log, notification => host.log(notification));
}

function firstGeneration(host) {
  const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport: Stdio } = load('@modelcontextprotocol/sdk/client/stdio.js');
  const { StreamableHTTPClientTransport: Http } = load('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const types = load('@modelcontextprotocol/sdk/types.js');
  const client = new Client(CLIENT, { capabilities: CAPABILITIES });
  listen(client, host, {
    sampling: types.CreateMessageRequestSchema,
    elicitation: types.ElicitRequestSchema,
    roots: types.ListRootsRequestSchema,
    log: types.LoggingMessageNotificationSchema,
  });
  const call = (name, args = {}, options = {}) =>
    client.callTool({ name, arguments: args }, undefined, { timeout: CALL_TIME, ...options });
  const listPage = params => client.request({ method: 'tools/list', params }, types.ListToolsResultSchema);
  return { client, call, listPage, Stdio, Http };
}

function secondGeneration(host, mode) {
  const { Client, StreamableHTTPClientTransport: Http } = load('@modelcontextprotocol/client');
  const { StdioClientTransport: Stdio } = load('@modelcontextprotocol/client/stdio');
  const wanted = mode === 'auto' ? 'auto' : { pin: mode };
  const versionNegotiation = mode === 'legacy' ? undefined : { mode: wanted };
  const client = new Client(CLIENT, { capabilities: CAPABILITIES, versionNegotiation });
  listen(client, host, {
    sampling: 'sampling/createMessage',
    elicitation: 'elicitation/create',
    roots: 'roots/list',
    log: 'notifications/message',
  });
  const call = (name, args = {}, options = {}) =>
    client.callTool({ name, arguments: args }, { timeout: CALL_TIME, ...options });
  // Its own listTools() walks through all pages.
  const listPage = params => client.request({ method: 'tools/list', params });
  return { client, call, listPage, Stdio, Http };
}

/** The way to the server: to a URL, or to a process that is started for it. */
function way({ Stdio, Http }, url, [command, ...args]) {
  if (url !== undefined) return new Http(new URL(url));
  // The SDK would hand over only a few variables.
  return new Stdio({ command, args, env: process.env, stderr: 'inherit' });
}

/** Connects to the server, makes the visit and prints the transcript. */
async function tour(visit, host, { sdk, mode, url }, server) {
  const generation = sdk === 'v1' ? firstGeneration(host) : secondGeneration(host, mode);
  const { client } = generation;
  const transport = way(generation, url, server);
  await client.connect(transport);
  const transcript = new Transcript();
  transcript.record('server', {
    version: client.getNegotiatedProtocolVersion?.(),
    info: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
  });
  await visit({ ...generation, transcript, sdk });
  transcript.record('seen', host.seen);
  // Only a connection over HTTP has a session to end, and close() would leave it.
  await transport.terminateSession?.();
  await client.close();
  process.stdout.write(JSON.stringify(transcript.steps, null, 1) + '\n', () => process.exit(0));
}

/** Makes the tour of the server that the command line names. */
export async function run(visit, { reply = 'Paris', form = () => ({}) } = {}) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      sdk: { type: 'string', default: 'v1' },
      mode: { type: 'string', default: 'legacy' },
      url: { type: 'string' },
    },
  });
  try {
    await tour(visit, new Host(reply, form), values, positionals);
  } catch (error) {
    console.error(`${error.name}: ${error.message}`);
    process.exit(1);
  }
}
