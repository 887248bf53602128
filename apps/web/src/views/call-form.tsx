import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { contentOf, type Draft, inputsOf, type Problems } from "../../form/inputs.ts";
import { filled } from "../../texts/words.ts";
import { localeNow } from "../language.ts";
import type { Tool } from "../mcp/types.ts";
import { TEXTS } from "../play-texts.ts";
import { forgetDrafts, keepDraft, keptDraft } from "../run/drafts.ts";
import { callTool } from "../run/playground.ts";
import { Fields, focusProblem, unreadable } from "./fields.tsx";
import { Panel, Said } from "./texts.tsx";
import { submitOnce, usePause } from "./use-pause.ts";

const SCOPE = "argument";

export function CallForm({ tool }: { readonly tool: Tool }) {
  const form = useRef<HTMLFormElement>(null);
  // No tool has such a name, so its questions have other drafts.
  const place = `/${tool.name}`;
  const asked = { message: "", schema: tool.inputSchema, url: undefined };
  const [draft, setDraft] = useState<Draft>(() => keptDraft(place, asked));
  const [problems, setProblems] = useState<Problems>({});
  // A double click calls once. A button that is disabled would lose the focus, which returns there after a question.
  const [isPaused, pause] = usePause(false);
  const inputs = inputsOf(tool.inputSchema);

  useLayoutEffect(() => {
    if (Object.keys(draft).length > 0) keepDraft(place, asked, { draft, inputs });
  }, [draft]);

  function submit(event: Event): void {
    event.preventDefault();
    if (isPaused) return;
    const { content, problems: wrong } = contentOf(inputs, draft, localeNow());
    const found = { ...wrong, ...unreadable(form.current, SCOPE, inputs) };
    setProblems(found);
    if (Object.keys(found).length > 0) return focusProblem(form.current);
    pause();
    forgetDrafts(place);
    callTool(content);
  }

  return (
    <Panel
      id="call-title"
      title={tool.title ?? tool.name}
      aside={tool.annotations?.destructiveHint ? <span class="badge warn">{TEXTS.destructive}</span> : undefined}
    >
      {tool.description && <Said text={tool.description} label={TEXTS.does} />}
      <form ref={form} class="fields" onSubmit={submit} onKeyDown={submitOnce} noValidate>
        <Fields
          scope={SCOPE}
          inputs={inputs}
          draft={draft}
          problems={problems}
          onType={(name, typed) => setDraft((before) => Object.fromEntries([...Object.entries(before), [name, typed]]))}
        />
        <div>
          <button type="submit" class="primary" aria-disabled={isPaused}>
            {filled(TEXTS.run, { tool: tool.name })}
          </button>
        </div>
      </form>
    </Panel>
  );
}
