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
  /** Ends the child. It is started again when it is needed. */
  close(): Promise<void>;
}
