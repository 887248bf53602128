/**
 * One operation of /api/v1: what it takes and returns, as schemas, and what it does. Requests are checked against the schemas, the
 * reference is generated from them (openapi.ts), and tests compare replies with them.
 *
 *   request ─▶ scopes ─▶ rate ─▶ parameters, body: schema ─▶ Idempotency-Key ─▶ handle ─▶ reply, with an ETag if it was a read
 *
 * A route file exports a list of operations; `operations.ts` puts the lists together.
 */
import { type Caller, type Catalogue, type Catalogues, isCounted, type Json, type Rated, type Repeats } from "@parley/core";
import { hash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { FrontEnd } from "../../front-end/front-end.ts";
import { requireScopes } from "../../front-end/protected-resource.ts";
import { type TitleOf, toolTitles } from "../../front-end/tool-titles.ts";
import { invalid } from "./problems.ts";
import { idempotencyKeyOf, once } from "./repeatable.ts";

/** Name of this door in the audit. */
export const DOOR = "api";
/** Longest value of a parameter. */
export const WORD_CHARS_MAX = 1_000;

/** What an operation works with. */
export interface Work<Params, Query, Body> {
  readonly frontEnd: FrontEnd;
  readonly caller: Caller;
  /** What the caller is offered. */
  readonly offered: () => Promise<Catalogue>;
  readonly titleOf: TitleOf;
  /** For an operation that is repeatable by itself. */
  readonly idempotencyKey: string | undefined;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

export interface OperationOf<Params extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType, Result extends z.ZodType> {
  /** Names the operation in generated clients, as a verb: `listAsks`. */
  readonly name: string;
  readonly method: "get" | "post";
  /**
   * Below /api/v1, with parameters in braces. The last one, if the path ends with it, is the rest of the address: it
   * may have colons and slashes.
   */
  readonly path: string;
  /** One sentence without a full stop. */
  readonly summary: string;
  readonly description?: string;
  /** Heading in the reference. */
  readonly group: string;
  readonly scopes: readonly string[];
  /** The rate against which it counts, once. Absent if `handle` takes it. */
  readonly rate?: Rated;
  readonly params?: Params;
  readonly query?: Query;
  readonly body?: Body;
  /** Absent for a stream of events, which `handle` sends itself. */
  readonly result?: Result;
  /** 200 by default. */
  readonly status?: 200 | 201;
  /**
   * A post with an Idempotency-Key is done once, and its reply kept if it refuses nothing. `by itself`: `handle` takes
   * care of the key.
   */
  readonly isRepeatable?: "by itself";
  /** Whether a reply refuses nothing. Default: each does that is not a problem. */
  readonly isWhole?: (reply: z.input<Result>) => boolean;
  /** Statuses of its own refusals, with when they happen. */
  readonly refusals?: Readonly<Record<number, string>>;
  /** Returns the reply's body. */
  handle(work: Work<z.output<Params>, z.output<Query>, z.output<Body>>): Promise<z.input<Result> | undefined>;
}

/** An operation of any types. */
export type Operation = Omit<OperationOf<z.ZodObject, z.ZodObject, z.ZodType, z.ZodType>, "handle" | "isWhole"> & {
  readonly isWhole?: (reply: never) => boolean;
  handle(work: Work<never, never, never>): Promise<unknown>;
};

const NONE = z.strictObject({});

/** Checks the types of an operation against its schemas. */
export function operation<
  Params extends z.ZodObject = typeof NONE,
  Query extends z.ZodObject = typeof NONE,
  Body extends z.ZodType = z.ZodUndefined,
  Result extends z.ZodType = z.ZodUndefined,
>(of: OperationOf<Params, Query, Body, Result>): Operation {
  return of;
}

interface Served {
  readonly frontEnd: FrontEnd;
  readonly catalogues: Catalogues;
  readonly repeats: Repeats;
}

/** Serves the operation in an authenticated scope. */
export function serve(scope: FastifyInstance, { frontEnd, catalogues, repeats }: Served, of: Operation): void {
  const { limits, rates, resource } = frontEnd;
  const { method, path, scopes, rate, params, query = NONE, body, result, status = 200 } = of;
  const titleOf = toolTitles(catalogues);
  const bodyLimit = body ? { bodyLimit: limits.bodyBytesMax } : {};
  scope.route({
    method: method.toUpperCase(),
    url: routePath(path),
    ...bodyLimit,
    async handler(request, reply) {
      const { caller } = request;
      if (resource) requireScopes(caller, scopes, "this request");
      if (rate && isCounted(caller)) await rates.take(caller, { [rate]: 1 });
      const work = {
        frontEnd,
        caller,
        offered: async () => await catalogues.current(caller),
        titleOf,
        idempotencyKey: method === "post" ? idempotencyKeyOf(request) : undefined,
        params: params && checked(params, paramsOf(request, path), ""),
        query: checked(query, wordsOf(request), ""),
        body: body && checked(body, request.body ?? undefined, "the body"),
        request,
        reply,
      };
      const handle = async () => await of.handle(work as unknown as Work<never, never, never>);
      const { idempotencyKey: key } = work;
      const what = [of.name, (work.params ?? {}) as Json, (work.body ?? {}) as Json];
      const isWhole = (of.isWhole ?? (() => true)) as (reply: object) => boolean;
      const isKept = key !== undefined && of.isRepeatable === undefined;
      const replied = isKept
        ? await once({ repeats, services: frontEnd.services }, { caller, key, what, isWhole }, handle as () => Promise<object>)
        : await handle();
      if (!result) return reply;
      return method === "get" ? sendTagged(request, reply, replied) : reply.code(status).type(JSON_TYPE).send(JSON.stringify(replied));
    },
  });
}

const JSON_TYPE = "application/json; charset=utf-8";
/** A parameter that ends the path: the rest of the address. */
const LAST = /\{(\w+)\}$/;

function routePath(path: string): string {
  return path.replace(LAST, (whole, name: string) => (name === "key" ? "*" : whole)).replaceAll(/\{(\w+)\}/g, ":$1");
}

/** Keys of asks may have colons and slashes, encoded or not. */
function paramsOf({ params }: FastifyRequest, path: string): object {
  const { "*": rest, ...named } = params as Readonly<Record<string, string>>;
  const [, last] = LAST.exec(path) ?? [];
  return rest === undefined || last === undefined ? named : { ...named, [last]: rest };
}

function wordsOf({ query }: FastifyRequest): object {
  for (const [name, value] of Object.entries(query as Readonly<Record<string, string | string[]>>)) {
    const shown = name.slice(0, NAME_CHARS);
    if (Array.isArray(value)) throw invalid(`${shown} is there several times: send one`);
    if (value.length > WORD_CHARS_MAX) throw invalid(`${shown} is longer than ${WORD_CHARS_MAX} characters`);
  }
  return query as object;
}

const NAME_CHARS = 60;

/** Throws a problem that says what is wrong first. `what`: the value as a whole, to begin a sentence with. */
function checked(schema: z.ZodType, value: unknown, what: string): unknown {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  if (issue?.code === "unrecognized_keys") {
    const name = [...issue.path, issue.keys[0] ?? ""].join(".").slice(0, NAME_CHARS);
    throw invalid(`there is no ${what === "" ? "parameter" : "member"} ${JSON.stringify(name)}`);
  }
  const at = issue?.path.join(".") ?? "";
  throw invalid(`${at === "" ? what : at} ${issue?.message}`);
}

/** A program that polls receives 304 while nothing has changed. */
function sendTagged(request: FastifyRequest, reply: FastifyReply, body: unknown): FastifyReply {
  const text = JSON.stringify(body);
  const tag = `"${hash("sha256", text, "base64url").slice(0, 22)}"`;
  void reply.header("etag", tag).header("cache-control", "private, no-cache");
  if (request.headers["if-none-match"] === tag) return reply.code(304).send();
  return reply.type(JSON_TYPE).send(text);
}
