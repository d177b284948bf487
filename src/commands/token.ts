import { join } from "node:path";
import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { systemClock } from "../shared/clock.ts";
import { CamelError } from "../shared/errors.ts";
import { createFileTokens } from "../stores/tokens.ts";
import { camelOptions, unknownAction, usageError } from "./options.ts";
import { say } from "./shell-call.ts";

export async function token(context: CommandContext): Promise<number> {
  const { flags, words } = context;
  const [action = "list", id] = words;
  const camel = await createCamel(camelOptions(context));
  const store = createFileTokens({ path: join(camel.home, "tokens.json"), clock: systemClock });
  switch (action) {
    case "create": {
      const { record, secret } = await store.create(context.agentId, flags.scope);
      say(
        context,
        { id: record.id, agent: record.agent, token: secret },
        `${secret}\n\nToken ${record.id} for agent ${record.agent}. It is shown only this once; send it as "Authorization: Bearer …".\nFrom now on \`serve\` answers nobody without a token.\n`,
      );
      return 0;
    }
    case "list": {
      const tokens = (await store.list()).map(({ hash: _hash, ...rest }) => rest);
      say(
        context,
        tokens,
        tokens
          .map(
            (one) =>
              `${one.id}  ${one.agent.padEnd(16)} ${one.created}  ${one.revoked === undefined ? "active" : `revoked ${one.revoked}`}\n`,
          )
          .join("") || "No tokens.\n",
      );
      return 0;
    }
    case "revoke": {
      if (id === undefined) throw usageError("token revoke: which one? Give its id (see token list).");
      if (!(await store.revoke(id))) {
        throw new CamelError("not_found", `There is no active token "${id}".`, {
          next: "See camel-mcp token list.",
        });
      }
      const isLast = (await store.list()).every((one) => one.revoked !== undefined);
      const warning = isLast ? "No valid token is left: `serve` answers nobody until you make one.\n" : "";
      say(context, { revoked: id, isLast }, `Revoked ${id}.\n${warning}`);
      return 0;
    }
    default:
      throw unknownAction("token", action, ["create", "list", "revoke"]);
  }
}
