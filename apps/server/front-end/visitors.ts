/** Who opens the page of an ask. If callers log in, visitors log in too. Without identity, the address alone opens the page. */
import { type Caller, ParleyError, type RequiredAssurance } from "@parley/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import { anonymous, type Authenticate } from "./caller.ts";

export interface Visitors {
  readonly authenticate: Authenticate;
  /** Identifies a person who returns from another site to an address that is not a page's. Default: `authenticate`. */
  readonly returning?: Authenticate;
  /** The ticket in the address of a page. Undefined if people log in, because their addresses need none. */
  readonly ticket: ((taskId: string, key: string) => string) | undefined;
  /** Sends a person who is not logged in to the provider, which sends them back to this page. Undefined if there is no login. */
  readonly logIn?: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
  /** Where a person logs in as an answer requires, and comes back to `back`, a page of this server. Undefined if there is no login. */
  readonly again?: (required: RequiredAssurance, back: string) => string;
  /** How a person who has logged in with this browser changes that. Undefined for everyone else. Called after `authenticate`. */
  readonly account?: (request: FastifyRequest) => Account | undefined;
  /** For the playground, whose page calls as an MCP client. Undefined if there is no login. */
  readonly playground?: PlaygroundLogin;
}

export interface PlaygroundLogin {
  /** The person who has logged in with this browser, if the playground's page sends the request. Throws UNAVAILABLE. */
  callerOf(request: FastifyRequest): Promise<Caller | undefined>;
  /** Sends a person to the provider, with the scopes to call tools, which sends them back to `back`, a page of this server. */
  logIn(request: FastifyRequest, reply: FastifyReply, back: string): Promise<FastifyReply>;
}

/** Addresses on this server. */
export interface Account {
  /** Logs in as another person, and returns to the page. */
  readonly other: string;
  /** Where a form logs the person out. Undefined if nobody is logged in. */
  readonly out?: string;
}

/** Implemented by seals/signatures.ts. */
interface Signer {
  sign(text: string): string;
  verify(text: string, signature: string): boolean;
}

/**
 * All visitors are the same caller, so the signed ticket in the address is what opens a page. Only the client that was asked receives the
 * address; the id of a task is not enough. Without a valid ticket, throws TASK_NOT_FOUND, as for a task that never existed.
 */
export function localVisitors(signatures: Signer): Visitors {
  const signedText = (taskId: string, key: string) => `page\n${taskId}\n${key}`;
  return {
    authenticate(request) {
      const { taskId, key, ticket } = parsePageAddress(request);
      if (ticket === undefined || !signatures.verify(signedText(taskId, key), ticket)) {
        throw new ParleyError("TASK_NOT_FOUND", "no such page");
      }
      return anonymous(request);
    },
    // The cookie that the browser has kept since the page was opened identifies the visit.
    returning: anonymous,
    ticket: (taskId, key) => signatures.sign(signedText(taskId, key)),
  };
}

interface PageAddress {
  readonly taskId: string;
  readonly key: string;
  readonly ticket: string | undefined;
}

/** Reads task, ask and ticket from the address of a page. A missing task or ask is the empty string. */
export function parsePageAddress({ params, query }: FastifyRequest): PageAddress {
  const { taskId = "", "*": key = "" } = params as { readonly taskId?: string; readonly "*"?: string };
  const { k } = query as { readonly k?: unknown };
  return { taskId, key, ticket: typeof k === "string" ? k : undefined };
}
