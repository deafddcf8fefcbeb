/** Rules for a tool, under the names of the keys in tidegate.toml: `style`, `budget_tokens`, `page_size`, ... */
export type Rules = Record<string, string | number | boolean | string[]>;

export interface Options {
  /** The name of the server, for its section in tidegate.toml and for `tidegate stats`. */
  server?: string;
  /** Rules by name of the tool. */
  tools?: Record<string, Rules>;
  /** Rules for all tools. */
  defaults?: Rules;
  /**
   * Returns the name of the caller of a request: no caller can read the results of another. A request for which it returns
   * nothing can read only what its own session stored. Without it, everybody is one caller.
   */
  callers?: (message: { method: string; params?: unknown }, extra?: unknown) => string | null | undefined;
  /** Keeps results in memory, and drops them when the server ends. */
  ephemeral?: boolean;
  /** The program; by default $TIDEGATE_PROGRAM, or `tidegate` on the PATH. */
  program?: string;
}

/** What a response may have; what is not set has its default. */
export interface ResponseLimits {
  /** Bytes of the whole tool result: 10,240. */
  max_bytes?: number;
  /** Items of an array: 10. */
  max_array_items?: number;
  /** Characters of a string: 500. */
  max_string_length?: number;
  /** Levels of nested objects and arrays: 4. */
  max_json_depth?: number;
  /** Lines of a string: 20. */
  max_log_lines?: number;
}

export interface ResponseOptions {
  /** Stores data that would be truncated under this domain; the answer has its reference. */
  domain?: string;
  /** The reference to data that is stored already. */
  artifactRef?: string;
  /** Whether the tool did what it was asked to do; true by default. */
  success?: boolean;
  limits?: ResponseLimits;
}

/** tidegate could not be started, or does not accept what it was given. */
export class TidegateError extends Error {}

/** A text has more tokens than its budget. */
export class OutputBudgetExceeded extends Error {
  readonly error: { error: string; tool: string; tokens: number; budget: number; hint: string };
}

/** The gate of a server. */
export class Tidegate {
  constructor(options?: Options);
  /** Sets what a tool answers when its result is too large; returns the tool's name, for `registerTool`. */
  heavy(name: string, rules: Rules): string;
  /** Puts the gate between a server and every transport that it is connected to; returns the server. */
  wrap<Server>(server: Server): Server;
  /** Returns the text if it is within the budget, and rejects with `OutputBudgetExceeded` if not. */
  enforceBudget(text: string, tool: string, budgetTokens: number): Promise<string>;
  /** Returns a tool result within hard limits: the summary, and the data, truncated where necessary. */
  wrapResponse(data: unknown, summary: string, options?: ResponseOptions): Promise<{ content: { type: 'text'; text: string }[] }>;
  /** Returns a summary such as `Found bugs: 15 total (3 critical, 12 high)`, or `Found bugs: 15 items`. */
  createSummary(action: string, count: number, bySeverity?: Record<string, number>): Promise<string>;
  /** Stores data for the caller of the tool; returns its reference, `ax://domain/id`. */
  storeArtifact(domain: string, data: unknown, id?: string): Promise<string>;
  /** Returns the data of a reference, if it is stored for the caller of the tool. */
  retrieveArtifact(reference: string): Promise<unknown>;
  /** Ends the child. It is started again when it is needed. */
  close(): Promise<void>;
}
