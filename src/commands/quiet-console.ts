/** In stdio mode nothing but the protocol reaches stdout: a library that logs must not break it. */
export function quietConsole(): void {
  const toStderr = (...parts: unknown[]): void =>
    void process.stderr.write(`${parts.map(String).join(" ")}\n`);
  Object.assign(console, { log: toStderr, info: toStderr, debug: toStderr, warn: toStderr });
}
