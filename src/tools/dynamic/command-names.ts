/**
 * Programs by what their names promise. A name in these lists never passes because it is listed in a policy: only a
 * profile (command-profiles.ts) can say that one argv of it is harmless.
 */
const words = (list: string): string[] => list.trim().split(/\s+/);

/** Made to run code that is given to them. */
const INTERPRETERS = words(`
  sh bash dash ash zsh ksh mksh pdksh yash posh sash fish csh tcsh elvish nu xonsh rbash rksh rzsh slsh tasksh busybox
  toybox pwsh powershell cmd python pypy ipython pdb perl ruby irb pry erb node nodejs deno bun tsx ts-node php phpdbg
  hhvm lua luajit tclsh wish expect awk gawk mawk nawk original-awk sed gsed ed red ex osascript r rscript julia guile
  scheme racket sbcl clisp ecl emacs emacsclient erl escript elixir iex ghc ghci runghc runhaskell stack ocaml
  ocamlrun swift scala amm groovy kotlin kotlinc jshell java jjs jrunscript clojure clj bb mono csi fsi dotnet bc dc
  m4 gdb lldb rust-gdb rust-lldb sqlite sqlite3 psql mysql mariadb mongo mongosh redis-cli wscript cscript mshta
  rundll32 regsvr32 msbuild octave gnuplot maxima ginsh ghostscript gs ps2ascii xsltproc wasmtime wasmer
  nix-instantiate bpftrace systemtap stap dtrace crash scanmem volatility msfconsole nmap tic jdb cobc vim vi nvim
  view vimdiff rvim rview gvim ltrace strace knife puppet facter chef-client byebug scsh gsi gsc chez petite bigloo
  gforth maude coqtop lean idris picolisp crystal nim dart duckdb usql sqlcmd isql sqlplus clickhouse
  clickhouse-client cqlsh mycli pgcli litecli influx ipdb pudb bpython ptpython jupyter jupyter-lab radare2 r2 rabin2
  wine wine64 dosbox scilab sage gap gp blender perldoc pydoc ri rc runscript swiftc guestfish mksh-static redis
  opencode codex claude gemini aider nushell oksh loksh osh ysh ion jbang groovysh scala-cli marimo papermill zx xjc
  rhino qjs quickjs txiki janet fennel hy gjs cjs d8 jsc`);

/** Made to run another program. */
const WRAPPERS = words(`
  env sudo doas su sg newgrp runuser pkexec ksu nice ionice chrt taskset nohup timeout gtimeout time multitime xargs
  gxargs parallel sem pexec watch entr stdbuf unbuffer setsid setarch linux32 linux64 i386 x86_64 uname26 script
  scriptreplay valgrind perf hyperfine chroot unshare nsenter bwrap firejail aa-exec flock lockfile ssh autossh mosh
  sshpass rsh rlogin rexec sshuttle docker podman nerdctl buildah ctr crictl runc kubectl oc lxc lxc-attach incus
  genie systemd-run systemd-nspawn arch-nspawn machinectl toolbox distrobox vagrant virsh at batch crontab screen tmux
  tmate dtach abduco openvt agetty socat nc ncat netcat telnet command builtin exec eval source . coproc trap alias
  unalias start start-stop-daemon daemon daemonize run-parts ld.so ld-linux ld-linux-x86-64.so ld-musl-x86_64.so
  proxychains proxychains4 torsocks torify tsocks fakeroot fakechroot faketime dbus-run-session dbus-launch xvfb-run
  caffeinate open xdg-open gio cpulimit choom prlimit setpriv capsh logsave rlwrap grc aoss gtester distcc ccache find
  fd fdfind if then else elif fi for while until do done case esac select function return exit export declare typeset
  local readonly set unset shopt enable hash bind complete compgen fc jobs bg fg disown wait ulimit umask cd pushd
  popd read mapfile readarray let ! sudoedit setlock softlimit envdir envuidgid setuidgid s6-setuidgid chpst gosu
  su-exec tini dumb-init runcon newrole sandbox-exec flatpak-spawn host-spawn systemd-inhibit systemd-cat
  supervisorctl reflex when-changed slogin dbclient rcp xterm urxvt rxvt konsole kitty alacritty wezterm foot
  gnome-terminal xfce4-terminal x-terminal-emulator run-mailcap docker-compose docker-machine limactl multipass wsl
  proxychains-ng direnv asdf mise rbenv pyenv nvm fnm volta mosh-server qemu-x86_64 qemu-system-x86_64 sensible-editor
  sensible-pager sensible-browser editor pager x-www-browser firefox chromium google-chrome gnome-open kde-open
  exo-open devbox lxd socket concurrently cross-env env-cmd dotenv dotenvx run-s run-p npm-run-all onchange chokidar pssh
  parallel-ssh pdsh clush dsh ts tsp nq chronic ifne pueue supervisord circusd honcho aws-vault envchain chamber op
  pipenv virtualenv lazydocker guestmount virt-install virt-customize kvm ansible-console ansible-pull salt-call
  salt-ssh colima lima finch devenv`);

