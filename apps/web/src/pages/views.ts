/** Saved views: filters of the list that a person keeps in this browser. A view is an address with the words that the server wrote for it. */
import { button, find, make, person, say } from "./page.ts";

/** The oldest goes when one more is saved. */
const VIEWS_MAX = 12;
const NAME_CHARS_MAX = 200;
const KEY = `parley-views-${person}`;
/** What the server lists by. */
const FILTERS = (find("#views")?.dataset["filters"] ?? "").split(" ");

interface View {
  readonly name: string;
  /** As `queryOf` writes it. */
  readonly query: string;
}

/** The parts of an address that say what is listed, always in the same order. */
function queryOf(from: URLSearchParams): string {
  const parts = FILTERS.map((name) => [name, from.get(name) ?? ""]).filter(([name, value]) => value && `${name}=${value}` !== "order=due");
  return new URLSearchParams(parts).toString();
}

/** What is no list of views is none: a person may change what the browser keeps. */
function kept(): readonly View[] {
  try {
    const views: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(views) ? views.filter(isView).slice(-VIEWS_MAX) : [];
  } catch {
    return [];
  }
}

function isView(given: unknown): given is View {
  const { name, query } = (given ?? {}) as Partial<Record<keyof View, unknown>>;
  return typeof name === "string" && typeof query === "string";
}

function keep(views: readonly View[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(views.slice(-VIEWS_MAX)));
  } catch {
    // The browser keeps nothing: the address does.
  }
}

export function showViews(): void {
  const place = find("#views");
  if (!place) return;
  const ticket = new URLSearchParams(location.search).get("k");
  const query = queryOf(new URLSearchParams(location.search));
  const name = (place.dataset["view"] ?? "").slice(0, NAME_CHARS_MAX);
  const views = kept();
  const isKept = views.some((view) => view.query === query);
  const linkTo = (view: View) => {
    // Read again, so that what the browser keeps leads nowhere but to a list.
    const parameters = new URLSearchParams(queryOf(new URLSearchParams(view.query)));
    if (ticket !== null) parameters.set("k", ticket);
    const current = view.query === query ? { "aria-current": "page" } : {};
    return make("a", { text: view.name, attributes: { href: `inbox?${parameters}`, dir: "auto", ...current } });
  };
  const change = (next: readonly View[]) => {
    keep(next);
    showViews();
    (find("button", place) ?? find("a", place))?.focus();
  };
  const act = isKept
    ? [button(say("forgetView"), () => change(kept().filter((view) => view.query !== query)))]
    : name === ""
      ? []
      : [button(say("saveView"), () => change([...kept(), { name, query }]))];
  const links = views.length === 0 ? [] : [linkTo({ name: say("allViews"), query: "" }), ...views.map(linkTo)];
  place.replaceChildren(...links, ...act);
  place.hidden = links.length + act.length === 0;
}
