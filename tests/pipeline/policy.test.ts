import { symlink } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/schema.ts";
import {
  decide,
  isListed,
  layersFor,
  type Decision,
  type Facts,
  type PolicyLayer,
  type Verdict,
} from "../../src/pipeline/policy.ts";
import { allowsPath, firstMatch, matchesPath, ruleMatches } from "../../src/pipeline/rules.ts";
import { sandbox } from "../harness.ts";

const STRICTNESS: Record<Decision, number> = { allow: 0, ask: 1, deny: 2 };
const EFFECTS = ["read", "write", "exec", "network", "schedule", "extend"] as const;

function verdict(layers: readonly PolicyLayer[], facts: Facts): Verdict {
  return decide(layers, facts, { forbidden: ["/etc"] }, ruleMatches, firstMatch);
}

const name = fc.constantFrom("memory_get", "apply_patch", "cron", "tool_create");
const glob = fc.constantFrom("memory_get", "apply_patch", "memory_*", "*", "cron", "t?ol_create");
const path = fc.constantFrom("src/a.ts", "src/b.ts", ".env", "docs/x.md", "/etc/passwd", ".git/config");
const rule = fc.record(
  {
    tool: glob,
    path: fc.constantFrom("src/**", "docs", "**/*.ts"),
    decision: fc.constantFrom("allow" as const, "ask" as const, "deny" as const),
  },
  { requiredKeys: ["tool", "decision"] },
);
const layer = fc
  .record({
    tools: fc.record({ allow: fc.array(glob, { maxLength: 2 }), deny: fc.array(glob, { maxLength: 2 }) }),
    autonomy: fc.record({
      level: fc.constantFrom("readonly", "supervised", "full"),
      allowSensitiveFiles: fc.boolean(),
    }),
    rules: fc.array(rule, { maxLength: 3 }),
  })
  .map((policy): PolicyLayer => ({ source: "test", policy: configSchema.parse(policy) }));
const facts = fc
  .record({ tool: name, effect: fc.constantFrom(...EFFECTS), paths: fc.array(path, { maxLength: 3 }) })
  .map((one): Facts => ({
    ...one,
    commands: [],
    urls: [],
    needsApproval: false,
    paths: one.paths.map((p) => ({ spellings: [p], access: "write" as const })),
  }));

describe("policy", () => {
  test("one more layer never widens", () => {
    fc.assert(
      fc.property(fc.array(layer, { maxLength: 3 }), layer, facts, (layers, added, about) => {
        const before = STRICTNESS[verdict(layers, about).decision];
        expect(STRICTNESS[verdict([...layers, added], about).decision]).toBeGreaterThanOrEqual(before);
        expect(STRICTNESS[verdict([added, ...layers], about).decision]).toBeGreaterThanOrEqual(before);
      }),
    );
  });

  test("the order of layers doesn't matter", () => {
    fc.assert(
      fc.property(fc.array(layer, { maxLength: 4 }), facts, (layers, about) => {
        expect(verdict(layers.toReversed(), about).decision).toBe(verdict(layers, about).decision);
      }),
    );
  });

  test("deny always wins", () => {
    fc.assert(
      fc.property(fc.array(layer, { maxLength: 3 }), facts, (layers, about) => {
        const denying: PolicyLayer = {
          source: "deny",
          policy: configSchema.parse({ tools: { deny: [about.tool] } }),
        };
        expect(verdict([...layers, denying], about).decision).toBe("deny");
      }),
    );
  });

  test("one more touched path never widens", () => {
    fc.assert(
      fc.property(fc.array(layer, { maxLength: 3 }), facts, path, (layers, about, extra) => {
        const more: Facts = { ...about, paths: [...about.paths, { spellings: [extra], access: "write" }] };
        // With no path at all a rule with a path says nothing, so the claim is about a second file.
        fc.pre(about.paths.length > 0);
        expect(STRICTNESS[verdict(layers, more).decision]).toBeGreaterThanOrEqual(
          STRICTNESS[verdict(layers, about).decision],
        );
      }),
    );
  });

  test("a tool that isn't listed is refused whatever it touches", () => {
    fc.assert(
      fc.property(fc.array(layer, { maxLength: 3 }), facts, (layers, about) => {
        if (!isListed(about.tool, about.effect, layers)) expect(verdict(layers, about).decision).toBe("deny");
      }),
    );
  });

  test("built-in refusals hold at every level", () => {
    const open: PolicyLayer = {
      source: "open",
      policy: configSchema.parse({ rules: [{ tool: "*", decision: "allow" }] }),
    };
    const about = (p: string, access: "read" | "write"): Facts => ({
      tool: "x",
      effect: access,
      commands: [],
      urls: [],
      needsApproval: false,
      paths: [{ spellings: [p], access }],
    });
    for (const p of ["/etc/passwd", "/w/.env", "/w/.ENV", "/w/a/.env.local", "/w/id_rsa", "/w/.ssh/config"]) {
      expect(verdict([open], about(p, "read")).decision, p).toBe("deny");
    }
    // The last ones are `.git` too on the disks of macOS and Windows.
    for (const folder of [".git", ".GIT", ".git.", ".git ", ".g\u200Cit", ".git::$INDEX_ALLOCATION"])
      expect(verdict([open], about(`/w/${folder}/hooks/x`, "write")).decision, folder).toBe("deny");
    const link = { spellings: ["/w/.env.example", "/w/.env"], access: "read" as const };
    expect(verdict([open], { ...about("", "read"), paths: [link] }).decision).toBe("deny");
    expect(verdict([open], about("/w/.git/HEAD", "read")).decision).toBe("allow");
    expect(verdict([open], about("/w/.env.example", "read")).decision).toBe("allow");
    expect(verdict([open], about("/w/.gitignore", "write")).decision).toBe("allow");
  });

  test("a rule that asks doesn't soften a level's refusal", () => {
    const readonly: PolicyLayer = {
      source: "readonly",
      policy: configSchema.parse({
        autonomy: { level: "readonly" },
        rules: [{ tool: "*", decision: "ask" }],
      }),
    };
    const about: Facts = {
      tool: "x",
      effect: "write",
      commands: [],
      paths: [],
      urls: [],
      needsApproval: false,
    };
    expect(verdict([readonly], about).decision).toBe("deny");
    expect(verdict([readonly], { ...about, effect: "read" }).decision).toBe("ask");
  });

  test("an allow rule answers a question but lifts no refusal", () => {
    const supervised = configSchema.parse({
      autonomy: { level: "supervised" },
      rules: [{ tool: "apply_patch", path: "src/**", decision: "allow" }],
    });
    const about = (...paths: string[]): Facts => ({
      tool: "apply_patch",
      effect: "write",
      commands: [],
      urls: [],
      needsApproval: false,
      paths: paths.map((p) => ({ spellings: [p], access: "write" })),
    });
    const layers = [{ source: "s", policy: supervised }];
    expect(verdict(layers, about("src/a.ts")).decision).toBe("allow");
    expect(verdict(layers, about("src/a.ts", "docs/b.md")).decision).toBe("ask");
    expect(verdict(layers, about("docs/b.md")).decision).toBe("ask");
    const readonly = configSchema.parse({
      autonomy: { level: "readonly" },
      rules: [{ tool: "*", decision: "allow" }],
    });
    expect(verdict([{ source: "r", policy: readonly }], about("src/a.ts")).decision).toBe("deny");
  });

  test("scopes match by agent, client, token and depth", () => {
    const config = configSchema.parse({
      scopes: [
        { match: { agent: "kid*" }, autonomy: { level: "readonly" } },
        { match: { depth: 1 }, tools: { deny: ["tool_create"] } },
        { match: { client: "x", token: "tok_1" } },
      ],
    });
    const sources = (caller: Parameters<typeof layersFor>[1]): string[] =>
      layersFor([{ source: "f", config }], caller).map((one) => one.source);
    expect(sources({ agentId: "main", client: "c", depth: 0 })).toEqual(["f"]);
    expect(sources({ agentId: "kid2", client: "c", depth: 2 })).toEqual([
      "f",
      "f (scopes[0])",
      "f (scopes[1])",
    ]);
    expect(sources({ agentId: "main", client: "x", token: "tok_1", depth: 0 })).toEqual([
      "f",
      "f (scopes[2])",
    ]);
  });
});

