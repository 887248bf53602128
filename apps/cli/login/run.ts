/** `parley login` and `parley logout`. */
import { AuthorizationServerMismatchError, extractWWWAuthenticateParams, IssuerMismatchError } from "@modelcontextprotocol/client";
import { INTERRUPTED, onInterrupt } from "../terminal/interrupt.ts";
import { showUrl } from "../questions/show.ts";
import { cleanLine, print, printJson, printToStderr } from "../terminal/terminal.ts";
import { DEFAULT_URL, noEndpoint } from "../url.ts";
import { boundedFetch } from "../credentials/bounded-fetch.ts";
import { logInByDevice } from "./device.ts";
import { openLoopback } from "./loopback.ts";
import { authorization, authorize } from "../credentials/provider.ts";
import { changeCredentials, type Credentials, credentialsFile, forgetAll, readCredentials, serverKey } from "../credentials/store.ts";

export interface LoginCommand {
  readonly url?: string;
  readonly device?: boolean;
  readonly browser: boolean;
  readonly clientId?: string;
  readonly scope?: string;
  readonly json?: boolean;
}

/** How long the person may take to log in at the provider. */
const PATIENCE_MS = 5 * 60_000;

export async function login({ url: given, device, browser, clientId, scope, json }: LoginCommand): Promise<void> {
  const url = serverKey(given ?? (process.env["PARLEY_URL"] || DEFAULT_URL));
  const challenge = await challengeOf(url);
  if (!challenge) {
    if (json) return printJson({ url, needed: false });
    return print(`${url} needs no login.`);
  }
  const { resourceMetadataUrl } = challenge;
  const wanted = scope ?? challenge.scope;
  const signal = onInterrupt();
  try {
    if (device) {
      const show = (page: string, code: string) => printToStderr(`Open ${showUrl(page)}\nand check or enter the code ${cleanLine(code)}`);
      const credentials = await logInByDevice({ url, resourceMetadataUrl, scope: wanted, clientId, show, signal });
      await changeCredentials(url, () => withExpiry(credentials));
    } else await logInByBrowser({ url, resourceMetadataUrl, scope: wanted, clientId, browser, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    printToStderr("The login was cancelled.");
    process.exitCode = INTERRUPTED;
    return;
  }
  const stored = await readCredentials(url);
  const { tokens, expiresAt } = stored ?? {};
  if (json)
    return printJson({
      url,
      needed: true,
      ...(tokens?.scope !== undefined && { scope: tokens.scope }),
      ...(expiresAt !== undefined && { expiresAt }),
    });
  print(`Logged in to ${url}.`);
  printToStderr(`The tokens are in ${credentialsFile()}, which only you can read.`);
}

function withExpiry(credentials: Credentials): Credentials {
  const seconds = credentials.tokens?.expires_in;
  return seconds === undefined ? credentials : { ...credentials, expiresAt: new Date(Date.now() + seconds * 1_000).toISOString() };
}

interface Browsing {
  readonly url: string;
  readonly resourceMetadataUrl: URL | undefined;
  readonly scope: string | undefined;
  readonly clientId: string | undefined;
  readonly browser: boolean;
  readonly signal: AbortSignal;
}

async function logInByBrowser({ url, resourceMetadataUrl, scope, clientId, browser, signal }: Browsing): Promise<void> {
  const loopback = await openLoopback();
  signal.addEventListener("abort", loopback.close);
  try {
    const client = authorization({
      url,
      redirectUrl: loopback.redirectUrl,
      clientId,
      scope,
      afresh: true,
      async visit(page) {
        printToStderr(`Log in at ${page.href}`);
        const { openPage } = await import("../terminal/open-page.ts");
        if (browser && !(await openPage(page.href))) printToStderr("No browser could be started. Open that page yourself.");
      },
    });
    const options = {
      serverUrl: url,
      fetchFn: boundedFetch,
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
      ...(scope !== undefined && { scope }),
    };
    if ((await authorize(client, options)) === "AUTHORIZED") return;
    const back = await Promise.race([loopback.back(PATIENCE_MS), aborted(signal)]);
    // Another page in the browser must not be able to log this program in as a different user.
    if (back.get("state") !== client.expectedState) throw new Error("the response belongs to another login: start again");
    const refused = back.get("error");
    if (refused !== null) throw new Error(`the provider refused: ${back.get("error_description") ?? refused}`);
    const iss = back.get("iss");
    await authorize(client, { ...options, authorizationCode: back.get("code") ?? "", ...(iss !== null && { iss }) }).catch(inWords);
  } finally {
    loopback.close();
  }
}

/** Throws what a person can use. */
function inWords(error: unknown): never {
  if (!(error instanceof IssuerMismatchError || error instanceof AuthorizationServerMismatchError)) throw error;
  throw new Error(
    "another provider answered than the one that was asked, so nothing was sent to it. Log in again; if it repeats, tell the operator",
    {
      cause: error,
    },
  );
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("left"))));
}

/** The server's WWW-Authenticate challenge; undefined if it requires no login. */
async function challengeOf(url: string): Promise<{ resourceMetadataUrl?: URL | undefined; scope?: string | undefined } | undefined> {
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      redirect: "error",
      signal: AbortSignal.timeout(30_000),
    });
  } catch (error) {
    throw new Error(`${url} does not respond: name the server with --url`, { cause: error });
  }
  await response.body?.cancel();
  if (response.status === 404) throw noEndpoint(url);
  return response.status === 401 ? extractWWWAuthenticateParams(response) : undefined;
}

export async function logout({
  url: given,
  all,
  json,
}: {
  readonly url?: string;
  readonly all?: boolean;
  readonly json?: boolean;
}): Promise<void> {
  const url = serverKey(given ?? (process.env["PARLEY_URL"] || DEFAULT_URL));
  const forgotten = all ? await forgetAll() : (await readCredentials(url)) ? [url] : [];
  if (!all && forgotten.length > 0) await changeCredentials(url, () => undefined);
  if (json) return printJson({ forgotten });
  print(forgotten.length === 0 ? "There were no tokens to delete." : `Deleted the tokens for ${forgotten.join(", ")}`);
}
