/**
 * The form of a question: what would be refused is shown at its fields at once, what cannot be undone asks once more, and the rest is sent
 * after some seconds (sending.ts).
 */
import { keepDrafts } from "./drafts.ts";
import { load } from "./load.ts";
import { enhanceAround } from "./around.ts";
import { button, find, findAll, findWrong, make, say } from "./page.ts";
import { fold, isRead, makeSearchable } from "./options.ts";
import { type Sending, sendSoon, shortened, whileJudged } from "./sending.ts";
import { lasting } from "./toasts.ts";
import { typedText } from "./typed.ts";

/** Where the answer goes from here. */
export type Given = Pick<Sending, "isShown" | "onUndo" | "onReply" | "onOpen"> & { readonly onGiven: (isAtOnce: boolean) => void };

/** `asked`: the questions that the form answers, one or those of a batch. */
export type Giving = (ask: string, asked: readonly string[]) => Given;

/** `place` holds the question, and says which it is. */
export function enhance(place: HTMLElement, given: Giving): void {
  const form = find<HTMLFormElement>("form.question", place);
  const { ask, digest } = place.dataset;
  makeSearchable(place);
  fold(place);
  enhanceAround(place);
  if (!form || ask === undefined || digest === undefined) return;
  const saveNow = "drafts" in form.dataset ? keepDrafts(form, { ask, digest }) : undefined;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    // Later it would be kept beyond the answer.
    saveNow?.();
    const by = event.submitter instanceof HTMLButtonElement ? event.submitter : find<HTMLButtonElement>("button[name=action]", form);
    if (by) void submit(form, { by, place, ask, given });
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) press("a", place);
  });
}

/** As if the button of that key was pressed. False if the question has none. */
export function press(key: "a" | "d" | "c" | "m" | "e" | "s" | "q", place: HTMLElement): boolean {
  const target = find(`[data-key="${key}"]`, place);
  if (target instanceof HTMLButtonElement && target.form) {
    // What cannot be undone is answered by its buttons, and these ask once more.
    if ("risky" in target.form.dataset) target.focus();
    else target.form.requestSubmit(target);
  } else if (target?.parentElement instanceof HTMLDetailsElement) {
    target.parentElement.open = true;
    (find(".actions button, input:not([type=hidden]), textarea", target.parentElement) ?? target).focus();
  } else target?.focus();
  return target !== undefined;
}

interface Submitted {
  readonly by: HTMLButtonElement;
  readonly place: HTMLElement;
  readonly ask: string;
  readonly given: Giving;
}

async function submit(form: HTMLFormElement, { by, place, ask, given }: Submitted): Promise<void> {
  // A double click.
  if ("busy" in form.dataset) return;
  form.dataset["busy"] = "";
  try {
    const body = bodyOf(form, by);
    const url = form.getAttribute("action") || location.href;
    const isAnswer = by.value !== "decline";
    // Nobody says yes to what they have not seen.
    if (isAnswer && by.value !== "no" && !isRead(place)) return;
    const isDanger = by.classList.contains("danger");
    const keepsDraft = !isAnswer && "back" in form.dataset;
    const sent = { ask, url, from: location.href, body, keepsDraft };
    if (isAnswer && "drafts" in form.dataset) {
      const judged = isRight(form, { url, body, place, given });
      // What cannot be undone is no answer before the second step.
      if (!(await (isDanger ? judged : whileJudged(sent, judged)))) return;
    }
    if (isDanger && !(await isSure(by))) return;
    const question = form.dataset["said"] ?? shortened(find(".said", place)?.textContent ?? "");
    const asked = body.getAll("ask");
    const { onGiven, ...rest } = given(ask, asked.length === 0 ? [ask] : asked);
    const isPassing = isAnswer && "passing" in form.dataset && !isDanger;
    const isAtOnce = asked.length === 0 && (keepsDraft || isPassing);
    sendSoon({ ...sent, asked, question, typed: typedText(form.parentElement ?? undefined), isAtOnce, ...rest });
    onGiven(isAtOnce);
  } finally {
    delete form.dataset["busy"];
  }
}

function bodyOf(form: HTMLFormElement, by: HTMLButtonElement): URLSearchParams {
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form, by)) if (typeof value === "string") body.append(name, value);
  return body;
}

/** The server judges, as it will in the end. Without a connection, the browser does as well as it can. */
async function isRight(
  form: HTMLFormElement,
  { url, body, place, given }: Omit<Submitted, "by" | "ask"> & { readonly url: string; readonly body: URLSearchParams },
): Promise<boolean> {
  const asking = new URLSearchParams(body);
  asking.set("only", "check");
  const { status, page } = await load(url, { body: asking });
  if (status === 204) return true;
  const shown = page && find<HTMLFormElement>("form.question", page);
  if (status === 422 && shown) {
    const action = form.getAttribute("action");
    if (action !== null) shown.setAttribute("action", action);
    form.replaceWith(document.adoptNode(shown));
    enhance(place, given);
    (findWrong(place) ?? find("#problems", place))?.focus();
    return false;
  }
  if (status === 401) lasting(say("loggedOut"), [make("a", { text: say("logIn"), attributes: { href: location.href } })]);
  if (status === 413)
    lasting(
      [page && find("h1", page), page && find("main p", page)]
        .map((each) => each?.textContent)
        .filter(Boolean)
        .join(": "),
    );
  // Anything else is found, and said, when it is sent.
  return status !== 401 && status !== 413 && (status !== 0 || form.reportValidity());
}

/** A second step, in which no single key says yes: the button that goes back has the focus. */
function isSure(by: HTMLButtonElement): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const back = button(say("back"), () => dialog.close());
  const yes = button(by.textContent, () => {
    resolve(true);
    dialog.close();
  });
  yes.className = "danger";
  const title = make("h2", { text: say("sure"), attributes: { id: "sure-title" } });
  const dialog = make("dialog", {
    attributes: { "aria-labelledby": "sure-title", id: "sure" },
    children: [title, make("div", { class: "actions", children: [back, yes] })],
  });
  dialog.addEventListener("close", () => {
    resolve(false);
    dialog.remove();
    if (by.isConnected) by.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  back.focus();
  return promise;
}

/** Whether a person is at the form. */
export function isAtWork(place: HTMLElement): boolean {
  return findAll("form.question", place).some((form) => form.contains(document.activeElement));
}
