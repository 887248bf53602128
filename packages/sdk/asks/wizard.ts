/**
 * `ctx.wizard`: several pages of one form, asked one after another, with a way back.
 *
 *   person ──accept──▶ address ──accept──▶ work ──accept──▶ the answers of all pages
 *      ▲                 │   ▲               │
 *      └────decline──────┘   └────decline────┘      a page that was answered before is filled in with its answer
 *
 *   W1  Each page is an ask, `<wizard>/<page>`, and each further time that it is shown an occurrence of it: replay needs no state of its own.
 *   W2  Back is an answer: the page is declined. The first page has none before it, so declining it declines the wizard.
 *   W3  What was answered is never asked for empty again: pages keep their answers, also those that are left out in between.
 */
import { type FileRef, filesHereWords, type JsonObject, type Step, stepWords } from "@parley/core";
import type { AboutOptions } from "./about.ts";
import type { AskResult, ContentOf, FormAsk } from "./ask.ts";
import type { FilesAsk } from "./pages.ts";
import { Declined, throwUnanswered, TimedOut, Withdrawn } from "../failures.ts";
import type { InputOf, Schema } from "../schemas/schema.ts";
import { present } from "../values/without-undefined.ts";
import { MESSAGE_WANTED, wrongAsk } from "./wrong-ask.ts";
import { isObject } from "../values/is-object.ts";

/** What has been answered so far, by page; pages that are left out are absent. */
export type WizardAnswers = { readonly [page: string]: { readonly [field: string]: unknown } | undefined };

/** One page: a form, and files that are asked for beside it. */
export interface WizardPage<S extends Schema | JsonObject = Schema | JsonObject> extends Pick<AboutOptions, "context"> {
  /** What the person reads above the form. May depend on what was answered on earlier pages. */
  readonly message: string | ((answers: WizardAnswers) => string);
  readonly schema: S;
  /** Asked for at the same time, on pages of their own (`ctx.file`). The answer has each under its name; with `count`, a list. */
  readonly files?: { readonly [name: string]: WizardFile };
  /** Whether the page is shown, by what was answered on earlier pages. Shown by default. */
  readonly when?: (answers: WizardAnswers) => boolean;
}

/** As for `ctx.file`. */
export interface WizardFile extends Pick<FilesAsk, "message" | "accept" | "maxBytes"> {
  readonly count?: number;
}

/** Where a page stands. */
export interface WizardStep extends Step {}

/** Options of `ctx.wizard`; all but `pages`, `prefill` and `footer` are those of each page's question, as for `ctx.form`. */
export interface WizardOptions<P extends WizardPages>
  extends Omit<AboutOptions, "context">, Pick<FormAsk<Schema>, "timeout" | "signal" | "to" | "not"> {
  /** In their order, by name: 1 to 64 of A-Z a-z 0-9 _ . - */
  readonly pages: P;
  /** What the fields are filled in with when a page is first shown, by page: an earlier answer, or what is known already. */
  readonly prefill?: { readonly [page in keyof P]?: Partial<GivenTo<P[page]["schema"]>> };
  /** Ends the wizard without an answer, on whichever page: `"cancel"` throws TimedOut, and `"decline"` Declined. */
  readonly onTimeout?: "cancel" | "decline" | "fail";
  /** Follows the message of each page. By default it says which step this is and how to go back: on pages of Parley in the language of the reader, and to other clients in English. */
  readonly footer?: (step: WizardStep) => string;
}

/** The pages of a wizard by their names, in their order. */
export type WizardPages = { readonly [page: string]: WizardPage };

type GivenTo<S extends Schema | JsonObject> = S extends Schema ? InputOf<S> : { readonly [field: string]: unknown };

type FilesOf<F> = { -readonly [name in keyof F]: F[name] extends { readonly count: number } ? readonly FileRef[] : FileRef };

type PageAnswer<P extends Pick<WizardPage, "schema" | "files">> = ContentOf<P["schema"]> &
  (P["files"] extends object ? FilesOf<P["files"]> : unknown);

/** The answers of the pages. One with `when` may be left out. */
export type WizardResult<P extends WizardPages> = {
  -readonly [page in keyof P]: PageAnswer<P[page]> | (P[page]["when"] extends (...given: never) => unknown ? undefined : never);
};

