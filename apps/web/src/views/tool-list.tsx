import { useState } from "preact/hooks";
import { filled } from "../../texts/words.ts";
import { count, fieldTexts } from "../language.ts";
import { TEXTS } from "../play-texts.ts";
import { chooseTool, chosen, loadTools, tools } from "../run/playground.ts";

const SHOWN_AT_ONCE = 200;

export function ToolList({ onChoose }: { readonly onChoose: () => void }) {
  const [query, setQuery] = useState("");
  const { value } = tools;
  if (value.state === "loading") return <p class="notes pad">{TEXTS.looking}</p>;
  if (value.state === "failed") {
    return (
      <div class="pad">
        <p class="banner" role="alert">
          {value.problem}
        </p>
        <button type="button" class="plain" onClick={() => void loadTools()}>
          {TEXTS.again}
        </button>
      </div>
    );
  }
  const wanted = query.toLowerCase();
  const fitting = value.tools.filter((tool) =>
    [tool.name, tool.title, tool.description].some((text) => text?.toLowerCase().includes(wanted)),
  );
  return (
    <>
      <div class="search">
        <input
          type="search"
          aria-label={TEXTS.search}
          placeholder={TEXTS.search}
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
      </div>
      <ul class="tools">
        {fitting.slice(0, SHOWN_AT_ONCE).map(({ name, title, description }) => (
          <li key={name}>
            <button
              type="button"
              aria-current={chosen.value === name ? "true" : undefined}
              onClick={() => {
                chooseTool(name);
                onChoose();
              }}
            >
              <span class="tool-name">
                {title ?? name}
                {title !== undefined && title !== name && (
                  <code class="tool-id" translate={false}>
                    {name}
                  </code>
                )}
              </span>
              {description && (
                <span class="tool-note" dir="auto">
                  {description.slice(0, 160)}
                </span>
              )}
            </button>
          </li>
        ))}
      </ul>
      <p class="notes pad" aria-live="polite">
        {fitting.length === 0
          ? TEXTS.none
          : fitting.length > SHOWN_AT_ONCE
            ? filled(fieldTexts().more, { count: count(fitting.length - SHOWN_AT_ONCE) })
            : ""}
      </p>
    </>
  );
}
