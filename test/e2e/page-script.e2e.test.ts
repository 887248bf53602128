/** Parts of the script of pages in a real browser, without a deployment: what a person is writing while news arrives, drafts, and messages. */
import { join } from "node:path";
import { PAGES_STYLE } from "@parley/web";
import type { Page } from "playwright-core";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findChromium, startChromium } from "../support/chromium.ts";
import { TRANSLATE } from "../support/translate.ts";

const command = findChromium();
const PAGES = join(import.meta.dirname, "../../apps/web/src/pages");
let script: string;
let browser: Awaited<ReturnType<typeof startChromium>> | undefined;

beforeAll(async () => {
  if (command === undefined) return;
  const names = ["around", "drafts", "follow", "options", "toasts", "touched", "../leaving", "../translated"];
  const exported = names.map((name) => `export * from ${JSON.stringify(join(PAGES, `${name}.ts`))};`);
  const entry = [...exported, 'export { h, render } from "preact";'].join("\n");
  const path = join(PAGES, "entry.ts");
  const bundle = await rolldown({
    input: "entry",
    plugins: [
      {
        name: "entry",
        resolveId: (id: string) => (id === "entry" ? path : undefined),
        load: (id: string) => (id === path ? entry : undefined),
      },
    ],
  });
  const { output } = await bundle.generate({ format: "iife", name: "pages" });
  script = output[0].code;
  browser = await startChromium(command);
});
afterAll(async () => await browser?.close());

