/**
 * Edits of the gallery's handlers, as people make them, and what happens to waiting tasks. The expected outcome is stated as one letter for each
 * waiting point of the tool's scenario (scenarios.ts): `c` where the task continues, `d` where the change must be caught.
 */
import type { Scenario } from "./scenarios.ts";

export type Kind =
  | "rename"
  | "reorder"
  | "insert before"
  | "insert after"
  | "insert beside"
  | "remove"
  | "schema or message"
  | "branch"
  | "concurrency"
  | "returns"
  | "text"
  | "logging"
  | "refactoring"
  | "options"
  | "arguments"
  | "patched";

export interface Edit {
  readonly kind: Kind;
  readonly what: string;
  /** Text that occurs in the source exactly once, and its replacement. */
  readonly changes: readonly (readonly [from: string, to: string])[];
  readonly expected: string;
}

type Row = readonly [Kind, what: string, expected: string, ...changes: (readonly [from: string, to: string])[]];

function edits(...rows: readonly Row[]): readonly Edit[] {
  return rows.map(([kind, what, expected, ...changes]) => ({ kind, what, expected, changes }));
}

const NEW_STEP = 'await ctx.step("new", () => 1);';

export const EDITS: Readonly<Record<Scenario["tool"], readonly Edit[]>> = {
  research: edits(
    ["rename", "the first step", "d", ['"list", async', '"list-files", async']],
    ["rename", "the step of the loop", "d", ['"search", () =>', '"grep", () =>']],
    ["rename", "the sleep", "d", ['"digest"', '"rest"']],
    ["remove", "the first file of the list, so that there is a round less", "d", ["files.entries()", "files.slice(1).entries()"]],
    ["remove", "the sleep", "d", ['await ctx.sleep("digest", "2s");', ""]],
    [
      "concurrency",
      "all files at once",
      "d",
      [
        'findings.push(...(await ctx.step("search", () => search(file, word))));\n    }',
        'void index;\n    }\n    findings.push(...(await Promise.all(files.map((file) => ctx.step("search", () => search(file, word))))).flat());',
      ],
    ],
    ["options", "a longer sleep", "c", ['"2s"', '"1 hour"']],
    ["logging", "no progress", "c", ["ctx.progress(files.length, files.length);", ""]],
    [
      "returns",
      "one finding more",
      "c",
      ["return { word, findings };", 'return { word, findings: [...findings, { file: "", line: 0, text: "" }] };'],
    ],
    ["insert after", "a step after the sleep", "c", ["return { word, findings };", `${NEW_STEP}\n    return { word, findings };`]],
    ["refactoring", "what the step does", "c", ["search(file, word))", "search(file, word.trim()))"]],
  ),

  book_dinner: edits(
    ["rename", "the step before the question", "d", ['ctx.step("hold-table"', 'ctx.step("hold"']],
    ["rename", "the question", "d", ['ctx.elicit("party-size"', 'ctx.elicit("size"']],
    ["rename", "the step after the question", "c", ['ctx.step("confirm"', 'ctx.step("confirm-table"']],
    ["rename", "the step of the catch", "c", ['ctx.step("release-table"', 'ctx.step("release"']],
    ["schema or message", "the message", "d", ["How many people will be dining?", "How many of you will be dining?"]],
    ["schema or message", "a bound of the form", "d", [".max(20)", ".max(12)"]],
    ["schema or message", "the title of the field", "d", ['title: "Party size"', 'title: "Guests"']],
    ["schema or message", "a field more", "d", ["partySize: z.number()", "note: z.string().optional(), partySize: z.number()"]],
    ["options", "the question's timeout", "c", ['timeout: "2 days"', 'timeout: "3 days"']],
    ["options", "the question's policy", "c", ['timeout: "2 days",', 'timeout: "2 days", onTimeout: "decline",']],
    ["text", "the result", "c", ["`Confirmed: table", "`Booked: table"]],
    ["text", "the immediate response", "c", ["The user is being asked", "The guest is asked"]],
    ["text", "the tool's description", "c", ["Books a table for dinner,", "Finds a table for dinner,"]],
    ["insert before", "a step in front of everything", "d", ["const table = await", `${NEW_STEP}\n    const table = await`]],
    ["insert before", "a step between step and question", "d", ["if (!table) throw", `${NEW_STEP}\n    if (!table) throw`]],
    [
      "insert before",
      "a step of the same name, which would take the record",
      "d",
      ["const table = await", 'await ctx.step("hold-table", () => 1);\n    const table = await'],
    ],
    [
      "insert before",
      "another question",
      "d",
      ["if (!table) throw", 'await ctx.confirm("sure", { message: "Sure?" });\n    if (!table) throw'],
    ],
    ["insert before", "a sleep", "d", ["if (!table) throw", 'await ctx.sleep("breath", "1s");\n    if (!table) throw']],
    ["insert after", "a step", "c", ["const confirmation = await", `${NEW_STEP}\n      const confirmation = await`]],
    [
      "insert after",
      "another question",
      "c",
      ["const confirmation = await", 'await ctx.confirm("sure", { message: "Sure?" });\n      const confirmation = await'],
    ],
    [
      "insert beside",
      "a step that nothing waits for until the end",
      "c",
      [
        "const { partySize } = await",
        'const beside = ctx.step("beside", () => 1);\n      void beside.then(() => undefined);\n      const { partySize } = await',
      ],
    ],
    [
      "insert before",
      "a reading of the clock with a name of its own",
      "c",
      ["if (!table) throw", 'ctx.now("held");\n    if (!table) throw'],
    ],
    ["insert before", "a uuid", "c", ["if (!table) throw", "ctx.uuid();\n    if (!table) throw"]],
    ["logging", "a line before the question", "c", ["if (!table) throw", 'ctx.log("holding");\n    if (!table) throw']],
    ["logging", "progress and status", "c", ["if (!table) throw", 'ctx.status("Asking"); ctx.progress(1, 2);\n    if (!table) throw']],
    [
      "remove",
      "the step: the work is done by every run",
      "d",
      [
        'await ctx.step("hold-table", ({ idempotencyKey }) => holdTable(date, time, { idempotencyKey }));',
        '{ date, time, table: 1, key: "none" };',
      ],
    ],
    ["remove", "the catch", "c", ['await ctx.step("release-table", () => releaseTable(table));', ""]],
    [
      "reorder",
      "the question before the step",
      "d",
      [
        'const table = await ctx.step("hold-table"',
        'const sizes = await ctx.elicit("party-size", { message: "How many people will be dining?", schema: z.object({ partySize: z.number().int().min(1).max(20).meta({ title: "Party size" }) }) });\n    const table = await ctx.step("hold-table"',
      ],
      [
        `await ctx.elicit("party-size", {
        message: "How many people will be dining?",
        schema: z.object({ partySize: z.number().int().min(1).max(20).meta({ title: "Party size" }) }),
        timeout: "2 days",
      });`,
        "sizes;",
      ],
    ],
    [
      "branch",
      "a ctx.branch around the step",
      "d",
      [
        'await ctx.step("hold-table", ({ idempotencyKey }) => holdTable(date, time, { idempotencyKey }));',
        'await ctx.branch("table", () => ctx.step("hold-table", ({ idempotencyKey }) => holdTable(date, time, { idempotencyKey })));',
      ],
    ],
    [
      "branch",
      "an if around the question that is not entered",
      "d",
      ["if (!table) throw", 'if (date < "2030") return "Too early.";\n    if (!table) throw'],
    ],
    [
      "branch",
      "an if around the question that is entered",
      "c",
      ["if (!table) throw", 'if (date < "2000") return "Too early.";\n    if (!table) throw'],
    ],
    ["returns", "an end in front of the question", "d", ["if (!table) throw", 'if (table) return "Held.";\n    if (!table) throw']],
    [
      "returns",
      "an error in front of the question",
      "d",
      ["if (!table) throw", 'if (table) throw new ToolError("no");\n    if (!table) throw'],
    ],
    [
      "refactoring",
      "what the step does",
      "c",
      ["holdTable(date, time, { idempotencyKey }));", "holdTable(date, time.trim(), { idempotencyKey }));"],
    ],
    [
      "refactoring",
      "the question in a helper",
      "c",
      [
        "const { partySize } = await ctx.elicit(",
        "const inHelper = async (...asked: Parameters<typeof ctx.elicit>) => (await ctx.elicit(...asked)) as unknown as { partySize: number };\n      const { partySize } = await inHelper(",
      ],
    ],
    [
      "refactoring",
      "microtasks before the question",
      "c",
      ["if (!table) throw", "await Promise.resolve(); await null;\n    if (!table) throw"],
    ],
    [
      "options",
      "tries of the step",
      "c",
      ["holdTable(date, time, { idempotencyKey }));", "holdTable(date, time, { idempotencyKey }), { attempts: 3 });"],
    ],
    ["arguments", "an optional field more", "c", ["input: z.object({", "input: z.object({ terrace: z.boolean().optional(),"]],
    ["arguments", "a required field more", "d", ["input: z.object({", "input: z.object({ guest: z.string(),"]],
    ["arguments", "a pattern that refuses what was given", "d", ["z.iso.date()", 'z.iso.date().startsWith("2027")']],
    ["patched", "a step under ctx.patched", "c", ["if (!table) throw", `if (ctx.patched("new")) ${NEW_STEP}\n    if (!table) throw`]],
    [
      "patched",
      "another message under ctx.patched",
      "c",
      ['message: "How many people will be dining?"', 'message: ctx.patched("words") ? "How many?" : "How many people will be dining?"'],
    ],
  ),

  delete_files: edits(
    ["rename", "the step", "d", ['ctx.step("list"', 'ctx.step("files"']],
    ["rename", "the question", "d", ['ctx.confirm("confirm"', 'ctx.confirm("sure"']],
    ["rename", "the step of the later loop", "c", ['ctx.step("delete"', 'ctx.step("remove"']],
    ["schema or message", "a word of the message", "d", ["Delete these", "Remove these"]],
    ["schema or message", "a default of the form", "d", ["default: false", "default: true"]],
    ["schema or message", "how the message lists the files", "d", ["`  ${file}`", "`- ${file}`"]],
    ["text", "the result", "c", ["`Deleted ${", "`Gone: ${"]],
    ["returns", "an end where there are few files", "d", ["if (files.length === 0)", "if (files.length < 10)"]],
    ["reorder", "the files of the message", "d", ["files.map((file) => `  ${file}`)", "files.toReversed().map((file) => `  ${file}`)"]],
    [
      "concurrency",
      "all deletions at once, after the question",
      "c",
      [
        'for (const file of files) await ctx.step("delete", () => rm(galleryDir("sandbox", file), { force: true }));',
        'await Promise.all(files.map((file) => ctx.step("delete", () => rm(galleryDir("sandbox", file), { force: true }))));',
      ],
    ],
    ["refactoring", "what the recorded step would do now", "c", ["sandboxFiles(ending))", "sandboxFiles(`x${ending}`))"]],
    ["options", "the timeout", "c", ['timeout: "1 day"', 'timeout: "2 days"']],
  ),

  expense_report: edits(
    ["rename", "the question", "d", ['ctx.elicit("expense"', 'ctx.elicit("report"']],
    ["rename", "the step after it", "c", ['ctx.step("file"', 'ctx.step("store"']],
    ["schema or message", "the message", "d", ["Please fill in the", "Fill in the"]],
    ["schema or message", "a bound", "d", [".max(10_000)", ".max(5_000)"]],
    ["schema or message", "one choice more", "d", ['"mercury"]', '"mercury", "venus"]']],
    ["schema or message", "the description of a field", "d", ['description: "What was it for?"', 'description: "What for?"']],
    ["schema or message", "a field less", "d", ['billable: z.boolean().default(false).meta({ title: "Billable to the customer" }),', ""]],
    ["insert before", "a fact", "c", ["const expense = await", 'ctx.random("dice");\n    const expense = await']],
    ["insert before", "a step", "d", ["const expense = await", `${NEW_STEP}\n    const expense = await`]],
    ["insert after", "a sleep", "c", ["const id = ctx.uuid();", 'const id = ctx.uuid();\n    await ctx.sleep("later", "1 hour");']],
    ["returns", "rounded in another way", "c", ["* 100) / 100", "* 10) / 10"]],
    [
      "refactoring",
      "ctx.ask in place of ctx.elicit",
      "c",
      [
        'const expense = await ctx.elicit("expense", { message: "Please fill in the expense report.", schema: EXPENSE, timeout: "7 days" });',
        'const asked = await ctx.ask("expense", { message: "Please fill in the expense report.", schema: EXPENSE });\n    if (asked.action !== "accept") throw new Error(asked.action);\n    const expense = asked.content;',
      ],
    ],
  ),

  connect_account: edits(
    ["rename", "the fact that the address is made of", "d", ['ctx.uuid("state")', 'ctx.uuid("nonce")']],
    ["rename", "the step before", "d", ['ctx.step("expect"', 'ctx.step("prepare"']],
    ["rename", "the question", "d", ['ctx.ask("authorize"', 'ctx.ask("sign-in"']],
    ["rename", "the step after it", "c", ['ctx.step("note"', 'ctx.step("write-down"']],
    ["schema or message", "the address", "d", [".example.com/authorize", ".example.com/oauth"]],
    ["schema or message", "the message", "d", ["and allow access.", "and allow the access."]],
    ["insert before", "a uuid without a name", "c", ["const state = ctx.uuid", "ctx.uuid();\n    const state = ctx.uuid"]],
    ["insert before", "a uuid of the same name", "d", ["const state = ctx.uuid", 'ctx.uuid("state");\n    const state = ctx.uuid']],
    ["arguments", "a service more", "c", ['"repository"]', '"repository", "drive"]']],
    ["arguments", "a service less", "d", ['["calendar", "repository"]', '["repository"]']],
    ["options", "the timeout", "c", ['timeout: "1 hour"', 'timeout: "2 hours"']],
    ["text", "the result", "c", ["was not connected (", "is not connected ("]],
  ),

  onboarding: edits(
    ["rename", "the question", "ddd", ['ctx.ask("member"', 'ctx.ask("person"']],
    ["rename", "the step after the loop", "ccc", ['ctx.step("save"', 'ctx.step("store"']],
    ["schema or message", "the message of each round", "ddd", ["of team ${team}?", "of the team ${team}?"]],
    [
      "schema or message",
      "the message from the second round on",
      "cdd",
      [
        "`Member ${members.length + 1} of team ${team}?`",
        '`${members.length > 0 ? "Next: member" : "Member"} ${members.length + 1} of team ${team}?`',
      ],
    ],
    ["schema or message", "a default of the form", "ddd", ['.default("developer")', '.default("designer")']],
    ["schema or message", "a role more", "ddd", ['"manager"]', '"manager", "intern"]']],
    ["returns", "fewer rounds: the third one is not asked", "ccd", ["MEMBERS_MAX = 10", "MEMBERS_MAX = 2"]],
    ["returns", "more rounds", "ccc", ["MEMBERS_MAX = 10", "MEMBERS_MAX = 20"]],
    [
      "insert after",
      "a step at the end of each round, before the next",
      "cdd",
      ["members.push(member);", `members.push(member);\n      ${NEW_STEP}`],
    ],
    [
      "insert before",
      "a question before the loop",
      "ddd",
      ["const members:", 'await ctx.confirm("sure", { message: "Sure?" });\n    const members:'],
    ],
    [
      "insert before",
      "a named reading of the clock in each round",
      "ccc",
      ["const round = await", 'ctx.now("round");\n      const round = await'],
    ],
    ["remove", "the loop: one member is enough", "cdd", ["more = another;", "more = false; void another;"]],
    ["logging", "the status", "ccc", ["members so far`", "so far`"]],
    [
      "branch",
      "a branch for each round",
      "ddd",
      ["const round = await ctx.ask(", "const round = await ctx.branch(`round-${members.length}`, () => ctx.ask("],
      ['timeout: "3 days",\n      });', 'timeout: "3 days",\n      }));'],
    ],
    [
      "patched",
      "a step in each round under ctx.patched",
      "ccc",
      ["members.push(member);", `members.push(member);\n      if (ctx.patched("check")) ${NEW_STEP}`],
    ],
    [
      "refactoring",
      "a while loop",
      "ccc",
      [
        "for (let more = true; more && members.length < MEMBERS_MAX;) {",
        "let more = true;\n    while (more && members.length < MEMBERS_MAX) {",
      ],
    ],
  ),

  deploy: edits(
    ["rename", "one of the two questions", "ddd", ['ctx.ask("approval"', 'ctx.ask("consent"']],
    ["rename", "the sleep", "ccd", ['"until-tonight"', '"tonight"']],
    ["rename", "the step after all", "ccc", ['ctx.step("release"', 'ctx.step("publish"']],
    ["schema or message", "the message of the other one", "ddd", ["Without an answer within an hour: tonight.", "No answer: tonight."]],
    ["schema or message", "a choice more", "ddd", ['["now", "tonight"]', '["now", "tonight", "never"]']],
    [
      "reorder",
      "the two questions",
      "ccc",
      [
        'const [approval, { when }] = await Promise.all([\n      ctx.ask("approval", { message: `Release ${service} ${version}?`, schema: APPROVAL, timeout: "1 day", onTimeout: "decline" }),\n',
        "const [{ when }, approval] = await Promise.all([\n",
      ],
      [
        'onTimeout: { default: { when: "tonight" } },\n      }),',
        'onTimeout: { default: { when: "tonight" } },\n      }),\n      ctx.ask("approval", { message: `Release ${service} ${version}?`, schema: APPROVAL, timeout: "1 day", onTimeout: "decline" }),',
      ],
    ],
    [
      "concurrency",
      "one question after the other",
      "ddd",
      ["const [approval, { when }] = await Promise.all([\n      ctx.ask(", "const approval = await ctx.ask("],
      ['onTimeout: "decline" }),\n      ctx.elicit(', 'onTimeout: "decline" });\n    const { when } = await ctx.elicit('],
      ['onTimeout: { default: { when: "tonight" } },\n      }),\n    ]);', 'onTimeout: { default: { when: "tonight" } },\n      });'],
    ],
    [
      "insert beside",
      "a third question",
      "ccd",
      ['onTimeout: "decline" }),\n', 'onTimeout: "decline" }),\n      ctx.confirm("really", { message: "Really?" }),\n'],
      ["const [approval, { when }]", "const [approval, , { when }]"],
    ],
    [
      "remove",
      "one of the questions",
      "ddd",
      [
        'ctx.ask("approval", { message: `Release ${service} ${version}?`, schema: APPROVAL, timeout: "1 day", onTimeout: "decline" }),',
        'Promise.resolve({ action: "accept", content: { approve: true, note: "" } } as const),',
      ],
    ],
    ["remove", "the sleep", "ccd", ['if (when === "tonight") await ctx.sleep("until-tonight", "8 hours");', ""]],
    ["branch", "the sleep for other answers", "ccd", ['if (when === "tonight")', 'if (when === "now")']],
    ["insert after", "a step before the sleep", "ccd", ['if (when === "tonight")', `${NEW_STEP}\n    if (when === "tonight")`]],
    ["options", "policies and timeouts of both", "ccc", ['timeout: "1 day", onTimeout: "decline"', 'timeout: "2 days"']],
    ["options", "the length of the sleep", "ccc", ['"8 hours"', '"9 hours"']],
    ["text", "the result", "ccc", ["`Released ${", "`Shipped ${"]],
  ),

  approve_invoice: edits(
    ["rename", "the sleep", "dd", ['"patience"', '"wait"']],
    ["rename", "the second question", "cd", ['ask("deputy", deputy)', 'ask("stand-in", deputy)']],
    ["rename", "the step after it", "cc", ['ctx.step("record"', 'ctx.step("write"']],
    ["schema or message", "the message", "dd", [": pay invoice", ": pay the invoice"]],
    ["schema or message", "a bound of the form", "dd", [".max(200)", ".max(100)"]],
    ["reorder", "the branches of the race", "cc", ['[ask("approver", approver), escalate()]', '[escalate(), ask("approver", approver)]']],
    ["concurrency", "any in place of race", "cc", ["Promise.race([", "Promise.any(["]],
    [
      "concurrency",
      "all in place of race",
      "cc",
      ["const { person, answer, by } = await Promise.race([", "const [{ person, answer, by }] = await Promise.all(["],
    ],
    ["concurrency", "the deputy at once, without patience", "dd", ['await ctx.sleep("patience", "1 day", { signal });', ""]],
    [
      "insert beside",
      "a third person from the start",
      "cc",
      ['[ask("approver", approver), escalate()]', '[ask("approver", approver), escalate(), ask("third", "Carol")]'],
    ],
    [
      "insert before",
      "a step before the second question",
      "cd",
      ["ctx.status(`${approver} has not", `${NEW_STEP}\n      ctx.status(\`\${approver} has not`],
    ],
    ["remove", "the withdrawal of what lost", "cc", ["decided.abort();", ""]],
    ["options", "the length of the patience", "cc", ['"1 day", { signal }', '"2 days", { signal }']],
    ["logging", "the status", "cc", ["is asked as well.`", "is asked too.`"]],
    [
      "returns",
      "an end where the amount is small",
      "dd",
      ["const decided = new AbortController();", 'if (amount < 1_000) return "Paid.";\n    const decided = new AbortController();'],
    ],
  ),

  review_access: edits(
    ["rename", "the step of each branch", "dd", ['ctx.step("look-up"', 'ctx.step("since"']],
    ["rename", "the question of each branch", "dd", ['ctx.ask("keep"', 'ctx.ask("needed"']],
    ["rename", "the step after the question", "cd", ['ctx.step("revoke"', 'ctx.step("remove"']],
    ["branch", "other keys", "dd", ["ctx.branch(account,", "ctx.branch(`account-${account}`,"]],
    [
      "branch",
      "no branches",
      "dd",
      ["ctx.branch(account, async () => {", "(async () => {"],
      ["`${account} lost it`;\n        }),", "`${account} lost it`;\n        })(),"],
    ],
    ["reorder", "the branches: their names tell them apart", "cc", ["accounts.map((account) =>", "accounts.toReversed().map((account) =>"]],
    [
      "concurrency",
      "allSettled in place of all",
      "cc",
      ["const verdicts = await Promise.all(", "const verdicts = await Promise.allSettled("],
      ['verdicts.join(", ")', 'verdicts.map(({ status }) => status).join(", ")'],
    ],
    [
      "concurrency",
      "one account after the other",
      "dd",
      [
        "const verdicts = await Promise.all(\n      accounts.map((account) =>\n        ctx.branch(",
        "const verdicts: string[] = [];\n    for (const account of accounts) verdicts.push(await ctx.branch(",
      ],
      ["`${account} lost it`;\n        }),\n      ),\n    );", "`${account} lost it`;\n        }));"],
    ],
    ["insert before", "a step before each question", "dd", ["const answer = await", `${NEW_STEP}\n          const answer = await`]],
    ["insert after", "a step after each question", "cd", ["// Access is revoked only", `${NEW_STEP}\n          // Access is revoked only`]],
    [
      "insert after",
      "a step at the end of each branch that lost",
      "cc",
      ["return `${account} lost it`;", `${NEW_STEP}\n          return \`\${account} lost it\`;`],
    ],
    ["remove", "one account", "dd", ["accounts.map((account) =>", "accounts.slice(1).map((account) =>"]],
    ["insert beside", "one account more", "cc", ["accounts.map((account) =>", '[...accounts, "eve"].map((account) =>']],
    ["text", "the result", "cc", ["`Access to ${project}: ${", "`${project}: ${"]],
  ),

  weekly_note: edits(
    ["rename", "the question", "ddd", ['ctx.ask("note"', 'ctx.ask("entry"']],
    ["rename", "the step", "cdc", ['ctx.step("write"', 'ctx.step("save"']],
    ["rename", "the sleep", "cdc", ['"next-week"', '"week"']],
    ["schema or message", "the message", "ddd", ["what happened?", "what was new?"]],
    ["schema or message", "a default", "ddd", [".default(true)", ".default(false)"]],
    ["remove", "the sleep: the next round at once", "cdc", ['await ctx.sleep("next-week", "7 days");', ""]],
    ["insert after", "a step before the sleep", "cdc", ['await ctx.sleep("next-week"', `${NEW_STEP}\n    await ctx.sleep("next-week"`]],
    ["insert after", "a step before the restart", "ccc", ["return await ctx.restart", `${NEW_STEP}\n    return await ctx.restart`]],
    ["options", "a shorter sleep", "ccc", ['"7 days"', '"6 days"']],
    [
      "returns",
      "an end after the first week",
      "cdc",
      ["await ctx.sleep(", 'if (week === 1) return "One week is enough.";\n    await ctx.sleep('],
    ],
    ["text", "the result", "ccc", ["ends with week", "ended with week"]],
  ),

  plan_trip: edits(
    ["rename", "the first question", "dddd", ['id: "travellers"', 'id: "persons"']],
    ["rename", "the second question", "cddd", ['id: "train"', 'id: "connection"']],
    ["rename", "the third question", "ccdd", ['id: "day"', 'id: "date"']],
    ["rename", "the step before the last question", "cccd", ['step: "reserve"', 'step: "hold"']],
    ["rename", "the step after it", "cccc", ['step: "book"', 'step: "confirm"']],
    ["rename", "the fact that no question shows", "cccc", ['ctx.uuid("trip")', 'ctx.uuid("file")']],
    ["schema or message", "a bound of the first", "dddd", ["max: 9", "max: 8"]],
    [
      "schema or message",
      "an option more of the second",
      "cddd",
      ['{ value: "night", title', '{ value: "evening" }, { value: "night", title'],
    ],
    ["schema or message", "the price of an option", "cddd", ['price: "39 €"', 'price: "49 €"']],
    ["schema or message", "the warning of the last", "cccd", ["dangerous: true,", ""]],
    [
      "reorder",
      "the second and the third question",
      "cddd",
      ['const day: string = yield { ask: "date", id: "day", message: "On which day?", min: "2026-01-01", required: false };', ""],
      [
        "// With `yield*` the answer is typed.",
        'const day: string = yield { ask: "date", id: "day", message: "On which day?", min: "2026-01-01", required: false };',
      ],
    ],
    [
      "remove",
      "the third question",
      "ccdd",
      [
        'const day: string = yield { ask: "date", id: "day", message: "On which day?", min: "2026-01-01", required: false };',
        "const day: string | undefined = undefined;",
      ],
    ],
    [
      "insert before",
      "a question before all",
      "dddd",
      ["const travellers: number", 'yield { ask: "confirm", id: "sure", message: "Sure?" };\n    const travellers: number'],
    ],
    [
      "insert after",
      "a step between the first and the second question",
      "cddd",
      ["// With `yield*` the answer is typed.", 'yield { step: "new", run: () => 1 };'],
    ],
    [
      "insert after",
      "a question after the third",
      "cccd",
      ['yield { emit: "progress"', 'yield { ask: "confirm", id: "sure", message: "Sure?" };\n    yield { emit: "progress"'],
    ],
    [
      "logging",
      "what is told",
      "cccc",
      ["Planning a weekend", "Planning two days"],
      ['message: "Reserving seats"', 'message: "Reserving"'],
    ],
    [
      "logging",
      "a checkpoint and a chunk",
      "cccc",
      ["// With `yield*` the answer is typed.", 'yield { checkpoint: true };\n    yield "chosen";'],
    ],
    ["options", "the timeout of the last", "cccc", ['timeout: "1 hour"', 'timeout: "2 hours"']],
    ["refactoring", "an async generator", "cccc", ["*run({ city }", "async *run({ city }"]],
    [
      "refactoring",
      "the helper in place of a yield",
      "cccc",
      [
        'const day: string = yield { ask: "date", id: "day", message: "On which day?", min: "2026-01-01", required: false };',
        'const day = yield* ask.date({ id: "day", message: "On which day?", min: "2026-01-01", required: false });',
      ],
    ],
    [
      "refactoring",
      "ctx in place of a yield",
      "cccc",
      ["*run({ city }", "async *run({ city }"],
      [
        'const day: string = yield { ask: "date", id: "day", message: "On which day?", min: "2026-01-01", required: false };',
        'const day = await ctx.date("day", { message: "On which day?", min: "2026-01-01", required: false });',
      ],
    ],
    [
      "patched",
      "a step before the second question",
      "cccc",
      ["// With `yield*` the answer is typed.", 'if (yield { patched: "check" }) yield { step: "new", run: () => 1 };'],
    ],
    ["text", "the result", "cccc", ["`Booked: ${", "`Done: ${"]],
  ),

  compare_offers: edits(
    ["rename", "the first question of each", "dddd", ['id: "price"', 'id: "cost"']],
    ["rename", "the second question of each", "cddd", ['id: "delivery"', 'id: "transport"']],
    ["rename", "the step after all", "cccc", ['step: "file"', 'step: "store"']],
    ["schema or message", "the message of the first", "dddd", ["charge, in euros?", "charge, in EUR?"]],
    ["schema or message", "the order of the options", "cddd", ['"by car", "by bicycle"', '"by bicycle", "by car"']],
    [
      "branch",
      "a list in place of names",
      "dddd",
      [
        "all: Object.fromEntries(suppliers.map((supplier) => [supplier, offerOf(supplier)])),",
        "all: suppliers.map((supplier) => offerOf(supplier)),",
      ],
    ],
    [
      "concurrency",
      "one supplier after the other",
      "dddd",
      [
        "const offers: Record<string, Offer | undefined> = yield {\n      all: Object.fromEntries(suppliers.map((supplier) => [supplier, offerOf(supplier)])),\n    };",
        "const offers: Record<string, Offer | undefined> = {};\n    for (const supplier of suppliers) offers[supplier] = yield* offerOf(supplier);",
      ],
    ],
    [
      "insert after",
      "a question between the two",
      "cddd",
      ["const delivery = yield*", 'yield { ask: "confirm", id: "sure", message: "Sure?" };\n    const delivery = yield*'],
    ],
    [
      "insert beside",
      "a question at the end of each branch, beside what the other one waits for",
      "cccc",
      ["return { price, delivery };", 'yield { ask: "confirm", id: "sure", message: "Sure?" };\n    return { price, delivery };'],
    ],
    [
      "reorder",
      "the suppliers: their names tell them apart",
      "cccc",
      ["suppliers.map((supplier) => [supplier", "suppliers.toReversed().map((supplier) => [supplier"],
    ],
    ["text", "the result", "cccc", ["yield `Offers for ${event}:\\n`;", "yield `What ${event} costs:\\n`;"]],
    [
      "logging",
      "a status in each branch",
      "cccc",
      ["const delivery = yield*", 'yield { emit: "status", message: "Next" };\n    const delivery = yield*'],
    ],
  ),
};
