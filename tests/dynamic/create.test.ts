import { describe, expect, test } from "vitest";
import { call, sandbox, startCamel } from "../harness.ts";

const upper = {
  name: "shout",
  description: "Says it louder.",
  strategy: { type: "js", source: "export default (input) => input.input.toUpperCase();" },
};

describe("tool_create", () => {
  test("a shell tool is made, listed and run", async () => {
    const camel = await startCamel(await sandbox());
    const made = await call(camel, "tool_create", {
      action: "create",
      definition: {
        name: "say_it",
        description: "Says it.",
        strategy: { type: "shell", command_template: "echo {{input}}" },
      },
    });
    expect(made.text).toContain("say_it");
    expect(made.isError).toBeUndefined();
    const direct = await call(camel, "say_it", { input: "hello; $(id)" });
    expect(direct.text).toBe("hello; $(id)\n");
    const run = await call(camel, "tool_create", { action: "run", name: "say_it", input: { input: "x" } });
    expect(run.text).toBe("x\n");
    const list = await call(camel, "tool_create", { action: "list" });
    expect(list.text).toContain("say_it (shell, global, version 1, 0 of 2 calls failed)");
  });

  test("composite and js", async () => {
    const camel = await startCamel(await sandbox());
    for (const definition of [
      upper,
      {
        name: "say_it",
        description: "Says it.",
        strategy: { type: "shell", command_template: "echo {{input}}" },
      },
      {
        name: "say_loud",
        description: "Says it loud.",
        strategy: {
          type: "composite",
          steps: [
            { tool_name: "shout" },
            { tool_name: "say_it", input_override: "<{{prev}}|{{steps.shout.text}}>" },
          ],
        },
      },
    ]) {
      const made = await call(camel, "tool_create", { action: "create", definition });
      expect(made.text, made.text).toContain("Made the tool");
    }
    const result = await call(camel, "say_loud", { input: "abc" });
    expect(result.text).toBe("<ABC|ABC>\n");
  });
});
