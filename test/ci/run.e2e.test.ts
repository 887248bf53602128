/** The order of .ci/run's steps, what it leaves behind, and that its last line tells what has failed. In place of its commands are ones that only say their names. */
import { spawn } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../support/until.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** What runs beside another step, and takes longer than it here. */
const BESIDE = ["flat", "cluster", "soak", "newcomer"];
/** Notes when it begins and ends, writes its report, and fails if it is told to. The simulation takes longer than all others. */
const NPM = `#!/usr/bin/env bash
name=\${2#test:}
report=$REPORT
for word in "$@"; do [ "$before" = --report ] && report=$word; before=$word; done
[ "$name" = simulation ] && name=$(basename "$report" .json)
[ "$1" = run ] || name=$1
trap 'echo "stopped $name" >> "$NOTES"; exit 143' TERM
echo "begin $name" >> "$NOTES"
case "$name" in
  simulation | new-cases) sleep "\${SIMULATION_S:-0.3}" & wait $! ;;
  ${BESIDE.join(" | ")}) sleep 0.1 ;;
esac
if [[ " $HANGING " == *" $name "* ]]; then
  echo "$name hangs"
  (trap 'echo "stopped what $name started" >> "$NOTES"; exit' TERM; sleep 600 & wait $!) &
  sleep 600 & wait $!
fi
code=0
[[ " $FAILING " == *" $name "* ]] && code=1
[ -n "$report" ] && echo "{\\"numPassedTests\\":10,\\"numFailedTests\\":$code}" > "$report"
echo "$name was here"
echo "end $name" >> "$NOTES"
exit $code
`;
/** Has three seconds of patience in place of the minutes that it is told, with what .ci/run bounds. */
const TIMEOUT = `#!/bin/bash\ncase $1 in --kill-after=*) set -- "$1" 3 "\${@:3}" ;; esac\nexec /usr/bin/timeout "$@"\n`;
const NPX = `#!/usr/bin/env bash\nexec "${process.execPath}" "${ROOT}/$2" "$3"\n`;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "parley-ci-run-"));
  await mkdir(join(directory, "checkout/.ci"), { recursive: true });
  await mkdir(join(directory, "bin"));
  await mkdir(join(directory, "tmp"));
  await copyFile(join(ROOT, ".ci/run"), join(directory, "checkout/.ci/run"));
  const nothing = "#!/bin/sh\n";
  const commands = {
    npm: NPM,
    npx: NPX,
    timeout: TIMEOUT,
    chromium: nothing,
    "chromium-headless-shell": nothing,
    tmux: nothing,
    promtool: nothing,
    git: "#!/bin/sh\necho 0000abcd0000\n",
  };
  for (const [name, text] of Object.entries(commands)) await command(name, text);
});
afterEach(() => rm(directory, { recursive: true }));

async function command(name: string, text: string): Promise<void> {
  await writeFile(join(directory, "bin", name), text);
  await chmod(join(directory, "bin", name), 0o755);
}

const notes = async () => (await readFile(join(directory, "notes"), "utf8")).trimEnd().split("\n");
const lastOf = (text: string) => text.trimEnd().split("\n").at(-1);

function start(env: Readonly<Record<string, string>> = {}) {
  const child = spawn(join(directory, "checkout/.ci/run"), {
    env: {
      PATH: `${join(directory, "bin")}:${dirname(process.execPath)}:${process.env["PATH"]}`,
      TMPDIR: join(directory, "tmp"),
      NOTES: join(directory, "notes"),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (text += String(part)));
  const ended = new Promise<{ code: number | null; text: string }>((done) => child.once("close", (code) => done({ code, text })));
  return { child, ended };
}

test("the attack has ended before anything runs beside it, and all that runs beside other steps is waited for", async () => {
  const { code, text } = await start().ended;
  expect(lastOf(text)).toBe("180 passed, 0 failed");
  expect(code).toBe(0);
  const order = await notes();
  const at = (note: string) => order.indexOf(note);
  expect(at("end attack")).toBeGreaterThan(0);
  expect(Math.min(at("begin simulation"), at("begin new-cases"))).toBeGreaterThan(at("end attack"));
  // Its suite waits half a second for a reply.
  expect(Math.max(...BESIDE.map((name) => at(`end ${name}`)))).toBeLessThan(at("begin conformance"));
  for (const name of ["simulation", "new-cases", ...BESIDE]) {
    expect(at(`end ${name}`)).toBeGreaterThan(0);
    expect(text).toContain(`${name} was here`);
    expect(text.match(/^longest: .*$/m)?.[0].split(` s ${name.replace("-", " ")}`)).toHaveLength(2);
  }
});

test("what fails beside other steps has failed", async () => {
  const { code, text } = await start({ FAILING: "new-cases newcomer" }).ended;
  expect(text).toContain('✗ the step "new cases" failed; the end of what it printed:\n  new-cases was here');
  expect(text).toContain('✗ the step "newcomer" failed; the end of what it printed:\n  newcomer was here');
  expect(lastOf(text)).toBe("180 passed, 2 failed");
  expect(code).toBe(1);
});

test.each(["servers", "cluster"])("%s, which hangs, is stopped with what it has started, and has failed", async (name) => {
  const { code, text } = await start({ HANGING: name }).ended;
  expect(text).toMatch(
    new RegExp(`✗ the step "${name}" failed; the end of what it printed:\n  ${name} hangs\n  stopped: not done within \\d+ s`),
  );
  expect(lastOf(text)).toBe("170 passed, 1 failed");
  expect(code).toBe(1);
  const noted = await notes();
  expect(noted).toEqual(expect.arrayContaining([`stopped ${name}`, `stopped what ${name} started`, "end conformance"]));
});

test.each([
  ["git has no commit yet", "echo HEAD\nexit 128\n"],
  ["there is no git", "exit 127\n"],
])("all steps run where %s", async (_what, git) => {
  await command("git", `#!/bin/sh\n[ "$2" = --verify ] && exit 128\n${git}`);
  expect(lastOf((await start().ended).text)).toBe("180 passed, 0 failed");
});

test.each([
  ["is", "40"],
  ["is not", "1"],
])(
  "where there %s enough memory for temporary files, nothing is left but reports, and what others have is left alone",
  async (_, gigabytes) => {
    await command("df", `#!/bin/sh\necho Avail\necho ${gigabytes}\n`);
    const kept = join(directory, "kept");
    await mkdir(kept);
    const before = await readdir("/dev/shm");
    expect(lastOf((await start({ scratch: kept, NODE_COMPILE_CACHE: kept }).ended).text)).toBe("180 passed, 0 failed");
    expect(await readdir(directory)).toContain("kept");
    expect((await readdir("/dev/shm")).filter((name) => name.startsWith("tmp.") && !before.includes(name))).toEqual([]);
  },
);

test("that is broken off ends what it began beside its steps", async () => {
  const { child, ended } = start({ SIMULATION_S: "3" });
  await until(async () => {
    const noted = await notes();
    return noted.includes("begin simulation") && noted.includes("begin new-cases");
  });
  child.kill("SIGTERM");
  await until(async () => (await notes()).filter((note) => note.startsWith("stopped")).length === 2, { timeoutMs: 20_000 });
  expect(await notes()).toEqual(expect.arrayContaining(["stopped simulation", "stopped new-cases"]));
  await ended;
});
