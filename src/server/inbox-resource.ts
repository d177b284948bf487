import type { Clock } from "../shared/clock.ts";
import { newId } from "../shared/ids.ts";
import type { Inbox } from "../stores/inbox.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { MemoryResources } from "./resources.ts";

const URI = "cron:///inbox";
const LOOK_MS = 1_000;

/** The caller's due prompts as a resource, beside the others. A read is a call of cron list, under its rules. */
export function withInbox(
  others: MemoryResources,
  options: { dispatcher: Dispatcher; inbox: () => Promise<Inbox>; clock: Clock },
): MemoryResources {
  const { dispatcher, clock } = options;
  const mayRead: (caller: Parameters<MemoryResources["list"]>[0]) => boolean = (caller) =>
    dispatcher.list(caller).some((tool) => tool.name === "cron");
  return {
    async list(caller, roots) {
      const found = await others.list(caller, roots);
      return mayRead(caller)
        ? [...found, { uri: URI, name: "Scheduled prompts that are due", mimeType: "text/markdown" }]
        : found;
    },
    async read(uri, caller, signal, roots) {
      if (uri !== URI) return others.read(uri, caller, signal, roots);
      const result = await dispatcher.call({
        id: newId("call"),
        name: "cron",
        args: { action: "list" },
        caller,
        signal,
        roots,
      });
      return result.isError === true ? { error: result.text, notFound: false } : { text: result.text };
    },
    async watch(uri, caller, roots, changed) {
      if (uri !== URI) return others.watch(uri, caller, roots, changed);
      if (!mayRead(caller)) return { error: "Policy refuses cron to this caller.", notFound: true };
      const inbox = await options.inbox();
      let mark = await inbox.mark(caller.agentId);
      let stopped = false;
      let timer = { cancel: (): void => {} };
      const look = async (): Promise<void> => {
        const now = await inbox.mark(caller.agentId);
        if (now !== mark && !stopped) changed();
        mark = now;
      };
      const arm = (): void => {
        timer = clock.setTimeout(() => {
          void look().finally(() => {
            if (!stopped) arm();
          });
        }, LOOK_MS);
      };
      arm();
      return {
        stop() {
          stopped = true;
          timer.cancel();
        },
      };
    },
  };
}