test("a scope that says nothing of sensitive files leaves them to its base", () => {
  const about: Facts = {
    tool: "x",
    effect: "read",
    commands: [],
    urls: [],
    needsApproval: false,
    paths: [{ spellings: ["/w/.env"], access: "read" }],
  };
  const decided = (scope: object, base = true): Verdict => {
    const config = configSchema.parse({
      autonomy: { allowSensitiveFiles: base },
      scopes: [{ match: { agent: "kid" }, ...scope }],
    });
    return verdict(layersFor([{ source: "f", config }], { agentId: "kid", client: "c", depth: 0 }), about);
  };
  expect(decided({}).decision).toBe("allow");
  expect(decided({ autonomy: { allowSensitiveFiles: true } }, false).decision).toBe("deny");
  expect(decided({ autonomy: { allowSensitiveFiles: false } })).toMatchObject({
    decision: "deny",
    change: "Set autonomy.allowSensitiveFiles: true in f (scopes[0]).",
  });
});

test("a path that leads through a link is forbidden by its real name too", async () => {
  const box = await sandbox({ "workspace/real/x.md": "" });
  const link = join(box.home, "link");
  await symlink(join(box.workspace, "real"), link);
  const denied = (pattern: string): boolean => matchesPath(pattern, join(box.workspace, "real/x.md"));
  expect([link, `${link}/*.md`, `${link}/*.txt`].map(denied)).toEqual([true, true, false]);
  // What allows never follows one.
  expect(allowsPath(link, join(box.workspace, "real/x.md"))).toBe(false);
});

describe("patterns tried together", () => {
  const piece = fc.constantFrom(
    "a",
    "B",
    ".env",
    "src",
    "x(1)",
    "[ab]",
    "*",
    "**",
    "?",
    "{a,b}",
    "!a",
    "@(a|b)",
  );
  const pattern = fc
    .tuple(fc.constantFrom("", "/", "**/", "~/"), fc.array(piece, { minLength: 1, maxLength: 3 }))
    .map(([start, pieces]) => start + pieces.join("/"));
  const file = fc
    .tuple(fc.constantFrom("", "/"), fc.array(piece, { minLength: 1, maxLength: 4 }))
    .map(([start, pieces]) => start + pieces.join("/"));

  test("find what each alone would find, first pattern first", () => {
    fc.assert(
      fc.property(
        fc.array(pattern, { maxLength: 6 }),
        fc.array(file, { minLength: 1, maxLength: 3 }),
        (patterns, files) => {
          const alone = patterns.find((one) => files.some((path) => matchesPath(one, path)));
          expect(firstMatch(patterns, files)).toBe(alone);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("so do patterns that can't be one expression", () => {
    const patterns = ["(a|b)/\\\\1", "c"];
    for (const path of ["c", "c/d", "a/1", "b/a", "x"]) {
      expect(firstMatch(patterns, [path])).toBe(patterns.find((one) => matchesPath(one, path)));
    }
  });
});
