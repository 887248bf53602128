import { filled } from "../../texts/words.ts";
import { count } from "../language.ts";
import { TEXTS } from "../play-texts.ts";
import type { Activity, Artifact, Line } from "../run/activity.ts";
import { Picture } from "./result.tsx";
import { Copy, Panel, Said } from "./texts.tsx";

const LINES_SHOWN = 60;

export function ActivityPanel({ activity: { lines, linesDropped, stream, artifacts } }: { readonly activity: Activity }) {
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
        <h3 dir="auto">{title || type}</h3>
        <span class="notes">{[type, language ?? mimeType].filter(Boolean).join(" · ")}</span>
        {content !== undefined && <Copy what={title || type} text={() => content} />}
      </header>
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

/** Shows http and https URLs as links, and other URLs as text. */
function Address({ url }: { readonly url: string }) {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== "https:" && parsed?.protocol !== "http:") return <p class="mono address">{url.slice(0, 2_000)}</p>;
  return (
    <a class="mono address" href={parsed.href} target="_blank" rel="noopener noreferrer">
      {parsed.href.slice(0, 2_000)}
    </a>
  );
}
