import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { locateInConfig } from "../config/parse.ts";
import { CamelError } from "../shared/errors.ts";
import type { UrlPolicy } from "../tools/dynamic/url-policy.ts";
import { judgeCommandLine } from "../tools/dynamic/command-policy.ts";
import { callFromWords } from "./call.ts";
import { toolThatRuns } from "./command-files.ts";
import { camelOptions, unknownAction, usageError } from "./options.ts";
import { say } from "./shell-call.ts";

const EXIT_CODES = { allow: 0, ask: 3, deny: 4 };

/** Says what would happen to a call and who decides it, without making it. Exit 0 allow, 3 ask, 4 deny. */
export async function policy(context: CommandContext): Promise<number> {
  const [action = "", ...rest] = context.words;
  if (action === "command") {
    if (rest.length === 0) throw usageError("policy command: which command line? Put quotes around it.");
    return command(context, rest.join(" "));
  }
  if (action === "url") {
    const [text] = rest;
    if (text === undefined) throw usageError("policy url: which URL? Put quotes around it.");
    const camel = await createCamel(camelOptions(context));
    return tell(context, await judgeUrl(text, camel.config().settings.urlAccess));
  }
  if (action !== "explain") throw unknownAction("policy", action, ["explain", "command", "url"]);
  const camel = await createCamel(camelOptions(context));
  const call = await callFromWords({ ...context, words: rest });
  const { place, ...verdict } = await camel.explain(call);
  if (place !== undefined)
    verdict.source = verdict.source.replace(place.file, await locateInConfig(place.file, place.key));
  const { warnings } = camel.config();
  say(
    context,
    { tool: call.name, agent: call.caller.agentId, ...verdict, warnings },
    `${verdict.decision}: ${verdict.rule}\ndecided by: ${verdict.source}\nto change it: ${verdict.change}\n${warnings.map((one) => `note: ${one}\n`).join("")}`,
  );
  return EXIT_CODES[verdict.decision];
}

/** Whether a command line would run without asking: the programs first, then the files. Nothing is run. */
async function command(context: CommandContext, line: string): Promise<number> {
  const camel = await createCamel(camelOptions(context));
  let verdict = judgeCommandLine(line, camel.config().settings.shell);
  if (verdict.decision === "allow") {
    const trial = toolThatRuns(line);
    const call = await callFromWords({ ...context, words: [trial.name] });
    const { decision, rule } = await camel.explain({ ...call, trial });
    // Its name is only made up: what policy says about names isn't about it.
    if (decision !== "allow" && !rule.startsWith("tools.")) verdict = { decision, why: rule };
  }
  return tell(context, verdict);
}

interface Verdict {
  decision: keyof typeof EXIT_CODES;
  why: string;
}

function tell(context: CommandContext, verdict: Verdict): number {
  say(context, verdict, `${verdict.decision}: ${verdict.why}\n`);
  return EXIT_CODES[verdict.decision];
}

/** Whether a tool could reach a URL: by its spelling, then by the addresses its host has now. Nothing is sent. */
async function judgeUrl(text: string, policy: UrlPolicy): Promise<Verdict> {
  const { checkUrl, hostOf } = await import("../tools/dynamic/url-policy.ts");
  const { checkedAddresses } = await import("../tools/dynamic/strategies/http-request.ts");
  if (!URL.canParse(text)) return { decision: "deny", why: "it is not a URL" };
  const url = new URL(text);
  try {
    checkUrl(url, policy);
    const host = hostOf(url);
    const addresses = await checkedAddresses(host, host, policy);
    return { decision: "allow", why: `${host} is ${addresses.map((one) => one.address).join(", ")}` };
  } catch (error) {
    if (error instanceof CamelError && error.code === "denied_by_policy")
      return { decision: "deny", why: error.message };
    return { decision: "allow", why: `nothing is against ${url.host}, but it has no address now` };
  }
}
