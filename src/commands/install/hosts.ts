import { inAppData, inHome, inProject, inXdgConfig, pathsOf, type Machine } from "./machine.ts";

/** What is written for a server; plain data that each format can render. */
export type Entry = Record<string, unknown>;

export interface Launch {
  name: string;
  command: string;
  args: readonly string[];
}

export interface Remote {
  name: string;
  url: string;
  /** Name of the environment variable with the bearer token; the token itself is never written. */
  tokenEnv: string | undefined;
}

export type Scope = "user" | "project";

export interface Host {
  title: string;
  /** Its program on PATH, to tell whether it is here. */
  program?: string;
  format: "json" | "toml" | "yaml";
  /** The key that holds the servers: a map by name, or (`list`) a list of entries with a `name`. */
  key: string;
  list?: true;
  /** Candidates for each scope: the first that exists is used, else the first. */
  user(machine: Machine): string[];
  project?(machine: Machine): string[];
  stdio(launch: Launch): Entry;
  /** Undefined where the host can't say it in its file; `camel-mcp connect` is registered then. */
  http(remote: Remote): Entry | undefined;
  /** A place in the user's file for the folder one stands in, which only the host's own command writes. */
  local?: { keys(machine: Machine): string[]; remove(name: string): string };
  /** What a new file needs besides the entry. */
  newFile?: Entry;
  /** What a person still has to do. */
  after?: string;
}

const plain = ({ command, args }: Launch): Entry => ({ command, args: [...args] });

/** `headers` with the token taken from the environment by the host, in the host's own notation. */
const bearer = (tokenEnv: string | undefined, notation: (name: string) => string): Entry =>
  tokenEnv === undefined ? {} : { headers: { Authorization: `Bearer ${notation(tokenEnv)}` } };
const shell = (name: string): string => `\${${name}}`;
const editor = (name: string): string => `\${env:${name}}`;

