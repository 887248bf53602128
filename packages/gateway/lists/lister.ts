/**
 * Keeps the lists of one upstream fresh. One worker of the deployment has a session open with it, reads its lists when the upstream announces a
 * change, and periodically, which also detects that an upstream is down.
 *
 * An upstream that is down keeps its last list: its tools stay listed, and calls fail with the reason. The lists and calls of other upstreams are
 * unaffected. An upstream that announces changes constantly is read once per second at most, and one whose lists differ each time less often: every
 * change is announced to every client, which reads its lists again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Announcement, Log } from "@parley/core";
import { type Listing, LISTING_CAPABILITIES, readListing } from "./listing.ts";
import type { Listings, StoredListing } from "./listings.ts";
import type { UpstreamConnector, UpstreamSession } from "../connection/upstream-session.ts";
import type { Upstream } from "../config/upstreams.ts";
import { describeFailure } from "../wire/describe-failure.ts";

export interface ListerDeps {
  readonly upstream: Upstream;
  readonly connector: UpstreamConnector;
  /** This deployment: items that have passed through it are not listed. */
  readonly deployment: string;
  readonly listings: Listings;
  /** Returns whether this process reads the upstream's lists for that long. */
  readonly lease: (upstream: string, ttlMs: number) => Promise<boolean>;
  readonly announce: (announcement: Announcement) => Promise<void>;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Undefined if another process reads the lists. */
  readonly onStatus?: (upstream: string, isUp: boolean | undefined) => void;
}

/** Minimum time between two readings of one upstream, however often it announces changes. */
const READ_EVERY_MIN_MS = 1_000;
/** So many changes of one upstream are told at once, as when somebody works on its tools; then one each time that this has passed. So it is with the log. */
const NEWS_AT_ONCE = 5;
const NEWS_EVERY_MS = 30_000;
const LEASE_MS = 15_000;
const RENEW_EVERY_MS = 5_000;
/** Longer than it takes another process to get the lease of one that died, and to read the lists. */
const UNHEARD_MS = 60_000;

export async function keepListed(deps: ListerDeps): Promise<void> {
  const { upstream, lease, log, signal } = deps;
  const { name, refreshMs } = upstream;
  let session: UpstreamSession | undefined;
  let last: string | undefined;
  let lastLeftOut = "";
  const changes = createPace();
  const lines = createPace();
  let lastProblem: string | undefined;
  let isChanged = true;
  let nextReadMs = 0;

  async function read(): Promise<void> {
    isChanged = false;
    nextReadMs = Date.now() + refreshMs;
    let listing: Listing | undefined;
    let problem: string | undefined;
    try {
      session ??= await open();
      listing = await readListing(session, upstream, { deployment: deps.deployment, before: stored });
    } catch (error) {
      if (signal.aborted) return;
      problem = describeFailure(error);
      const broken = session;
      session = undefined;
      deps.connector.forget(upstream);
      await broken?.close();
    }
    deps.onStatus?.(name, problem === undefined);
    // What is over before its turn comes was not worth a line.
    if (problem !== lastProblem && lines.isFree()) {
      lines.take();
      lastProblem = problem;
      if (problem === undefined) log.info({ upstream: name }, "upstream can be listed again");
      else log.warn({ upstream: name, problem }, "upstream could not be listed");
    }
    if (listing) await keep(listing);
  }

  function note({ tools, prompts, resources, templates, leftOut }: Listing): void {
    lastLeftOut = leftOut.join();
    const counts = { tools: tools.length, prompts: prompts.length, resources: resources.length, templates: templates.length };
    log.info({ upstream: name, ...counts, leftOut }, "upstream listed");
  }

  async function keep(listing: Listing): Promise<void> {
    const { leftOut, ...offered } = listing;
    const text = JSON.stringify(offered);
    // A lister that was stopped while it read has the list of an upstream that the file has changed since.
    if (signal.aborted) return;
    if (text === last) {
      // Clients are offered the same. A list that fails every other time says so in the log, and nowhere else.
      if (leftOut.join() === lastLeftOut || !lines.isFree()) return;
      lines.take();
      note(listing);
      return;
    }
    const before = await stored();
    const changed = (["prompts", "resources"] as const).filter((type) => partOf(listing, type) !== partOf(before, type));
    // The process that wrote it may have died before it announced its changes.
    const isRecent = last === undefined && Date.now() - (before.atMs ?? 0) < UNHEARD_MS;
    const announced = new Set(isRecent ? [...(before.changed ?? []), ...changed] : changed);
    await deps.listings.write(name, JSON.stringify({ ...listing, atMs: Date.now(), changed } satisfies StoredListing));
    last = text;
    changes.take();
    note(listing);
    for (const type of ["tools", ...announced] as const) await deps.announce({ type });
  }

  /** What clients have been offered so far. Another process may have listed it, or this one before it was restarted. */
  async function stored(): Promise<Partial<StoredListing>> {
    const text = (await deps.listings.read(new Map([[name, ""]]))).get(name)?.text;
    return text === undefined ? {} : (JSON.parse(text) as Partial<StoredListing>);
  }

  async function open(): Promise<UpstreamSession> {
    const onChanged = () => void (isChanged = true);
    const opened = await deps.connector.open(upstream, {
      capabilities: LISTING_CAPABILITIES,
      signal,
      options: {
        listChanged: {
          tools: { autoRefresh: false, onChanged },
          prompts: { autoRefresh: false, onChanged },
          resources: { autoRefresh: false, onChanged },
        },
      },
    });
    opened.client.onclose = () => {
      if (session === opened) session = undefined;
      isChanged = true;
    };
    return opened;
  }

  try {
    while (!signal.aborted) {
      try {
        if (await lease(name, LEASE_MS)) {
          const untilMs = Date.now() + RENEW_EVERY_MS;
          while (!signal.aborted && Date.now() < untilMs) {
            if ((isChanged || Date.now() >= nextReadMs) && changes.isFree()) await read();
            await sleep(READ_EVERY_MIN_MS, undefined, { signal });
          }
        } else {
          const idle = session;
          session = undefined;
          isChanged = true;
          last = undefined;
          deps.onStatus?.(name, undefined);
          await idle?.close();
          await sleep(RENEW_EVERY_MS, undefined, { signal });
        }
      } catch (error) {
        if (signal.aborted) break;
        log.warn({ upstream: name, problem: describeFailure(error) }, "list of an upstream could not be kept");
        await sleep(RENEW_EVERY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  } finally {
    await session?.close();
  }
}

function createPace() {
  /** When everything so far would have been told, one at a time. */
  let toldMs = 0;
  return {
    isFree: () => toldMs - Date.now() <= (NEWS_AT_ONCE - 1) * NEWS_EVERY_MS,
    take: () => void (toldMs = Math.max(toldMs, Date.now()) + NEWS_EVERY_MS),
  };
}

/** A list stored by a worker of an earlier version has tools only. */
function partOf({ prompts = [], resources = [], templates = [] }: Partial<Listing>, type: "prompts" | "resources"): string {
  return JSON.stringify(type === "prompts" ? prompts : [resources, templates]);
}
