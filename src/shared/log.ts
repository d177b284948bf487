export type LogLevel = "silent" | "error" | "warn" | "info" | "debug";

export const LOG_LEVELS: readonly LogLevel[] = ["silent", "error", "warn", "info", "debug"];

export interface Logger {
  error(message: string): void;
  warn(message: string): void;
  info(message: string): void;
  debug(message: string): void;
}

/** One line a message, to a sink that is never stdout (stdout belongs to the protocol). */
export function createLogger(level: LogLevel, write: (line: string) => void): Logger {
  const limit = LOG_LEVELS.indexOf(level);
  const at =
    (name: LogLevel) =>
    (message: string): void => {
      if (LOG_LEVELS.indexOf(name) <= limit) write(`camel-mcp ${name}: ${message}\n`);
    };
  return { error: at("error"), warn: at("warn"), info: at("info"), debug: at("debug") };
}

export const silentLogger: Logger = createLogger("silent", () => {});