/** Every host `install` knows. To add one: a row here and a fixture in tests/commands. */
export const HOSTS = {
  "claude-code": {
    title: "Claude Code",
    program: "claude",
    format: "json",
    key: "mcpServers",
    user: (machine) => [
      machine.env["CLAUDE_CONFIG_DIR"]
        ? pathsOf(machine).join(machine.env["CLAUDE_CONFIG_DIR"], ".claude.json")
        : inHome(machine, ".claude.json"),
    ],
    project: (machine) => [inProject(machine, ".mcp.json")],
    local: {
      keys: (machine) => ["projects", machine.cwd],
      remove: (name) => `claude mcp remove ${name} -s local`,
    },
    stdio: (launch) => ({ type: "stdio", ...plain(launch) }),
    http: ({ url, tokenEnv }) => ({ type: "http", url, ...bearer(tokenEnv, shell) }),
  },
  vscode: {
    title: "VS Code",
    program: "code",
    format: "json",
    key: "servers",
    user: (machine) => [inAppData(machine, "Code", "User", "mcp.json")],
    project: (machine) => [inProject(machine, ".vscode", "mcp.json")],
    stdio: (launch) => ({ type: "stdio", ...plain(launch) }),
    http: ({ url, tokenEnv }) => ({ type: "http", url, ...bearer(tokenEnv, editor) }),
  },
  cursor: {
    title: "Cursor",
    program: "cursor",
    format: "json",
    key: "mcpServers",
    user: (machine) => [inHome(machine, ".cursor", "mcp.json")],
    project: (machine) => [inProject(machine, ".cursor", "mcp.json")],
    stdio: plain,
    http: ({ url, tokenEnv }) => ({ url, ...bearer(tokenEnv, editor) }),
  },
  codex: {
    title: "Codex",
    program: "codex",
    format: "toml",
    key: "mcp_servers",
    user: (machine) => [
      machine.env["CODEX_HOME"]
        ? pathsOf(machine).join(machine.env["CODEX_HOME"], "config.toml")
        : inHome(machine, ".codex", "config.toml"),
    ],
    project: (machine) => [inProject(machine, ".codex", "config.toml")],
    stdio: plain,
    http: ({ url, tokenEnv }) => ({
      url,
      ...(tokenEnv === undefined ? {} : { bearer_token_env_var: tokenEnv }),
    }),
  },
  gemini: {
    title: "Gemini CLI",
    program: "gemini",
    format: "json",
    key: "mcpServers",
    user: (machine) => [inHome(machine, ".gemini", "settings.json")],
    project: (machine) => [inProject(machine, ".gemini", "settings.json")],
    stdio: plain,
    http: ({ url, tokenEnv }) => ({ type: "http", url, ...bearer(tokenEnv, shell) }),
  },
  qwen: {
    title: "Qwen Code",
    program: "qwen",
    format: "json",
    key: "mcpServers",
    user: (machine) => [inHome(machine, ".qwen", "settings.json")],
    project: (machine) => [inProject(machine, ".qwen", "settings.json")],
    stdio: plain,
    http: ({ url, tokenEnv }) => ({ httpUrl: url, ...bearer(tokenEnv, shell) }),
  },
  copilot: {
    title: "Copilot CLI",
    program: "copilot",
    format: "json",
    key: "mcpServers",
    user: (machine) => [
      machine.env["COPILOT_HOME"]
        ? pathsOf(machine).join(machine.env["COPILOT_HOME"], "mcp-config.json")
        : inHome(machine, ".copilot", "mcp-config.json"),
    ],
    stdio: (launch) => ({ type: "local", ...plain(launch), tools: ["*"] }),
    http: ({ url, tokenEnv }) => ({ type: "http", url, ...bearer(tokenEnv, shell), tools: ["*"] }),
  },
  opencode: {
    title: "OpenCode",
    program: "opencode",
    format: "json",
    key: "mcp",
    user: (machine) =>
      ["opencode.json", "opencode.jsonc"].map((name) => inXdgConfig(machine, "opencode", name)),
    project: (machine) => ["opencode.json", "opencode.jsonc"].map((name) => inProject(machine, name)),
    stdio: ({ command, args }) => ({ type: "local", command: [command, ...args], enabled: true }),
    http: ({ url, tokenEnv }) => ({
      type: "remote",
      url,
      enabled: true,
      ...bearer(tokenEnv, (name) => `{env:${name}}`),
    }),
    newFile: { $schema: "https://opencode.ai/config.json" },
  },
  goose: {
    title: "Goose",
    program: "goose",
    format: "yaml",
    key: "extensions",
    user: (machine) => [
      machine.platform === "win32"
        ? inAppData(machine, "Block", "goose", "config", "config.yaml")
        : inXdgConfig(machine, "goose", "config.yaml"),
    ],
    stdio: ({ name, command, args }) => ({
      enabled: true,
      type: "stdio",
      name,
      cmd: command,
      args: [...args],
      timeout: 300,
    }),
    http: ({ name, url, tokenEnv }) => ({
      enabled: true,
      type: "streamable_http",
      name,
      uri: url,
      ...(tokenEnv === undefined ? {} : { env_keys: [tokenEnv] }),
      ...bearer(tokenEnv, shell),
      timeout: 300,
    }),
  },
  cline: {
    title: "Cline",
    program: "cline",
    format: "json",
    key: "mcpServers",
    user: (machine) => [
      inHome(machine, ".cline", "data", "settings", "cline_mcp_settings.json"),
      inAppData(machine, "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
    ],
    stdio: (launch) => ({ type: "stdio", ...plain(launch) }),
    http: ({ url, tokenEnv }) => (tokenEnv === undefined ? { type: "streamableHttp", url } : undefined),
  },
  continue: {
    title: "Continue",
    program: "cn",
    format: "yaml",
    key: "mcpServers",
    list: true,
    user: (machine) => [inHome(machine, ".continue", "config.yaml")],
    stdio: ({ name, ...launch }) => ({ name, type: "stdio", ...plain({ name, ...launch }) }),
    http: ({ name, url, tokenEnv }) => ({
      name,
      type: "streamable-http",
      url,
      ...(tokenEnv === undefined
        ? {}
        : { requestOptions: bearer(tokenEnv, (secret) => `\${{ secrets.${secret} }}`) }),
    }),
    newFile: { name: "Local Config", version: "1.0.0", schema: "v1" },
  },
  "claude-desktop": {
    title: "Claude Desktop",
    format: "json",
    key: "mcpServers",
    user: (machine) => [inAppData(machine, "Claude", "claude_desktop_config.json")],
    stdio: plain,
    http: () => undefined,
    after: "Quit Claude Desktop and start it again.",
  },
  windsurf: {
    title: "Windsurf",
    program: "windsurf",
    format: "json",
    key: "mcpServers",
    user: (machine) => [inHome(machine, ".codeium", "windsurf", "mcp_config.json")],
    stdio: plain,
    http: ({ url, tokenEnv }) => ({ serverUrl: url, ...bearer(tokenEnv, editor) }),
  },
  zed: {
    title: "Zed",
    program: "zed",
    format: "json",
    key: "context_servers",
    user: (machine) => [
      machine.platform === "win32"
        ? inAppData(machine, "Zed", "settings.json")
        : inXdgConfig(machine, "zed", "settings.json"),
    ],
    project: (machine) => [inProject(machine, ".zed", "settings.json")],
    stdio: plain,
    http: ({ url, tokenEnv }) => (tokenEnv === undefined ? { url } : undefined),
  },
  lmstudio: {
    title: "LM Studio",
    program: "lms",
    format: "json",
    key: "mcpServers",
    user: (machine) => [inHome(machine, ".lmstudio", "mcp.json")],
    stdio: plain,
    http: ({ url, tokenEnv }) => (tokenEnv === undefined ? { url } : undefined),
  },
} as const satisfies Record<string, Host>;

export type HostId = keyof typeof HOSTS;

export const HOST_IDS = Object.keys(HOSTS) as HostId[];

export function hostOf(id: HostId): Host {
  return HOSTS[id];
}
