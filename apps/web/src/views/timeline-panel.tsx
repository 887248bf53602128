import type { TaskTimeline, TimelineAsk, TimelineCall, TimelineLine } from "@parley/core/timeline";
import { filled } from "../../texts/words.ts";
import { duration, sentence } from "../language.ts";
import { TEXTS } from "../play-texts.ts";
import { Panel } from "./texts.tsx";

const {
  kinds: KINDS,
  states: STATES,
  onTimeout: THEN,
}: Readonly<Record<"kinds" | "states" | "onTimeout", Readonly<Record<string, string>>>> = TEXTS;

/** The journal that a replay reads: settled entries return their recorded results, and the handler continues after them. */
export interface TimelinePanelProps {
  readonly timeline: TaskTimeline | undefined;
  readonly problem: string | undefined;
  readonly isRunning: boolean;
}

export function TimelinePanel({ timeline, problem, isRunning }: TimelinePanelProps) {
  if (!timeline) {
    return problem === undefined ? null : (
      <Panel id="timeline-title" title={TEXTS.timeline}>
        <p class="banner">{problem}</p>
      </Panel>
    );
  }
  const { task, journal, asks, calls = [], nowMs } = timeline;
  const settled = journal.lines.filter(({ place }) => place !== undefined);
  const waiting = journal.lines.filter(({ place }) => place === undefined);
  const hidden = journal.entries - journal.lines.length;
  const { run, generation } = task;
  const runs = generation === 0 ? TEXTS.runs : generation === 1 ? TEXTS.restarted : TEXTS.restartedOften;
  const replays = filled(TEXTS.replays, { settled: journal.settled, entries: journal.entries });
  return (
    <Panel
      id="timeline-title"
      title={TEXTS.timeline}
      aside={<span class="notes">{`${filled(runs, { run, count: generation })} · ${replays}`}</span>}
    >
      <ol class="timeline">
        {hidden > 0 && <li class="notes">{filled(TEXTS.earlier, { count: hidden })}</li>}
        {settled.map((line) => (
          <Line key={`${line.kind}:${line.name}`} line={line} />
        ))}
        {isRunning && (
          <li class="marker">
            <span>{TEXTS.position}</span>
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
      <bdi class="name" translate={false}>
        {name}
      </bdi>
      <span class="notes">
        {KINDS[kind] ?? kind}
        {state !== "recorded" && `, ${STATES[state] ?? state}`}
      </span>
    </li>
  );
}

function Call({ call: { key, tool, deadlineMs }, nowMs }: { readonly call: TimelineCall; readonly nowMs: number }) {
  return (
    <li class="kind-call open">
      <span class="place">…</span>
      <bdi class="name" translate={false}>
        {key}
      </bdi>
      <span class="notes">
        {sentence(TEXTS.called, { tool: <bdi translate={false}>{tool}</bdi> })}, {left(deadlineMs - nowMs)}, {TEXTS.thenCancelled}
      </span>
    </li>
  );
}

function Ask({ ask, nowMs }: { readonly ask: TimelineAsk; readonly nowMs: number }) {
  const { key, deadlineMs, onTimeout, isPutToOthers, accepted, quorum, mine = false } = ask;
  return (
    <li class="kind-ask open">
      <span class="place">?</span>
      <bdi class="name" translate={false}>
        {key}
      </bdi>
      <span class="notes">
        {mine ? TEXTS.mine : isPutToOthers ? TEXTS.others : TEXTS.isOpen}
        {accepted !== undefined && `, ${filled(TEXTS.accepted, { accepted, quorum: quorum ?? accepted })}`}, {left(deadlineMs - nowMs)},{" "}
        {THEN[onTimeout] ?? onTimeout}
      </span>
    </li>
  );
}

function left(ms: number): string {
  return filled(TEXTS.left, { time: duration(ms) });
}
