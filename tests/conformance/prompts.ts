import {
  ProtocolError,
  ProtocolErrorCode,
  acceptedContent,
  inputRequired,
  type PromptMessage,
  type Server,
} from "@modelcontextprotocol/server";
import { question } from "./answers.ts";
import { IMAGE } from "./media.ts";

type Args = Record<string, string>;

const PROMPTS: Record<string, { args: readonly string[]; messages(args: Args): PromptMessage["content"][] }> =
  {
    test_simple_prompt: {
      args: [],
      messages: () => [{ type: "text", text: "This is a simple prompt for testing." }],
    },
    test_prompt_with_arguments: {
      args: ["arg1", "arg2"],
      messages: ({ arg1, arg2 }) => [
        { type: "text", text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'` },
      ],
    },
    test_prompt_with_embedded_resource: {
      args: ["resourceUri"],
      messages: ({ resourceUri = "" }) => [
        {
          type: "resource",
          resource: {
            uri: resourceUri,
            mimeType: "text/plain",
            text: "Embedded resource content for testing.",
          },
        },
        { type: "text", text: "Please process the embedded resource above." },
      ],
    },
    test_prompt_with_image: {
      args: [],
      messages: () => [
        { type: "image", data: IMAGE, mimeType: "image/png" },
        { type: "text", text: "Please analyze the image above." },
      ],
    },
    test_input_required_result_prompt: { args: [], messages: () => [] },
  };

/** Prompts and completion: the product has neither, the suite wants both. */
export function mountPrompts(server: Server): void {
  server.registerCapabilities({ prompts: {}, completions: {} });
  server.setRequestHandler("prompts/list", () => ({
    prompts: Object.entries(PROMPTS).map(([name, prompt]) => ({
      name,
      description: "Fixture of the conformance suite.",
      arguments: prompt.args.map((arg) => ({ name: arg, required: true })),
    })),
  }));
  server.setRequestHandler("prompts/get", (request, context) => {
    const { name } = request.params;
    const prompt = PROMPTS[name];
    if (prompt === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no prompt "${name}".`);
    if (name !== "test_input_required_result_prompt")
      return { messages: asUser(prompt.messages(request.params.arguments ?? {})) };
    const given = acceptedContent<{ context: string }>(context.mcpReq.inputResponses, "user_context");
    if (given !== undefined) return { messages: asUser([{ type: "text", text: given.context }]) };
    return inputRequired({
      inputRequests: { user_context: question("What context should the prompt use?", "context", "string") },
    });
  });
  server.setRequestHandler("completion/complete", () => ({
    completion: { values: [], total: 0, hasMore: false },
  }));
}

function asUser(contents: PromptMessage["content"][]): PromptMessage[] {
  return contents.map((content) => ({ role: "user", content }));
}
