/**
 * The uris under which resources of an upstream are offered here, so that two upstreams never share one.
 *
 *   file:///a       of crm is  crm+file:///a        the name begins the scheme
 *   ui://clock/app  of crm is  ui://crm+clock/app   hosts of MCP Apps show a resource only if its scheme is `ui`
 */
import type { JsonObject } from "@parley/core";
import type { Upstream } from "../config/upstreams.ts";

type Name = Pick<Upstream, "name">;

const UI = "ui://";
/** In `_meta`, the member that holds a uri says so: `ui: { resourceUri }` of MCP Apps, or `ui/resourceUri` as before 2026. */
const URI_MEMBER = /(?:^u|U|_u|\/u)ri$/;
const META_DEPTH_MAX = 8;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const WEB = /^https?:/i;

export function ownUri(upstream: Name, uri: string): string {
  return uri.startsWith(UI) ? `${UI}${marked(upstream)}${uri.slice(UI.length)}` : `${marked(upstream)}${uri}`;
}

/** Undefined for a uri that is not one of this upstream. `crm+ui://clock/app` is in results of earlier versions. */
export function upstreamUri(upstream: Name, uri: string): string | undefined {
  const mark = marked(upstream);
  if (uri.startsWith(`${UI}${mark}`)) return `${UI}${uri.slice(UI.length + mark.length)}`;
  return uri.startsWith(mark) ? uri.slice(mark.length) : undefined;
}

/** How many gateways a uri of an upstream leads through. */
export function hopsOf(uri: string): number {
  const [marks = ""] = uri.startsWith(UI) ? uri.slice(UI.length).split("/", 1) : uri.split(":", 1);
  return marks.split("+").length;
}

/** A link in a result. Links to web pages stay as they are. */
export function ownLink(upstream: Name, uri: unknown): unknown {
  return typeof uri === "string" && !WEB.test(uri) ? ownUri(upstream, uri) : uri;
}

/** The `_meta` of something that is listed or returned. Its other members are the upstream's own. */
export function ownMeta(upstream: Name, meta: JsonObject): JsonObject {
  return withLinks(upstream, meta, META_DEPTH_MAX) as JsonObject;
}

function withLinks(upstream: Name, value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth === 0) return value;
  if (Array.isArray(value)) return value.map((each) => withLinks(upstream, each, depth - 1));
  const linked = ([key, member]: [string, unknown]): [string, unknown] =>
    typeof member === "string"
      ? [key, URI_MEMBER.test(key) && SCHEME.test(member) ? ownLink(upstream, member) : member]
      : [key, withLinks(upstream, member, depth - 1)];
  return Object.fromEntries(Object.entries(value).map(linked));
}

function marked({ name }: Name): string {
  // A scheme begins with a letter.
  return /^[a-z]/.test(name) ? `${name}+` : `up-${name}+`;
}
