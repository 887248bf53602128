/** Asks the server for a page, or sends it a form, without leaving the page. */
import { onBack, onLeft } from "../leaving.ts";
import { findAll, make, person, say, tellTime } from "./page.ts";

export interface Loaded {
  /** 0 without a connection. */
  readonly status: number;
  /** Undefined if the reply has no page. It is inert: its scripts do not run. */
  readonly page: Document | undefined;
  readonly tag: string | undefined;
  /** How long the server tells to wait. 0 if it does not say. */
  readonly againMs: number;
  /** Where the page is, which the server may have led to. Empty without a connection. */
  readonly url: string;
}

const PATIENCE_MS = 20_000;

/** How soon the server is asked again whose page it is. */
const AGAIN_MS = 3_000;

let hasLeft = false;
onLeft(() => (hasLeft = true));

/**
 * Somebody has logged out while the page was not seen, and another person may sit there now: it shows nothing until the server has said that it is still
 * this person's. If it is not, the page is loaded again.
 */
onBack(() => {
  hasLeft = true;
  const shown = findAll("body > *").filter(({ hidden }) => !hidden);
  for (const each of shown) each.hidden = true;
  void (async () => {
    let note: HTMLElement | undefined;
    for (;;) {
      const { status } = await load(location.href);
      if (status !== 0 && status !== 429 && status < 500) break;
      note ??= make("main", { class: "card", children: [make("p", { text: say("whose"), attributes: { role: "alert" } })] });
      document.body.append(note);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
    note?.remove();
    for (const each of shown) each.hidden = false;
  })();
});

/**
 * If the person has logged out on another page, or another person has logged in with this browser, the page is loaded again instead: nobody sees, or keeps, what
 * another one types. A login that ends by itself leaves the page as it is.
 *
 * `tag`: of the page as it was last, for which the server replies 304 if it would be the same. `body`: of a form to send.
 */
export function load(
  url: string,
  { tag, body }: { readonly tag?: string | undefined; readonly body?: URLSearchParams } = {},
): Promise<Loaded> {
  // Unlike fetch, it parses the page itself. A parser of strings would be a way to markup that trusted types forbid.
  const request = new XMLHttpRequest();
  return new Promise((resolve) => {
    request.open(body ? "POST" : "GET", url);
    request.responseType = "document";
    request.timeout = PATIENCE_MS;
    request.setRequestHeader("x-requested-with", "parley");
    if (person !== "") request.setRequestHeader("x-parley-person", person);
    if (tag !== undefined) request.setRequestHeader("if-none-match", tag);
    request.addEventListener("loadend", () => {
      // Nobody needs the reply any more.
      if (request.status === 205 || (request.status === 401 && hasLeft)) return location.reload();
      const isReply = request.status !== 0;
      const page = isReply ? ((request.response as Document | null) ?? undefined) : undefined;
      if (page?.body) tellTime(page);
      resolve({
        status: request.status,
        page,
        url: request.responseURL,
        againMs: isReply ? Math.max(0, Number(request.getResponseHeader("retry-after")) || 0) * 1_000 : 0,
        tag: (isReply && request.getResponseHeader("etag")) || undefined,
      });
    });
    request.send(body ?? null);
  });
}