export interface Wizard {
  /**
   * Asks for a form in several pages, each a question `<name>/<page>`. The person can go back (on all pages but the first, declining is going back) and finds
   * each page as they answered it. Returns the answers by page.
   *
   *   const { person, move } = await ctx.wizard("joining", {
   *     pages: {
   *       person: { message: "About you", schema: z.object({ name: z.string(), isMoving: z.boolean().default(false) }) },
   *       move: { message: "Your move", schema: z.object({ day: z.iso.date() }), when: ({ person }) => person?.isMoving === true },
   *     },
   *   });
   *
   * Throws Declined if the first page is declined, Cancelled, TimedOut or Withdrawn, and ParleyErrors as `elicit` and `file` do.
   */
  wizard<const P extends WizardPages>(name: string, options: WizardOptions<P>): Promise<WizardResult<P>>;
}

/** How a page's form ended, and what was filled in. */
export interface FilledIn {
  readonly result: AskResult<unknown>;
  /** As the client sent it. */
  readonly given: JsonObject;
}

interface WizardContext {
  branch<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** `before`: what the form is filled in with. */
  askForm(name: string, ask: FormAsk<Schema | JsonObject>, before: FilledIn["given"] | undefined): Promise<FilledIn>;
  files(name: string, ask: FilesAsk, countMax: number): Promise<readonly FileRef[]>;
}

interface Answered {
  readonly given?: JsonObject;
  readonly value?: unknown;
  readonly files: Readonly<Record<string, readonly FileRef[]>>;
}

/** `next` also for a page that is left out. */
type Outcome = { readonly goes: "next" | "back"; readonly answered: Answered };

export function createWizard({ branch, askForm, files }: WizardContext): Wizard["wizard"] {
  return async <const P extends WizardPages>(name: string, options: WizardOptions<P>) => {
    const { pages, prefill = {}, footer = stepWords, onTimeout, timeout, signal, to, not, ...about } = checked(name, options);
    // A page that declined itself at its deadline would look like one that a person left for the page before.
    const common = { ...about, ...present({ onTimeout: onTimeout === "decline" ? "cancel" : onTimeout, timeout, to, not }) };
    const keys = Object.keys(pages);
    const kept = new Map<string, Answered>(
      Object.entries(prefill).map(([page, given]) => [page, { given: given as JsonObject, files: {} }]),
    );

    async function show(page: string, step: WizardStep, answers: WizardAnswers): Promise<Outcome> {
      const { message, schema, files: wanted = {}, context } = pages[page] as WizardPage;
      const before = kept.get(page);
      const given = before?.given;
      const [all, replacing] = [new AbortController(), new AbortController()];
      let isFileDeclined = false;
      const until = (...more: readonly AbortSignal[]) => AbortSignal.any([...(signal ? [signal] : []), all.signal, ...more]);
      const words = [typeof message === "function" ? message(answers) : message, footer(step)].filter((text) => text !== "").join("\n\n");
      const ask = { ...common, message: words, schema, signal: until(), ...present({ context }), hints: hintsOf(step) };
      const form = askForm(page, ask, given).then((outcome) => {
        (outcome.result.action === "accept" ? replacing : all).abort();
        return outcome;
      });
      const uploads = Object.entries(wanted).map(async ([file, { count = 1, message: asks, ...limits }]) => {
        const has = before?.files[file];
        const said = has === undefined ? asks : `${asks}\n\n${filesHereWords(has.map(({ name: each }) => each))}`;
        const stops = has === undefined ? until() : until(replacing.signal);
        try {
          return [file, await files(`${page}.${file}`, { ...common, ...limits, message: said, signal: stops }, count)] as const;
        } catch (error) {
          if (has !== undefined && (error instanceof Declined || error instanceof Withdrawn)) return [file, has] as const;
          if (error instanceof Declined) {
            isFileDeclined = true;
            all.abort();
          }
          if (error instanceof Declined || (error instanceof Withdrawn && all.signal.aborted)) return [file, undefined] as const;
          throw error;
        }
      });
      // Whatever ends the page, nothing of it stays open: the author may catch the error and go on.
      const [{ result, given: filledIn }, ...got] = await Promise.all([form, ...uploads]).finally(() => all.abort());
      const isAccepted = result.action === "accept";
      const isBack = result.action === "decline" || (result.action === "withdrawn" && isFileDeclined);
      if (!isAccepted && !isBack) return throwUnanswered(`${name}/${page}`, result);
      const refs = Object.fromEntries(got.flatMap(([file, each]) => (each === undefined ? [] : [[file, each]])));
      const answered: Answered = {
        ...(isAccepted ? { given: filledIn, value: result.content } : before),
        files: { ...before?.files, ...refs },
      };
      const isWhole = isAccepted && got.every(([, each]) => each !== undefined);
      if (!isWhole && !step.canGoBack) throw new Declined(`${name}/${page}`, result.action === "decline" ? result.reason : undefined);
      return { goes: isWhole ? "next" : "back", answered };
    }

    const walk = async () => {
      const shown: number[] = [];
      for (let at = 0; at < keys.length;) {
        const answers = answersOf(pages, keys.slice(0, at), kept);
        const page = keys[at] ?? "";
        if (!isShown(pages, page, answers)) {
          at += 1;
          continue;
        }
        const later = keys.slice(at).filter((each) => isShown(pages, each, answers)).length;
        const step = { number: shown.length + 1, count: shown.length + later, canGoBack: shown.length > 0 };
        const { goes, answered } = await show(page, step, answers);
        kept.set(page, answered);
        if (goes === "next") shown.push(at);
        at = goes === "next" ? at + 1 : (shown.pop() ?? 0);
      }
      return answersOf(pages, keys, kept) as WizardResult<P>;
    };
    try {
      return await branch(name, walk);
    } catch (error) {
      throw error instanceof TimedOut && onTimeout === "decline" ? new Declined(error.ask) : error;
    }
  };
}