/** Run what a project's files tell them to. */
const BUILDERS = words(`
  make gmake bmake cmake ctest ninja samu meson bazel bazelisk buck scons waf ant mvn mvnw gradle gradlew sbt lein
  mill rake just task invoke tox nox pre-commit npm npx pnpm pnpx yarn bunx corepack lerna nx turbo gulp grunt jest
  vitest mocha eslint prettier webpack vite rollup tsc-watch pip pipx uv uvx poetry pdm hatch conda mamba easy_install
  pytest mypy pylint gem bundle bundler composer cpan cpanm cargo rustup rustc go gofmt zig nimble cabal mix rebar3
  opam dune autoconf autoheader autoreconf automake libtoolize configure gcc g++ c++ cc cpp clang clang++ tcc ld gold
  lld as javac latex pdflatex xelatex lualatex luatex xetex tex latexmk dvips context nix nix-shell nix-build guix
  terraform tofu pulumi ansible ansible-playbook ansible-test cdist salt helm skaffold tilt watchexec nodemon pm2
  forever foreman c89 c99 tsc rustdoc rustfmt nasm pdftex bower yo ng vue ember expo cordova ionic electron flutter
  earthly dagger pants please xmake premake qmake b2 bjam tup redo moon jekyll hugo mkdocs sphinx-build doxygen
  asciidoctor javadoc flask django-admin celery gunicorn uvicorn streamlit airflow dbt alembic nosetests behave robot
  locust coverage black ruff flake8 isort pyright terragrunt packer nomad consul vault serverless sls sam cdk helmfile
  kustomize k9s eksctl minikube kind act nix-env nix-store nixos-rebuild home-manager spack twine flit rye pixi
  micromamba lake xcodebuild xcrun forge rails esbuild parcel astro next nuxt remix playwright cypress nyc c8 ava tap tape
  karma wdio storybook lint-staged husky semantic-release stylelint biome snakemake nextflow luigi fab protoc buf swig
  cython cythonize mvnd antlr4 tsup unbuild conan vcpkg crossplane cdktf buildkitd kaniko`);

/** Have options, commands or settings that start another program, or that write or send what they are given. */
const EXEC_LIKE = words(`
  git hg svn cvs bzr fossil darcs tar bsdtar gtar cpio pax ar arj rar unrar zip unzip zipinfo 7z 7za 7zr p7zip gzip
  gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4 compress uncompress pigz lzop brotli rsync scp sftp psftp
  pscp ftp tftp lftp ncftp curl wget wget2 aria2c axel http https httpie xh lwp-download lwp-request w3m lynx links
  elinks nano pico joe jed mg micro helix hx ne less more most pg man info pinfo nroff troff groff mandoc sort split
  csplit rg ag ack ugrep fzf sk bat batcat apt apt-get aptitude dpkg yum dnf microdnf rpm rpmdb rpmquery rpmverify
  zypper pacman yay apk opkg brew port snap flatpak systemctl service rc-service launchctl journalctl loginctl
  timedatectl hostnamectl resolvectl systemd-resolve busctl dbus-send gdbus logrotate update-alternatives mount umount
  losetup cryptsetup lvm ip ifconfig route iw tc bridge arp tcpdump tshark dumpcap wireshark ngrep iftop hping hping3
  fping openssl gpg gpg2 gpgsm age ssh-keygen ssh-keyscan ssh-copy-id ssh-agent ssh-add certbot dd tee sponge install
  cp mv rm rmdir unlink ln link mkdir mkfifo mknod mktemp touch chmod chown chgrp chattr setfacl setfattr setcap
  truncate fallocate shred wipe patch logger mail mailx mutt neomutt alpine sendmail msmtp swaks write wall ffmpeg
  ffprobe convert magick mogrify identify gimp inkscape scrot pandoc enscript a2ps dialog whiptail zenity yad kdialog
  file tree jq yq gojq xq dasel tail date uniq diff colordiff diff3 sdiff shuf xxd hexedit base64 basenc iconv recode
  dos2unix unix2dos objcopy strip ldd ldconfig gcore dmesg hostname domainname arch kill pkill killall skill reboot
  shutdown halt poweroff init telinit useradd usermod userdel groupadd passwd chpasswd chsh chfn visudo vipw vigr
  iptables ip6tables nft ufw firewall-cmd sysctl modprobe insmod rmmod kexec hwclock ntpdate chronyc fdisk parted mkfs
  swapon swapoff e2fsck debugfs tune2fs quota aws gcloud gsutil az doctl flyctl heroku gh glab hub code subl atom tig
  gitk lazygit pg_dump pg_restore pg_ctl mysqldump mysqladmin restic borg rclone duplicity ranger mc nnn lf vifm
  aspell ispell hunspell cowsay cowthink neofetch fastfetch screenfetch ab siege wrk smbclient rpcclient ldapsearch
  mosquitto openvpn wg wpa_supplicant apache2 apache2ctl httpd nginx php-fpm rsyslogd varnishncsa asterisk bconsole
  check_by_ssh dstat glances htop top iotop powertop eb efax finger whois ksshell msgattrib msgcat msgconv msgexec
  msgfilter msgmerge msguniq perlbug bashbug apport-cli rtorrent transmission-cli sqlmap tdbtool xdotool xpad yelp
  zathura evince xpdf sl ascii-xfr minicom picocom cu kermit restore dump dumpe2fs genisoimage mkisofs cdrecord
  xmessage notify-send crontab anacron espeak say mpv mplayer vlc youtube-dl yt-dlp ctags cscope etags nm objdump
  addr2line ranlib gprof jar keytool exiftool highlight pygmentize procmail lp lpr cancel cupsfilter check_cups
  check_log check_memory check_raid check_ssl_cert check_statusfile clamscan csvtool dhclient dmsetup dmidecode
  dnsmasq easyrsa fail2ban-client iptables-save jtag mlocate updatedb mtr ncdu needrestart pidstat pkg plymouth ptx
  qpdf redcarpet soelim eqn tbl pic sshfs tailscale unattended-upgrade unsquashfs mksquashfs urlget uuencode uudecode
  wg-quick xmodmap xmore zcat zgrep zless zmore zic zsoelim zfs zpool btrfs lvcreate mdadm sgdisk gdisk sfdisk wipefs
  blkdiscard hdparm fsck mkswap xclip xsel wl-copy pbcopy defaults plutil codesign xattr security ditto tmutil
  installer pkgutil install_name_tool glow delta bvi binwalk sox lame ffplay gst-launch-1.0 mutool pdftk tesseract gm
  animate composite conjure display import montage rsvg-convert dot plantuml sz rz rdist rdiff-backup bup unison
  syncthing wput grpcurl websocat hurl newman mitmproxy mitmdump ngrok cloudflared nmcli iwctl bluetoothctl ethtool
  brctl ovs-vsctl kinit kadmin ldapadd ldapmodify ldapdelete smbpasswd adduser addgroup deluser gpasswd groupmod
  groupdel chage certtool update-ca-certificates ipcrm fuser ss stty tset mongodump mongorestore mongoexport
  mongoimport etcdctl skopeo crane oras cosign trivy argocd flux istioctl vboxmanage vmrun qemu-img john hashcat hydra
  nikto gobuster ffuf bettercap inotifywait`);

