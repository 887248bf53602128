/** One question: its form, if the view takes the answer, or the way to its page. */
import type { JsonObject } from "@parley/core/form";
import { ownWords, type Step } from "@parley/core/own-words";
import { useRef, useState } from "preact/hooks";
import { contentOf, type Draft, inputsOf, type Problems, problemsIn } from "../../form/inputs.ts";
import { filled } from "../../texts/words.ts";
import { localeNow, said as inWords } from "../language.ts";
import { hasNextPage, isWayBack } from "../wizard.ts";
import { Fields, focusProblem, unreadable } from "../views/fields.tsx";
import { refusal, texts } from "./texts.ts";
import type { AskShown, Became } from "./waiting.ts";

export type Reply = { readonly action: "accept"; readonly answer: JsonObject } | { readonly action: "decline" };

export interface AskCardProps {
  readonly ask: AskShown;
  readonly scope: string;
  /** Formats a moment for the person. */
  readonly when: (iso: string) => string;
  /** Undefined if the host does not let the view answer. Rejects if nobody knows what became of it. */
  readonly onReply: ((reply: Reply) => Promise<Became>) | undefined;
  /** False if the host does not open it. */
  readonly onOpen: (url: string) => Promise<boolean>;
}

export function AskCard({ ask, scope, when, onReply, onOpen }: AskCardProps) {
  const { question, who, deadline, page, form } = ask;
  const { said, step } = ownWords(question, { isAgain: false, isForFiles: false });
  return (
    <section class="ask" aria-labelledby={`${scope}-question`}>
      <p id={`${scope}-question`} class="question" dir="auto">
        {said}
      </p>
      <p class="quiet">
        {step && `${filled(texts().step, { number: step.number, count: step.count })}. `}
        {filled(texts().until, { when: when(deadline) })}
        {who !== "you" && ` ${filled(texts().askedOf, { names: who })}`}
      </p>
      {form && onReply ? (
        <Form {...{ form, step, scope, when, onReply }} />
      ) : (
        <p class="quiet">{page ? texts().onPage : texts().inInbox}</p>
      )}
      {page && <PageLink page={page} onOpen={onOpen} />}
    </section>
  );
}

function PageLink({ page, onOpen }: { readonly page: string; readonly onOpen: AskCardProps["onOpen"] }) {
  const [isRefused, setRefused] = useState(false);
  if (isRefused) {
    return (
      <p class="address" role="status">
        {texts().openThis} <span>{page}</span>
      </p>
    );
  }
  return (
    <button type="button" class="link" onClick={() => void onOpen(page).then((isOpened) => setRefused(!isOpened))}>
      {texts().openPage}
    </button>
  );
}

interface FormProps extends Pick<AskCardProps, "scope" | "when"> {
  readonly form: NonNullable<AskShown["form"]>;
  readonly step: Step | undefined;
  readonly onReply: NonNullable<AskCardProps["onReply"]>;
}

function Form({ form: { schema, hints = {} }, step, scope, when, onReply }: FormProps) {
  // What cannot be undone has no form here (the server's asks-for-models.ts), so nothing need be left unchosen.
  const inputs = inputsOf(schema);
  const [draft, setDraft] = useState<Draft>({});
  const [problems, setProblems] = useState<Problems>({});
  const [said, setSaid] = useState("");
  const [isSending, setSending] = useState(false);
  const place = useRef<HTMLDivElement>(null);

  async function send(reply: Reply): Promise<void> {
    setSending(true);
    setSaid("");
    try {
      const became = await onReply(reply);
      if (became.receipt === "accepted" || became.receipt === "duplicate") return;
      if (became.receipt === "invalid") refuse(problemsIn(became.violations ?? [], inputs));
      else setSaid(refusal(became, when));
    } catch {
      setSaid(texts().notSent);
    } finally {
      setSending(false);
    }
  }

  function refuse(found: Problems): void {
    setProblems(found);
    const { "": ofAll } = found;
    setSaid(ofAll === undefined ? texts().fix : ofAll);
    focusProblem(place.current);
  }

  function accept(): void {
    if (isSending) return;
    const { content, problems: found } = contentOf(inputs, draft, localeNow());
    const all = { ...found, ...unreadable(place.current, scope, inputs) };
    if (Object.keys(all).length > 0) return refuse(all);
    setProblems({});
    void send({ action: "accept", answer: content });
  }

  /** Hosts may forbid forms in their frames, and with them the event `submit`. */
  function onKeyDown(event: KeyboardEvent): void {
    const { target, key, isComposing } = event;
    if (key !== "Enter" || isComposing || !(target instanceof HTMLInputElement) || target.type === "checkbox" || target.type === "search")
      return;
    event.preventDefault();
    accept();
  }

  return (
    <div ref={place} onKeyDown={onKeyDown}>
      <Fields
        scope={scope}
        inputs={inputs}
        draft={draft}
        problems={problems}
        // A browser that fills in a form tells of several fields at once.
        onType={(name, typed) => setDraft((before) => Object.fromEntries([...Object.entries(before), [name, typed]]))}
      />
      <p role="alert" class="problem" dir="auto">
        {inWords(said)}
      </p>
      <div class="buttons">
        <button type="button" class="primary" aria-disabled={isSending} onClick={accept}>
          {label(hints["submitLabel"]) ?? (hasNextPage(step) ? texts().next : texts().send)}
        </button>
        <button type="button" aria-disabled={isSending} onClick={() => void (isSending || send({ action: "decline" }))}>
          {label(hints["cancelLabel"]) ?? (isWayBack({ hints }) ? texts().back : texts().decline)}
        </button>
      </div>
    </div>
  );
}

function label(given: unknown): string | undefined {
  return typeof given === "string" && given.trim() !== "" && given.length <= 60 ? given : undefined;
}
