/**
 * Shapes of credentials that should not be kept in plain text notes. Names say what was seen, never the value: that is
 * what each matches. None may start anew inside of what it has tried: a long text without a secret would take hours.
 */
export const CREDENTIALS: readonly [string, RegExp][] = [
  ["a private key", /-----BEGIN [A-Z ]*PRIVATE KEY-----/],
  ["an AWS access key", /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ["a GitHub token", /\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})\b/],
  ["a GitLab token", /\bgl(?:pat|dt|rt|cbt|ptt|agent|soat)-[A-Za-z0-9_-]{20,}/],
  ["an npm token", /\bnpm_[A-Za-z0-9]{36}\b/],
  ["a Google API key", /\bAIza[A-Za-z0-9_-]{35}/],
  ["a payment key", /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}\b/],
  ["an API key", /\bsk-[A-Za-z0-9_-]{20,}\b/],
  ["an API key", /(?<![\w-])(?:hf|xai|gsk|pplx)[-_](?=[A-Za-z0-9_-]*\d)[A-Za-z0-9_-]{20,}\b/],
  ["a bearer token", /\bbearer\s+(?=\S*\d)[A-Za-z0-9._~+/-]{20,}/i],
  ["a Slack token", /\bxox[abprs]-[A-Za-z0-9-]{10,}\b/],
  ["a JSON web token", /(?<![\w-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/],
  ["a password in a URL", /(?<=:\/\/[^\s/:@]{1,64}:)[^\s/@]{3,256}(?=@)/],
  [
    "a password",
    /(?<=\b(?:password|passwd|secret|api[_-]?key|access[_-]?token)\b\s{0,4}[:=]\s{0,4}["']?)[^\s"']{8,}/i,
  ],
];

export function secretIn(text: string): string | undefined {
  return CREDENTIALS.find(([, shape]) => shape.test(text))?.[0];
}
