import type { HostId } from "../../src/commands/install/hosts.ts";

/** For each host, a file as its users have it: other settings, another server, comments. */
export const WITH_OTHERS: Record<HostId, string> = {
  "claude-code": `{
  "numStartups": 12,
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://api.example.com/mcp/"
    }
  },
  "projects": {
    "/work/site": { "allowedTools": [], "mcpServers": {} }
  }
}
`,
  vscode: `{
  // shared by the team
  "inputs": [{ "id": "key", "type": "promptString", "description": "Key", "password": true }],
  "servers": {
    "playwright": {
      "command": "npx",
      "args": ["-y", "@playwright/mcp@latest"], // the newest
    },
  },
}
`,
  cursor: `{
    "mcpServers": {
        "linear": { "url": "https://mcp.example.com/sse" } // tickets
        // more to come
    }
}
`,
  codex: `# my settings
model = "gpt-5" # the good one
approval_policy = "on-request"
notify = [
  "notify-send", # desktop
  "codex",
]

[mcp_servers.docs]
command = "docs-server"
args = ["--stdio"]

[mcp_servers.docs.env]
TOKEN = "abc"

# the project I work on
[projects."/work/site"]
trust_level = "trusted"
`,
  gemini: `{
  "security": { "auth": { "selectedType": "oauth-personal" } },
  /* servers */
  "mcpServers": {
    "files": { "command": "files-server", "trust": true }
  },
  "ui": { "theme": "Default" }
}
`,
  qwen: `{
\t"model": { "name": "qwen3-coder" },
\t"mcpServers": {
\t\t"files": {
\t\t\t"command": "files-server"
\t\t}
\t}
}`,
  copilot: `{
  "mcpServers": {
    "other": { "type": "local", "command": "other", "args": [], "tools": ["*"] }
  }
}
`,
  opencode: `{
  "$schema": "https://opencode.ai/config.json",
  // mine
  "model": "anthropic/claude",
  "mcp": {
    "context": { "type": "remote", "url": "https://mcp.example.com/mcp", "enabled": true },
    // "old": { "type": "local", "command": ["old"] },
  },
}
`,
  goose: `# goose
GOOSE_PROVIDER: openai
GOOSE_MODEL: gpt-5

extensions:
  developer: # built in
    enabled: true
    type: builtin
    name: developer
    timeout: 300
  # a note at the end
`,
  cline: `{
  "mcpServers": {
    "weather": {
      "autoApprove": ["forecast"],
      "disabled": false,
      "timeout": 60,
      "type": "stdio",
      "command": "weather"
    }
  }
}
`,
  continue: `name: Mine
version: 1.0.0
schema: v1
models:
  - name: Big # the big one
    provider: openai
    model: gpt-5
mcpServers:
  - name: SQLite
    command: npx
    args:
      - -y
      - mcp-sqlite
    # the file is beside
`,
  "claude-desktop": `{
  "globalShortcut": "Alt+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/Desktop"]
    }
  }
}
`,
  windsurf: `{"mcpServers": {"figma": {"serverUrl": "https://mcp.example.com/mcp"}}}`,
  zed: `// Zed settings
//
// For information on how to configure Zed, see the documentation.
{
  "theme": "One Dark",
  "context_servers": {
    "postgres": {
      "command": "postgres-server",
      "args": [],
    },
    /* disabled for now:
    "old": {}
    */
  },
  "vim_mode": true, // always
}
`,
  lmstudio: `{\r
  "mcpServers": {\r
    "hf": {\r
      "url": "https://mcp.example.com/mcp"\r
    }\r
  }\r
}\r
`,
};

/** Broken in each format, and where. */
export const BROKEN = {
  json: { text: `{\n  "mcpServers": {\n    "a": [1, 2\n  }\n}\n`, at: "4:3" },
  toml: { text: `model = "x"\n[mcp_servers.docs\ncommand = "y"\n`, at: "2:" },
  yaml: { text: `a: 1\nb: [1, 2\nc: 3\n`, at: "3:1" },
} as const;
