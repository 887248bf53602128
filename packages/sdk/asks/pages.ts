/**
 * Questions that are answered on a page that Parley serves itself (docs/pages.md), over core's `ask`. The tool
 * receives a reference to what the person entered; nothing of it passes through the client.
 */
import type { Audience, Duration, Effects, FileRef, JsonObject, Page } from "@parley/core";
import { ParleyError } from "@parley/core";
import type { AboutOptions } from "./about.ts";
import { MESSAGE_WANTED, wrongAsk } from "./wrong-ask.ts";
import { Grant } from "../values/grant.ts";
import { Secret } from "../values/secret.ts";

/** A question whose page Parley serves. `message` is what the person reads, in their client and on the page. */
export interface PageAsk extends AboutOptions {
  /**
   * Tells this call apart from others of its name in code that runs concurrently, such as the id of an item. Needed where such code also awaits
   * something outside `ctx`. Any text of 1 to 64 characters, the same in every run.
   */
  readonly key?: string | number;
  readonly message: string;
  /** How long the question stays open, such as `"2 days"`. The default of the deployment is a week unless it sets another. */
  readonly timeout?: Duration;
  /** What happens when the time is over: `"cancel"` (the default: TimedOut is thrown), `"decline"`, or `"fail"` (the task fails). */
  readonly onTimeout?: "cancel" | "decline" | "fail";
  /** Aborting it withdraws the question: the page says that it is closed, and Withdrawn is thrown. */
  readonly signal?: AbortSignal;
  /** Who may open the page, as for a form; so is `not`. */
  readonly to?: "caller" | Audience["to"];
  readonly not?: Audience["not"];
}

/** Options of `ctx.file`. */
export interface FilesAsk extends PageAsk {
  /** Accepted files: MIME types (`"image/png"`, `"image/*"`) and extensions (`".pdf"`). Anything by default. */
  readonly accept?: readonly string[];
  /** Maximum size of a file in bytes; 10 MiB by default. */
  readonly maxBytes?: number;
}

/** Options of `ctx.oauth`. */
export interface OauthAsk extends PageAsk {
  /** The name of a provider that the deployment has set up (PARLEY_OAUTH). */
  readonly provider: string;
  /** The scopes that the tool needs, as the provider names them. */
  readonly scopes: readonly string[];
}

export interface Pages {
  files(name: string, ask: FilesAsk, countMax: number): Promise<readonly FileRef[]>;
  openFile(file: Pick<FileRef, "id">): Promise<ReadableStream<Uint8Array>>;
  secret(name: string, ask: PageAsk): Promise<Secret>;
  oauth(name: string, ask: OauthAsk): Promise<Grant>;
}

/** Asks in url mode. Resolves to what the page collected. Throws Declined, Cancelled, TimedOut or Withdrawn. */
export type AskPage = (name: string, ask: PageAsk, page: Page) => Promise<JsonObject>;

const FILE_BYTES = 10 * 1_024 * 1_024;

export function createPages(effects: Pick<Effects, "accessToken" | "deposit" | "openFile">, askPage: AskPage): Pages {
  async function token(key: string, refused: string | undefined): Promise<string> {
    if (!effects.accessToken) throw noProviders(key);
    return await effects.accessToken(key, refused);
  }

  return {
    async files(name, options, countMax) {
      const { accept = [], maxBytes = FILE_BYTES, ...ask } = checked(name, options);
      if (!effects.openFile)
        throw new ParleyError("FILES_UNAVAILABLE", `the ask "${name}" is for files, but this deployment stores none (PARLEY_FILES)`);
      const { files } = await askPage(name, ask, { kind: "files", accept, bytesMax: maxBytes, countMax });
      return files as unknown as readonly FileRef[];
    },
    async openFile({ id }) {
      if (!effects.openFile) throw new ParleyError("FILES_UNAVAILABLE", "this front end stores no files (PARLEY_FILES)");
      return await effects.openFile(id);
    },
    async secret(name, ask) {
      const { deposit: key } = await askPage(name, checked(name, ask), { kind: "secret" });
      if (typeof key !== "string") throw new ParleyError("DEPOSIT_UNREADABLE", `the ask "${name}" was answered without its page`);
      return new Secret(() => effects.deposit(key));
    },
    async oauth(name, options) {
      const { provider, scopes, ...ask } = checked(name, options);
      if (!effects.accessToken) throw noProviders(name);
      // Normalised, because the ask's digest is taken from it.
      const wanted = { kind: "oauth" as const, provider, scopes: Array.isArray(scopes) ? [...new Set(scopes)].toSorted() : scopes };
      const { deposit: key, scopes: granted } = await askPage(name, ask, wanted);
      if (typeof key !== "string") throw new ParleyError("DEPOSIT_UNREADABLE", `the ask "${name}" was answered without its page`);
      return new Grant({ provider, scopes: (granted ?? []) as readonly string[] }, (refused) => token(key, refused));
    },
  };
}

/** For authors without types: clients refuse the state of the whole task for one question without a message. */
function checked<A extends PageAsk>(name: string, ask: A): A {
  if (typeof ask !== "object" || ask === null) throw wrongAsk(name, "", "has no options: call it with a name and { message }");
  if (typeof ask.message !== "string") throw wrongAsk(name, "/message", MESSAGE_WANTED);
  return ask;
}

function noProviders(name: string): ParleyError {
  return new ParleyError("OAUTH_UNAVAILABLE", `the ask "${name}" is for access at a provider, but none is set up here (PARLEY_OAUTH)`);
}
