/**
 * What front ends offer and workers run: the deployment's own catalogue, followed by what the upstreams list. The lists are in Redis, so a front
 * end needs no connection to an upstream and can start while all of them are down.
 */
import type {
  Announcement,
  Catalogue,
  Catalogues,
  Log,
  PassedOnType,
  Prompt,
  Resource,
  ResourceTemplate,
  Tool,
  UnlistedResources,
} from "@parley/core";
import { describeError } from "@parley/core";
import { gatewayEvent, type PollThrough } from "../lists/gateway-event.ts";
import { gatewayResource, gatewayTemplate, type ReadThrough, unlistedResources } from "../lists/gateway-resource.ts";
import { type Allowed, allowedTo, mayUse, mayUseAll } from "./access.ts";
import { gatewayPrompt, gatewayTool, type GatewayToolDeps } from "./gateway-tool.ts";
import type { Listings, StoredListing } from "../lists/listings.ts";
import type { Upstream } from "../config/upstreams.ts";
import { withVia } from "../lists/passed-gateways.ts";

export interface OfferDeps extends Omit<GatewayToolDeps, "upstream" | "reads"> {
  /** Reads resources, completes arguments and polls events; undefined in a process that only runs tools. */
  readonly reads?: ReadThrough & PollThrough;
  readonly own: Catalogue;
  readonly upstreams: readonly Upstream[];
  /** This deployment's name, for gateways that list what is offered here. */
  readonly deployment: string;
  readonly listings: Listings;
  readonly onAnnouncement: (listener: (announcement: Announcement) => void) => Promise<() => void>;
  readonly log: Log;
}

export interface Offer extends Catalogues {
  /** Whether it is a tool or a prompt of an upstream. */
  isUpstreams(kind: "tool" | "prompt", name: string): boolean;
  /** The upstream whose tool or prompt it is. */
  upstreamOf(kind: "tool" | "prompt", name: string): Upstream | undefined;
  /** All that is offered to somebody now. Other than `runnable`, without what upstreams have listed before. */
  listed(): Catalogue;
  /** How names begin of what upstreams offer that have listed nothing yet. */
  unlisted(): readonly string[];
  /** Replaces the upstreams. Resolves when what they list is offered. */
  replace(upstreams: readonly Upstream[]): Promise<void>;
  close(): void;
}

/** Bounds what is remembered: some upstreams list different tools each time. */
const FORMER_MAX = 10_000;
/** The lists are read this often even without an announcement: one can be lost with its connection. */
const READ_EVERY_MS = 15_000;
/** How many catalogues are kept for callers who may use different things. */
const CATALOGUES_MAX = 100;

/** What one upstream offers. */
interface Known {
  readonly revision: string;
  readonly tools: readonly Tool[];
  readonly prompts: readonly Prompt[];
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
  readonly unlisted: readonly UnlistedResources[];
  readonly passedOn: readonly PassedOnType[];
  readonly instructions: string | undefined;
}

/** In characters: what models are told of all upstreams together. */
const INSTRUCTIONS_CHARS_MAX = 16_000;

