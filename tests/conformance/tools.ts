import { z } from "zod";
import { CamelError } from "../../src/shared/errors.ts";
import { defineTool, type ToolDef } from "../../src/tools/tool.ts";

/**
 * The tools the conformance suite calls. Each is a real ToolDef, so that listing and calling it passes the
 * dispatcher and the whole pipeline; answers beyond text are put in its place afterwards (see answers.ts).
 */
export function fixtureTools(changeTools: () => Promise<void>): ToolDef[] {
  return [
    text("test_simple_text", "This is a simple text response for testing."),
    ...BEYOND_TEXT.map((name) => text(name, "replaced by answers.ts")),
    defineTool({
      ...common("test_sampling"),
      schema: z.object({ prompt: z.string() }),
      execute: async () => "replaced by answers.ts",
    }),
    defineTool({
      ...common("test_elicitation"),
      schema: z.object({ message: z.string() }),
      execute: async () => "replaced by answers.ts",
    }),
    defineTool({
      ...common("test_tool_with_progress"),
      schema: z.object({}),
      async execute(_input, context) {
        for (const progress of [0, 50, 100]) {
          context.progress({ progress, total: 100, message: `${progress} of 100` });
          await pause(50);
        }
        return "done";
      },
    }),
    defineTool({
      ...common("test_error_handling"),
      schema: z.object({}),
      execute: () =>
        Promise.reject(
          new CamelError("unavailable", "This tool intentionally returns an error for testing."),
        ),
    }),
    defineTool({
      ...common("test_trigger_tool_change"),
      schema: z.object({}),
      async execute() {
        await changeTools();
        return "changed";
      },
    }),
  ];
}

const BEYOND_TEXT = [
  "test_image_content",
  "test_audio_content",
  "test_embedded_resource",
  "test_multiple_content_types",
  "test_tool_with_logging",
  "test_logging_tool",
  "test_elicitation_sep1034_defaults",
  "test_elicitation_sep1330_enums",
  "test_missing_capability",
  "test_streaming_elicitation",
  "test_input_required_result_elicitation",
  "test_input_required_result_sampling",
  "test_input_required_result_list_roots",
  "test_input_required_result_request_state",
  "test_input_required_result_multiple_inputs",
  "test_input_required_result_multi_round",
  "test_input_required_result_tampered_state",
  "test_input_required_result_capabilities",
];

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function text(name: string, answer: string): ToolDef {
  return defineTool({ ...common(name), schema: z.object({}), execute: async () => answer });
}

function common(name: string) {
  return {
    name,
    title: name,
    description: "Fixture of the conformance suite.",
    tier: "core",
    effect: "read",
  } as const;
}
