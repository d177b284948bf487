/** Who answers a prompt when a job fires or an `llm` tool is called. */
export type Runner = (prompt: string, options: RunnerOptions, signal: AbortSignal) => Promise<RunnerAnswer>;

export interface RunnerOptions {
  agentId: string;
  /** How deep in calls made by calls; a run may do less than whoever started it, never more. */
  depth: number;
  system?: string;
  /** Where a program is started. */
  workspace?: string | undefined;
  /** What was said before the prompt. */
  history?: readonly { role: "user" | "assistant"; content: string }[];
  sessionId?: string;
  /** Called with what it has cost so far; also of a run that fails. */
  onSpent?: (costUsd: number) => void;
}

export interface RunnerAnswer {
  text: string;
  /** There was more than is kept. */
  cut?: boolean;
  usage?: { inputTokens?: number; outputTokens?: number; costUsd?: number };
}
