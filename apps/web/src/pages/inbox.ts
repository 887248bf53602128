/**
 * The inbox: questions beside the list without leaving the page, keys, and what others answer while one looks.
 *
 * The server writes all of it. The script asks for the page again, and takes the parts that have changed.
 */
import { enhance, type Given, isAtWork, press } from "./answering.ts";
import { onHandedOn, takeAround } from "./around.ts";
import { follow } from "./follow.ts";
import { listen } from "./keys.ts";
import { load, type Loaded } from "./load.ts";
import { ownAnswers } from "./own-answers.ts";
import { button, find, findAll, findWrong, make, say } from "./page.ts";
import { isSending, shortened, undoLast } from "./sending.ts";
import { lasting, toast, type Toast } from "./toasts.ts";
import { select } from "./selection.ts";
import { touchedSince } from "./touched.ts";
import { typedText, typedView } from "./typed.ts";
import { showViews } from "./views.ts";

const POLL_MS = 4_000;
/** With a stream: for questions of one's own calls, of which it does not tell. */
const FOLLOWED_POLL_MS = 15_000;
/** Shortest time between two looks that a stream leads to. */
const LOOK_EVERY_MS = 1_000;
const HIDDEN_POLL_MS = 30_000;
const SLOW_POLL_MS = 15_000;
/** How many questions that have gone are asked about one by one. */
const GONE_MAX = 3;

