import { describe, expect, test } from "vitest";
import { lexCommand } from "../../src/tools/dynamic/command-lexer.ts";
import { textArguments } from "../../src/tools/dynamic/text-arguments.ts";

/** The words of a line that are taken for text. */
function textOf(line: string): string[] {
  const lexed = lexCommand(line);
  const argv = "parts" in lexed ? lexed.parts.map((part) => part.text) : [];
  const places = textArguments(argv);
  return argv.filter((_, index) => places.has(index));
}

describe("arguments that are text and no file", () => {
  test.each([
    ["grep -rn /api src", ["/api"]],
    ["grep -A 3 -i .env src", [".env"]],
    ["grep -e /a -e /b src", ["/a", "/b"]],
    ["grep --color=never --line-number /a src", ["/a"]],
    ["grep -- -/x src", ["-/x"]],
    ["rg -tts -g /src/** /api", ["-tts", "/src/**", "/api"]],
    ["rg --glob /x --max-depth 2 /api src", ["/x", "/api"]],
    ["git --no-pager grep -n /api -- src", ["/api"]],
    ["git log -S /api --author=/x", ["/api", "--author=/x"]],
    ["sed -n /a/p file", ["/a/p"]],
    ["sed -e s,/a,/b, -e /x/d file", ["s,/a,/b,", "/x/d"]],
    ["awk -F/ /x/ file", ["-F/", "/x/"]],
    ["jq -r .. file", [".."]],
    ["cut -d/ -f2 file", ["-d/"]],
    ["cut -d / -f 2 file", ["/"]],
    ["sort -t / -k2 file", ["/"]],
    ["find . -path /x -name .env", ["/x", ".env"]],
  ])("%s", (line, text) => {
    expect(textOf(line)).toEqual(text);
  });

  test.each([
    ["a pattern given otherwise", "grep -e x /etc/passwd", ["x"]],
    ["behind the operands too", "grep /etc/passwd . -e x", ["x"]],
    ["in a cluster", "grep -nf list /etc/passwd", []],
    ["spelled short", "grep --reg=x /etc/passwd", []],
    ["an option that isn't known", "grep --nobody-knows /etc/passwd", []],
    ["another such letter", "grep -k /etc/passwd x", []],
    ["a search that takes no pattern", "rg --files /etc", []],
    ["a script given otherwise", "sed -f x /etc/passwd", []],
    ["a filter given otherwise", "jq -f x /etc/passwd", []],
    ["a value that may be a file", "awk -v x=/etc/passwd 1", ["1"]],
    ["git diff compares any two files", "git diff -O -S /etc/passwd", []],
    ["where find begins", "find /etc -name x", ["x"]],
    ["a program nobody here knows", "mytool /etc/passwd", []],
  ])("not for certain: %s", (_why, line, text) => {
    expect(textOf(line)).toEqual(text);
  });
});