export async function createOffer({
  own,
  upstreams: first,
  deployment,
  listings,
  onAnnouncement,
  log,
  reads,
  ...deps
}: OfferDeps): Promise<Offer> {
  const known = new Map<string, Known>();
  let upstreams = first;
  let isReplaced = false;
  let offered: Catalogue = { ...own, grows: true };
  /** What callers are offered, by the rules of access that are for them. */
  const offeredTo = new Map<string, Catalogue>();
  let runnable = own;
  /** Everything listed since this process started: tasks of tools that are no longer listed may still wait or hold a call. */
  const former = { tools: new Map<string, Tool>(), prompts: new Map<string, Prompt>() };

  async function readLists(): Promise<void> {
    const revisions = new Map(upstreams.map(({ name }) => [name, known.get(name)?.revision ?? ""]));
    const found = await listings.read(revisions);
    let isChanged = isReplaced;
    isReplaced = false;
    for (const upstream of upstreams) {
      const listing = found.get(upstream.name);
      if (!listing?.text) continue;
      // An entry stored by a worker of an earlier version has tools only.
      const stored = JSON.parse(listing.text) as Partial<StoredListing> & Pick<StoredListing, "tools">;
      const { tools, prompts = [], instructions } = stored;
      // Reads and completions ask nobody for access first, and the file's own credentials are for listing only.
      const { resources = [], templates = [], events = [], completes = false, readsResources = false } = upstream.oauth ? {} : stored;
      const offers = ({ name }: { readonly name: string }) => upstream.offers(name);
      // The names of resources that are not listed are unknown, so the file cannot leave any of them out.
      const hasUnlisted = readsResources && upstream.offersAll;
      const hasResources = hasUnlisted || resources.length > 0 || templates.length > 0;
      // A changed file takes effect at once, even if the list was read with the old one.
      known.set(upstream.name, {
        revision: listing.revision,
        tools: tools.filter(offers).map((tool) => gatewayTool(withVia(tool, deployment), { ...deps, upstream, hasResources })),
        prompts: prompts
          .filter(offers)
          .map((prompt) =>
            gatewayPrompt(withVia(prompt, deployment), { ...deps, upstream, hasResources, ...(completes && reads && { reads }) }),
          ),
        resources: reads
          ? resources.filter(offers).map((resource) => gatewayResource(withVia(resource, deployment), { upstream, reads }))
          : [],
        templates: reads
          ? templates.filter(offers).map((template) => gatewayTemplate(withVia(template, deployment), { upstream, reads, completes }))
          : [],
        passedOn: reads ? events.filter(offers).map((event) => gatewayEvent(withVia(event, deployment), { upstream, polls: reads })) : [],
        unlisted: reads && hasUnlisted ? [unlistedResources({ upstream, reads })] : [],
        instructions,
      });
      isChanged = true;
    }
    if (!isChanged) return;
    offeredTo.clear();
    offered = merged();
    const tools = withFormer(former.tools, offered.tools, own.tools);
    runnable = { ...offered, tools, prompts: withFormer(former.prompts, offered.prompts, own.prompts) };
  }

  /** What a caller is offered by these rules. Callers that the same rules are for share one catalogue. */
  function offeredBy(allowed: readonly Allowed[]): Catalogue {
    const key = JSON.stringify(upstreams.map(({ access }, index) => access?.map((rule) => allowed[index]?.includes(rule))));
    const found = offeredTo.get(key) ?? { ...merged(allowed), isPrivate: true };
    offeredTo.set(key, found);
    for (const oldest of offeredTo.keys()) if (offeredTo.size > CATALOGUES_MAX) offeredTo.delete(oldest);
    return found;
  }

  /** `allowed`: for each upstream, in their order. Undefined: what there is. */
  function merged(allowed: readonly Allowed[] = []): Catalogue {
    const mine = (index: number) => (one: { readonly name: string }) =>
      mayUse(allowed[index], one.name.slice(upstreams[index]?.prefix.length));
    // What is offered to some callers is a part of this: reported once.
    const warn: Log["warn"] = (...said) => (allowed.length === 0 ? log.warn(...said) : undefined);
    const tools = new Map(own.tools);
    const prompts = new Map(own.prompts);
    const resources = new Map(own.resources);
    const templates = [...own.templates];
    const unlisted: UnlistedResources[] = [];
    const passedOn = new Map<string, PassedOnType>();
    const saying = new Set<string>();
    for (const [index, { name }] of upstreams.entries()) {
      const isMine = mine(index);
      const items = [...(known.get(name)?.tools ?? []), ...(known.get(name)?.prompts ?? [])].filter(isMine);
      const itsResources = (known.get(name)?.resources ?? []).filter(isMine);
      const itsTemplates = (known.get(name)?.templates ?? []).filter(isMine);
      if (items.length + itsResources.length + itsTemplates.length > 0) saying.add(name);
      for (const one of items) {
        const others: Map<string, Tool | Prompt> = one.kind === "tool" ? tools : prompts;
        if (others.has(one.name))
          warn({ upstream: name, [one.kind]: one.name }, `${one.kind} of an upstream has the name of another one, left out`);
        else others.set(one.name, one);
      }
      for (const resource of itsResources) {
        if (resources.has(resource.uri)) warn({ upstream: name }, "resource of an upstream has the uri of another one, left out");
        else resources.set(resource.uri, resource);
      }
      templates.push(...itsTemplates);
      for (const type of (known.get(name)?.passedOn ?? []).filter(isMine)) passedOn.set(type.name, type);
      // Their names are unknown.
      if (mayUseAll(allowed[index])) unlisted.push(...(known.get(name)?.unlisted ?? []));
    }
    const said = instructions(saying, warn);
    return { ...own, tools, prompts, resources, templates, unlisted, passedOn, grows: true, ...(said !== "" && { instructions: said }) };
  }

  /** Each with the name of its upstream, in the order of the file. An upstream of which nothing is offered says nothing. */
  function instructions(saying: ReadonlySet<string>, warn: Log["warn"]): string {
    let text = "";
    for (const { name, prefix } of upstreams) {
      const { instructions: said } = known.get(name) ?? {};
      if (said === undefined || !saying.has(name)) continue;
      const part = `${text === "" ? "" : "\n\n"}The server ${name}${prefix === "" ? "" : `, whose tools begin with ${prefix}`}, says:\n${said}`;
      if (text.length + part.length > INSTRUCTIONS_CHARS_MAX) warn({ upstream: name }, "instructions of an upstream left out");
      else text += part;
    }
    return text;
  }

  let reading: Promise<void> | undefined;
  let isLate = false;
  /** Reads one at a time; a change during a reading causes another one. */
  function readAgain(): Promise<void> {
    isLate = true;
    return (reading ??= (async () => {
      while (isLate) {
        isLate = false;
        await readLists().catch((error: unknown) => log.warn(describeError(error), "lists of upstreams could not be read"));
      }
      reading = undefined;
    })());
  }

  const stop = await onAnnouncement(({ type }) => {
    if (type === "tools") void readAgain();
  });
  await readLists();
  const timer = setInterval(() => void readAgain(), READ_EVERY_MS);
  timer.unref();
  const isUpstreams: Offer["isUpstreams"] = (kind, name) =>
    kind === "tool" ? runnable.tools.has(name) && !own.tools.has(name) : runnable.prompts.has(name) && !own.prompts.has(name);
  return {
    current: (caller) =>
      upstreams.some(({ access }) => access) ? offeredBy(upstreams.map((upstream) => allowedTo(caller, upstream))) : offered,
    runnable: () => runnable,
    listed: () => offered,
    isUpstreams,
    // No prefix is the beginning of another one.
    upstreamOf: (kind, name) => (isUpstreams(kind, name) ? upstreams.find(({ prefix }) => name.startsWith(prefix)) : undefined),
    unlisted: () => upstreams.filter(({ name }) => !known.has(name)).map(({ prefix }) => prefix),
    replace(given) {
      const before = new Map(upstreams.map(({ name, fingerprint }) => [name, fingerprint]));
      const stays = new Set(given.filter(({ name, fingerprint }) => before.get(name) === fingerprint).map(({ name }) => name));
      for (const name of known.keys()) if (!stays.has(name)) known.delete(name);
      upstreams = given;
      // Made by the former rules.
      offeredTo.clear();
      isReplaced = true;
      return readAgain();
    },
    close() {
      clearInterval(timer);
      stop();
    },
  };
}

/** Looks up what is offered now, then what was offered earlier. */
function withFormer<One>(former: Map<string, One>, offered: ReadonlyMap<string, One>, own: ReadonlyMap<string, One>): Map<string, One> {
  for (const [name, one] of offered) {
    if (own.has(name)) continue;
    former.delete(name);
    former.set(name, one);
  }
  for (const name of former.keys()) if (former.size > FORMER_MAX && !offered.has(name)) former.delete(name);
  return new Map([...former, ...offered]);
}
