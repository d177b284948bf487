/**
 * How a call's arguments reach a script: always as `CAMEL_ARG_<NAME>`, and as the plain upper-case name where that is
 * harmless. A plain name that another program listens to would hand it to the model: an argument called `path` must
 * not become PATH.
 */
const DANGEROUS =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|TMPDIR|TEMP|TMP|TERM|EDITOR|VISUAL|PAGER|BROWSER|ENV|BASH_ENV|BASH_.*|BASHOPTS|SHELLOPTS|IFS|PS[0-9]|PROMPT_COMMAND|CDPATH|GLOBIGNORE|FIGNORE|INPUTRC|OPTIND|OPTARG|UID|EUID|PPID|SHLVL|RANDOM|SECONDS|LINENO|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_.*|NODE_.*|NPM_.*|PYTHON.*|PERL.*|RUBY.*|GEM_.*|LUA_.*|PHP.*|JAVA_.*|CLASSPATH|GIT_.*|SSH_.*|SUDO_.*|CAMEL.*|DEBUG|LESS.*|MANPAGER|GREP_.*|TAR_OPTIONS|RSYNC_.*|CURL_.*|HTTPS?_PROXY|ALL_PROXY|NO_PROXY|OPENSSL_.*|SSL_.*|AWS_.*|KUBECONFIG|DOCKER_.*|LC_.*|LANG|LANGUAGE|TZ|COMSPEC|SYSTEMROOT|WINDIR|PATHEXT|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|GROUPS|DIRSTACK|FUNCNAME|FUNCNEST|PIPESTATUS|OPTERR|EXECIGNORE|POSIXLY_CORRECT|TMOUT|TIMEFORMAT|SRANDOM|EPOCH.*|HIST.*|COMP_.*|READLINE_.*|MAIL.*|MAKE.*|CC|CXX|[CL]D?FLAGS|GO(?:FLAGS|PATH|ROOT)|CARGO_.*|RUST.*|XDG_.*|GNUPGHOME|_JAVA_.*|JDK_.*|DOTNET_.*|BUNDLE_.*|WGETRC|NETRC|HOSTALIASES|RES_OPTIONS|TERMINFO.*|TERMCAP|VIMINIT|EXINIT|PG[A-Z]+|MYSQL_.*|KRB5.*|DISPLAY|WAYLAND_.*|DBUS_.*|SYSTEMD_.*)$/;

function upperName(argument: string): string {
  return argument.toUpperCase().replace(/[^A-Z0-9_]/g, "_");
}

/** What somebody who writes a script has to know about the names of its arguments. */
export function argumentProblems(names: readonly string[], env: NodeJS.ProcessEnv): string[] {
  return names.flatMap((argument, index) => {
    const prefixed = `CAMEL_ARG_${upperName(argument)}`;
    const other = names.slice(0, index).find((one) => upperName(one) === upperName(argument));
    if (other !== undefined)
      return [`the arguments "${other}" and "${argument}" are both ${prefixed}, and the later one counts`];
    const why = reservedName(argument, env);
    return why === undefined
      ? []
      : [`the argument "${argument}" reaches the script only as ${prefixed}: ${why}`];
  });
}

/** Why an argument isn't passed under its plain upper-case name; undefined where it is. */
function reservedName(argument: string, env: NodeJS.ProcessEnv): string | undefined {
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
