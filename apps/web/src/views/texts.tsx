import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { filled } from "../../texts/words.ts";
import { count } from "../language.ts";
import { TEXTS } from "../play-texts.ts";
import { noteReading } from "../reading.ts";

const SHOWN_AT_FIRST = 8_000;
const SHOWN_MORE = 40_000;

interface SaidProps {
  readonly text: string;
  readonly label: string;
  readonly mono?: boolean;
  /** Of the text, for what it describes. */
  readonly id?: string;
  /** All of it at once, as high as it is. */
  readonly isWhole?: boolean;
}

/** Shows text of a tool or a person, in its own direction, and only as much at once as the page can handle. */
export function Said({ text, label, mono = false, id, isWhole = false }: SaidProps) {
  const [shown, setShown] = useState(SHOWN_AT_FIRST);
  const rest = isWhole ? 0 : text.length - shown;
  const isLong = text.length > 600 && !isWhole;
  return (
    <div class={mono ? "said mono" : "said"} translate={!mono}>
      <div
        class={isLong ? "said-text scrolls" : "said-text"}
        dir="auto"
        id={id}
        // Its end is not there yet while some of it is left out.
        onScroll={({ currentTarget }) => rest <= 0 && noteReading(currentTarget)}
        {...(isLong && { tabIndex: 0, role: "region", "aria-label": label })}
        {...(isWhole && { tabIndex: -1 })}
      >
        {rest > 0 ? text.slice(0, shown) : text}
      </div>
      {rest > 0 && (
        <button type="button" class="quiet more" onClick={() => setShown(shown + SHOWN_MORE)}>
          {filled(TEXTS.showMore, { count: count(rest) })}
        </button>
      )}
    </div>
  );
}

export function Copy({ text, what }: { readonly text: () => string; readonly what: string }) {
  const [copied, setCopied] = useState(TEXTS.copy);
  async function copy(): Promise<void> {
    // Absent on pages that are served by plain http from another machine.
    const clipboard = navigator.clipboard as Clipboard | undefined;
    const isDone = await clipboard?.writeText(text()).then(
      () => true,
      () => false,
    );
    setCopied(isDone ? TEXTS.copied : TEXTS.notCopied);
  }
  return (
    <button type="button" class="quiet" onClick={() => void copy()} aria-label={filled(TEXTS.copyWhat, { what })}>
      <span aria-live="polite">{copied}</span>
    </button>
  );
}

export function Panel({
  title,
  aside,
  children,
  id,
}: {
  readonly title: string;
  readonly id: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="panel" aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}
