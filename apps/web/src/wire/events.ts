/** Parses server-sent events chunk by chunk (HTML standard, 9.2.6, as far as MCP uses it; `retry` is ignored). */
export interface StreamEvent {
  readonly id: string | undefined;
  /** Empty for an event that only carries an id. */
  readonly data: string;
}

export function createEventReader(onEvent: (event: StreamEvent) => void): (chunk: string) => void {
  let line = "";
  let data: string[] = [];
  let id: string | undefined;

  function take(whole: string): void {
    if (whole === "") {
      if (id !== undefined || data.length > 0) onEvent({ id, data: data.join("\n") });
      data = [];
      id = undefined;
      return;
    }
    const colon = whole.indexOf(":");
    const name = colon === -1 ? whole : whole.slice(0, colon);
    const value = colon === -1 ? "" : whole.slice(whole[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") data.push(value);
    if (name === "id") id = value;
  }

  return (chunk) => {
    const lines = (line + chunk).split("\n");
    line = lines.pop() ?? "";
    for (const each of lines) take(each.endsWith("\r") ? each.slice(0, -1) : each);
  };
}
