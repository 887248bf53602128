/**
 * Imports a module and all modules of this repository that it imports once more, with state of their own. Files of tests share what they import, so one
 * that counts what a module keeps would otherwise count what other files have left there.
 */
import { registerHooks } from "node:module";
import { vi } from "vitest";

let times = 0;

/** `url`: from `import.meta.resolve`. */
export async function importAnew<Module>(url: string): Promise<Module> {
  times += 1;
  const mark = `?anew=${times}`;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const isOurs = found.url.startsWith("file:") && !found.url.includes("/node_modules/");
      return isOurs && context.parentURL?.endsWith(mark) ? { ...found, url: found.url + mark } : found;
    },
  });
  try {
    // For mutation tests, which vite loads.
    vi.resetModules();
    return (await import(url + mark)) as Module;
  } finally {
    hooks.deregister();
  }
}
