/** Shows a question as an MCP client does: a form, or a page to visit. The person answers, declines, cancels or postpones it. */
import { ownWords } from "@parley/core/own-words";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { contentOf, type Draft, inputsOf, problemsIn, type Problems } from "../../form/inputs.ts";
import { filled } from "../../texts/words.ts";
import { localeNow, said, sentence } from "../language.ts";
import { problemIn, wordsOf } from "../mcp/shared.ts";
import type { Question, Reply } from "../mcp/types.ts";
import { TEXTS } from "../play-texts.ts";
import { keepDraft, keptDraft } from "../run/drafts.ts";
import { wasRead } from "../reading.ts";
import { logIn } from "../run/account.ts";
import { answer, postpone, postponeAll, run, usesLogin, wantsToken } from "../run/playground.ts";
import { hasNextPage, isWayBack } from "../wizard.ts";
import { Fields, focusProblem, unreadable } from "./fields.tsx";
import { Said } from "./texts.tsx";
import { useModal } from "./use-modal.ts";
import { submitOnce, usePause } from "./use-pause.ts";

export interface QuestionDialogProps {
  readonly question: Question;
  readonly tool: string;
  /** The place under which the draft is kept (drafts.ts). */
  readonly place: string;
  /** Number of open questions, including this one. */
  readonly count: number;
  /** Opens the dialog for a token, and this one again afterwards. */
  readonly onToken: () => void;
}

const SCOPE = "answer";