/** `act` is run in a page that has the functions as `pages`. */
async function inPage<T>(act: string, viewport = { width: 1_280, height: 720 }): Promise<T> {
  const page: Page = await browser!.newPage({ viewport });
  await page.route("**/*", (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html><body></body>" }));
  await page.goto("http://pages.test/");
  await page.addStyleTag({ content: PAGES_STYLE });
  await page.addScriptTag({ content: script });
  const result = await page.evaluate<T>(`(async () => { ${act} })()`);
  await page.close();
  return result;
}

const AROUND = `
  const shown = (mine = "claim") => Object.assign(document.createElement("div"), { innerHTML: \`
    <form class="join claiming"><button name="action" value="\${mine}" data-key="c">On it</button></form>
    <div class="asking-back"><details><summary data-key="q">Ask back</summary><form class="join"><textarea name="said"></textarea></form></details></div>
    <div class="snoozing"><details><summary data-key="s">Put it aside</summary><form class="join"><input name="until" type="datetime-local" value=""></form></details></div>\` });
  const place = shown();
  document.body.append(place);
  pages.enhanceAround(place);
  const at = (selector) => place.querySelector(selector);
  for (const details of place.querySelectorAll("details")) details.open = true;`;

test.runIf(command)("news of a question leaves alone what a person is writing and what they opened, and changes the rest", async () => {
  const left = await inPage(`${AROUND}
    at("[name=until]").value = "2026-12-24T10:00";
    at("textarea").focus();
    at("textarea").value = "Which bud";
    pages.takeAround(shown("release"), place);
    return [document.activeElement.name, at("textarea").value, at("[name=until]").value, at("[data-key=c]").value];`);
  expect(left).toEqual(["said", "Which bud", "2026-12-24T10:00", "release"]);
  const untouched = await inPage(`${AROUND}
    const before = at(".asking-back");
    pages.takeAround(shown(), place);
    const same = at(".asking-back") === before;
    const news = shown();
    news.querySelector("summary[data-key=q]").textContent = "Reply";
    pages.takeAround(news, place);
    return [same, at("summary[data-key=q]").textContent, at(".asking-back details").open];`);
  expect(untouched).toEqual([true, "Reply", true]);
});

test.runIf(command)("what Preact has made says what is so now, where it belongs, also while the browser translates it", async () => {
  const seen = await inPage<Record<string, string>>(`
    const { h, render } = pages;
    const settled = () => new Promise((resolve) => setTimeout(resolve));
    const seen = {};
    const follow = async (name, ...steps) => {
      document.body.innerHTML = "<div></div>";
      const root = document.body.firstChild;
      pages.followTranslation(root);
      for (const step of steps) {
        if (typeof step === "function") step(root);
        else render(h("p", null, ...step), root);
        await settled();
      }
      seen[name] = root.textContent;
    };
    const translate = () => ${TRANSLATE}
    const original = (root) => root.querySelectorAll("font").forEach((font) => font.original && font.replaceWith(font.original));
    const copied = (root) => root.querySelectorAll("font").forEach((font) => font.original && font.replaceWith(font.textContent.slice(1, -1)));
    const [b, i] = [h("b", null, "b"), h("i", null, "i")];
    await follow("as it is", ["one", b], translate);
    await follow("changes", ["one"], translate, ["two"]);
    await follow("changes twice", ["one"], translate, ["two"], translate, ["three"]);
    await follow("stays", ["one", b], translate, ["one", i]);
    await follow("becomes empty", ["one"], translate, [""]);
    await follow("goes", ["one", b], translate, [null, b]);
    await follow("has something new before it", [null, "one", b], translate, [i, "one", b]);
    await follow("has something new behind it", ["one", null, "two"], translate, ["one", i, "two"]);
    await follow("is no longer translated", ["one", b], translate, original);
    await follow("is no longer translated, in a text of its own", ["one", b], translate, copied);
    await follow("is no longer translated, and changes", ["one"], translate, original, ["two"], translate, copied, ["three"]);
    return seen;`);
  expect(seen).toEqual({
    "as it is": "«one»«b»",
    changes: "two",
    "changes twice": "three",
    stays: "«one»i",
    "becomes empty": "",
    goes: "«b»",
    "has something new before it": "i«one»«b»",
    "has something new behind it": "«one»i«two»",
    "is no longer translated": "oneb",
    "is no longer translated, in a text of its own": "oneb",
    "is no longer translated, and changes": "three",
  });
});

test.runIf(command)("a page has a stream of changes while it is seen, and only then", async () => {
  const streams = await inPage<readonly number[]>(`
    const made = [];
    globalThis.EventSource = class extends EventTarget {
      static OPEN = 1;
      static CLOSED = 2;
      readyState = 1;
      constructor() { super(); made.push(this); }
      close() { this.readyState = 2; }
    };
    let hidden = false;
    Object.defineProperty(document, "hidden", { get: () => hidden });
    const following = pages.follow("/changes", { onChange() {}, onEnd() {} });
    const open = () => made.filter(({ readyState }) => readyState === 1).length;
    const seen = (is) => {
      hidden = !is;
      document.dispatchEvent(new Event("visibilitychange"));
      return open();
    };
    const on = (name) => (dispatchEvent(new Event(name)), open());
    const counts = [open(), seen(false), seen(false), seen(true), on("pagehide"), on("pageshow"), on("pageshow"), seen(false), on("pageshow"), seen(true)];
    following.stop();
    return [...counts, open(), seen(true)];`);
  expect(streams).toEqual([1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0]);
});

test.runIf(command)("what was typed and not sent is forgotten after a week, and the oldest of more than a hundred before", async () => {
  const left = await inPage<readonly string[]>(`
    const day = 86_400_000;
    const keep = (name, ageMs) => localStorage.setItem("parley-draft::" + name, JSON.stringify({ digest: "d", atMs: Date.now() - ageMs, typed: [] }));
    keep("old", 7 * day + 60_000);
    keep("young", 7 * day - 60_000);
    pages.pruneDrafts();
    const week = Object.keys(localStorage);
    for (let index = 0; index < 101; index += 1) keep("new" + index, index * 1_000);
    pages.pruneDrafts();
    return [...week, localStorage.length, "parley-draft::young" in localStorage, "parley-draft::new99" in localStorage];`);
  expect(left).toEqual(["parley-draft::young", 100, false, true]);
});

const DRAFTS = `
  const form = (ask, digest, back) => {
    const made = document.createElement("form");
    if (back) made.dataset.back = "";
    made.innerHTML = '<input name="f0">';
    document.body.append(made);
    pages.keepDrafts(made, { ask, digest });
    return made;
  };
  const typed = (...given) => form(...given).querySelector("input").value;
  const type = async (made, text) => {
    made.querySelector("input").value = text;
    made.dispatchEvent(new Event("input"));
    await new Promise((resolve) => setTimeout(resolve, 400));
  };`;

test.runIf(command)(
  "a long message counts as read at its end, by scrolling or with its button; otherwise all of it is shown, once",
  async () => {
    const seen = await inPage<Record<string, readonly boolean[]>>(`
    const ways = {
      "not at all": () => undefined,
      "by its half": (said) => said.scrollTo(0, said.scrollHeight / 2),
      "by scrolling": (said) => said.scrollTo(0, said.scrollHeight),
      "and back": async (said) => {
        said.scrollTo(0, said.scrollHeight);
        await new Promise((resolve) => setTimeout(resolve, 100));
        said.scrollTo(0, 0);
      },
      "with its button": () => document.querySelector(".more").click(),
      "of one screen": () => undefined,
    };
    const seen = {};
    for (const [way, read] of Object.entries(ways)) {
      document.body.innerHTML = '<div><p class="said long" id="said" tabindex="0"></p></div>';
      const said = document.querySelector("#said");
      said.textContent = "A line of the report.\\n".repeat(way === "of one screen" ? 3 : 200);
      pages.fold(document.body);
      const isMarked = document.querySelectorAll(".more").length === 1;
      await read(said);
      await new Promise((resolve) => setTimeout(resolve, 100));
      const isRead = pages.isRead(document.body);
      const isWhole = said.scrollHeight === said.clientHeight;
      const atOnce = pages.isRead(document.body);
      await new Promise((resolve) => setTimeout(resolve, 550));
      seen[way] = [isMarked, isRead, isWhole, document.activeElement === said, atOnce, pages.isRead(document.body)];
    }
    return seen;`);
    expect(seen).toEqual({
      // The second press of a double click answers nothing.
      "not at all": [true, false, true, true, false, true],
      "by its half": [true, false, true, true, false, true],
      "by scrolling": [true, true, false, false, true, true],
      "and back": [true, true, false, false, true, true],
      "with its button": [true, true, true, true, true, true],
      "of one screen": [false, true, true, false, true, true],
    });
  },
);

test.runIf(command)(
  "on a phone no message lies over what answers a question, however far the page is scrolled and whenever the message comes",
  async () => {
    const covered = await inPage<readonly string[]>(
      `
    const covered = [];
    const under = () => {
      for (const button of document.querySelectorAll(".actions button")) {
        const { left, top, width, height } = button.getBoundingClientRect();
        for (const part of [0.05, 0.5, 0.95]) {
          const y = top + height * part;
          if (y < 0 || y >= innerHeight) continue;
          const hit = document.elementFromPoint(left + width / 2, y);
          if (hit !== button) covered.push([scrollY, y, button.textContent, hit?.className].join(" "));
        }
      }
    };
    const scrolled = async (y) => {
      const ended = new Promise((resolve) => (addEventListener("scrollend", resolve, { once: true }), setTimeout(resolve, 120)));
      scrollTo(0, y);
      await ended;
      await new Promise((resolve) => requestAnimationFrame(resolve));
    };
    document.body.innerHTML = '<main><p style="height: 900px"><a href="#a">before</a></p><form class="question"><div class="actions"><button type="button">Yes, delete the archive</button><button type="button">Keep it</button></div></form><p style="height: 500px">after</p></main>';
    pages.messages();
    for (let y = 0; y <= 900; y += 60) {
      await scrolled(y);
      // Comes while the buttons are there, and is there while the page moves.
      const shown = [pages.toast("Sent in a few seconds: Pay invoice 2026-117 of Northwind over 4,310.00 EUR?", [document.createElement("button")])];
      under();
      shown.push(pages.lasting("Two answers were not accepted, and this says why in so many words that it takes several lines of a phone."));
      under();
      await scrolled(y + 30);
      under();
      for (const each of shown) each.remove();
    }
    // The end of the page can be scrolled above them.
    document.querySelector("main").lastElementChild.remove();
    pages.lasting("What stays until it is closed.");
    await scrolled(1e6);
    under();
    return covered;`,
      { width: 360, height: 640 },
    );
    expect(covered).toEqual([]);
  },
);

test.runIf(command)("a person can log out where the browser keeps nothing", async () => {
  for (const storage of ["null", "undefined", "{ setItem() { throw new Error() } }", undefined]) {
    const get = storage === undefined ? 'throw new DOMException("", "SecurityError")' : `return ${storage}`;
    const left = await inPage(`
      Object.defineProperty(window, "localStorage", { get: () => { ${get} } });
      await pages.othersSent();
      pages.tellLeft();
      return "left";`);
    expect(left, storage).toBe("left");
  }
});

test.runIf(command)("questions of one name that are open at once have drafts of their own", async () => {
  const kept = await inPage(`${DRAFTS}
    await type(form("t/member", "A"), "one");
    await type(form("t/member#2", "B"), "two");
    const both = [typed("t/member", "A"), typed("t/member#2", "B"), typed("t/member#3", "B")];
    pages.forgetDraft("t/member#2");
    return [...both, typed("t/member", "A"), typed("t/member#2", "B")];`);
  expect(kept).toEqual(["one", "two", "", "one", ""]);
});

test.runIf(command)("a page of a wizard that is shown again has what was typed before the way back, until it is answered", async () => {
  const kept = await inPage(`${DRAFTS}
    await type(form("t/w/b", "W", true), "half");
    const again = [typed("t/w/b#2", "W", true), typed("t/w/b#2", "filled in", true)];
    pages.forgetDraft("t/w/b#2");
    return [...again, typed("t/w/b#3", "W", true), Object.keys(localStorage).length];`);
  expect(kept).toEqual(["half", "", "", 0]);
});

test.runIf(command)(
  "somebody who has done something since an answer is known to have done so, also if the browser's clock is put back",
  async () => {
    const touched = await inPage(`
    const sinceMs = performance.now();
    const before = pages.touchedSince(sinceMs);
    Date.now = () => 0;
    await new Promise((resolve) => setTimeout(resolve, 2));
    document.dispatchEvent(new Event("keydown"));
    return [before, pages.touchedSince(sinceMs), pages.touchedSince(performance.now())];`);
    expect(touched).toEqual([false, true, false]);
  },
);

test.runIf(command)(
  "in the middle of a word that chooses, a letter that fits no choice is no key of the inbox, where D declines",
  async () => {
    const [pressed, chosen] = await inPage<[boolean[], string]>(`
    document.body.innerHTML = \`<form class="question"><div role="radiogroup"><div class="choices">
      <label><input type="radio" name="f" value="travel"> Travel</label><label><input type="radio" name="f" value="other"> Other</label>
    </div></div></form>\`;
    pages.makeSearchable(document.body);
    const isTaken = (key) => !document.querySelector("input").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    const pressed = ["d", "t", "r", "d"].map(isTaken);
    return [pressed, document.querySelector(":checked").value];`);
    expect(pressed).toEqual([false, true, true, true]);
    expect(chosen).toBe("travel");
  },
);

test.runIf(command)("a message moves, or moves the page, if it covers what has the focus, and neither if it is beside it", async () => {
  const focused = await inPage(`
    document.body.innerHTML = '<main class="inbox" style="height: 3000px"><a href="#a" id="above" style="position: absolute; top: 20px; left: 20px">above</a></main>';
    pages.toast("Sent in a few seconds: something that is as wide as a message may be, and wider than one line of it");
    const focused = (style) => {
      scrollTo(0, 0);
      const button = Object.assign(document.createElement("button"), { textContent: "Here" });
      button.style = "position: absolute; bottom: auto; top: " + (innerHeight - 70) + "px;" + style;
      document.body.append(button);
      button.focus({ preventScroll: true });
      const { left, top } = button.getBoundingClientRect();
      const isSeen = document.elementFromPoint(left + 5, top + 5) === button;
      const moved = [scrollY > 0, document.querySelector(".toasts").dataset.edge];
      button.remove();
      return [isSeen, ...moved];
    };
    const all = [focused("right: 20px"), focused("left: 20px")];
    // The message moves only if it is in nobody's way there.
    document.querySelector("#above").remove();
    return [...all, focused("left: 20px")];`);
  expect(focused).toEqual([
    [true, false, "end"],
    [true, false, "start"],
    [true, false, "start"],
  ]);
});
