import { execFile } from "node:child_process";

/**
 * Compiles a module and the files that it imports, without running them. Node prints the place of a syntax error only
 * when the error ends a process: the error itself does not have it.
 */
const COMPILE = `
  import { readFileSync } from "node:fs";
  import { stripTypeScriptTypes } from "node:module";
  import { SourceTextModule } from "node:vm";
  const seen = new Set();
  function compile(url) {
    if (seen.has(url)) return;
    seen.add(url);
    const source = readFileSync(new URL(url), "utf8");
    const module = new SourceTextModule(/\\.[mc]?ts$/.test(url) ? stripTypeScriptTypes(source) : source, { identifier: url });
    for (const { specifier } of module.moduleRequests) if (/^\\.{0,2}\\//.test(specifier)) compile(new URL(specifier, url).href);
  }
  compile(process.argv[1]);
`;
const COMPILE_MS = 10_000;

/** The place of a syntax error in the module with this URL, or in a file that it imports: `/srv/tools/pay.js:12`. */
export async function syntaxPlace(url: string, { message }: SyntaxError): Promise<string | undefined> {
  const args = ["--no-warnings", "--experimental-vm-modules", "--input-type=module", "--eval", COMPILE, url];
  const printed = await new Promise<string>((done) => {
    execFile(process.execPath, args, { timeout: COMPILE_MS }, (_error, _stdout, stderr) => done(stderr));
  });
  // CommonJS, for example, fails for another reason.
  if (!printed.includes(`SyntaxError: ${message}`)) return undefined;
  const [, file, line] = /^file:\/\/(\/.+):(\d+)\n/.exec(printed) ?? [];
  return file === undefined ? undefined : `${decodeURI(file)}:${line}`;
}
