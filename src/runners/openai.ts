import type { RunnerConfig } from "../config.ts";
import { CamelError } from "../shared/errors.ts";
import type { RunnerEnvironment } from "./create.ts";
import type { Runner } from "./runner.ts";

export function createOpenAiRunner(
  _settings: NonNullable<RunnerConfig["openai"]>,
  _environment: RunnerEnvironment,
): Runner {
  return () => Promise.reject(new CamelError("unavailable", "placeholder"));
}
