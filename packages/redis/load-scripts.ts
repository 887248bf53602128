/**
 * Lua scripts as commands of a connection.
 *
 * ioredis sends the text of a script once per connection and its hash from then on, so a script never runs behind a command that was
 * issued after it, and a Redis that was restarted gets the text again.
 */
import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";

export type Argument = string | number;
export type Run = (keysAndArguments: Argument[]) => Promise<unknown>;

export interface ScriptFiles<Name extends string> {
  readonly names: readonly Name[];
  /** Within `scripts/`, with its slash; `""` for the folder itself. */
  readonly folder: string;
  /** The script whose words all others use. */
  readonly shared: string;
  readonly keyCount: (name: Name) => number;
}

export function loadScripts<Name extends string>(
  redis: Redis,
  { names, folder, shared, keyCount }: ScriptFiles<Name>,
): Readonly<Record<Name, Run>> {
  const words = readScript(folder + shared);
  const run = {} as Record<Name, Run>;
  for (const name of names) {
    const command = `parley:${folder}${name}`;
    redis.defineCommand(command, { lua: `${words}\n${readScript(folder + name)}`, numberOfKeys: keyCount(name) });
    // ioredis adds the command as a method that its types cannot know.
    const method = Reflect.get(redis, command) as (this: Redis, ...keysAndArguments: Argument[]) => Promise<unknown>;
    run[name] = (keysAndArguments) => method.apply(redis, keysAndArguments);
  }
  return run;
}

function readScript(path: string): string {
  return readFileSync(new URL(`scripts/${path}.lua`, import.meta.url), "utf8");
}
