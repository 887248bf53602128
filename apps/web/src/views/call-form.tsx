import { useRef, useState } from "preact/hooks";
import { contentOf, type Draft, inputsOf, type Problems } from "../form/inputs.ts";
import type { Tool } from "../mcp/types.ts";
import { callTool } from "../run/playground.ts";
import { Fields, focusProblem } from "./fields.tsx";
import { Panel, Said } from "./texts.tsx";

export function CallForm({ tool }: { readonly tool: Tool }) {
  const form = useRef<HTMLFormElement>(null);
  const [draft, setDraft] = useState<Draft>({});
  const [problems, setProblems] = useState<Problems>({});
  const inputs = inputsOf(tool.inputSchema);

  function submit(event: Event): void {
    event.preventDefault();
    const { content, problems: found } = contentOf(inputs, draft);
    setProblems(found);
    if (Object.keys(found).length > 0) focusProblem(form.current);
    else callTool(content);
  }

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
        <div>
          <button type="submit" class="primary">
            Call {tool.name}
          </button>
        </div>
      </form>
    </Panel>
  );
}
