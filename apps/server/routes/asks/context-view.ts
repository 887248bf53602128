/** What a person should see to decide, as the page of a question shows it above the form. It works without script. */
import { type ContextPart, diffLines } from "@parley/core";
import type { Texts } from "../../texts/en.ts";
import { type Html, markup } from "./html.ts";

export function contextView(texts: Texts, context: readonly ContextPart[], label = texts.question.context): Html | undefined {
  if (context.length === 0) return undefined;
  return markup`<section class="context" aria-label="${label}">${context.map((part) => partView(texts, part))}</section>`;
}

function partView({ question }: Texts, part: ContextPart): Html {
  // Wide and long parts scroll, and scrolling needs the keyboard too.
  const scrolls = markup`tabindex="0" role="region" aria-label="${part.title ?? question.context}"`;
  const heading = part.title === undefined || isLink(part) ? undefined : markup`<h2 dir="auto">${part.title}</h2>`;
  switch (part.type) {
    case "text":
      return markup`${heading}<p class="text" dir="auto">${part.text}</p>`;
    case "table":
      return markup`${heading}<div class="wide" ${scrolls}><table><thead><tr>${part.columns.map((name) => markup`<th scope="col" dir="auto"><div>${name}</div></th>`)}</tr></thead>
<tbody>${part.rows.map((row) => markup`<tr>${row.map((cell) => markup`<td dir="auto"${typeof cell === "number" ? markup` class="number"` : undefined}><div>${cell}</div></td>`)}</tr>`)}</tbody></table></div>`;
    case "link":
    case "picture":
      return linkView(part, part.type === "picture" ? question.picture : undefined);
    case "diff":
      return markup`${heading}<div class="wide diff" translate="no" ${scrolls}>${diffLines(part.before, part.after).map(lineView)}</div>`;
  }

  function lineView({ change, text }: ReturnType<typeof diffLines>[number]): Html {
    switch (change) {
      case "same":
        return markup`<p dir="auto">${text}</p>`;
      case "removed":
        return markup`<p dir="auto"><del><span class="sr-only">${question.removed}</span>${text}</del></p>`;
      case "added":
        return markup`<p dir="auto"><ins><span class="sr-only">${question.added}</span>${text}</ins></p>`;
    }
  }
}

function isLink({ type }: ContextPart): boolean {
  return type === "link" || type === "picture";
}

/**
 * With its host, because titles are the tool's words. Pictures are links as well: a page that loaded them from elsewhere
 * would tell that server who reads the question, and when.
 */
function linkView({ title, url }: Extract<ContextPart, { url: string }>, kind: string | undefined): Html {
  const parsed = URL.parse(url);
  const canOpen = parsed?.protocol === "https:" || parsed?.protocol === "http:";
  const what = kind === undefined ? undefined : markup`${kind} `;
  if (!canOpen) return markup`<p>${what}<bdi>${title}</bdi> <code translate="no">${url}</code></p>`;
  return markup`<p>${what}<a href="${parsed.href}" target="_blank" rel="noopener noreferrer"><bdi>${title}</bdi></a> <span class="quiet" translate="no"><bdi>${parsed.host}</bdi></span></p>`;
}
