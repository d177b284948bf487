import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { systemClock } from "../shared/clock.ts";
import { loadKeyring } from "../stores/keyring.ts";
import { QUALITY_FOLDER } from "../stores/quality.ts";
import { rotateKey } from "../stores/sealed-folder.ts";
import { SECRETS_FOLDER } from "../stores/secrets.ts";
import { TOOLS_FOLDER } from "../tools/dynamic/registry.ts";
import { camelOptions, unknownAction } from "./options.ts";
import { say } from "./shell-call.ts";

const SEALED = [
  { folder: TOOLS_FOLDER, kind: "tool" },
  { folder: SECRETS_FOLDER, kind: "secret" },
  { folder: QUALITY_FOLDER, kind: "quality" },
];

/** `key rotate` may be interrupted at any point and run again: nothing is ever without its key. */
export async function key(context: CommandContext): Promise<number> {
  const [action = "status"] = context.words;
  const camel = await createCamel(camelOptions(context));
  const options = {
    home: camel.home,
    env: process.env,
    keychain: camel.config().settings.dynamicTools.keychain,
    clock: systemClock,
  };
  if (action === "status") {
    const keyring = await loadKeyring(options, { make: false });
    const text =
      keyring === undefined
        ? "No key yet; one is made with the first tool or secret.\n"
        : `Key ${keyring.current.id} from ${keyring.source}.\n`;
    say(context, { id: keyring?.current.id ?? null, source: keyring?.source ?? null }, text);
    return 0;
  }
  if (action !== "rotate") throw unknownAction("key", action, ["status", "rotate"]);
  const { left, resealed, source } = await rotateKey({ ...options, folders: SEALED });
  say(
    context,
    { resealed, left, source },
    `Sealed ${resealed} files with the new key (${source}).\n${left.map((one) => `Left as it was: ${one}\n`).join("")}`,
  );
  return left.length === 0 ? 0 : 1;
}
