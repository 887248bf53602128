/** A way to speak to Parley: a client, and how it goes about a call from its start to its end. */
import type { Reply, ScenarioName } from "./scenarios.ts";

export interface Call {
  /** The MCP endpoint, behind a proxy that is this call's own. */
  readonly url: string;
  readonly tool: string;
  readonly args: { readonly marker: string };
  readonly meanwhile: "late" | "cancel" | "leave" | undefined;
  /** What the person answers to a question. Resolves when it is time to. */
  respond(message: string): Promise<Reply>;
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
export type Told = { readonly text: string; readonly isError: boolean } | { readonly failed: string };

export interface Dialect {
  readonly name: string;
  /** What this client has no means for, and why. Such a scenario is run all the same, and must not come to its end. */
  readonly cannot: { readonly [scenario in ScenarioName]?: string };
  /** Where the client is told of an error though the call has come to its end, and why. */
  readonly unaware?: { readonly [scenario in ScenarioName]?: string };
  run(call: Call): Promise<Told>;
  /** Frees what the dialect's runs share. */
  close?(): Promise<void>;
}

/** Of every client that answers `input_required` by itself. */
export const WITHOUT_TASKS: Pick<Dialect, "cannot" | "unaware"> = {
  cannot: {
    "call cancelled": "a call that asks is over until its retry: nothing is open that could be cancelled",
    "invalid, then valid": "an answer that is refused ends the call, and the client keeps no requestState to try again with",
  },
  unaware: { "timeout with a default": "an answer that comes too late is refused, and the client does not ask on" },
};

export function toldBy(result: object): Told {
  const { content = [], isError = false } = result as { content?: readonly { readonly text?: string }[]; isError?: boolean };
  return { text: content[0]?.text ?? "", isError };
}

export function failedWith(error: unknown): Told {
  return { failed: error instanceof Error ? error.message : String(error) };
}
