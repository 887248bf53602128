import { useState } from "preact/hooks";
import { sentence } from "../language.ts";
import { sameQuestion } from "../mcp/shared.ts";
import { TEXTS } from "../play-texts.ts";
import { filled } from "../../texts/words.ts";
import { account, logIn, logOut } from "../run/account.ts";
import {
  asked,
  chooseDialect,
  chosen,
  dialect,
  dialects,
  draftsOf,
  run,
  token,
  tool,
  tools,
  usesLogin,
  wantsToken,
} from "../run/playground.ts";
import { CallForm } from "./call-form.tsx";
import { QuestionDialog } from "./question-dialog.tsx";
import { Notices, RunPanel } from "./run-panel.tsx";
import { TaskList } from "./task-list.tsx";
import { TokenDialog } from "./token-dialog.tsx";
import { ToolList } from "./tool-list.tsx";
import { WirePanel } from "./wire-panel.tsx";

const PANES = ["tools", "call", "wire"] as const;
type Pane = (typeof PANES)[number];

export function App() {
  const [pane, setPane] = useState<Pane>(run.value || chosen.value !== undefined ? "call" : "tools");
  const [isTokenOpen, setTokenOpen] = useState(false);
  const question = asked.value;
  const current = run.value;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => focusMain(event)}>
        {TEXTS.skip}
      </a>
      <header class="top">
        <h1>
          <a href="../">Parley</a> <span>{TEXTS.name}</span>
        </h1>
        <label class="dialect">
          <span>{TEXTS.dialect}</span>
          <select value={dialect.value.id} aria-describedby="dialect-note" onChange={(event) => chooseDialect(event.currentTarget.value)}>
            {dialects.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <AccountButton />
        <button type="button" class={wantsToken.value && !usesLogin.value ? "plain warn" : "plain"} onClick={() => setTokenOpen(true)}>
          {wantsToken.value && !usesLogin.value ? TEXTS.tokenNeeded : token.value === "" ? TEXTS.token : TEXTS.tokenSet}
        </button>
        <p id="dialect-note" class="dialect-note">
          {dialect.value.note}
        </p>
      </header>
      <nav class="panes" aria-label={TEXTS.parts}>
        {PANES.map((each) => (
          <button key={each} type="button" aria-current={pane === each ? "true" : undefined} onClick={() => setPane(each)}>
            {TEXTS[each]}
          </button>
        ))}
      </nav>
      <main class="columns" data-pane={pane}>
        <section class="column-tools" aria-label={TEXTS.tools}>
          <TaskList onChoose={() => setPane("call")} />
          <ToolList onChoose={() => setPane("call")} />
        </section>
        <section id="main" class="column-call" aria-label={TEXTS.call} tabIndex={-1}>
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

function AccountButton() {
  if (!usesLogin.value) return null;
  const name = account.value?.name;
  if (name === undefined || wantsToken.value)
    return (
      <button type="button" class={wantsToken.value ? "plain warn" : "plain"} onClick={logIn}>
        {TEXTS.logIn}
      </button>
    );
  return (
    <span class="account">
      <span dir="auto">{filled(TEXTS.loggedIn, { name })}</span>{" "}
      <button type="button" class="plain" onClick={() => void logOut()}>
        {TEXTS.logOut}
      </button>
    </span>
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
      <h2>{TEXTS.choose}</h2>
      <p>{TEXTS.welcome}</p>
      <p>{sentence(TEXTS.try, { tool: <code translate={false}>book_dinner</code> })}</p>
    </div>
  );
}
