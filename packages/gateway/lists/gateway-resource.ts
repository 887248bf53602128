/**
 * Makes a resource of an upstream a resource of Parley, and a template a template. Their uris begin with the name of the upstream, so that two
 * upstreams never share a uri: `file:///a` of `crm` is `crm+file:///a` (own-uri.ts).
 *
 *   front end ── read ──▶ a worker, which has the connections ──▶ upstream
 */
import type { JsonObject, Prompt, Resource, ResourceContents, ResourceTemplate, Taker, UnlistedResources } from "@parley/core";
import { type ListedResource, type ListedTemplate, URI_CHARS_MAX } from "./listing.ts";
import { hopsOf, ownLink, ownMeta, ownUri, upstreamUri } from "./own-uri.ts";
import type { Upstream } from "../config/upstreams.ts";
import { HOPS_MAX } from "./passed-gateways.ts";

/** What a front end asks workers to do at an upstream. */
export interface ReadThrough {
  /** Throws UPSTREAM_UNAVAILABLE, UPSTREAM_TIMEOUT, UPSTREAM_INVALID, TOO_LARGE, RESOURCE_NOT_FOUND, and RpcFailure with the upstream's own error. */
  read(upstream: Upstream, uri: string, taker?: Taker): Promise<readonly ResourceContents[]>;
  complete(upstream: Upstream, completion: Completion, taker?: Taker): Promise<readonly string[]>;
}

export interface Completion {
  readonly ref: { readonly type: "ref/prompt"; readonly name: string } | { readonly type: "ref/resource"; readonly uri: string };
  readonly argument: { readonly name: string; readonly value: string };
  readonly context?: { readonly arguments: { readonly [name: string]: string } };
}

export interface ResourceDeps {
  readonly upstream: Upstream;
  readonly reads: ReadThrough;
  readonly completes: boolean;
}

export function gatewayResource(listed: ListedResource, { upstream, reads }: Omit<ResourceDeps, "completes">): Resource {
  const { uri, size } = listed;
  return {
    ...factsOf(listed, upstream),
    uri: ownUri(upstream, uri),
    ...(size !== undefined && { size }),
    read: (taker) => readAt({ upstream, reads }, uri, taker),
  };
}

export function gatewayTemplate(listed: ListedTemplate, { upstream, reads, completes }: ResourceDeps): ResourceTemplate {
  const { uriTemplate } = listed;
  const literals = uriTemplate.split(/\{[^{}]*\}/);
  return {
    ...factsOf(listed, upstream),
    uriTemplate: ownUri(upstream, uriTemplate),
    match(uri) {
      const there = upstreamUri(upstream, uri);
      return there !== undefined && hasInOrder(there, literals) ? {} : undefined;
    },
    read: (uri, _variables, taker) => readAt({ upstream, reads }, upstreamUri(upstream, uri) ?? uri, taker),
    ...(completes && {
      complete: (variable: string, value: string, others: { readonly [name: string]: string }, taker?: Taker) =>
        reads.complete(upstream, completionOf({ type: "ref/resource", uri: uriTemplate }, { variable, value, others }), taker),
    }),
  };
}

/**
 * Resources that the upstream does not list. Which of them exist is up to the upstream. Each gateway that a uri leads through is in its scheme, so
 * gateways that lead to each other are not passed without end.
 */
export function unlistedResources({ upstream, reads }: Omit<ResourceDeps, "completes">): UnlistedResources {
  return {
    match(uri) {
      const there = upstreamUri(upstream, uri);
      return there !== undefined && there.length <= URI_CHARS_MAX && hopsOf(there) <= HOPS_MAX ? {} : undefined;
    },
    read: (uri, _variables, taker) => readAt({ upstream, reads }, upstreamUri(upstream, uri) ?? uri, taker),
  };
}

/** The `complete` function of a prompt, if its upstream completes arguments. */
export function promptCompletion(
  prompt: string,
  argument: string,
  { upstream, reads }: Omit<ResourceDeps, "completes">,
): NonNullable<Prompt["arguments"][number]["complete"]> {
  return (value, others, taker) =>
    reads.complete(upstream, completionOf({ type: "ref/prompt", name: prompt }, { variable: argument, value, others }), taker);
}

interface Completing {
  readonly variable: string;
  readonly value: string;
  readonly others: { readonly [name: string]: string };
}

function completionOf(ref: Completion["ref"], { variable, value, others }: Completing): Completion {
  return {
    ref,
    argument: { name: variable, value },
    ...(Object.keys(others).length > 0 && { context: { arguments: others } }),
  };
}

async function readAt(
  { upstream, reads }: Omit<ResourceDeps, "completes">,
  uri: string,
  taker: Taker | undefined,
): Promise<readonly ResourceContents[]> {
  const contents = await reads.read(upstream, uri, taker);
  return contents.map((each) => ({ ...each, uri: ownUri(upstream, each.uri) }));
}

function factsOf(listed: ListedResource | ListedTemplate, upstream: Upstream) {
  const { prefix } = upstream;
  const { name, title, description, mimeType, annotations, icons, _meta: meta } = listed;
  return {
    name: `${prefix}${name}`,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(mimeType !== undefined && { mimeType }),
    ...(annotations && { annotations }),
    ...(icons && { icons }),
    ...(meta && { meta: ownMeta(upstream, meta) }),
  };
}

/**
 * Whether the uri has the literal parts of the template, in that order. Which uris exist, and what their variables hold, is up to the upstream. A
 * stranger's template is not turned into a regular expression.
 */
function hasInOrder(uri: string, literals: readonly string[]): boolean {
  const first = literals[0] ?? "";
  const last = literals.at(-1) ?? "";
  if (literals.length === 1) return uri === first;
  if (!uri.startsWith(first) || !uri.endsWith(last) || uri.length < first.length + last.length) return false;
  let at = first.length;
  const end = uri.length - last.length;
  for (const literal of literals.slice(1, -1)) {
    const found = uri.indexOf(literal, at);
    if (found === -1 || found + literal.length > end) return false;
    at = found + literal.length;
  }
  return at <= end;
}

/** Rewrites links to resources of the upstream, also in `_meta`, to the uris that are listed here. Links to web pages stay as they are. */
export function withOwnUris(result: JsonObject, upstream: Upstream): JsonObject {
  const owned = (uri: unknown) => ownLink(upstream, uri);
  const withMeta = <Of extends Record<string, unknown>>(of: Of): Of => {
    const { _meta: meta } = of;
    return isObject(meta) ? { ...of, _meta: ownMeta(upstream, meta as JsonObject) } : of;
  };
  const content = (block: unknown): unknown => {
    if (!isObject(block)) return block;
    if (block["type"] === "resource_link") return withMeta({ ...block, uri: owned(block["uri"]) });
    const { resource } = block;
    return block["type"] === "resource" && isObject(resource)
      ? withMeta({ ...block, resource: withMeta({ ...resource, uri: owned(resource["uri"]) }) })
      : withMeta(block);
  };
  const message = (each: unknown) => (isObject(each) ? { ...each, content: content(each["content"]) } : each);
  const { content: blocks, messages } = result;
  return {
    ...withMeta(result),
    ...(Array.isArray(blocks) && { content: blocks.map(content) }),
    ...(Array.isArray(messages) && { messages: messages.map(message) }),
  } as JsonObject;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
