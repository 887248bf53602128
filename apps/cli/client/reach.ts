/**
 * Chooses the server that a command uses: the one that --url names, or that --data-dir belongs to, or that PARLEY_URL names; or else one that runs on this
 * machine; or else one in this process, on the data that `parley start` keeps here.
 */
import { existsSync } from "node:fs";
import { credentialsFor } from "../credentials/credentials.ts";
import { localServer } from "../serve/local.ts";
import { outputLost } from "../terminal/lost-output.ts";
import { type ApiClient, apiClient } from "./api-client.ts";
import { checkThere, type McpClient, mcpClient } from "./mcp-client.ts";
import { answers, findServing } from "../deployment/serving-address.ts";
import { DEFAULT_DATA_DIR, DEFAULT_URL } from "../url.ts";

export interface ReachOptions {
  readonly url?: string | undefined;
  readonly tools?: string | undefined;
  readonly dataDir?: string | undefined;
  /** Starts a server if none is running, even if none ran here before. */
  readonly mayStart?: boolean;
}

export interface Reached extends McpClient {
  readonly api: ApiClient;
  readonly url: string;
  /** The server runs in this process and stops with the command. Waiting tasks wait for the next server. */
  readonly isOwn: boolean;
}

/** Runs `work` with the server and closes everything afterwards, also if the output is closed. Throws an Error that says what to do if there is no server. */
export async function withServer<T>(options: ReachOptions, work: (server: Reached) => Promise<T>): Promise<T> {
  const server = await reach(options);
  try {
    return await Promise.race([work(server), outputLost]);
  } finally {
    await server.close();
  }
}

async function reach({ url: given, tools, dataDir: givenDir, mayStart = false }: ReachOptions): Promise<Reached> {
  const named = given ?? (givenDir === undefined ? process.env["PARLEY_URL"] || undefined : undefined);
  const isAnyLocal = tools === undefined && givenDir === undefined;
  if (named !== undefined || (isAnyLocal && (await answers(DEFAULT_URL)))) return await remoteAt(named ?? DEFAULT_URL);
  const dataDir = givenDir ?? DEFAULT_DATA_DIR;
  // A directory without this file has never been served.
  if (!mayStart && !existsSync(`${dataDir}/server.json`)) {
    if (givenDir !== undefined)
      throw new Error(`no server has kept its data in ${givenDir}: check --data-dir, or name a server with --url`);
    return await remoteAt(DEFAULT_URL);
  }
  const running = await findServing(dataDir);
  const local = localServer({ dataDir, tools });
  try {
    const url = await local.url();
    const remote = { url: () => local.url(), lost: () => local.lost(), token: () => Promise.resolve(undefined) };
    const client = mcpClient(remote);
    return {
      ...client,
      api: apiClient(remote),
      url,
      isOwn: running === undefined,
      async close() {
        await client.close();
        await local.close();
      },
    };
  } catch (error) {
    await local.close();
    throw error;
  }
}

async function remoteAt(url: string): Promise<Reached> {
  const remote = { url: () => Promise.resolve(url), lost: () => undefined, token: credentialsFor(url) };
  await checkThere(remote);
  return { ...mcpClient(remote), api: apiClient(remote), url, isOwn: false };
}
