import type { IncomingMessage, ServerResponse } from "node:http";
import { isGenuineReply } from "../pipeline/approval-forward.ts";
import type { ApprovalStore } from "../stores/approvals.ts";

/**
 * Where a signed reply link leads. Opening it only shows the request, because chat programs open links by themselves
 * to preview them; the button on it decides.
 */
export async function serveApprovalPage(
  req: IncomingMessage,
  res: ServerResponse,
  id: string,
  query: URLSearchParams,
  options: { store: ApprovalStore; keyFile: string },
): Promise<void> {
  const decision = query.get("decision") ?? "";
  const request = await options.store.get(id);
  const genuine =
    request !== undefined &&
    (decision === "allow" || decision === "deny") &&
    query.get("created") === String(request.createdAt) &&
    (await isGenuineReply(options.keyFile, request, decision, query.get("sig") ?? ""));
  if (!genuine) return page(res, 404, "This link is not valid, or the request no longer waits.");
  if (req.method === "GET") {
    const word = decision === "allow" ? "Approve" : "Deny";
    return page(
      res,
      200,
      `<pre>${escapeHtml(request.prompt)}</pre><form method="post"><button>${word}</button></form>`,
    );
  }
  if (req.method !== "POST") return page(res, 405, "Use GET or POST.");
  const decided = await options.store.decide(id, { decision, by: "link" });
  return page(
    res,
    decided ? 200 : 409,
    decided ? "Thank you. It is decided." : "It has been decided already.",
  );
}

function page(res: ServerResponse, status: number, body: string): void {
  res
    .writeHead(status, {
      "Content-Type": "text/html; charset=utf-8",
      "Cache-Control": "no-store",
      "Content-Security-Policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
      // Not less: a browser that may not say where it comes from sends the form with the origin "null".
      "Referrer-Policy": "same-origin",
    })
    .end(`<!doctype html><meta charset="utf-8"><title>camel-mcp</title>${body}`);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
}
