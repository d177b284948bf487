import { text } from "node:stream/consumers";
import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { systemClock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import { createSecrets } from "../stores/secrets.ts";
import { hiddenQuestion } from "./input.ts";
import { camelOptions, unknownAction, usageError } from "./options.ts";
import { say } from "./shell-call.ts";

/** The value comes from stdin, so that it stands neither in the list of processes nor in a shell's history. */
export async function secret(context: CommandContext): Promise<number> {
  const [action = "list", name = ""] = context.words;
  const camel = await createCamel(camelOptions(context));
  const store = createSecrets({
    home: camel.home,
    env: process.env,
    keychain: camel.config().settings.dynamicTools.keychain,
    clock: systemClock,
  });
  switch (action) {
    case "set": {
      if (name === "") throw usageError("secret set: which name?");
      const value = process.stdin.isTTY
        ? await hiddenQuestion("Value: ")
        : (await text(process.stdin)).replace(/\r?\n$/, "");
      if (value === "") throw usageError("secret set: the value on stdin is empty.");
      await store.set(name, value);
      say(context, { kept: name }, `Kept. Tools use it as secret://${name}.\n`);
      return 0;
    }
    case "list": {
      const names = await store.names();
      say(context, names, names.map((one) => `${one}\n`).join("") || "No secrets.\n");
      return 0;
    }
    case "remove":
      if (!(await store.remove(name))) {
        throw new CamelError("not_found", `There is no secret "${name}".`, {
          next: "See camel-mcp secret list.",
        });
      }
      say(context, { removed: name }, `Removed ${name}.\n`);
      return 0;
    default:
      throw unknownAction("secret", action, ["set", "list", "remove"]);
  }
}