export function startInbox(main: HTMLElement, asks: HTMLElement, place: HTMLElement): void {
  let tag: string | undefined;
  /** Counts the questions that were opened, so that a slow reply does not replace a later one. */
  let opened = 0;
  let isOpening = false;
  let timer = 0;
  let failed: Toast | undefined;
  let isOut = false;
  let isLooking = false;
  let isStale = false;
  let lookedAtMs = -Infinity;

  const items = () => findAll<HTMLLIElement>("li[data-ask]", asks);
  const linkOf = (item: HTMLElement) => find<HTMLAnchorElement>("a", item);
  const seen = () => items().filter(({ hidden }) => !hidden);
  const current = () => place.dataset["ask"];
  const itemOf = (ask: string | undefined) => items().find((item) => item.dataset["ask"] === ask);

  /** `asks`: the questions that the answer is for, of which the form of a batch names several. */
  const given = (ask: string, asked: readonly string[], address: string): Given => ({
    isShown: () => false,
    onUndo: () => {
      // Without a connection, the list stays as it is.
      for (const each of asked) itemOf(each)?.classList.remove("sending");
      void refresh().then(() => go(address, ask, { focus: "form" }));
    },
    onReply: (reply) => {
      const { status } = reply;
      for (const each of asked) {
        if (status === 401 || status === 422) itemOf(each)?.classList.remove("sending");
        else own.close(each);
      }
      // The person waits for the next page, unless they have gone elsewhere meanwhile.
      const isWaiting = place.inert && current() === ask;
      if (isWaiting) place.inert = false;
      const next = nextIn(reply);
      if (next && isWaiting) void open(next.ask, { focus: "form" });
      else if (next && !itemOf(next.ask)) offer(next);
      else if (isWaiting && status === 200) goOnFrom(ask);
      // An inert form has lost the focus.
      else if (isWaiting) focusForm();
      void refresh();
    },
    onOpen: () => void go(address, ask, { focus: "form" }),
    onGiven: (isAtOnce) => {
      own.gave(taskOf(asked[0] ?? ask));
      for (const each of asked) itemOf(each)?.classList.add("sending");
      if (asked.length > 1 || asked[0] !== ask) selection.clear();
      if (isAtOnce) place.inert = true;
      else goOnFrom(asked[0] ?? ask);
    },
  });

  const taskOf = (ask: string) => ask.slice(0, ask.indexOf("/"));
  const own = ownAnswers();

  interface Next {
    readonly ask: string;
    readonly question: string;
  }

  /** What the same task asks next, to which the server has led. */
  function nextIn({ status, page }: Loaded): Next | undefined {
    const shown = page && status === 200 ? find("#ask", page) : undefined;
    const { ask, digest } = shown?.dataset ?? {};
    return shown && ask !== undefined && digest ? { ask, question: shortened(find(".said", shown)?.textContent ?? "") } : undefined;
  }

  /** Opens what a task asks after an answer, or offers it to somebody who has turned to something else since. */
  function offer({ ask, question }: Next): void {
    const sinceMs = own.gaveAtMs(taskOf(ask));
    if (!touchedSince(sinceMs)) return void open(ask, { focus: "form" });
    lasting(say("asksOn", { question }), [button(say("reopen"), () => void open(ask, { focus: "form" }))]);
  }

  /** From this question to the next of the same task, or of the list. */
  function goOnFrom(ask: string): void {
    const at = seen();
    const index = at.findIndex((item) => item.dataset["ask"] === ask);
    const free = at.filter((item) => item !== at[index] && !item.classList.contains("sending"));
    const isAfter = (item: HTMLLIElement) => at.indexOf(item) > index;
    const next = free.find((item) => taskOf(item.dataset["ask"] ?? "") === taskOf(ask)) ?? free.find(isAfter) ?? free.at(-1);
    if (next && isWide()) void open(next.dataset["ask"], { focus: "list" });
    else leave();
  }

  /** Whether list and question are side by side. */
  const isWide = () => matchMedia("(min-width: 54.0625rem)").matches;

  function addressOf(ask: string | undefined): string {
    const url = new URL(location.href);
    url.searchParams.delete("batch");
    if (ask === undefined) url.searchParams.delete("ask");
    else url.searchParams.set("ask", ask);
    return url.href;
  }

  interface Opening {
    readonly focus: "list" | "place" | "form" | "none";
    /** False if the address is this one already. */
    readonly push?: boolean;
  }

  const open = (ask: string | undefined, opening: Opening) => go(addressOf(ask), ask, opening);

  /** The selected questions, beside the list as one question would be. */
  function openSelected(): boolean {
    const url = new URL(addressOf(undefined));
    for (const id of selection.ids()) url.searchParams.append("batch", id);
    if (url.searchParams.has("batch")) void go(url.href, "", { focus: "form" });
    return true;
  }

  async function go(url: string, ask: string | undefined, { focus, push = true }: Opening): Promise<void> {
    const mine = ++opened;
    isOpening = true;
    mark(ask);
    place.inert = false;
    if (focus === "list") linkOf(itemOf(ask) ?? main)?.focus();
    place.setAttribute("aria-busy", "true");
    const reply = await load(url);
    if (mine !== opened) return;
    isOpening = false;
    place.removeAttribute("aria-busy");
    if (!notice(reply)) return;
    const { page } = reply;
    const shown = page && find("#ask", page);
    if (!page || !shown) return location.assign(url);
    if (push && url !== location.href) history.pushState(null, "", url);
    tag = reply.tag;
    takeList(page);
    takeAsk(shown);
    main.classList.toggle("has-ask", ask !== undefined);
    if (focus === "place") place.focus();
    if (focus === "form") focusForm();
    if (!isWide()) scrollTo(0, 0);
  }

  function leave(): void {
    void open(undefined, { focus: "none" }).then(() => linkOf(seen()[0] ?? main)?.focus());
  }

  function focusForm(): void {
    const first =
      findWrong(find("form.question", place) ?? place) ??
      find("form.question :is(input:not([type=hidden]), select, textarea:not(#reason)), form.question button", place) ??
      find("a.button", place);
    if (first && find("#said", place)) {
      // A screen reader says what has the focus, and nothing that stands before it.
      const described = (first.getAttribute("aria-describedby") ?? "").split(" ").filter((id) => id !== "" && id !== "said");
      first.setAttribute("aria-describedby", ["said", ...described].join(" "));
    }
    (first ?? place).focus();
  }

  function mark(ask: string | undefined): void {
    for (const item of items()) {
      const link = linkOf(item);
      if (item.dataset["ask"] === ask) link?.setAttribute("aria-current", "true");
      else link?.removeAttribute("aria-current");
    }
    linkOf(itemOf(ask) ?? main)?.scrollIntoView({ block: "nearest" });
  }

  function takeAsk(shown: HTMLElement): void {
    for (const name of ["ask", "digest"]) {
      const value = shown.dataset[name];
      if (value === undefined) delete place.dataset[name];
      else place.dataset[name] = value;
    }
    place.replaceChildren(...[...shown.childNodes].map((node) => document.adoptNode(node)));
    enhancePlace();
  }

  function enhancePlace(): void {
    const address = location.href;
    enhance(place, (ask, asked) => given(ask, asked, address));
  }

  function takeList(page: Document): void {
    const list = find("#asks", page);
    const focused = document.activeElement?.closest<HTMLElement>("li[data-ask]")?.dataset["ask"];
    if (list) asks.replaceChildren(...[...list.childNodes].map((node) => document.adoptNode(node)));
    for (const item of items()) if (isSending(item.dataset["ask"] ?? "")) item.classList.add("sending");
    search();
    selection.keep();
    if (focused !== undefined) linkOf(itemOf(focused) ?? main)?.focus({ preventScroll: true });
    const count = find("#count");
    const text = find("#count", page)?.textContent ?? "";
    if (count && count.textContent !== text) count.textContent = text;
    document.title = page.title;
  }

  /** Whether there is a page. Says what is the matter if not. */
  function notice({ status }: Pick<Loaded, "status">): boolean {
    const why = status === 0 ? "offline" : status === 429 || status >= 500 ? "busy" : undefined;
    if (why === undefined) {
      failed?.remove();
      failed = undefined;
    } else if (failed) failed.set(say(why));
    else failed = toast(say(why), [], { urgent: true });
    main.classList.toggle("offline", why !== undefined);
    if (status === 401 && !isOut) {
      isOut = true;
      lasting(say("loggedOut"), [make("a", { text: say("logIn"), attributes: { href: location.href } })]);
    }
    return status === 200;
  }

  /** Takes what has changed since the page was last loaded. */
  async function refresh(): Promise<void> {
    // What has changed since the request was on its way needs another one.
    isStale = true;
    if (isLooking) return;
    isLooking = true;
    let status = 200;
    while (isStale) {
      isStale = false;
      status = await look();
    }
    isLooking = false;
    again(status);
  }

  async function look(): Promise<number> {
    const before = opened;
    lookedAtMs = performance.now();
    const { href } = location;
    const reply = await load(href, { tag });
    // The person has gone on meanwhile.
    if (isOpening || before !== opened || href !== location.href) return 200;
    const isNew = notice(reply);
    const { page } = reply;
    if (isNew && page) {
      tag = reply.tag;
      const listed = new Map(items().map((item) => [item.dataset["ask"] ?? "", shortened(find(".what", item)?.textContent ?? "")]));
      takeList(page);
      const after = items().map((item) => item.dataset["ask"] ?? "");
      const appeared = after.filter((ask) => !listed.has(ask));
      // What was put aside or handed on is this person's again.
      for (const ask of appeared) own.reopen(ask);
      const onward = appeared.find((ask) => ask !== current() && own.isLately(taskOf(ask)));
      const item = itemOf(onward);
      if (onward !== undefined && item) offer({ ask: onward, question: shortened(find(".what", item)?.textContent ?? "") });
      const fresh = appeared.length - (item ? 1 : 0);
      if (fresh > 0) toast(fresh === 1 ? say("freshOne") : say("fresh", { count: fresh })).leave();
      const gone = [...listed.keys()].filter((ask) => !after.includes(ask) && !isSending(ask) && !own.isClosed(ask) && ask !== current());
      void tellGone(gone.map((ask) => ({ ask, question: listed.get(ask) ?? "" })));
      const shown = find("#ask", page);
      if (shown) takeChange(shown);
    }
    return reply.status;
  }

  function takeChange(shown: HTMLElement): void {
    const ask = current();
    if (ask === undefined || ask !== shown.dataset["ask"] || isSending(ask)) return;
    if (shown.dataset["digest"] === place.dataset["digest"]) {
      const facts = find(".facts", shown);
      if (shown.dataset["digest"] !== "" && facts) find(".facts", place)?.replaceWith(document.adoptNode(facts));
      takeAround(shown, place);
      return;
    }
    const wasAtWork = isAtWork(place);
    const heading = [find("h2", shown), find(".done", shown)].map((each) => each?.textContent).filter(Boolean);
    const isOpen = shown.dataset["digest"] !== "";
    const typed = typedText(place);
    takeAsk(shown);
    if (typed !== "" && !own.isClosed(ask)) (find(".flow", place) ?? place).append(typedView(typed));
    if (!own.isClosed(ask)) lasting(isOpen ? say("changed") : heading.join(": "));
    if (wasAtWork) place.focus();
  }

  /** Says who answered, and how the question ended otherwise. */
  async function tellGone(gone: readonly { readonly ask: string; readonly question: string }[]): Promise<void> {
    if (gone.length > GONE_MAX) return toast(say("goneMany", { count: gone.length })).leave();
    for (const { ask, question } of gone) {
      const { page } = await load(addressOf(ask));
      const shown = page && find("#ask", page);
      // It may only have moved to another page of the list.
      if (!shown || shown.dataset["digest"] !== "") continue;
      const end = find(".done", shown)?.textContent ?? "";
      toast([say("gone", { question }), end].filter(Boolean).join(" ")).leave();
    }
  }

  function again(status = 200): void {
    if (status === 401) {
      clearTimeout(timer);
      changes?.stop();
    } else if (document.hidden) wait(HIDDEN_POLL_MS);
    else if (status === 429 || status >= 500) wait(SLOW_POLL_MS);
    else wait(changes?.isOpen() === true && !own.isAnyLately() ? FOLLOWED_POLL_MS : POLL_MS);
  }

  function wait(ms: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => void refresh(), ms) as unknown as number;
  }

  /** At once, unless that was a moment ago: many people may look at the same questions. */
  function lookSoon(): void {
    const ms = lookedAtMs + LOOK_EVERY_MS - performance.now();
    if (ms <= 0) void refresh();
    else wait(ms);
  }

  const stream = main.dataset["changes"];
  const changes = stream === undefined ? undefined : follow(stream, { onChange: lookSoon, onEnd: () => again() });

  const selection = select(asks, seen, openSelected);
  /** The question that a key is about. */
  const itemAt = (target: EventTarget | null) =>
    (target instanceof Element ? target.closest<HTMLElement>("li[data-ask]") : undefined) ?? itemOf(current()) ?? undefined;

  const box = find<HTMLInputElement>("#q");

  /** Narrows the list to what contains every word. */
  function search(): void {
    const words = (box?.value ?? "").toLocaleLowerCase().split(/\s+/).filter(Boolean);
    for (const item of items()) {
      const text = item.textContent.toLocaleLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
    }
    const none = find("#none-found");
    const text = words.length > 0 && seen().length === 0 ? (none?.dataset["none"] ?? "") : "";
    if (none && none.textContent !== text) none.textContent = text;
  }

  function move(by: 1 | -1): boolean {
    const at = seen();
    const index = at.findIndex((item) => item.dataset["ask"] === current() || item.contains(document.activeElement));
    const focusedIndex = at.findIndex((item) => item.contains(document.activeElement));
    const from = focusedIndex === -1 ? index : focusedIndex;
    const next = at[from === -1 ? (by === 1 ? 0 : at.length - 1) : Math.min(at.length - 1, Math.max(0, from + by))];
    if (!next) return true;
    if (isWide()) void open(next.dataset["ask"], { focus: "list" });
    else linkOf(next)?.focus();
    return true;
  }

  asks.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("li a") : undefined;
    const ask = link?.closest<HTMLElement>("li")?.dataset["ask"];
    if (!link || ask === undefined || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    void open(ask, { focus: "place" });
  });
  place.addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || !event.target.closest(".back a")) return;
    event.preventDefault();
    leave();
  });
  addEventListener("popstate", () => {
    const { searchParams } = new URL(location.href);
    void go(location.href, searchParams.has("batch") ? "" : (searchParams.get("ask") ?? undefined), { focus: "place", push: false });
  });
  addEventListener("online", () => void refresh());
  addEventListener("offline", () => void notice({ status: 0 }));
  document.addEventListener("visibilitychange", () => void (document.hidden ? again() : refresh()));

  const menu = find<HTMLDetailsElement>(".menu");
  document.addEventListener("click", ({ target }) => {
    if (menu?.open && target instanceof Node && !menu.contains(target)) menu.open = false;
  });

  const searching = find("#search");
  if (searching) searching.hidden = false;
  box?.addEventListener("input", search);
  box?.addEventListener("keydown", (event) => {
    if (event.key === "Enter") linkOf(seen()[0] ?? main)?.focus();
  });
  find(".filters", main)?.addEventListener("change", ({ target }) => {
    if (target instanceof HTMLSelectElement) target.form?.requestSubmit();
  });

  onHandedOn(place, ({ isTakenBack }) => {
    const ask = current() ?? "";
    // It is no longer this person's to answer, and nobody else did.
    if (isTakenBack) {
      own.reopen(ask);
      return void go(addressOf(ask), ask, { focus: "form", push: false });
    }
    own.close(ask);
    goOnFrom(ask);
  });

  showViews();
  listen({
    j: () => move(1),
    k: () => move(-1),
    a: () => press("a", place),
    d: () => press("d", place),
    c: () => press("c", place),
    m: () => press("m", place),
    e: () => press("e", place),
    s: () => press("s", place),
    q: () => press("q", place),
    x: ({ target, shiftKey }) => selection[shiftKey ? "toggleTo" : "toggle"](itemAt(target)),
    l: ({ target }) => selection.alike(itemAt(target)),
    b: () => openSelected(),
    z: () => undoLast(),
    "/": () => {
      box?.focus();
      box?.select();
      return true;
    },
    Enter: ({ target }) => {
      const ask = target instanceof Element ? target.closest<HTMLElement>("li[data-ask]")?.dataset["ask"] : undefined;
      if (ask !== undefined) void (ask === current() ? focusForm() : open(ask, { focus: "form" }));
      else if (target === document.body || target === place) focusForm();
      else return false;
      return true;
    },
    Escape: ({ target }) => {
      if (menu?.open) {
        menu.open = false;
        find("summary", menu)?.focus();
        return true;
      }
      if (target === box) {
        box.value = "";
        search();
      }
      const item = itemOf(current());
      if (!isWide() && current() !== undefined) leave();
      else linkOf(item ?? seen()[0] ?? main)?.focus();
      return true;
    },
  });

  enhancePlace();
  again();
}
