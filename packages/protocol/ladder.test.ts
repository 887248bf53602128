import { describe, expect, test } from "vitest";
import { askableOn, type Climber, type Rung, RUNGS, stepOf } from "./ladder.ts";

const NOTHING = { form: false, url: false };
const FORM = { form: true, url: false };
const URL_ONLY = { form: false, url: true };

const all = new Set(RUNGS);
const without = (...forbidden: readonly Rung[]) => new Set(RUNGS.filter((rung) => !forbidden.includes(rung)));
const client = (more: Partial<Climber>): Climber => ({
  takesTask: false,
  asksBy: "held",
  shows: NOTHING,
  showsViews: false,
  calls: "tool",
  ...more,
});

describe("the rung of a request", () => {
  test.each<[string, Climber, ReadonlySet<Rung>, Rung | undefined]>([
    ["a client with tasks that shows nothing", client({ takesTask: true }), all, "task"],
    ["a client with tasks that shows forms", client({ takesTask: true, shows: FORM }), all, "task"],
    ["a 2026 client with forms", client({ asksBy: "input_required", shows: FORM }), all, "input_required"],
    ["a 2026 client with pages only", client({ asksBy: "input_required", shows: URL_ONLY }), all, "input_required"],
    ["a session with forms", client({ shows: FORM }), all, "held"],
    ["a session with pages only", client({ shows: URL_ONLY }), all, "held"],
    ["a 2026 client with tools only", client({ asksBy: "input_required" }), all, "text"],
    ["a session with tools only", client({}), all, "text"],
    ["a 2026 client whose host shows views", client({ asksBy: "input_required", showsViews: true }), all, "apps"],
    ["a session whose host shows views", client({ showsViews: true }), all, "apps"],
    ["a session with forms whose host shows views", client({ shows: FORM, showsViews: true }), all, "held"],
    ["a client with tasks whose host shows views", client({ takesTask: true, showsViews: true }), all, "task"],
    ["a prompt of a client whose host shows views", client({ showsViews: true, calls: "prompt" }), all, undefined],
    ["views are forbidden", client({ showsViews: true }), without("apps"), "text"],
    ["text is forbidden to a client whose host shows views", client({ showsViews: true }), without("text"), "apps"],
    ["a prompt of a client with tools only", client({ calls: "prompt" }), all, undefined],
    ["a prompt of a session with forms", client({ calls: "prompt", shows: FORM }), all, "held"],
    ["tasks are forbidden", client({ takesTask: true, asksBy: "input_required", shows: FORM }), without("task"), "input_required"],
    ["tasks are forbidden, and it shows nothing", client({ takesTask: true }), without("task"), "text"],
    ["held calls are forbidden", client({ shows: FORM }), without("held"), "text"],
    [
      "held calls are forbidden, which a 2026 client does not use",
      client({ asksBy: "input_required", shows: FORM }),
      without("held"),
      "input_required",
    ],
    ["text is forbidden", client({}), without("text"), undefined],
    ["held calls and text are forbidden", client({ shows: FORM }), without("held", "text"), undefined],
  ])("%s", (_name, climber, allowed, rung) => {
    expect(stepOf(climber, allowed).rung).toBe(rung);
  });

  test.each<[string, Climber, ReadonlySet<Rung>, boolean]>([
    ["a session with forms", client({ shows: FORM }), all, true],
    ["a session with pages only", client({ shows: URL_ONLY }), all, true],
    ["a 2026 client with forms", client({ asksBy: "input_required", shows: FORM }), all, true],
    ["a session with forms whose host shows views", client({ shows: FORM, showsViews: true }), all, true],
    ["a session with both", client({ shows: { form: true, url: true } }), all, false],
    ["a session with tools only, which is there already", client({}), all, false],
    ["a client with tasks, which reads where to answer in the status", client({ takesTask: true, shows: FORM }), all, false],
    ["a prompt of a session with forms", client({ calls: "prompt", shows: FORM }), all, false],
    ["text is forbidden", client({ shows: FORM }), without("text"), false],
    ["held calls are forbidden", client({ shows: FORM }), without("held"), false],
  ])("%s: what it does not show is told in words", (_name, climber, allowed, falls) => {
    expect(stepOf(climber, allowed).fallsToText).toBe(falls);
  });

  test.each<[string, Climber, ReadonlySet<Rung>, boolean]>([
    ["a session with pages only", client({ shows: URL_ONLY }), all, true],
    ["a 2026 client with pages only", client({ asksBy: "input_required", shows: URL_ONLY }), all, true],
    ["a client with tasks and pages only", client({ takesTask: true, shows: URL_ONLY }), all, true],
    ["a prompt of a session with pages only", client({ calls: "prompt", shows: URL_ONLY }), all, true],
    ["a session with pages only, if text is forbidden", client({ shows: URL_ONLY }), without("text"), true],
    ["a session with pages only that is told everything in words", client({ shows: URL_ONLY }), without("held"), false],
    ["a session with both", client({ shows: { form: true, url: true } }), all, false],
    ["a session with forms", client({ shows: FORM }), all, false],
    ["a session with tools only", client({}), all, false],
  ])("%s: forms are asked by their pages: %s", (_name, climber, allowed, byPage) => {
    expect(stepOf(climber, allowed).formsByPage).toBe(byPage);
  });

  test.each<[Rung | undefined, boolean]>([
    ["task", true],
    ["input_required", true],
    ["held", true],
    ["apps", false],
    ["text", false],
    [undefined, false],
  ])("%s: forms are asked during the call: %s; the client's model and folders always are", (rung, isAsked) => {
    const declared = { elicitation: { form: true, url: true }, sampling: { tools: false }, roots: true } as const;
    const { elicitation: _people, ...rest } = declared;
    expect(askableOn(rung, declared)).toEqual(isAsked ? declared : rest);
  });
});
