/** Who opens the page of an ask. Where callers log in, visitors do too; without identity an address opens its page. */
import { ParleyError } from "@parley/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import { anonymous, type Authenticate } from "./caller.ts";

export interface Visitors {
  readonly authenticate: Authenticate;
  /** Who comes back from another site, to an address that is no page's; as `authenticate` unless said otherwise. */
  readonly returning?: Authenticate;
  /** What the address of a page carries so that it opens. Undefined where people log in: such addresses carry nothing. */
  readonly ticket: ((taskId: string, key: string) => string) | undefined;
  /** Sends somebody who is not logged in to the provider, and back to where they are. Undefined where nobody can log in. */
  readonly logIn?: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
}

/** Texts that only this deployment can have written: seals/signatures.ts. */
interface Signs {
  sign(text: string): string;
  verify(text: string, signature: string): boolean;
}

/**
 * Everybody is the same one, so the address is what lets somebody in: it goes to the client that was asked, and somebody who guesses a task's id has not got
 * it. Throws TASK_NOT_FOUND for any other, as for a task that there never was.
 */
export function localVisitors(signatures: Signs): Visitors {
  const named = (taskId: string, key: string) => `page\n${taskId}\n${key}`;
  return {
    authenticate(request) {
      const { taskId, key, ticket } = addressed(request);
      if (ticket === undefined || !signatures.verify(named(taskId, key), ticket)) throw new ParleyError("TASK_NOT_FOUND", "no such page");
      return anonymous(request);
    },
    // Known by what their browser has kept since they opened the page.
    returning: anonymous,
    ticket: (taskId, key) => signatures.sign(named(taskId, key)),
  };
}

interface Addressed {
  readonly taskId: string;
  readonly key: string;
  readonly ticket: string | undefined;
}

/** What the address of a page names; empty for what it does not. */
export function addressed({ params, query }: FastifyRequest): Addressed {
  const { taskId = "", "*": key = "" } = params as { readonly taskId?: string; readonly "*"?: string };
  const { k } = query as { readonly k?: unknown };
  return { taskId, key, ticket: typeof k === "string" ? k : undefined };
}
