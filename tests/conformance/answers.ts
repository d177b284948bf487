import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  acceptedContent,
  createRequestStateCodec,
  inputRequired,
  type CallToolResult,
  type InputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { randomBytes } from "node:crypto";
import { IMAGE, AUDIO } from "./media.ts";
import { choices, contact, defaults, field, type Form } from "./forms.ts";
import { pause } from "./tools.ts";

type Answer = (
  context: ServerContext,
  args: Record<string, unknown>,
) => Promise<CallToolResult | InputRequiredResult> | CallToolResult | InputRequiredResult;

const states = createRequestStateCodec<{ round: number }>({ key: randomBytes(32) });

/** What a fixture tool says where text alone won't do: media, questions to the client, log lines. */
export const answers: Readonly<Record<string, Answer>> = {
  test_image_content: () => ({ content: [{ type: "image", data: IMAGE, mimeType: "image/png" }] }),
  test_audio_content: () => ({ content: [{ type: "audio", data: AUDIO, mimeType: "audio/wav" }] }),
  test_embedded_resource: () => ({
    content: [
      {
        type: "resource",
        resource: {
          uri: "test://embedded-resource",
          mimeType: "text/plain",
          text: "This is an embedded resource content.",
        },
      },
    ],
  }),
  test_multiple_content_types: () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: IMAGE, mimeType: "image/png" },
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: '{"test":"data","value":123}',
        },
      },
    ],
  }),
  test_tool_with_logging: logThreeLines,
  test_logging_tool: logThreeLines,

  // The 2025 eras: the server asks the client while the call is under way.
  test_sampling: async (context, args) => {
    const reply = await context.mcpReq.requestSampling({
      messages: [{ role: "user", content: { type: "text", text: String(args["prompt"]) } }],
      maxTokens: 100,
    });
    return say(`LLM response: ${JSON.stringify(reply.content)}`);
  },
  test_elicitation: (context, args) => ask(context, String(args["message"]), contact),
  test_elicitation_sep1034_defaults: (context) => ask(context, "Please review the form", defaults),
  test_elicitation_sep1330_enums: (context) => ask(context, "Please choose", choices),

  // The 2026 era: the server returns its questions and the client calls again with the answers.
  test_missing_capability: (context) => {
    if (capabilities(context)["sampling"] === undefined)
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
    return say("sampling is declared");
  },
  test_streaming_elicitation: (context) => nameOrQuestion(context),
  test_input_required_result_elicitation: (context) => nameOrQuestion(context),
  test_input_required_result_sampling: (context) =>
    answered(context, "capital_question")
      ? say("thank you")
      : inputRequired({ inputRequests: { capital_question: sample("What is the capital of France?") } }),
  test_input_required_result_list_roots: (context) =>
    answered(context, "client_roots")
      ? say(JSON.stringify(context.mcpReq.inputResponses?.["client_roots"]))
      : inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } }),
  test_input_required_result_request_state: confirm,
  test_input_required_result_tampered_state: confirm,
  test_input_required_result_multiple_inputs: async (context) => {
    const round = await roundOf(context);
    if (round === 1 && ["user_name", "greeting", "client_roots"].every((key) => answered(context, key)))
      return say("all three arrived");
    return inputRequired({
      inputRequests: {
        user_name: question("What is your name?", "name", "string"),
        greeting: sample("Generate a greeting"),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await states.mint({ round: 1 }, context),
    });
  },
  test_input_required_result_multi_round: async (context) => {
    const round = await roundOf(context);
    if (round === 2 && acceptedContent(context.mcpReq.inputResponses, "step2") !== undefined)
      return say("both steps done");
    const atSecond = round === 1 && acceptedContent(context.mcpReq.inputResponses, "step1") !== undefined;
    return inputRequired({
      inputRequests: atSecond
        ? { step2: question("Step 2: What is your favorite color?", "color", "string") }
        : { step1: question("Step 1: What is your name?", "name", "string") },
      requestState: await states.mint({ round: atSecond ? 2 : 1 }, context),
    });
  },
  test_input_required_result_capabilities: (context) => {
    const declared = capabilities(context);
    return inputRequired({
      inputRequests: {
        ...(declared["sampling"] === undefined ? {} : { greeting: sample("Generate a greeting") }),
        ...(declared["elicitation"] === undefined
          ? {}
          : { user_name: question("What is your name?", "name", "string") }),
      },
    });
  },
};

/** Also used by a prompt: questions are not only for tools. */
export function question(message: string, name: string, type: "string" | "boolean") {
  return inputRequired.elicit({ message, requestedSchema: field(name, type) });
}

function say(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

function sample(text: string) {
  return inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text } }],
    maxTokens: 100,
  });
}

function answered(context: ServerContext, key: string): boolean {
  return context.mcpReq.inputResponses?.[key] !== undefined;
}

function nameOrQuestion(context: ServerContext): CallToolResult | InputRequiredResult {
  const given = acceptedContent<{ name: string }>(context.mcpReq.inputResponses, "user_name");
  return given === undefined
    ? inputRequired({ inputRequests: { user_name: question("What is your name?", "name", "string") } })
    : say(`Hello, ${given.name}!`);
}

async function confirm(context: ServerContext): Promise<CallToolResult | InputRequiredResult> {
  const round = await roundOf(context);
  if (round === 1 && acceptedContent(context.mcpReq.inputResponses, "confirm") !== undefined)
    return say("state-ok");
  return inputRequired({
    inputRequests: { confirm: question("Please confirm", "ok", "boolean") },
    requestState: await states.mint({ round: 1 }, context),
  });
}

/** 0 on the first call. The state comes back through the client, so it counts only with our signature. */
async function roundOf(context: ServerContext): Promise<number> {
  const state = context.mcpReq.requestState<string>();
  if (state === undefined) return 0;
  try {
    return (await states.verify(state, context)).round;
  } catch {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, "requestState is not ours");
  }
}

function capabilities(context: ServerContext): Record<string, unknown> {
  const envelope: Record<string, unknown> = { ...context.mcpReq.envelope };
  return {
    ...(envelope["io.modelcontextprotocol/clientCapabilities"] as Record<string, unknown> | undefined),
  };
}

async function ask(context: ServerContext, message: string, requestedSchema: Form): Promise<CallToolResult> {
  const reply = await context.mcpReq.elicitInput({ message, requestedSchema });
  return say(`User response: action=${reply.action}, content=${JSON.stringify(reply.content ?? {})}`);
}

async function logThreeLines(context: ServerContext): Promise<CallToolResult> {
  for (const line of ["started", "processing data", "completed"]) {
    await context.mcpReq.log("info", `Tool execution ${line}`);
    await pause(50);
  }
  return say("logged");
}