export function QuestionDialog({ question, tool, place, count, onToken }: QuestionDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const form = useRef<HTMLFormElement>(null);
  const refusal = useRef<HTMLParagraphElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  const [draft, setDraft] = useState<Draft>(() => keptDraft(place, question));
  const [problems, setProblems] = useState<Problems>(question.problems ?? {});
  const [banner, setBanner] = useState<string | undefined>();
  const [isSending, setSending] = useState(false);
  const [isPaused, pause] = usePause(true);
  const [isUnfolded, setUnfolded] = useState(false);
  const isDisabled = isSending || isPaused;
  const inputs = question.schema ? inputsOf(question.schema, question.hints) : [];
  // Some dialects report problems in the message, others by field. Show them once.
  const problem = banner ?? (Object.keys(problems).length === 0 ? problemIn(question.message) : undefined);

  useModal(dialog);
  useEffect(() => {
    // Focus the first field. For a page, focus the title, so that a key pressed by accident does not open the page.
    (dialog.current?.querySelector<HTMLElement>(".fields :is(input, select, textarea)") ?? title.current)?.focus();
    // Of a form that is asked again, the first with a problem.
    focusProblem(form.current);
  }, []);

  useLayoutEffect(() => {
    if (Object.keys(draft).length > 0) keepDraft(place, question, { draft, inputs });
  }, [draft]);

  // The buttons of a long form are far below what concerns the whole of it. A field with a problem has the focus instead.
  useEffect(() => {
    if (!isSending && Object.keys(problems).every((name) => name === "")) refusal.current?.scrollIntoView({ block: "center" });
  }, [problem, isSending]);

  async function send(reply: Reply): Promise<void> {
    setSending(true);
    setBanner(undefined);
    const outcome = await answer(question, reply);
    // After an accepted answer the dialog closes; until then, the buttons stay disabled.
    if (outcome.type === "accepted") return;
    setSending(false);
    if (outcome.type === "late") return;
    const found = problemsIn(outcome.violations, inputs);
    setProblems(found);
    const { "": general } = found;
    setBanner(outcome.violations.length === 0 ? outcome.message : general);
    focusProblem(form.current);
  }

  useLayoutEffect(() => {
    if (isUnfolded) dialog.current?.querySelector<HTMLElement>("#question-text")?.focus();
    if (isUnfolded) dialog.current?.querySelector(".unread")?.scrollIntoView({ block: "center" });
  }, [isUnfolded]);

  /** Nobody says yes to what they have not seen. If not, all of it is shown now, and the second press of a double click answers nothing. */
  function isSeen(): boolean {
    const text = dialog.current?.querySelector<HTMLElement>("#question-text");
    if (isUnfolded || !text || (wasRead(text) && !text.parentElement?.querySelector(".more"))) return true;
    setUnfolded(true);
    pause();
    return false;
  }

  function submit(event: Event): void {
    event.preventDefault();
    if (isDisabled || !isSeen()) return;
    const { content, problems: wrong } = contentOf(inputs, draft, localeNow());
    const found = { ...wrong, ...unreadable(form.current, SCOPE, inputs) };
    setProblems(found);
    if (Object.keys(found).length > 0) focusProblem(form.current);
    else void send({ action: "accept", content });
  }

  const words = ownWords(wordsOf(question.message), { isAgain: false, isForFiles: question.url !== undefined });

  return (
    <dialog
      ref={dialog}
      aria-labelledby="question-title"
      // The first field has the focus: without this, a screen reader would not say what is asked.
      aria-describedby="question-text"
      onCancel={(event) => {
        event.preventDefault();
        postpone(question);
      }}
    >
      <form ref={form} onSubmit={submit} onKeyDown={submitOnce} noValidate>
        <header class="dialog-head">
          <p class="eyebrow">
            {sentence(TEXTS.asks, { tool: <bdi>{tool}</bdi> })}
            {count > 1 && <span class="badge">{filled(TEXTS.wait, { count })}</span>}
          </p>
          <span class="laters">
            <button type="button" class="quiet" onClick={() => postpone(question)}>
              {TEXTS.later}
            </button>
            {count > 1 && (
              <button type="button" class="quiet" onClick={postponeAll}>
                {TEXTS.allLater}
              </button>
            )}
          </span>
        </header>
        <h2 ref={title} id="question-title" class="sr-only" tabIndex={-1}>
          {filled(TEXTS.questionOf, { tool })}
        </h2>
        {words.step && <p class="eyebrow">{filled(TEXTS.step, { number: words.step.number, count: words.step.count })}</p>}
        {isUnfolded && (
          <p class="banner unread" role="alert">
            {TEXTS.unread}
          </p>
        )}
        <Said id="question-text" text={words.said} label={TEXTS.question} isWhole={isUnfolded} />
        {words.filesHere !== undefined && <p dir="auto">{filled(TEXTS.filesHere, { names: words.filesHere })}</p>}
        {problem !== undefined && (
          <p ref={refusal} class="banner" role="alert" dir="auto">
            {said(problem)}
          </p>
        )}
        {wantsToken.value && (
          <div class="banner" role="alert">
            {usesLogin.value ? TEXTS.needsLogin : TEXTS.needsToken}{" "}
            <button type="button" class="plain" onClick={usesLogin.value ? logIn : onToken}>
              {usesLogin.value ? TEXTS.logIn : TEXTS.setToken}
            </button>
          </div>
        )}
        {question.url === undefined ? (
          <div class="fields">
            <Fields
              scope={SCOPE}
              inputs={inputs}
              draft={draft}
              problems={problems}
              onType={(name, typed) => setDraft((before) => Object.fromEntries([...Object.entries(before), [name, typed]]))}
            />
          </div>
        ) : (
          <Page
            url={question.url}
            mayOpen={() => !isDisabled && isSeen()}
            isDisabled={isDisabled}
            onOpen={() => void send({ action: "accept" })}
          />
        )}
        <footer class="dialog-foot">
          {run.value?.isConnected === false && !wantsToken.value && (
            <p class="banner" role="alert">
              {TEXTS.awayAsked}
            </p>
          )}
          <button type="button" class="plain" disabled={isDisabled} onClick={() => void send({ action: "cancel" })}>
            {TEXTS.cancel}
          </button>
          <button type="button" class="plain" disabled={isDisabled} onClick={() => void send({ action: "decline" })}>
            {isWayBack(question) ? TEXTS.back : TEXTS.decline}
          </button>
          {question.url === undefined && (
            <button type="submit" class="primary" disabled={isDisabled}>
              {isSending ? TEXTS.sending : hasNextPage(words.step) ? TEXTS.next : TEXTS.answer}
            </button>
          )}
        </footer>
      </form>
    </dialog>
  );
}

interface PageProps {
  readonly url: string;
  readonly isDisabled: boolean;
  readonly mayOpen: () => boolean;
  readonly onOpen: () => void;
}

/** Shows where the tool sends the person: the whole host in its encoded form, so that look-alike letters are visible. */
function Page({ url, isDisabled, mayOpen, onOpen }: PageProps) {
  const parsed = URL.parse(url);
  const canOpen = parsed !== null && (parsed.protocol === "https:" || parsed.protocol === "http:");
  return (
    <div class="page">
      <p class="eyebrow">{TEXTS.sends}</p>
      <p class="host">{parsed?.host || TEXTS.noHost}</p>
      {parsed?.host.split(".").some((label) => label.startsWith("xn--")) && <p class="problem">{TEXTS.encoded}</p>}
      {parsed?.protocol === "http:" && <p class="problem">{TEXTS.plainHttp}</p>}
      <p class="mono address">{url.slice(0, 2_000)}</p>
      {canOpen ? (
        <a
          class="primary"
          href={parsed.href}
          target="_blank"
          rel="noopener noreferrer"
          aria-disabled={isDisabled}
          onClick={(event) => (mayOpen() ? onOpen() : event.preventDefault())}
        >
          {TEXTS.open}
        </a>
      ) : (
        <p class="problem">{TEXTS.noOpen}</p>
      )}
    </div>
  );
}
