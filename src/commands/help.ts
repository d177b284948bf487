/** One page for each command; `camel-mcp COMMAND --help` shows it. */
export const HELP_PAGES: Record<string, string> = {
  serve: `camel-mcp serve: serve many hosts over HTTP.

  --host ADDRESS   default 127.0.0.1; any other than loopback demands tokens (see token)
  --port NUMBER    default 7800; 0 takes a free one
  --json           say the addresses as JSON

Hosts connect to /mcp (Streamable HTTP), older ones to /sse. /healthz tells that it runs.
Ctrl-C, SIGTERM and SIGHUP stop it within five seconds; exit 0.
Register it in a host: camel-mcp install HOST --url http://127.0.0.1:7800/mcp
`,
  call: `camel-mcp call TOOL JSON|@FILE|-: call a tool from the shell, under the same policy as a host's call.

  camel-mcp call memory_get '{"filePath":"MEMORY.md"}'
  camel-mcp call memory_get @arguments.json
  echo '{"query":"release"}' | camel-mcp call memory_search -

On Windows, where the shell takes quotes away, use @FILE or -.

  --json           the whole result instead of its text
  --agent ID       as whom; default main

Exit 0 for a result, 1 for an error.
`,
  cron: `camel-mcp cron: scheduled jobs, under the same policy as a host's call.

  cron list                       jobs, next times, what waits in the inbox
  cron add SCHEDULE PROMPT        --id --name --tz --runner --overlap --missed --missed-within --on-interrupted
                                  --timeout --max-runs --until --jitter
  cron update ID                  the same flags, and --schedule, --prompt
  cron remove|pause|resume|run ID
  cron runs [ID [NUMBER]]         history; with a number, one run whole
  cron ack [ID]                   take prompts out of the inbox
  cron tick                       fire what is due, and end
  cron install [KIND]             let the operating system call tick every minute; KIND is systemd, launchd,
                                  schtasks or crontab. --print (or --dry-run) only shows what it would do
  cron uninstall [KIND]           take that back

  --json           for programs

What each flag means: camel-mcp tools info cron.
Schedules: 30s 5m 1h 1d, "0 9 * * 1-5", @daily, +20m, 2027-03-14T09:00.
`,
  memory: `camel-mcp memory: the memory tools for people, under the same policy as a host's call.

  memory search WORDS               --max NUMBER --file GLOB --since DATE --until DATE
  memory get FILE[:FROM[-TO]]       memory get MEMORY.md:10-20
  memory add TEXT                   --file FILE --heading TEXT --allow-secrets; without TEXT, or with -, from stdin
  memory list [GLOB]                the files
  memory stats                      what is indexed, and where
  memory reindex                    builds the index anew

  --json           for programs
`,
  tools: `camel-mcp tools: the tools as an agent sees them.

  tools list [--with-schema]            one line for each; with its JSON schema
  tools list --json [--with-schema]     for programs
  tools list --openai                   as an OpenAI "tools" array
  tools info NAME [--json]              description, effect, parameters
  tools schema NAME [--pretty]          the JSON schema of its input
  tools schema NAME --openai            the same as an OpenAI function

  --agent ID       whose policy decides what is listed
`,
  patch: `camel-mcp patch [FILE|-]: apply a patch in the current folder (or --workspace).

  --dry-run        say what would change, write nothing
  --json           the result for programs

Reads standard input when no file is named. Exit 0 applied, 1 not; a patch applies whole or not at all.
`,
  checkpoint: `camel-mcp checkpoint: undo what a tool changed in the current folder (or --workspace).

  checkpoint list [PATH]            newest first; only those that hold this file or folder
  checkpoint show ID [PATH…]        what changed since, as a diff
  checkpoint restore ID [PATH…]     all files of that call go back, or none; or only the named ones

  --dry-run        restore: say what would happen, write nothing
  --force          restore: also files that were edited since
  --agent ID       whose; the main agent sees those of all
  --json           for programs

ID is a checkpoint's or that of the call that made it. A restore makes a checkpoint too, so it can be undone.
Exit 0 done, 1 not.
`,
  policy: `camel-mcp policy explain TOOL JSON: say what policy would decide, and which line of which file decides.

  camel-mcp policy explain apply_patch @arguments.json --agent review

camel-mcp policy command LINE: say whether a command line would need approval. Nothing is run.

  camel-mcp policy command "rm -rf build"

camel-mcp policy url URL: say whether a tool could reach a URL, by urlAccess and the addresses its host has. Nothing is sent.

  camel-mcp policy url "http://169.254.169.254/"

Exit 0 allow, 3 ask, 4 deny. --json for programs.
`,
  secret: `camel-mcp secret: values that tools use as secret://NAME. Nothing shows a value again.

  secret set NAME      asks for the value, or reads it from stdin
  secret list          the names
  secret remove NAME
`,
  key: `camel-mcp key: the key that tools and secrets are sealed with.

  key status           its id, and where it comes from
  key rotate           makes a new one and seals everything with it; may be interrupted and repeated

A key of your own: give the new one as CAMEL_MCP_KEY and the old one as CAMEL_MCP_KEY_PREVIOUS, then rotate.
`,
  token: `camel-mcp token: bearer tokens for \`serve\`.

  token create --agent ID [--scope NAME]   shows the token, once
  token list
  token revoke ID

As soon as one token exists, everybody needs one.
`,
  connect: `camel-mcp connect URL: serve a host on stdin and stdout with a server that runs elsewhere.

  camel-mcp connect https://camel.example.com/mcp --token-env CAMEL_TOKEN

  --token-env NAME   the environment variable with the bearer token; default CAMEL_TOKEN

For hosts that can only start commands, or can't take a token from the environment. \`install --url\` uses it by itself.
`,
  insights: `camel-mcp insights [FOCUS]: how the tools are doing, from the audit log.

  FOCUS is summary, tools, failures, latency, approvals or gaps; default summary
  --agent ID   only this agent; default all
  --json       for programs
`,
  approvals: `camel-mcp approvals: decide what waits for a person.

  approvals list                    what waits
  approvals show ID                 one request in full
  approvals approve ID              asks: once (within 15 minutes), for the session, or always
  approvals deny ID [--note TEXT]   the note is shown to the model
  approvals pin                     set a PIN, which is then asked for whenever something is decided

The beginning of an ID will do. Deciding needs a terminal, so that an agent with a shell can't approve itself.
`,
  install: `camel-mcp install HOST: register this server in a host's own config file.

  camel-mcp install --list                 the hosts, their files, and which are on this computer
  camel-mcp install claude-code            for every project of yours
  camel-mcp install vscode --scope project for everybody who opens this project
  camel-mcp install codex --url http://127.0.0.1:7800/mcp --token-env CAMEL_TOKEN

  --scope user|project   whose file; default user
  --name NAME            what the host calls it; default camel
  --url URL              a server that runs already (camel-mcp serve) instead of one that the host starts
  --token-env NAME       the environment variable with the bearer token; the token itself is never written
  --command "PROGRAM …"  instead of "npx -y camel-mcp", e.g. for a build of your own
  --workspace, --memory-root, --agent, --config, --home
                         are handed to the server: some hosts pass it neither folder nor environment
  --dry-run              show the change as a diff, write nothing
  --print                show the entry only, to paste it yourself
  --json                 say what was done for programs

Comments and other entries stay. The first change leaves the old file beside it as FILE.camel-backup.
A file that can't be read is left alone. \`camel-mcp uninstall HOST\` takes the entry out again.
`,
  uninstall: `camel-mcp uninstall HOST: take this server's entry out of a host's config file; the rest stays.

  --scope user|project   whose file; default user
  --name NAME            which entry; default camel
  --dry-run              show the change as a diff, write nothing
  --json                 say what was done for programs
`,
  init: `camel-mcp init: write a config file in which every setting is explained and commented out.

  --scope user|project   your own (in the state directory) or this workspace's; default user
  --print                show it instead of writing it

  --json                 say which file was written

Never overwrites a file.
`,
  doctor: `camel-mcp doctor: check Node, config, policy, stores, unfinished patches, workspace, tokens, port and the
registrations in hosts. Each line is ok, warn or fail, with a remedy. Changes nothing. Exit 1 if something fails.

  --json           for programs
`,
  demo: `camel-mcp demo: a short tour against a real server in a throw-away folder. No network, no traces.
`,
};
