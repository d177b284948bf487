import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { readInsights } from "../stores/insights.ts";
import { FOCUSES, renderReport, reportOf, type Focus } from "../tools/insights/report.ts";
import { camelOptions, unknownAction } from "./options.ts";
import { say } from "./shell-call.ts";

/** `insights [FOCUS] [--agent ID] [--json]`: for a person, so all agents unless one is named. */
export async function insights(context: CommandContext): Promise<number> {
  const [focus = "summary"] = context.words;
  if (!isFocus(focus)) throw unknownAction("insights", focus, FOCUSES);
  const camel = await createCamel(camelOptions(context));
  const report = reportOf(await readInsights(camel.home), context.flags.agent);
  await camel.close();
  say(context, report, `${renderReport(report, focus)}\n`);
  return 0;
}

function isFocus(word: string): word is Focus {
  return (FOCUSES as readonly string[]).includes(word);
}
