/**
 * Keeps oversized tool results of an MCP server out of the agent's context.
 *
 * The work is done by the program `tidegate`, which runs as a child of the server and gets every request before the server
 * handles it, and every response before the client gets it. The adapter stands between the server and its transport, so it
 * works with every transport of both official SDKs, `@modelcontextprotocol/server` and `@modelcontextprotocol/sdk`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

/** The methods whose requests or responses tidegate may change; everything else costs nothing. */
const METHODS = new Set([
  'initialize', 'server/discover', 'tools/list', 'tools/call', 'resources/list', 'resources/templates/list',
  'resources/read',
]);
const VERSION = 'io.modelcontextprotocol/protocolVersion';

/** The program that npm installed with this package, if it did. */
function packaged() {
  try {
    return createRequire(import.meta.url)('./bin/program.cjs').program;
  } catch {
    return undefined;
  }
}

/** tidegate could not be started, or does not accept what it was given. */
export class TidegateError extends Error {}

/** A text has more tokens than its budget. */
export class OutputBudgetExceeded extends Error {
  constructor(tool, tokens, budget) {
    super(`the answer of ${tool} has ${tokens} tokens, but its budget is ${budget}`);
    const hint = 'Lower limit or narrow fields and call again';
    this.error = { error: 'OUTPUT_BUDGET_EXCEEDED', tool, tokens, budget, hint };
  }
}

export class Tidegate {
  #options;
  #tools;
  #child;
  /** The session, the caller and the tool of the call that is being answered: what the tool stores belongs to them. */
  #call = new AsyncLocalStorage();

  constructor(options = {}) {
    this.#options = options;
    this.#tools = { ...options.tools };
  }

  /** Sets what a tool answers when its result is too large; returns the tool's name, for `registerTool`. */
  heavy(name, rules) {
    this.#tools[name] = rules;
    return name;
  }

  /** Puts the gate between a server and every transport that it is connected to; returns the server. */
  wrap(server) {
    const protocol = server.server ?? server;
    const connect = protocol.connect.bind(protocol);
    protocol.connect = (transport) => connect(this.#between(transport));
    return server;
  }

  /** Returns the text if it is within the budget, and throws `OutputBudgetExceeded` if not. */
  async enforceBudget(text, tool, budgetTokens) {
    const counted = await this.#value('count_tokens', { text, limit: budgetTokens });
    if (!counted.within) throw new OutputBudgetExceeded(tool, counted.tokens, budgetTokens);
    return text;
  }

  /** Returns a tool result within hard limits: the summary, and the data, truncated where necessary. */
  async wrapResponse(data, summary, { domain, artifactRef, success = true, limits = {} } = {}) {
    const given = { data: data ?? null, summary, domain, artifact_ref: artifactRef, success, limits };
    return { content: [{ type: 'text', text: await this.#value('wrap_response', given) }] };
  }

  /** Returns a summary such as `Found bugs: 15 total (3 critical, 12 high)`, or `Found bugs: 15 items`. */
  createSummary(action, count, bySeverity) {
    return this.#value('create_summary', { action, count, by_severity: bySeverity && Object.entries(bySeverity) });
  }

  /** Stores data for the caller of the tool; returns its reference, `ax://domain/id`. */
  storeArtifact(domain, data, id) {
    return this.#value('store_artifact', { domain, data, id });
  }

  /** Returns the data of a reference, if it is stored for the caller of the tool. */
  retrieveArtifact(reference) {
    return this.#value('retrieve_artifact', { reference });
  }

  /** Ends the child. It is started again when it is needed. */
  async close() {
    const child = this.#child;
    this.#child = undefined;
    await child?.end();
  }

  async #value(name, given) {
    return (await this.#ask({ ...this.#call.getStore(), [name]: given })).decided.value;
  }

  #started() {
    if (!this.#child || this.#child.ended) {
      const { server = 'server', defaults = {}, ephemeral = false, program } = this.#options;
      const opening = { server, defaults, ephemeral, tools: this.#tools };
      this.#child = new Child(program ?? process.env.TIDEGATE_PROGRAM ?? packaged() ?? 'tidegate', opening);
    }
    return this.#child;
  }

  /** The session and the caller of a request. */
  #of(message, extra, session) {
    const { callers } = this.#options;
    const caller = callers ? { caller: callers(message, extra) ?? null } : {};
    // Since 2026-07-28 there are no sessions: every request introduces its client.
    return message.params?._meta?.[VERSION] ? caller : { ...caller, session };
  }

  /** Asks about something that nothing has handled yet, so that another child can be asked if one has ended. */
  async #ask(asked) {
    for (let tries = 1; ; tries++) {
      const child = this.#started();
      const number = child.number();
      try {
        return { child, number, decided: await child.ask({ id: number, ...asked }) };
      } catch (error) {
        if (!child.ended || !child.opened || tries === 2) throw error;
      }
    }
  }

  /** Returns what the client gets; null for the response as it is. */
  async #respond({ child, number, asked }, response) {
    try {
      return (await child.ask({ id: number, response })).response;
    } catch {
      // The tool did run, so its result must not be lost with the child: another child gets it.
      const again = await this.#ask(asked);
      return (await again.child.ask({ id: again.number, response })).response;
    }
  }

  /** Returns a transport that shows the gate what passes. */
  #between(transport) {
    // Names are random: another process must not read what an unknown caller stored in a session of this one.
    const session = randomUUID();
    // The requests that the server handles: the number under which tidegate knows each, by id.
    const open = new Map();
    const gate = this;
    const receive = async (message, extra) => {
      const deliver = (changed) => outer.onmessage?.(changed, extra);
      if (message.method === 'notifications/cancelled') {
        const cancelled = open.get(message.params?.requestId);
        cancelled?.child.tell({ id: cancelled.number, cancel: true });
        open.delete(message.params?.requestId);
      }
      if (message.id === undefined || !METHODS.has(message.method)) return deliver(message);
      const request = { method: message.method, params: message.params ?? {} };
      const origin = gate.#of(message, extra, session);
      const asked = { ...origin, request };
      let handled;
      try {
        handled = await gate.#ask(asked);
      } catch (error) {
        const failed = { code: -32603, message: `${error.message}. The request was not handled.` };
        return transport.send({ jsonrpc: '2.0', id: message.id, error: failed }, { relatedRequestId: message.id });
      }
      const { response, request: changed } = handled.decided;
      if (response) {
        return transport.send({ jsonrpc: '2.0', id: message.id, ...response }, { relatedRequestId: message.id });
      }
      open.set(message.id, { ...handled, asked });
      const call = { ...origin, tool: message.params?.name };
      gate.#call.run(call, deliver, changed ? { ...message, params: changed.params } : message);
    };
    const send = async (message, options) => {
      const handled = message.method === undefined ? open.get(message.id) : undefined;
      if (!handled) return transport.send(message, options);
      open.delete(message.id);
      const response = message.error ? { error: message.error } : { result: message.result };
      let changed;
      try {
        changed = await gate.#respond(handled, response);
      } catch (error) {
        const failed = { code: -32603, message: `${error.message}. The tool did run.` };
        return transport.send({ jsonrpc: '2.0', id: message.id, error: failed }, options);
      }
      return transport.send(changed ? { jsonrpc: '2.0', id: message.id, ...changed } : message, options);
    };
    const outer = new Proxy(transport, {
      get(target, key) {
        if (key === 'send') return send;
        if (key === 'onmessage') return outer_onmessage;
        const value = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
      set(target, key, value) {
        if (key === 'onmessage') {
          outer_onmessage = value;
          // Requests are asked about in order, and delivered in order.
          let before = Promise.resolve();
          target.onmessage = value && ((message, extra) => {
            const orderly = message.method === 'initialize' || message.id === undefined;
            const now = orderly ? before.then(() => receive(message, extra)) : receive(message, extra);
            if (orderly) before = now.catch(() => {});
            now.catch((error) => target.onerror?.(error));
          });
          return true;
        }
        if (key === 'onclose') {
          target.onclose = value && ((...given) => {
            gate.#child?.tell({ end: session });
            return value(...given);
          });
          return true;
        }
        return Reflect.set(target, key, value, target);
      },
    });
    let outer_onmessage;
    return outer;
  }
}

/** The program `tidegate shape --serve`, with JSON lines on its stdin and stdout. */
class Child {
  ended = false;
  #process;
  opened = false;
  #number = 0;
  #waiting = new Map();

