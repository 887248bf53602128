/** Adds one entry to a client's file, or removes it, and leaves everything else unchanged: other entries, comments, blank space. */
import { isDeepStrictEqual } from "node:util";
import { applyEdits, type JSONPath, modify, parse as parseJsonc, type ParseError, printParseErrorCode } from "jsonc-parser";
import { parse as parseToml, stringify as stringifyToml } from "smol-toml";

const BYTE_ORDER_MARK = "\uFEFF";

/** A server as a client starts it. */
export interface Entry {
  readonly type?: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Edit {
  readonly format: "json" | "toml";
  /** The member that lists servers. */
  readonly servers: string;
  readonly name: string;
  /** Undefined removes the entry. */
  readonly entry: Entry | undefined;
}

/** The new text. Throws an Error if the file cannot be parsed, or cannot be changed without affecting something else. */
export function edited(text: string, edit: Edit): string {
  // Editors on Windows may begin a file with a byte order mark. It stays, because the client has read the file with it.
  const [mark, rest] = text.startsWith(BYTE_ORDER_MARK) ? [BYTE_ORDER_MARK, text.slice(1)] : ["", text];
  return mark + (edit.format === "json" ? editedJson(rest, edit) : editedToml(rest, edit));
}

function editedJson(given: string, { servers, name, entry }: Edit): string {
  const text = given.trim() === "" ? "{}" : given;
  const errors: ParseError[] = [];
  const before: unknown = parseJsonc(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error) {
    const line = text.slice(0, error.offset).split("\n").length;
    throw new Error(`it is not valid JSON: ${printParseErrorCode(error.error)} in line ${line}`);
  }
  const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isObject(before)) throw new Error("it does not contain a JSON object");
  const held = (before as Record<string, unknown>)[servers];
  if (held !== undefined && !isObject(held)) throw new Error(`its ${servers} is not an object`);
  if (entry === undefined && (held as Record<string, unknown> | undefined)?.[name] === undefined) return given;
  const path: JSONPath = [servers, name];
  const tab = /^(\t| +)"/m.exec(text)?.[1] ?? "  ";
  const formattingOptions = { insertSpaces: tab !== "\t", tabSize: tab.length, eol: text.includes("\r\n") ? "\r\n" : "\n" };
  const changed = applyEdits(text, modify(text, path, entry, { formattingOptions }));
  return changed.endsWith("\n") ? changed : `${changed}\n`;
}

/** In TOML, only the entry's own table is rewritten, because no library preserves the comments of the rest. */
function editedToml(text: string, { servers, name, entry }: Edit): string {
  type Tables = Record<string, Record<string, unknown> | undefined>;
  let before: Tables;
  try {
    before = parseToml(text) as Tables;
  } catch (error) {
    throw new Error(`it is not valid TOML: ${error instanceof Error ? error.message.split("\n", 1)[0] : String(error)}`, { cause: error });
  }
  const others = { ...before[servers] };
  delete others[name];
  const wanted = { ...before, [servers]: entry ? { ...others, [name]: entry } : others };
  const rest = withoutTable(text, `${servers}.${name}`);
  const table = entry ? `${stringifyToml({ [servers]: { [name]: entry } }).trim()}\n` : "";
  const blank = rest.trim() === "" || table === "" ? "" : "\n";
  const changed = `${rest.trim() === "" ? "" : `${rest.trimEnd()}\n`}${blank}${table}`;
  if (!isDeepStrictEqual(normal(parseToml(changed), servers), normal(wanted, servers)))
    throw new Error(`its [${servers}.${name}] is written in a form that cannot be edited safely: edit it manually`);
  return changed;
}

function normal(document: unknown, servers: string): unknown {
  const plain = JSON.parse(JSON.stringify(document)) as Record<string, object | undefined>;
  if (Object.keys(plain[servers] ?? {}).length === 0) delete plain[servers];
  return plain;
}

/** The text without the table and its subtables. */
function withoutTable(text: string, table: string): string {
  let inside = false;
  const kept: string[] = [];
  for (const line of text.split("\n")) {
    const header = /^\s*\[([^[\]]+)\]\s*(?:#.*)?$/.exec(line)?.[1]?.replaceAll(/[\s"']/g, "");
    if (header !== undefined) inside = header === table || header.startsWith(`${table}.`);
    else if (/^\s*\[\[/.test(line)) inside = false;
    if (!inside) kept.push(line);
  }
  return kept.join("\n");
}
