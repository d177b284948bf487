/**
 * For each host of scripts/hosts.mjs: the name `install` knows it by, the settings it needs to reach the scripted
 * model (never the server: that is what `install` writes), and how to start it for one question. `refreshes: false`:
 * it lists no tool in the turn that made it.
 */
import { join } from "node:path";

const openAi = ({ model }) => ({
  OPENAI_API_KEY: "dummy",
  OPENAI_BASE_URL: `${model}/v1`,
  OPENAI_MODEL: "fake-model",
});
const anthropic = ({ model }) => ({
  ANTHROPIC_BASE_URL: model,
  ANTHROPIC_API_KEY: "dummy",
  ENABLE_TOOL_SEARCH: "0",
});
const json = (value) => `${JSON.stringify(value, null, 2)}\n`;

export const HOSTS = {
  claude: {
    install: "claude-code",
    project: true,
    files: ({ home, project }) => ({
      [join(home, ".claude.json")]: json({ hasCompletedOnboarding: true, mcpServers: {} }),
      [join(project, ".claude", "settings.json")]: json({ enableAllProjectMcpServers: true }),
    }),
    env: anthropic,
    argv: ({ bin }) => [bin("claude", "claude"), "-p", "please go", "--allowedTools", "mcp__camel"],
  },
  agentsdk: {
    // A library, not a host with a file: it is handed what --print shows.
    install: "claude-code",
    print: ({ project }) => join(project, "servers.json"),
    files: ({ project }) => ({
      [join(project, "run.mjs")]: `import { readFileSync } from "node:fs";
const { query } = await import(process.env.H + "/inst/agentsdk/node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs");
const { mcpServers } = JSON.parse(readFileSync("servers.json", "utf8").replaceAll("\${CAMEL_TOKEN}", process.env.CAMEL_TOKEN));
const canUseTool = async (name, input) => ({ behavior: "allow", updatedInput: input });
const options = { settingSources: [], strictMcpConfig: true, mcpServers, canUseTool };
for await (const message of query({ prompt: "please go", options })) if (message.type === "result") console.log(message.result);
`,
    }),
    env: anthropic,
    argv: () => ["node", "run.mjs"],
  },
  codex: {
    install: "codex",
    refreshes: false,
    project: true,
    files: ({ home, project, model }) => ({
      [join(home, ".codex", "config.toml")]: `# settings of the test
model = "fake-model"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "read-only"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.fake] # the scripted model
name = "Fake local"
base_url = "${model}/v1"
env_key = "FAKE_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[projects."${project}"]
trust_level = "trusted"
`,
    }),
    env: ({ home }) => ({ CODEX_HOME: join(home, ".codex"), FAKE_API_KEY: "dummy" }),
    argv: ({ bin }) => [
      bin("codex", "codex"),
      "exec",
      "--strict-config",
      "--skip-git-repo-check",
      // Without anybody to ask, Codex itself refuses tools that may change something.
      "-c",
      'mcp_servers.camel.default_tools_approval_mode="approve"',
      "please go",
    ],
  },
  gemini: {
    install: "gemini",
    project: true,
    files: ({ home }) => ({
      [join(home, ".gemini", "settings.json")]: json({
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { enableAutoUpdate: false },
        privacy: { usageStatisticsEnabled: false },
      }),
    }),
    env: ({ model }) => ({
      GEMINI_API_KEY: "dummy",
      GOOGLE_GEMINI_BASE_URL: model,
      GEMINI_CLI_TRUST_WORKSPACE: "true",
    }),
    argv: ({ bin }) => [
      bin("gemini", "gemini"),
      "-m",
      "gemini-2.5-flash",
      "--approval-mode",
      "yolo",
      "-p",
      "please go",
    ],
  },
  qwen: {
    install: "qwen",
    refreshes: false,
    project: true,
    files: ({ home }) => ({ [join(home, ".qwen", "settings.json")]: "{\n  // nothing yet\n}\n" }),
    env: (place) => ({
      ...openAi(place),
      QWEN_CODE_SUPPRESS_YOLO_WARNING: "1",
      FAKE_PREFIX: "mcp__camel__",
    }),
    argv: ({ bin }) => [
      bin("qwen", "qwen"),
      "--auth-type",
      "openai",
      "--approval-mode",
      "yolo",
      "-p",
      "please go",
    ],
  },
  copilot: {
    install: "copilot",
    files: () => ({}),
    env: ({ model }) => ({
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_BASE_URL: `${model}/v1`,
      COPILOT_PROVIDER_API_KEY: "dummy",
      COPILOT_MODEL: "fake-model",
      COPILOT_AUTO_UPDATE: "false",
    }),
    argv: ({ bin }) => [bin("copilot", "copilot"), "--allow-all-tools", "-p", "please go"],
  },
  opencode: {
    install: "opencode",
    project: true,
    files: ({ home, model }) => ({
      // .jsonc on purpose: install must find it.
      [join(home, ".config", "opencode", "opencode.jsonc")]: `{
  // settings of the test
  "autoupdate": false,
  "share": "disabled",
  "permission": "allow",
  "model": "fake/fake-model",
  "small_model": "fake/fake-model",
  "provider": {
    "fake": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "Fake",
      "options": { "baseURL": "${model}/v1", "apiKey": "dummy" },
      "models": { "fake-model": { "name": "Fake" } },
    },
  },
}
`,
    }),
    env: () => ({
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    }),
    argv: ({ bin }) => [bin("opencode", "opencode"), "run", "please go"],
  },
  goose: {
    install: "goose",
    refreshes: false,
    files: () => ({}),
    env: ({ model }) => ({
      OPENAI_API_KEY: "dummy",
      OPENAI_HOST: model,
      OPENAI_BASE_PATH: "v1/chat/completions",
      GOOSE_DISABLE_KEYRING: "1",
      GOOSE_PROVIDER: "openai",
      GOOSE_MODEL: "fake-model",
      GOOSE_MODE: "auto",
      GOOSE_TELEMETRY_ENABLED: "false",
    }),
    argv: ({ bin }) => [
      join(bin("goose", "x"), "..", "..", "@aaif", "goose-binary-linux-x64", "bin", "goose"),
      "run",
      "--no-session",
      "-t",
      "please go",
    ],
  },
  cline: {
    install: "cline",
    refreshes: false,
    files: ({ home, model }) => ({
      [join(home, ".cline", "data", "settings", "providers.json")]: json({
        version: 1,
        lastUsedProvider: "openai-compatible",
        modes: {},
        providers: {
          "openai-compatible": {
            settings: {
              provider: "openai-compatible",
              apiKey: "dummy",
              model: "fake-model",
              baseUrl: `${model}/v1`,
            },
            updatedAt: "2026-01-01T00:00:00.000Z",
            tokenSource: "manual",
          },
        },
      }),
    }),
    env: () => ({ CLINE_TELEMETRY_DISABLED: "1" }),
    argv: ({ bin }) => [bin("cline", "cline"), "--json", "please go"],
  },
  continue: {
    install: "continue",
    refreshes: false,
    files: ({ home, model }) => ({
      [join(home, ".continue", "config.yaml")]: `# settings of the test
name: fake
version: 0.0.1
schema: v1
models:
  - name: Fake
    provider: openai
    model: fake-model
    apiBase: ${model}/v1
    apiKey: dummy
    useResponsesApi: false
    roles: [chat]
    capabilities: [tool_use]
`,
    }),
    env: (place) => ({ ...openAi(place), CONTINUE_TELEMETRY_ENABLED: "0" }),
    argv: ({ bin }) => [bin("continue", "cn"), "--auto", "-p", "please go"],
  },
};
