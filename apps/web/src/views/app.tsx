import { useState } from "preact/hooks";
import { sameQuestion } from "../mcp/shared.ts";
import { asked, chooseDialect, chosen, dialect, dialects, draftsOf, run, token, tool, tools, wantsToken } from "../run/playground.ts";
import { CallForm } from "./call-form.tsx";
import { QuestionDialog } from "./question-dialog.tsx";
import { Notices, RunPanel } from "./run-panel.tsx";
import { TokenDialog } from "./token-dialog.tsx";
import { ToolList } from "./tool-list.tsx";
import { WirePanel } from "./wire-panel.tsx";

const PANES = { tools: "Tools", call: "Call", wire: "Wire" } as const;
type Pane = keyof typeof PANES;

export function App() {
  const [pane, setPane] = useState<Pane>(run.value || chosen.value !== undefined ? "call" : "tools");
  const [isTokenOpen, setTokenOpen] = useState(false);
  const question = asked.value;
  const current = run.value;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => focusMain(event)}>
        Skip to the call
      </a>
      <header class="top">
        <h1>
          <a href="../">Parley</a> <span>playground</span>
        </h1>
        <label class="dialect">
          <span>Dialect</span>
          <select value={dialect.value.id} aria-describedby="dialect-note" onChange={(event) => chooseDialect(event.currentTarget.value)}>
            {dialects.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <button type="button" class={wantsToken.value ? "plain warn" : "plain"} onClick={() => setTokenOpen(true)}>
          {wantsToken.value ? "Token needed" : token.value === "" ? "Token" : "Token set"}
        </button>
        <p id="dialect-note" class="dialect-note">
          {dialect.value.note}
        </p>
      </header>
      <nav class="panes" aria-label="Parts of the page">
        {(Object.keys(PANES) as Pane[]).map((each) => (
          <button key={each} type="button" aria-current={pane === each ? "true" : undefined} onClick={() => setPane(each)}>
            {PANES[each]}
          </button>
        ))}
      </nav>
      <main class="columns" data-pane={pane}>
        <section class="column-tools" aria-label="Tools">
          <ToolList onChoose={() => setPane("call")} />
        </section>
        <section id="main" class="column-call" aria-label="Call" tabIndex={-1}>
          <Notices />
          {tool.value ? <CallForm key={tool.value.name} tool={tool.value} /> : <Welcome />}
          {current && <RunPanel run={current} />}
        </section>
        <div class="column-wire">
          <WirePanel />
        </div>
      </main>
      {isTokenOpen && <TokenDialog onClose={() => setTokenOpen(false)} />}
      {question && current && !isTokenOpen && (
        <QuestionDialog
          key={`${question.id} ${sameQuestion(question)}`}
          question={question}
          tool={current.tool}
          place={draftsOf(current)}
          count={current.questions.length}
          onToken={() => setTokenOpen(true)}
        />
      )}
    </>
  );
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Welcome() {
  if (run.value || tools.value.state !== "ready") return null;
  return (
    <div class="welcome">
      <h2>Choose a tool</h2>
      <p>
        Its arguments become a form. Call it in any dialect of the protocol: its questions appear here as an MCP client would show them, and
        every message is listed beside them.
      </p>
      <p>
        Try <code>book_dinner</code>, let it ask, and stop the server before you answer. Start it again: the question still waits.
      </p>
    </div>
  );
}
