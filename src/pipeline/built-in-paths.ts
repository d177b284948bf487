/** The paths that are guarded without any config, as globs of `rules.ts`. */

/** Never touched by any tool. The home folder of the product itself is added by the composition root. */
export const FORBIDDEN_PATHS: readonly string[] = [
  "/etc",
  "/private/etc",
  "/proc",
  "/sys",
  "/dev",
  "/boot",
  "~/.ssh",
  "~/.gnupg",
  "~/.aws",
  "~/.kube",
  "~/.config/gcloud",
];

/** Never written: changing them makes other programs run code, or loosens this policy. */
export const PROTECTED_FROM_WRITING: readonly string[] = ["**/.git", "**/.hg", "**/.svn", "**/.camelagi"];

export const SENSITIVE_FILES: readonly string[] = [
  "**/.env",
  "**/.env.*",
  "**/*.pem",
  "**/*.p12",
  "**/*.pfx",
  "**/*.key",
  "**/*.keystore",
  "**/id_rsa*",
  "**/id_dsa*",
  "**/id_ecdsa*",
  "**/id_ed25519*",
  "**/.ssh",
  "**/.gnupg",
  "**/.aws",
  "**/.netrc",
  "**/.pgpass",
  "**/.git-credentials",
  "**/.npmrc",
  "**/.pypirc",
  "**/.docker/config.json",
  "**/.kube/config",
  "**/credentials.json",
  "**/service-account*.json",
];

/** Examples and templates hold no secrets; refusing them would only annoy. */
export const NOT_SENSITIVE: readonly string[] = ["**/.env.example", "**/.env.sample", "**/.env.template"];
