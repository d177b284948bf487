/**
 * What is known about programs. A profile says that an argv can only read and print; programs that can start
 * others, or are made to, have none except for single harmless uses, and so always ask.
 */
type Profile = (args: readonly string[]) => boolean;

const anything: Profile = () => true;

/** None of these options, however spelled: abbreviated, joined with its value, or in a cluster of short ones. */
function without(options: { long?: readonly string[]; short?: string; operands?: number }): Profile {
  return (args) => {
    let operands = 0;
    let ended = false;
    for (const arg of args) {
      if (ended || !arg.startsWith("-") || arg === "-") operands += 1;
      else if (arg === "--") ended = true;
      else if (arg.startsWith("--")) {
        const name = arg.split("=", 1)[0] ?? arg;
        if ((options.long ?? []).some((one) => one.startsWith(name))) return false;
      } else if ((options.short ?? "").split("").some((letter) => arg.includes(letter))) return false;
    }
    return operands <= (options.operands ?? Number.POSITIVE_INFINITY);
  };
}

const only =
  (...allowed: readonly string[]): Profile =>
  (args) =>
    args.length === 1 && allowed.includes(args[0] ?? "");

const version = only("--version", "-V", "-v", "version");

const FIND_ACTIONS = /^-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls)$/;

const PROFILES: Record<string, Profile> = {
  pwd: anything,
  echo: anything,
  ls: anything,
  cat: anything,
  head: anything,
  wc: anything,
  cut: anything,
  tr: anything,
  basename: anything,
  dirname: anything,
  seq: anything,
  true: anything,
  false: anything,
  printf: anything,
  uname: anything,
  whoami: anything,
  id: anything,
  nl: anything,
  tac: anything,
  rev: anything,
  fold: anything,
  paste: anything,
  comm: anything,
  cmp: anything,
  stat: anything,
  du: anything,
  df: anything,
  realpath: anything,
  readlink: anything,
  md5sum: anything,
  sha1sum: anything,
  sha256sum: anything,
  sha512sum: anything,
  tail: without({ long: ["--follow", "--retry"], short: "fF" }),
  date: without({ long: ["--set"], short: "s" }),
  diff: without({ long: ["--output"] }),
  // The second operand is a file to write.
  uniq: without({ operands: 1 }),
  sort: without({ long: ["--output", "--compress-program", "--temporary-directory"], short: "oT" }),
  grep: anything,
  egrep: anything,
  fgrep: anything,
  rg: without({ long: ["--pre", "--pre-glob", "--hostname-bin", "--search-zip"], short: "z" }),
  find: (args) => !args.some((arg) => FIND_ACTIONS.test(arg)),
  file: without({
    long: ["--compile", "--uncompress", "--uncompress-noreport", "--no-sandbox"],
    short: "CzZS",
  }),
  tree: without({ short: "oR" }),
  jq: without({ long: ["--from-file", "--library-path"], short: "fL" }),
};

const words = (list: string): string[] => list.trim().split(/\s+/);

/** Made to run code that is given to them. */
const INTERPRETERS = words(`
  sh bash dash ash zsh ksh mksh fish csh tcsh rbash busybox toybox pwsh powershell cmd python pypy
  ipython perl ruby irb node nodejs deno bun tsx ts-node php lua luajit tclsh wish expect awk gawk
  mawk nawk sed gsed ed ex osascript r rscript julia guile scheme racket sbcl clisp erl elixir iex
  ghc ghci runghc ocaml swift scala groovy kotlin jshell java mono dotnet bc dc m4 gdb lldb sqlite
  sqlite3 psql mysql mongo mongosh redis-cli jrunscript wscript cscript mshta rundll32 regsvr32
  msbuild octave gnuplot maxima ghostscript gs xsltproc wasmtime wasmer`);

