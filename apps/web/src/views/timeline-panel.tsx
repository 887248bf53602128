import type { TaskTimeline, TimelineAsk, TimelineCall, TimelineLine } from "@parley/core/timeline";
import { Panel } from "./texts.tsx";

const WORDS: Readonly<Record<string, string>> = { step: "step", ask: "question", sleep: "sleep", now: "clock", patch: "patch" };

/** The journal that a replay reads: settled entries return their recorded results, and the handler continues after them. */
export interface TimelinePanelProps {
  readonly timeline: TaskTimeline | undefined;
  readonly problem: string | undefined;
  readonly isRunning: boolean;
}

export function TimelinePanel({ timeline, problem, isRunning }: TimelinePanelProps) {
  if (!timeline) {
    return problem === undefined ? null : (
      <Panel id="timeline-title" title="Timeline">
        <p class="banner">{problem}</p>
      </Panel>
    );
  }
  const { task, journal, asks, calls = [], nowMs } = timeline;
  const settled = journal.lines.filter(({ place }) => place !== undefined);
  const waiting = journal.lines.filter(({ place }) => place === undefined);
  const hidden = journal.entries - journal.lines.length;
  const run = `run ${task.run}${task.generation > 0 ? `, restarted ${task.generation === 1 ? "once" : `${task.generation} times`}` : ""}`;
  return (
    <Panel
      id="timeline-title"
      title="Timeline"
      aside={<span class="notes">{`${run} · ${journal.settled} of ${journal.entries} entries replay`}</span>}
    >
      <ol class="timeline">
        {hidden > 0 && <li class="notes">{hidden} earlier entries</li>}
        {settled.map((line) => (
          <Line key={`${line.kind}:${line.name}`} line={line} />
        ))}
        {isRunning && (
          <li class="marker">
            <span>replay position</span>
          </li>
        )}
        {waiting.map((line) => (
          <Line key={`${line.kind}:${line.name}`} line={line} />
        ))}
        {calls.map((each) => (
          <Call key={each.key} call={each} nowMs={nowMs} />
        ))}
        {asks.map((ask) => (
          <Ask key={ask.key} ask={ask} nowMs={nowMs} />
        ))}
      </ol>
      {problem !== undefined && <p class="notes">{problem}</p>}
    </Panel>
  );
}

function Line({ line: { kind, name, state, place } }: { readonly line: TimelineLine }) {
  return (
    <li class={`kind-${kind}`}>
      <span class="place">{place ?? "·"}</span>
      <bdi class="name">{name}</bdi>
      <span class="notes">
        {WORDS[kind] ?? kind}
        {state !== "recorded" && `, ${state}`}
      </span>
    </li>
  );
}

function Call({ call: { key, tool, deadlineMs }, nowMs }: { readonly call: TimelineCall; readonly nowMs: number }) {
  return (
    <li class="kind-call open">
      <span class="place">…</span>
      <bdi class="name">{key}</bdi>
      <span class="notes">
        call of <bdi>{tool}</bdi>, running, {until(deadlineMs - nowMs)}, then it is cancelled
      </span>
    </li>
  );
}

function Ask({ ask, nowMs }: { readonly ask: TimelineAsk; readonly nowMs: number }) {
  const { key, deadlineMs, onTimeout, isPutToOthers, accepted, quorum, mine = false } = ask;
  return (
    <li class="kind-ask open">
      <span class="place">?</span>
      <bdi class="name">{key}</bdi>
      <span class="notes">
        {mine ? "accepted by you" : isPutToOthers ? "asked of others" : "open"}
        {accepted !== undefined && `, ${accepted} of ${quorum} accepted`}, {until(deadlineMs - nowMs)}, then {onTimeout}
      </span>
    </li>
  );
}

function until(ms: number): string {
  const hours = ms / 3_600_000;
  if (hours >= 48) return `${Math.round(hours / 24)} days left`;
  if (hours >= 2) return `${Math.round(hours)} hours left`;
  if (ms >= 120_000) return `${Math.round(ms / 60_000)} minutes left`;
  const seconds = Math.max(0, Math.round(ms / 1_000));
  return seconds === 1 ? "1 second left" : `${seconds} seconds left`;
}
