/**
 * How a call's arguments reach a script: always as `CAMEL_ARG_<NAME>`, and as the plain upper-case name where that is
 * harmless. A plain name that another program listens to would hand it to the model: an argument called `path` must
 * not become PATH.
 */
const DANGEROUS =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|TMPDIR|TEMP|TMP|TERM|EDITOR|VISUAL|PAGER|BROWSER|ENV|BASH_ENV|BASH_.*|BASHOPTS|SHELLOPTS|IFS|PS[0-9]|PROMPT_COMMAND|CDPATH|GLOBIGNORE|FIGNORE|INPUTRC|OPTIND|OPTARG|UID|EUID|PPID|SHLVL|RANDOM|SECONDS|LINENO|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_.*|NODE_.*|NPM_.*|PYTHON.*|PERL.*|RUBY.*|GEM_.*|LUA_.*|PHP.*|JAVA_.*|CLASSPATH|GIT_.*|SSH_.*|SUDO_.*|CAMEL.*|DEBUG|LESS.*|MANPAGER|GREP_.*|TAR_OPTIONS|RSYNC_.*|CURL_.*|HTTPS?_PROXY|ALL_PROXY|NO_PROXY|OPENSSL_.*|SSL_.*|AWS_.*|KUBECONFIG|DOCKER_.*|LC_.*|LANG|LANGUAGE|TZ|COMSPEC|SYSTEMROOT|WINDIR|PATHEXT)$/;

function upperName(argument: string): string {
  return argument.toUpperCase().replace(/[^A-Z0-9_]/g, "_");
}

/** Why an argument isn't passed under its plain upper-case name; undefined where it is. */
export function reservedName(argument: string, env: NodeJS.ProcessEnv): string | undefined {
  const name = upperName(argument);
  if (DANGEROUS.test(name)) return `${name} means something to other programs`;
  if (env[name] !== undefined) return `${name} is in the environment already`;
  return /^[A-Z_]/.test(name) ? undefined : `${name} is not a name a shell knows`;
}

export function argumentVariables(
  input: Record<string, unknown>,
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [argument, value] of Object.entries(input)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    variables[`CAMEL_ARG_${upperName(argument)}`] = text;
    if (reservedName(argument, env) === undefined) variables[upperName(argument)] = text;
  }
  return variables;
}
