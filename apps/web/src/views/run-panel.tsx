import { filled } from "../../texts/words.ts";
import { TEXTS } from "../play-texts.ts";
import {
  asked,
  cancelRun,
  close,
  dismiss,
  notices,
  postponed,
  reopenQuestion,
  type Run,
  usesLogin,
  wantsToken,
} from "../run/playground.ts";
import { wordsOf } from "../mcp/shared.ts";
import { ActivityPanel } from "./activity-panel.tsx";
import { Result } from "./result.tsx";
import { Copy } from "./texts.tsx";
import { TimelinePanel } from "./timeline-panel.tsx";
import { comeBackTo } from "./use-modal.ts";

export function RunPanel({ run }: { readonly run: Run }) {
  const { activity, status, end, isConnected, message, questions, taskId, dialect } = run;
  const { progress, thinking } = activity;
  const isRunning = end === undefined;
  const paused = usesLogin.value ? TEXTS.pausedLogin : TEXTS.paused;
  const away = isConnected ? undefined : TEXTS.away;
  const problem = isRunning ? (wantsToken.value ? paused : away) : undefined;
  return (
    <div class="run">
      <section class="panel now" aria-label={filled(TEXTS.callOf, { tool: run.tool })}>
        <header class="panel-head">
          <h2 tabIndex={-1}>
            <bdi translate={false}>{run.tool}</bdi>
          </h2>
          <span class={`status ${problem === undefined ? status : "away"}`} role="status">
            {problem ?? TEXTS.status[status]}
          </span>
          {isRunning ? (
            <button type="button" class="quiet" onClick={() => void cancelRun()}>
              {TEXTS.cancelCall}
            </button>
          ) : (
            <button type="button" class="quiet" onClick={close}>
              {TEXTS.close}
            </button>
          )}
        </header>
        <p class="notes ids">
          {dialect.title}
          {taskId !== undefined && (
            <>
              {" · "}
              <span class="mono" translate={false}>
                {taskId}
              </span>{" "}
              <Copy what={TEXTS.taskId} text={() => taskId} />
            </>
          )}
        </p>
        {isRunning && progress && (
          <div class="progress">
            <progress aria-label={TEXTS.progress} max={1} {...(progress.part !== undefined && { value: progress.part })} />
            <span dir="auto">{progress.words}</span>
          </div>
        )}
        {isRunning && thinking && <p class="thinking">{TEXTS.thinking}</p>}
        {message !== undefined && end?.type !== "error" && (
          <p class="status-message" dir="auto">
            {message.slice(0, 2_000)}
          </p>
        )}
        {questions.length > 0 && (
          <ul class="waiting">
            {questions.map((question) => (
              <li key={question.id}>
                <span dir="auto">{wordsOf(question.message).slice(0, 140)}</span>
                {(asked.value?.id !== question.id || postponed.value.has(question.id)) && (
                  <button
                    type="button"
                    class="plain"
                    onClick={({ currentTarget }) => (comeBackTo(currentTarget), reopenQuestion(question))}
                  >
                    {TEXTS.answerIt}
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      </section>
      {end && <Result end={end} />}
      <ActivityPanel activity={activity} end={end} />
      {taskId === undefined ? (
        !dialect.hasTasks && <p class="notes pad">{TEXTS.noTimeline}</p>
      ) : (
        <TimelinePanel timeline={run.timeline} problem={run.timelineProblem} isRunning={isRunning} />
      )}
    </div>
  );
}

/** Notices that screen readers announce. They stay until the person dismisses them. */
export function Notices() {
  return (
    <div class="notices" role="status">
      {notices.value.map((notice) => (
        <p key={notice.id} class="notice">
          <span dir="auto">{notice.text}</span>
          <button type="button" class="quiet" aria-label={TEXTS.dismiss} onClick={() => dismiss(notice)}>
            ✕
          </button>
        </p>
      ))}
    </div>
  );
}
