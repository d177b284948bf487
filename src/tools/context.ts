import type { Config } from "../config/schema.ts";
import type { Runner } from "../runners/runner.ts";
import type { Clock } from "../shared/clock.ts";
import type { ErrorCode } from "../shared/errors.ts";
import type { Logger } from "../shared/log.ts";
import type { ResultStore } from "../stores/results.ts";
import type { DynamicTools } from "./dynamic/registry.ts";
import type { ToolDef } from "./tool.ts";

/** What scopes of the policy match on. */
export interface Identity {
  agentId: string;
  /** 0 for a host's own call; composite steps, jobs and sandboxed scripts count up. */
  depth: number;
  /** `clientInfo.name` of the host, lower case, or "cli", "library", "schedule". */
  client: string;
  /** Id of the bearer token, where one was used. */
  token?: string;
}

/** Who calls. Made by the transport, never by the call's own arguments. */
export interface Caller extends Identity {
  /** Who made the tools this call comes through: policy must allow it to each of them as well. */
  makers?: readonly Identity[];
  transport: "stdio" | "http" | "sse" | "library" | "cli" | "schedule";
  sessionId: string;
  /** The job's run this call is, or is part of. Set by the scheduler alone. */
  run?: { job: string; uid: string; seq: number };
}

export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** What a tool may see. Only add what a tool under tools/ uses. */
export interface ToolContext {
  caller: Caller;
  callId: string;
  signal: AbortSignal;
  clock: Clock;
  log: Logger;
  /** Absolute real path of the folder file tools work in. Throws `workspace_unsafe` where none may be written. */
  workspace(access: "read" | "write"): Promise<string>;
  /** Absolute path of the folder that holds the caller's MEMORY.md and memory/. */
  memoryRoot(): Promise<string>;
  /** Other folders with memory files that the config grants the caller, read-only. */
  sharedMemory(): readonly { name: string; root: string }[];
  /** Whether policy lets the caller read the file at this absolute path, with the tool called now and with `tools`. */
  mayRead(path: string, tools?: readonly string[]): Promise<boolean>;
  /** The state directory (`~/.camelagi`), for stores, locks and journals. */
  home: string;
  /** A variable of the environment, for a key that the config only names. */
  env(name: string): string | undefined;
  results: ResultStore;
  /** The longest answer that reaches the caller in one piece, in characters. */
  outputChars: number;
  /** The settings in force; a changed config counts at the next call. */
  settings(): Config;
  progress(update: Progress): void;
  /** Work that goes on after the answer. It must not throw; closing waits for it. */
  later(work: Promise<void>): void;
  /** Calls another tool through the dispatcher and the whole pipeline, one level deeper, with the caller's rights. */
  callTool(name: string, args: unknown, options?: NestedOptions): Promise<NestedResult>;
  /** A person, or a rule the user wrote, let this very call pass. */
  isApproved?: boolean;
  /** The tools that agents made. */
  dynamicTools: DynamicTools;
  /** What answers prompts: the named kind, or the one the config names. Undefined where there is none but the host. */
  runner(kind?: "host" | "command" | "openai"): Promise<Runner | undefined>;
  /** Resolves when the calls before this one are in the audit log. */
  audited(): Promise<void>;
  /** Tells this process's scheduler, where it has one, that jobs have changed. */
  jobsChanged(): void;
  /** File and line of a key of the user's config, for "edit it there". */
  whereInConfig(key: readonly (string | number)[]): Promise<string>;
  /** Starts a claimed run in a process of its own, which outlives this one. */
  supervise(run: RunToSupervise): void;
}

export interface RunToSupervise {
  id: string;
  uid: string;
  seq: number;
  workspace?: string | undefined;
  /** Called when its process has ended, if this one still lives. */
  onExit?: (() => void) | undefined;
}

export interface NestedOptions {
  /** The call is the caller's own, only spelled differently: it stays at the caller's depth. */
  own?: boolean;
  /** A person approved that this tool calls that one. */
  approved?: boolean;
  signal?: AbortSignal;
  /** Call this definition instead of the listed tool of that name: one that isn't kept yet. */
  trial?: ToolDef;
}

export interface NestedResult {
  text: string;
  structured?: Record<string, unknown>;
  isError?: boolean;
  code?: ErrorCode;
}