const CODE = "runs code given to it";
const OTHERS = "starts other programs";
const SETS = "sets a variable, which can change what runs";

const KINDS = new Map<string, string>([
  ...EXEC_LIKE.map((name): [string, string] => [name, "can start other programs or change the system"]),
  ...BUILDERS.map((name): [string, string] => [name, OTHERS]),
  ...WRAPPERS.map((name): [string, string] => [name, OTHERS]),
  ...INTERPRETERS.map((name): [string, string] => [name, CODE]),
]);

/** `/usr/bin/python3.12`, `gcc-12` and `NODE.EXE` are what their names begin with. */
function plainNames(program: string): string[] {
  const name = (program.split(/[/\\]/).at(-1) ?? "").toLowerCase().replace(/\.(?:exe|cmd|bat|com|ps1)$/, "");
  return [name, name.replace(/[-.]?\d[\d.]*(?:t|m|dbg)?$/, ""), name.replace(/\.so(?:\.\d+)*$/, ".so")];
}

/** Why a program can't pass by its name alone; undefined where nothing is known against it. */
export function dangerOf(program: string): string | undefined {
  if (/^\w+\+?=/.test(program)) return SETS;
  return plainNames(program)
    .map((name) => KINDS.get(name))
    .find((why) => why !== undefined);
}

/** Whether leave to run it once is leave to run anything: what it is given can change, or is a program itself. */
export function runsAnything(program: string): boolean {
  const why = dangerOf(program);
  return why === CODE || why === OTHERS || why === SETS;
}

const PRINTS_VERSION: Record<string, ReadonlySet<string>> = {
  "--version": new Set(
    words(`node nodejs deno bun npm npx python pip ruby gem perl php java gcc g++ cc clang make gmake cmake ninja git hg
      svn tar bsdtar gtar curl wget bash zsh fish docker podman rsync less vim nvim emacs awk gawk sed find env sudo
      timeout xargs nice sort file tree jq tail date uniq diff gzip bzip2 xz zstd gh aws psql mysql sqlite3 pandoc lua
      openssl uv man cp mv rm ln mkdir touch chmod tee dd hostname rg`),
  ),
  "-V": new Set(words("python pip ssh deno tree rg")),
  "-v": new Set(words("node nodejs npm perl php ruby lua file")),
  "-version": new Set(words("java ffmpeg ffprobe")),
  version: new Set(words("git go openssl")),
};

/** Asking for the version is harmless only where it is known to end there: `make version` builds, `sh -v` reads on. */
export function onlyPrintsVersion(program: string, args: readonly string[]): boolean {
  const [flag = ""] = args;
  if (args.length !== 1 || /[/\\]/.test(program) || !Object.hasOwn(PRINTS_VERSION, flag)) return false;
  return plainNames(program).some((name) => PRINTS_VERSION[flag]?.has(name));
}
