import { useMemo } from "preact/hooks";
import { filled } from "../../texts/words.ts";
import { count } from "../language.ts";
import { TEXTS } from "../play-texts.ts";
import { qrOf } from "../qr.ts";
import type { End } from "../mcp/types.ts";
import { type Activity, type Artifact, isInResult, type Line } from "../run/activity.ts";
import { Picture } from "./result.tsx";
import { Copy, Panel, Said } from "./texts.tsx";

const LINES_SHOWN = 60;

export interface ActivityPanelProps {
  readonly activity: Activity;
  readonly end: End | undefined;
}

export function ActivityPanel({ activity: { lines, linesDropped, stream, artifacts: all }, end }: ActivityPanelProps) {
  const artifacts = end?.type === "result" ? all.filter((artifact) => !isInResult(artifact, end.result)) : all;
  if (lines.length === 0 && stream === "" && artifacts.length === 0) return null;
  const shown = lines.slice(-LINES_SHOWN);
  const older = linesDropped + lines.length - shown.length;
  return (
    <Panel
      id="activity-title"
      title={TEXTS.activity}
      aside={older > 0 && <span class="notes">{filled(TEXTS.olderLines, { count: count(older) })}</span>}
    >
      {stream !== "" && <Said text={stream} label={TEXTS.stream} mono />}
      {artifacts.map((artifact) => (
        <ArtifactCard key={artifact.id} artifact={artifact} />
      ))}
      {shown.length > 0 && (
        <ol class="lines">
          {shown.map((line) => (
            <LineRow key={line.id} line={line} />
          ))}
        </ol>
      )}
    </Panel>
  );
}

function LineRow({ line: { kind, label, text } }: { readonly line: Line }) {
  return (
    <li class={`line ${kind} level-${label.replaceAll(/[^a-z]/g, "")}`}>
      <span class="level">{label}</span>
      <span class="text" dir="auto">
        {text}
      </span>
    </li>
  );
}

function ArtifactCard({ artifact: { type, title, url, content, language, mimeType } }: { readonly artifact: Artifact }) {
  const [, dataType, data] = /^data:([\w/+.-]+);base64,([A-Za-z0-9+/=]+)$/.exec(url ?? content ?? "") ?? [];
  const isBase64 = type === "image" && content !== undefined && /^[A-Za-z0-9+/=\s]+$/.test(content);
  return (
    <article class="artifact">
      <header class="panel-head">
        <h3 dir="auto">{title || (type === "qr" ? TEXTS.qr : type)}</h3>
        <span class="notes">{[type !== "qr" && type, language ?? mimeType].filter(Boolean).join(" · ")}</span>
        {content !== undefined && <Copy what={title || type} text={() => content} />}
      </header>
      {type === "qr" && content !== undefined && <Qr text={content} />}
      {data !== undefined ? (
        <Picture data={data} mimeType={dataType} title={title || TEXTS.picture} />
      ) : isBase64 ? (
        <Picture data={content.replaceAll(/\s/g, "")} mimeType={mimeType ?? "image/png"} title={title || TEXTS.picture} />
      ) : content !== undefined ? (
        <Said text={content} label={title || type} mono />
      ) : null}
      {url !== undefined && data === undefined && <Address url={url} />}
    </article>
  );
}

/** Nothing for a text that is too long for a code: it stands below as text in any case. */
function Qr({ text }: { readonly text: string }) {
  const rows = useMemo(() => qrOf(text), [text]);
  if (!rows) return null;
  const dark = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  // Scanners need the light border.
  const box = `-4 -4 ${rows.length + 8} ${rows.length + 8}`;
  return (
    <svg class="qr" role="img" aria-label={TEXTS.qr} viewBox={box} shape-rendering="crispEdges">
      <path d={dark} />
    </svg>
  );
}

/** Shows http and https URLs as links, and other URLs as text. */
function Address({ url }: { readonly url: string }) {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== "https:" && parsed?.protocol !== "http:")
    return (
      <p class="mono address" translate={false}>
        {url.slice(0, 2_000)}
      </p>
    );
  return (
    <a class="mono address" translate={false} href={parsed.href} target="_blank" rel="noopener noreferrer">
      {parsed.href.slice(0, 2_000)}
    </a>
  );
}
