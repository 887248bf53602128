/**
 * Clients that show pages and no forms (Step.formsByPage). A question with a form has a page, too (routes/asks), so these clients are asked to open it: what their
 * requests read or hear of a task says that it asks for a page. The rest is as for every page:
 *
 *   asked ──client: accept──▶ agreed ──answered on the page──▶ the tool continues, and the client is told that the page is done
 *
 * A question with an audience keeps its form: to agree would be to agree for all of them.
 */
import type { Ask, Services, TaskStore } from "@parley/core";
import { withAsks } from "./page-addresses.ts";

export interface FormPages {
  pageOf(taskId: string, key: string): string;
}

export function withFormPages<S extends Pick<Services, "store" | "wakeUps">>(services: S, { pageOf }: FormPages): S {
  function asPage(taskId: string, ask: Ask): Ask {
    const { key, request, audience, route = { taskId, key } } = ask;
    if (request.type !== "form" || audience) return ask;
    const { schema: _onPage, type: _form, ...said } = request;
    return { ...ask, request: { ...said, type: "url", url: pageOf(route.taskId, route.key), completedBy: "form" } };
  }

  const paged = withAsks(services, asPage);
  const answer: TaskStore["answer"] = async (request) => {
    const recorded = await paged.store.answer(request);
    const { taskId, key, digest } = request;
    // Such a client's bare acceptance says that the person agreed to go to the page. On the page, they may have been faster.
    if (recorded.receipt !== "late" || digest !== undefined || request.answer.action !== "accept" || request.answer.content)
      return recorded;
    const settled = await paged.store.settledAsk({ taskId, key, names: [] });
    const outcome = settled?.outcome;
    // How it was accepted is not kept in a task that is over.
    const isAccepted = outcome === undefined || (outcome.type === "answer" && outcome.answer.action === "accept");
    return isAccepted ? { ...recorded, receipt: "duplicate" } : recorded;
  };
  return { ...paged, store: Object.assign(Object.create(paged.store) as TaskStore, { answer }) };
}
