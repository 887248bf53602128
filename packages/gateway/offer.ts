/**
 * What front ends offer and workers run: the deployment's own catalogue, and behind it what upstreams list. The lists are in Redis, so that a
 * front end needs no connection to an upstream, and starts while all of them are down.
 */
import type { Announcement, Catalogue, Catalogues, Log, Tool } from "@parley/core";
import { describeError } from "@parley/core";
import { gatewayTool, type GatewayToolDeps } from "./gateway-tool.ts";
import type { ListedTool, Listing } from "./listing.ts";
import type { Upstream } from "./upstreams.ts";

/** What is kept of each upstream. */
export interface StoredListing extends Listing {
  readonly atMs: number;
  /** Why it could not be read the last time; what is here is older then. */
  readonly problem?: string;
}

/** Where workers leave the lists of upstreams, and everybody finds them. */
export interface Listings {
  /** Of these upstreams, those that there are, each with its revision; the text is undefined for one that is still of that revision. */
  read(known: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, { readonly revision: string; readonly text?: string }>>;
  write(upstream: string, text: string): Promise<void>;
}

export interface OfferDeps extends Omit<GatewayToolDeps, "upstream"> {
  readonly own: Catalogue;
  readonly upstreams: readonly Upstream[];
  readonly listings: Listings;
  readonly onAnnouncement: (listener: (announcement: Announcement) => void) => Promise<() => void>;
  readonly log: Log;
}

export interface Offer extends Catalogues {
  /** Whether it is a tool of an upstream. */
  isUpstreams(tool: string): boolean;
  close(): void;
}

/** Some upstreams list other tools each time. */
const FORMER_MAX = 10_000;
/** Announcements can be lost with a connection. */
const LOOK_EVERY_MS = 15_000;

export async function createOffer({ own, upstreams, listings, onAnnouncement, log, ...deps }: OfferDeps): Promise<Offer> {
  const known = new Map<string, { readonly revision: string; readonly tools: readonly Tool[] }>();
  let offered = own;
  let runnable = own;
  /** Tools that were listed since this process began: tasks of one that is not listed any more may wait, or hold a call. */
  const former = new Map<string, Tool>();

  async function look(): Promise<void> {
    const revisions = new Map(upstreams.map(({ name }) => [name, known.get(name)?.revision ?? ""]));
    const found = await listings.read(revisions);
    let isChanged = false;
    for (const upstream of upstreams) {
      const listing = found.get(upstream.name);
      if (!listing?.text) continue;
      const { tools } = JSON.parse(listing.text) as StoredListing;
      // A file that was changed counts from now on, whatever the list was read by.
      known.set(upstream.name, { revision: listing.revision, tools: tools.flatMap((tool) => made(upstream, tool)) });
      isChanged = true;
    }
    if (!isChanged) return;
    offered = merged();
    for (const [name, tool] of offered.tools) {
      if (own.tools.has(name)) continue;
      former.delete(name);
      former.set(name, tool);
    }
    for (const name of former.keys()) if (former.size > FORMER_MAX && !offered.tools.has(name)) former.delete(name);
    runnable = { ...offered, tools: new Map([...former, ...offered.tools]) };
  }

  function made(upstream: Upstream, tool: ListedTool): Tool[] {
    return upstream.offers(tool.name) ? [gatewayTool(tool, { ...deps, upstream })] : [];
  }

  function merged(): Catalogue {
    const tools = new Map(own.tools);
    for (const { name } of upstreams) {
      for (const tool of known.get(name)?.tools ?? []) {
        if (tools.has(tool.name))
          log.warn({ upstream: name, tool: tool.name }, "tool of an upstream has the name of another one, left out");
        else tools.set(tool.name, tool);
      }
    }
    return { ...own, tools };
  }

  let looking: Promise<void> | undefined;
  let isLate = false;
  /** One look at a time; what changes during one is seen by the next. */
  function lookAgain(): void {
    isLate = true;
    looking ??= (async () => {
      while (isLate) {
        isLate = false;
        await look().catch((error: unknown) => log.warn(describeError(error), "lists of upstreams could not be read"));
      }
      looking = undefined;
    })();
  }

  const stop = await onAnnouncement(({ type }) => {
    if (type === "tools") lookAgain();
  });
  await look();
  const timer = setInterval(lookAgain, LOOK_EVERY_MS);
  timer.unref();
  return {
    current: () => offered,
    runnable: () => runnable,
    isUpstreams: (tool) => runnable.tools.has(tool) && !own.tools.has(tool),
    close() {
      clearInterval(timer);
      stop();
    },
  };
}
