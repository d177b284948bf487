import type {
  JSONRPCRequest,
  ListResourceTemplatesResult,
  ListResourcesResult,
  ReadResourceResult,
  Result,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import { answers } from "./answers.ts";
import { IMAGE } from "./media.ts";
import { mountPrompts } from "./prompts.ts";

const RESOURCES: Record<string, { mimeType: string; text: string } | { mimeType: string; blob: string }> = {
  "test://static-text": {
    mimeType: "text/plain",
    text: "This is the content of the static text resource.",
  },
  "test://static-binary": { mimeType: "image/png", blob: IMAGE },
  "test://watched-resource": { mimeType: "text/plain", text: "Watched resource content" },
};

/** Lays the fixtures over the product's handlers: each asks the product first and adds what it can't say. */
export function extend(server: Server): void {
  mountPrompts(server);
  server.registerCapabilities({ logging: {} });

  const call = productHandler(server, "tools/call");
  server.setRequestHandler("tools/call", async (request, context) => {
    // The fixtures' own states and answers are none of the product's business.
    const { inputResponses: _, ...mcpReq } = { ...context.mcpReq, requestState: () => undefined };
    const result = await call(request, { ...context, mcpReq });
    const answer = answers[request.params.name];
    // A refusal of the pipeline stands.
    if (answer === undefined || result["isError"] === true) return result as never;
    return answer(context, request.params.arguments ?? {});
  });

  const list = productHandler<ListResourcesResult>(server, "resources/list");
  server.setRequestHandler("resources/list", async (request, context) => {
    const result = await list(request, context);
    const fixtures = Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({ uri, name: uri, mimeType }));
    return { ...result, resources: [...result.resources, ...fixtures] };
  });

  const templates = productHandler<ListResourceTemplatesResult>(server, "resources/templates/list");
  server.setRequestHandler("resources/templates/list", async (request, context) => {
    const result = await templates(request, context);
    const fixture = {
      uriTemplate: "test://template/{id}/data",
      name: "template",
      mimeType: "application/json",
    };
    return { ...result, resourceTemplates: [...result.resourceTemplates, fixture] };
  });

  const subscribe = productHandler(server, "resources/subscribe");
  server.setRequestHandler("resources/subscribe", async (request, context) =>
    request.params.uri in RESOURCES ? {} : subscribe(request, context),
  );

  const read = productHandler<ReadResourceResult>(server, "resources/read");
  server.setRequestHandler("resources/read", async (request, context) => {
    const { uri } = request.params;
    const fixture = RESOURCES[uri] ?? templated(uri);
    return fixture === undefined ? read(request, context) : { contents: [{ uri, ...fixture }] };
  });
}

function templated(uri: string): { mimeType: string; text: string } | undefined {
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  return id === undefined
    ? undefined
    : {
        mimeType: "application/json",
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
      };
}

/** The SDK hides its handlers from everybody but subclasses; a test may look. */
function productHandler<T extends Result = Result>(
  server: Server,
  method: string,
): (request: { method: string; params?: object | undefined }, context: ServerContext) => Promise<T> {
  type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<T>;
  const open = server as unknown as { _getRequestHandler(method: string): Handler | undefined };
  const handler = open._getRequestHandler(method);
  if (handler === undefined) throw new Error(`the product has no handler for ${method}`);
  return (request, context) =>
    handler({ jsonrpc: "2.0", id: context.mcpReq.id, ...request } as JSONRPCRequest, context);
}
