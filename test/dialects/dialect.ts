/** A way to speak to Parley: a client, and how it makes a call from start to end. */
import type { Reply, ScenarioName } from "./scenarios.ts";

/** What a question looks like where it is answered. */
export interface Question {
  readonly message: string;
  /** Of a form, in the words of the revision. */
  readonly requestedSchema?: { readonly properties?: object };
  /** Of a page to visit. */
  readonly url?: string;
}

export interface Call {
  /** The MCP endpoint, behind a proxy that is this call's own. */
  readonly url: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, string | number | readonly string[]>>;
  readonly meanwhile: "late" | "cancel" | "leave" | undefined;
  /** What the person answers to a question. Resolves when it is time to. */
  respond(question: Question): Promise<Reply>;
  /** Resolves when the first question has reached the client. */
  readonly asked: Promise<void>;
  /** Resolves when no question of the call is open any more. */
  readonly closed: () => Promise<unknown>;
  /** Breaks every connection of this call, as a network does. Resolves when the client has come back to one of its streams. */
  cut(): Promise<void>;
  /** The machine that the client ran on is gone: nothing that it sends arrives. Resolves with the endpoint for another. */
  vanish(): Promise<string>;
  /** To be called when the client that was gone is there again: `respond` waits for it. */
  back(): void;
}

/** What the client was told at the end. */
export type Told =
  | { readonly text: string; readonly isError: boolean; readonly structuredContent?: Readonly<Record<string, unknown>> }
  | { readonly failed: string };

export interface Dialect {
  readonly name: string;
  /** What this client has no means for, and why. Such a scenario is run all the same, and must not come to its end. */
  readonly cannot: { readonly [scenario in ScenarioName]?: string };
  run(call: Call): Promise<Told>;
  /** Frees what the dialect's runs share. */
  close?(): Promise<void>;
}

/** Of every client that answers `input_required` by itself. */
export const WITHOUT_TASKS: Pick<Dialect, "cannot"> = {
  cannot: { "call cancelled": "a call that asks is over until its retry: nothing is open that could be cancelled" },
};

interface ToolResult {
  readonly content?: readonly { readonly text?: string }[];
  readonly isError?: boolean;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}

export function toldBy(result: object): Told {
  const { content = [], isError = false, structuredContent } = result as ToolResult;
  return { text: content[0]?.text ?? "", isError, ...(structuredContent && { structuredContent }) };
}

export function failedWith(error: unknown): Told {
  return { failed: error instanceof Error ? error.message : String(error) };
}
