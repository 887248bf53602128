import { Component } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { filled } from "../../texts/words.ts";
import { count } from "../language.ts";
import { TEXTS } from "../play-texts.ts";
import { wire, wireVersion } from "../run/playground.ts";
import { matches, pretty, type WireEntry } from "../wire/wire-log.ts";
import { Copy } from "./texts.tsx";

const SHOWN_AT_ONCE = 120;

/** Lists every message in the order in which it was sent or received. */
export function WirePanel() {
  const [query, setQuery] = useState("");
  const list = useRef<HTMLOListElement>(null);
  const isAtEnd = useRef(true);
  const version = wireVersion.value;
  const fitting = wire.entries.filter((entry) => matches(entry, query));
  const shown = fitting.slice(-SHOWN_AT_ONCE);
  const older = fitting.length - shown.length + (query === "" ? wire.dropped : 0);

  useEffect(() => {
    if (isAtEnd.current) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [version]);

  return (
    <section class="wire" aria-labelledby="wire-title">
      <header class="panel-head">
        <h2 id="wire-title">{TEXTS.onWire}</h2>
        <span class="notes">
          {wire.entries.length === 1 ? TEXTS.oneMessage : filled(TEXTS.messages, { count: count(wire.entries.length) })}
        </span>
        <Copy what={TEXTS.allMessages} text={() => fitting.map(({ text }) => text).join("\n")} />
        <button type="button" class="quiet" onClick={() => wire.clear()}>
          {TEXTS.clear}
        </button>
      </header>
      <div class="search">
        <input
          type="search"
          aria-label={TEXTS.filter}
          placeholder={TEXTS.filterSuch}
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
      </div>
      {older > 0 && <p class="notes pad">{filled(TEXTS.olderMessages, { count: count(older) })}</p>}
      <ol
        class="messages"
        translate={false}
        ref={list}
        tabIndex={0}
        aria-label={TEXTS.list}
        onScroll={(event) => {
          const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
        }}
      >
        {shown.map((entry) => (
          <Row key={entry.id} entry={entry} />
        ))}
      </ol>
    </section>
  );
}

/** An entry never changes, so its row renders again only when it is opened or closed. */
class Row extends Component<{ readonly entry: WireEntry }, { readonly isOpen: boolean }> {
  override state = { isOpen: false };

  override shouldComponentUpdate(next: { readonly entry: WireEntry }, state: { readonly isOpen: boolean }): boolean {
    return next.entry !== this.props.entry || state.isOpen !== this.state.isOpen;
  }

  override render() {
    const { entry } = this.props;
    const { direction, label, how, atMs, text, cut } = entry;
    return (
      <li class={direction}>
        <details onToggle={(event) => this.setState({ isOpen: event.currentTarget.open })}>
          <summary>
            <span class="arrow" aria-hidden="true">
              {direction === "out" ? "→" : "←"}
            </span>
            <span class="sr-only">{direction === "out" ? TEXTS.sent : TEXTS.received}</span>
            <span class="label">{label}</span>
            <span class="meta">
              {how} · {size(text.length + cut)} · {time(atMs)}
            </span>
          </summary>
          {this.state.isOpen && (
            <div class="message">
              <Copy what={label} text={() => pretty(entry)} />
              <pre tabIndex={0} aria-label={label}>
                {pretty(entry).slice(0, 60_000)}
              </pre>
            </div>
          )}
        </details>
      </li>
    );
  }
}

function size(characters: number): string {
  return characters < 1_000 ? `${characters} B` : `${(characters / 1_000).toFixed(characters < 10_000 ? 1 : 0)} kB`;
}

function time(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23);
}
