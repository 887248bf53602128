import { useEffect, useRef, useState } from "preact/hooks";
import { contentOf, type Draft, inputsOf, type Problems, problemsIn } from "../form/inputs.ts";
import type { Tool, Violation } from "../mcp/types.ts";
import { callTool, run } from "../run/playground.ts";
import { Fields, focusProblem } from "./fields.tsx";
import { Panel, Said } from "./texts.tsx";

export function CallForm({ tool }: { readonly tool: Tool }) {
  const form = useRef<HTMLFormElement>(null);
  const [draft, setDraft] = useState<Draft>({});
  const [problems, setProblems] = useState<Problems>({});
  const inputs = inputsOf(tool.inputSchema);
  const refused = refusedArguments();

  useEffect(() => {
    if (!refused) return;
    setProblems(problemsIn(refused, inputs));
    focusProblem(form.current);
  }, [refused]);

  function submit(event: Event): void {
    event.preventDefault();
    const { content, problems: found } = contentOf(inputs, draft);
    setProblems(found);
    if (Object.keys(found).length > 0) focusProblem(form.current);
    else callTool(content);
  }

  const { "": general } = problems;
  return (
    <Panel
      id="call-title"
      title={tool.title ?? tool.name}
      aside={tool.annotations?.destructiveHint ? <span class="badge warn">destructive</span> : undefined}
    >
      {tool.description && <Said text={tool.description} label="What the tool does" />}
      <form ref={form} class="fields" onSubmit={submit} noValidate>
        <Fields
          scope="argument"
          inputs={inputs}
          draft={draft}
          problems={problems}
          onType={(name, typed) => setDraft((before) => Object.fromEntries([...Object.entries(before), [name, typed]]))}
        />
        {general !== undefined && (
          <p class="banner" role="alert">
            {general}
          </p>
        )}
        <div>
          <button type="submit" class="primary">
            Call {tool.name}
          </button>
        </div>
      </form>
    </Panel>
  );
}

/** What was wrong with the arguments of the call that is shown, if that was refused for them. */
function refusedArguments(): readonly Violation[] | undefined {
  const end = run.value?.end;
  if (end?.type !== "error") return undefined;
  return (end.data as { readonly violations?: readonly Violation[] } | undefined)?.violations;
}
