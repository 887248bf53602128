/** What the person has called, here or elsewhere: each task can be followed, and its questions answered. */
import { useEffect, useState } from "preact/hooks";
import { moment } from "../language.ts";
import type { Status } from "../mcp/types.ts";
import { TEXTS } from "../play-texts.ts";
import { type OwnTask, readOwnTasks } from "../run/own-tasks.ts";
import { followOwn, run, token, whoAsks } from "../run/playground.ts";

type Listed = { readonly tasks: readonly OwnTask[] } | { readonly problem: string };

export function TaskList({ onChoose }: { readonly onChoose: () => void }) {
  const [isOpen, setOpen] = useState(false);
  const [listed, setListed] = useState<Listed | undefined>();
  const { taskId, status } = run.value ?? {};

  useEffect(() => {
    if (!isOpen) return undefined;
    let isLeft = false;
    const look = () =>
      void readOwnTasks(whoAsks()).then(
        (tasks) => isLeft || setListed({ tasks }),
        (error: unknown) => isLeft || setListed({ problem: error instanceof Error ? error.message : String(error) }),
      );
    look();
    // Others may have called or answered meanwhile.
    addEventListener("focus", look);
    return () => {
      isLeft = true;
      removeEventListener("focus", look);
    };
  }, [isOpen, taskId, status, token.value]);

  return (
    <details class="own" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{TEXTS.own}</summary>
      {listed && "problem" in listed && (
        <p class="banner" role="alert">
          {listed.problem}
        </p>
      )}
      {listed && "tasks" in listed && listed.tasks.length === 0 && <p class="notes pad">{TEXTS.ownNone}</p>}
      {listed && "tasks" in listed && (
        <ul class="tools" role="list">
          {listed.tasks.map((task) => (
            <li key={task.taskId}>
              <button
                type="button"
                aria-current={task.taskId === taskId ? "true" : undefined}
                onClick={() => {
                  followOwn(task);
                  onChoose();
                }}
              >
                <span class="tool-name">{task.toolTitle ?? task.tool}</span>
                <span class="tool-note">
                  {TEXTS.status[task.status as Status] ?? task.status} · {moment(task.createdAt)}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