  constructor(program, opening) {
    this.#process = spawn(program, ['shape', '--serve'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const why = (error) => new TidegateError(`cannot start ${program}: ${error.message}; install tidegate, or set TIDEGATE_PROGRAM`);
    this.#process.on('error', (error) => this.#fail(why(error)));
    this.#process.on('exit', () => this.#fail(new TidegateError('tidegate ended; if a tool was called, it may have run')));
    this.#process.stdin.on('error', () => {});
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.#take(JSON.parse(line)));
    this.tell({ open: opening });
    // A server that has nothing else to do may end.
    this.#process.unref();
    this.#process.stdin.unref?.();
    this.#process.stdout.unref?.();
  }

  number() {
    return ++this.#number;
  }

  /** Sends a line; returns what is answered. */
  ask(line) {
    if (this.ended) return Promise.reject(new TidegateError('tidegate ended'));
    return new Promise((resolve, reject) => {
      this.#waiting.set(line.id, { resolve, reject });
      this.tell(line);
    });
  }

  /** Sends a line that is not answered. */
  tell(line) {
    if (!this.ended) this.#process.stdin.write(`${JSON.stringify(line)}\n`);
  }

  end() {
    return new Promise((resolve) => {
      if (this.ended) return resolve();
      this.#process.once('exit', resolve);
      this.#process.stdin.end();
    });
  }

  #take(answer) {
    if (!this.opened) {
      this.opened = !answer.failed;
      if (answer.failed) this.#fail(new TidegateError(`tidegate: ${answer.failed}`));
      return;
    }
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (!waiting) process.stderr.write(`tidegate: ${answer.failed ?? JSON.stringify(answer)}\n`);
    else if (answer.failed) waiting.reject(new TidegateError(`tidegate: ${answer.failed}`));
    else waiting.resolve(answer);
  }

  #fail(error) {
    this.ended = true;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