/** Made to run another program. */
const WRAPPERS = words(`
  env sudo doas su runuser pkexec nice ionice chrt taskset nohup timeout time xargs parallel watch
  entr stdbuf unbuffer setsid setarch linux32 linux64 script strace ltrace valgrind perf chroot
  unshare nsenter bwrap firejail flock ssh sshpass rsh docker podman nerdctl kubectl lxc
  systemd-run machinectl at batch crontab screen tmux dtach nmap socat nc ncat netcat telnet
  command builtin exec eval source . coproc trap alias start start-stop-daemon daemon run-parts
  ld.so ld-linux ld-linux-x86-64.so. proxychains torsocks tsocks fakeroot faketime
  dbus-run-session dbus-launch xvfb-run caffeinate arch open xdg-open gio cpulimit choom prlimit
  setpriv capsh logsave`);

/** Have options, commands or settings that run another program, or fetch or write what then runs. */
const EXEC_LIKE = words(`
  find fd fdfind git hg svn cvs bzr tar bsdtar gtar cpio zip unzip 7z rsync scp sftp ftp lftp curl
  wget aria2c vi vim nvim view emacs nano pico joe less more most man info sort split csplit rg ag
  ack make gmake cmake ninja meson bazel scons ant mvn gradle gcc g++ cc clang tcc rustc go cargo
  npm npx pnpm yarn pip pipx uv uvx poetry conda gem bundle bundler rake composer cpan apt apt-get
  aptitude dpkg yum dnf rpm zypper pacman apk brew port snap flatpak nix nix-shell systemctl
  service launchctl journalctl loginctl mount umount ip tcpdump tshark wireshark openssl gpg
  ssh-keygen ssh-agent ssh-add dd tee install cp mv rm rmdir ln mkdir touch chmod chown chgrp
  truncate shred patch logger mail mailx sendmail ffmpeg ffprobe convert magick pandoc latex
  pdflatex xelatex tex rlwrap dialog whiptail zenity column pr file tree jq yq tail date uniq diff
  dmesg hostname kill pkill killall reboot shutdown halt poweroff useradd usermod passwd visudo
  iptables nft terraform ansible ansible-playbook aws gcloud az helm gh glab code subl tig gitk
  pg_dump mysqldump restic borg rclone ranger mc nnn watchexec nodemon pm2 forever`);

const DANGEROUS = new Map<string, string>([
  ...EXEC_LIKE.map((name): [string, string] => [name, "can start other programs or change the system"]),
  ...WRAPPERS.map((name): [string, string] => [name, "starts other programs"]),
  ...INTERPRETERS.map((name): [string, string] => [name, "runs code given to it"]),
]);

/** `python3.12`, `gcc-12` and `NODE.EXE` are what their names begin with. */
function plainName(program: string): string[] {
  const lower = program.toLowerCase().replace(/\.(?:exe|cmd|bat|com|ps1)$/, "");
  return [lower, lower.replace(/[-.]?\d[\d.]*$/, "")];
}

export type Knowledge = { safe: true } | { safe: false; why: string } | { safe: undefined };

/** What is known about an argv: proven to only read and print, known to be able to do more, or unknown. */
export function knowledgeOf(argv: readonly string[]): Knowledge {
  const [program = "", ...args] = argv;
  const profile = Object.hasOwn(PROFILES, program) ? PROFILES[program] : undefined;
  if (profile?.(args) === true) return { safe: true };
  const danger = plainName(program)
    .map((name) => DANGEROUS.get(name))
    .find((why) => why !== undefined);
  if (danger !== undefined) {
    if (version(args)) return { safe: true };
    return { safe: false, why: `${program} ${danger}` };
  }
  if (profile !== undefined) return { safe: false, why: `${program} with these options does more than read` };
  return { safe: undefined };
}

/** Whether a program exists to run others, so that what it is given has to be looked at as well. */
export function runsOthers(program: string): boolean {
  return plainName(program).some((name) => DANGEROUS.has(name));
}
