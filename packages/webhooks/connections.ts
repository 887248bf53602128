/**
 * Connections to receivers, kept for a while: a receiver of many events gets them by a few connections, since to open one costs more than to post.
 *
 * Where only public addresses may be posted to, the address is checked where a connection is made, after the name was resolved. A connection
 * that is kept leads where it led. Those that may lead anywhere are kept apart, so that none of them is used by who may not.
 */
import { lookup as resolve, type LookupAddress } from "node:dns";
import * as http from "node:http";
import * as https from "node:https";
import type { LookupFunction, Socket } from "node:net";
import { isPublicAddress } from "./public-address.ts";

/** How many wait for their next POST, to one receiver and in all. */
export const KEPT_OF_ONE_MAX = 16;
export const KEPT_MAX = 64;
/** Less than the 5 s after which many servers close what waits. */
const KEPT_MS = 4_000;

export class AddressRefused extends Error {}

type Found = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;

function publicOnly(host: string, options: { readonly all?: boolean }, found: Found): void {
  resolve(host, { ...options, all: true }, (error, addresses) => {
    if (error) return found(error, "");
    const [first, ...others] = addresses.filter(({ address }) => isPublicAddress(address));
    if (!first) return found(new AddressRefused(`${host} has no public address`), "");
    if (options.all) found(null, [first, ...others]);
    else found(null, first.address, first.family);
  });
}

function keeping(Agent: typeof http.Agent | typeof https.Agent, lookup: LookupFunction): http.Agent {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: KEPT_OF_ONE_MAX, timeout: KEPT_MS, lookup } as https.AgentOptions);
  const keep = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket: Socket) => keptConnections() < KEPT_MAX && keep(socket);
  return agent;
}

const AGENTS = {
  anywhere: { "http:": keeping(http.Agent, resolve), "https:": keeping(https.Agent, resolve) },
  public: { "http:": keeping(http.Agent, publicOnly as LookupFunction), "https:": keeping(https.Agent, publicOnly as LookupFunction) },
};

/** Of this process, all of them. */
export function keptConnections(): number {
  const all = Object.values(AGENTS).flatMap((agents) => Object.values(agents));
  return all.flatMap(({ freeSockets }) => Object.values(freeSockets)).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
}

export interface Reach {
  readonly url: URL;
  readonly isPrivate: boolean;
  /** One that closes after it. */
  readonly isNew: boolean;
}

/** What a request needs so that it is sent by a connection to an address that is allowed. */
export function connectionTo({ url, isPrivate, isNew }: Reach): Pick<http.RequestOptions, "agent" | "lookup"> {
  if (isNew) return { agent: false, lookup: isPrivate ? resolve : (publicOnly as LookupFunction) };
  return { agent: AGENTS[isPrivate ? "anywhere" : "public"][url.protocol === "https:" ? "https:" : "http:"] };
}
