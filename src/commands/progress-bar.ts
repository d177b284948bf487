import type { Progress } from "../tools/context.ts";

const WIDTH = 24;

/** One line on a terminal, drawn over itself; nothing where the output isn't one. */
export function progressBar(out: { isTTY?: boolean; write(text: string): unknown }): {
  show(update: Progress): void;
  clear(): void;
} {
  let isShown = false;
  return {
    show({ progress, total, message = "" }) {
      if (out.isTTY !== true || total === undefined || total === 0) return;
      const filled = Math.min(WIDTH, Math.round((progress / total) * WIDTH));
      const bar = "#".repeat(filled) + "-".repeat(WIDTH - filled);
      out.write(`\r\u001B[K[${bar}] ${progress}/${total} ${message}`);
      isShown = true;
    },
    clear() {
      if (isShown) out.write("\r\u001B[K");
      isShown = false;
    },
  };
}