/** Those of the pages that are shown by what stands before them. */
function answersOf(pages: WizardPages, keys: readonly string[], kept: ReadonlyMap<string, Answered>): WizardAnswers {
  return keys.reduce<WizardAnswers>((answers, page) => {
    const { value, files = {} } = kept.get(page) ?? {};
    if (value === undefined || !isShown(pages, page, answers)) return answers;
    const wanted = pages[page]?.files ?? {};
    const refs = Object.entries(files).map(([file, each]) => [file, wanted[file]?.count === undefined ? each[0] : each]);
    return { ...answers, [page]: { ...(value as object), ...Object.fromEntries(refs) } };
  }, {});
}

function isShown(pages: WizardPages, page: string, answers: WizardAnswers): boolean {
  return pages[page]?.when?.(answers) ?? true;
}

/** `back`: declining goes back, so faces call it that, and ask for no reason. */
function hintsOf({ number, count, canGoBack }: WizardStep): JsonObject {
  return { step: { number, count }, ...(canGoBack && { back: true }) };
}

const PREFILL_WANTED = 'must be values of fields, by page: { person: { name: "Ada" } }';

/** Not every author has types. */
function checked<O extends WizardOptions<WizardPages>>(name: string, options: O): O {
  const { pages, prefill, footer } = (options ?? {}) as Partial<O>;
  if (typeof pages !== "object" || pages === null || Object.keys(pages).length === 0)
    throw wrongAsk(name, "/pages", "must have at least one page: { person: { message, schema } }");
  for (const [page, of] of Object.entries<Partial<WizardPage> | null | undefined>(pages)) {
    if (/^\d+$/.test(page))
      throw wrongAsk(name, `/pages/${page}`, "must not be named by a number: JavaScript puts those first, wherever they stand");
    if (!["string", "function"].includes(typeof of?.message)) throw wrongAsk(name, `/pages/${page}/message`, MESSAGE_WANTED);
  }
  if (prefill !== undefined && !isObject(prefill)) throw wrongAsk(name, "/prefill", PREFILL_WANTED);
  for (const [page, given] of Object.entries(prefill ?? {})) {
    if (!Object.hasOwn(pages, page)) throw wrongAsk(name, `/prefill/${page}`, `must be one of the pages: ${Object.keys(pages).join(", ")}`);
    if (given !== undefined && !isObject(given)) throw wrongAsk(name, `/prefill/${page}`, PREFILL_WANTED);
  }
  if (footer !== undefined && typeof footer !== "function")
    throw wrongAsk(name, "/footer", "must be a function that returns what stands below the message");
  return options;
}
