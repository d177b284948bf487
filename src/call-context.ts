import { join, resolve } from "node:path";
import { mayReadPath, type AccessOptions } from "./pipeline/access.ts";
import type { Call, CallContext } from "./pipeline/call.ts";
import type { RunnerEnvironment } from "./runners/create.ts";
import type { Runner } from "./runners/runner.ts";
import { functionOf } from "./server/describe-tool.ts";
import type { Dispatcher } from "./server/dispatcher.ts";
import type { Clock } from "./shared/clock.ts";
import { CamelError } from "./shared/errors.ts";
import { matchesName } from "./shared/glob.ts";
import { isAgentId, newId } from "./shared/ids.ts";
import type { Logger } from "./shared/log.ts";
import { expandHome } from "./shared/paths.ts";
import { resolveWorkspace, type FolderNames, type WorkspaceHints } from "./shared/workspace.ts";
import type { ResultStore } from "./stores/results.ts";
import type { Config } from "./config/schema.ts";
import type { NestedOptions, NestedResult, Progress, RunToSupervise } from "./tools/context.ts";
import type { DynamicTools } from "./tools/dynamic/registry.ts";

/** What all calls of a process share. */
export interface Shared {
  home: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  clock: Clock;
  log: Logger;
  results: ResultStore;
  settings: () => Config;
  dynamicTools: DynamicTools;
  dispatcher: () => Pick<Dispatcher, "call" | "list">;
  access: AccessOptions;
  hints: WorkspaceHints;
  folders: FolderNames;
  /** Where the main agent's memory is; the workspace where undefined. */
  memoryRoot: () => string | undefined;
  runnerOptions: () => Pick<RunnerEnvironment, "hooks" | "secret">;
  later: (work: Promise<void>, what: string) => void;
  jobsChanged: () => void;
  audited: () => Promise<void>;
  whereInConfig: (key: readonly (string | number)[]) => Promise<string>;
  supervise: (run: RunToSupervise) => void;
}

/** Agents other than this one have a memory of their own. */
const MAIN_AGENT = "main";
const noRoots = (): Promise<readonly string[]> => Promise.resolve([]);

/** What a tool sees of the product during one call. A class, since every call makes one and most use little of it. */
export class OneCallContext implements CallContext {
  isApproved?: boolean;
  toolSignal: (() => AbortSignal) | undefined;
  readonly #shared: Shared;
  readonly #call: Call;
  /** Asked for several times in a call; it is one folder for the whole of it. */
  readonly #workspace: { read?: Promise<string>; write?: Promise<string> } = {};

  constructor(shared: Shared, call: Call) {
    this.#shared = shared;
    this.#call = call;
  }

  get caller(): Call["caller"] {
    return this.#call.caller;
  }
  get callId(): string {
    return this.#call.id;
  }
  get signal(): AbortSignal {
    return this.toolSignal?.() ?? this.#call.signal;
  }
  get clock(): Clock {
    return this.#shared.clock;
  }
  get log(): Logger {
    return this.#shared.log;
  }
  get home(): string {
    return this.#shared.home;
  }
  get results(): ResultStore {
    return this.#shared.results;
  }
  get dynamicTools(): DynamicTools {
    return this.#shared.dynamicTools;
  }
  get outputChars(): number {
    return this.#call.outputChars ?? this.settings().limits.outputChars;
  }

  settings(): Config {
    return this.#shared.settings();
  }

  env(name: string): string | undefined {
    return this.#shared.env[name];
  }

  workspace(access: "read" | "write"): Promise<string> {
    const { hints, folders } = this.#shared;
    return (this.#workspace[access] ??= resolveWorkspace(
      hints,
      this.#call.roots ?? noRoots,
      access,
      folders,
    ));
  }

  async memoryRoot(): Promise<string> {
    const { agentId } = this.caller;
    const base = this.#shared.memoryRoot();
    if (agentId === MAIN_AGENT) return base ?? this.workspace("read");
    if (!isAgentId(agentId)) throw new CamelError("unauthorized", `"${agentId}" is not an agent id.`);
    return join(base ?? this.home, "agents", agentId);
  }

  sharedMemory(): { name: string; root: string }[] {
    return this.settings()
      .memory.shared.filter(({ agents }) => agents.some((agent) => matchesName(agent, this.caller.agentId)))
      .map(({ name, root }) => ({ name, root: resolve(this.#shared.cwd, expandHome(root)) }));
  }

  mayRead(path: string, tools: readonly string[] = []): Promise<boolean> {
    const workspace = (access: "read"): Promise<string> => this.workspace(access);
    const question = { path, tools: [this.#call.name, ...tools], caller: this.caller, workspace };
    return mayReadPath(question, this.#shared.access);
  }

  progress(update: Progress): void {
    this.#call.progress?.(update);
  }

  later(work: Promise<void>): void {
    this.#shared.later(work, this.#call.name);
  }

  callTool(name: string, args: unknown, nested: NestedOptions = {}): Promise<NestedResult> {
    const call = this.#call;
    return this.#shared.dispatcher().call({
      ...withoutTimeout(call),
      id: newId("call"),
      name,
      args,
      caller: nested.own === true ? call.caller : deeper(call.caller),
      signal: nested.signal ?? call.signal,
      approved: nested.approved === true,
      trial: nested.trial,
    });
  }

  async runner(kind = this.settings().runner.use): Promise<Runner | undefined> {
    if (kind === "host") return undefined;
    const { createRunner } = await import("./runners/create.ts");
    const { dispatcher, env, runnerOptions } = this.#shared;
    return createRunner(kind, {
      ...runnerOptions(),
      settings: this.settings().runner,
      env,
      clock: this.clock,
      tools: () => dispatcher().list(deeper(this.caller)).map(functionOf),
      callTool: (name, args, signal) => this.callTool(name, args, { signal }),
    });
  }

  audited(): Promise<void> {
    return this.#shared.audited();
  }

  jobsChanged(): void {
    this.#shared.jobsChanged();
  }

  whereInConfig(key: readonly (string | number)[]): Promise<string> {
    return this.#shared.whereInConfig(key);
  }

  supervise(run: RunToSupervise): void {
    this.#shared.supervise(run);
  }
}

function deeper(caller: Call["caller"]): Call["caller"] {
  return { ...caller, depth: caller.depth + 1 };
}

/** A nested call has its own time, and so the configured limit. */
function withoutTimeout(call: Call): Call {
  const copy = { ...call };
  delete copy.timeoutSeconds;
  return copy;
}
