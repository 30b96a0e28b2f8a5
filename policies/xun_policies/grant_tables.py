"""The tables that decide what is offered when a person grants a command."""

from __future__ import annotations

from xun_policies.wordset import wordset

TWO_WORDS = wordset(
    "git npm pnpm yarn docker podman cargo go pip pip3 uv poetry gh kubectl helm make brew apt apt-get dnf systemctl "
    "terraform dotnet mvn gradle rustup conda pipx hatch tox nox bundle rake composer rails just task ruff pre-commit "
    "hg svn jj glab gradlew mvnw manage.py cmake gem cabal stack mix sbt lein bazel meson turbo nx lerna snap flatpak "
    "yum apk zypper minikube kind docker-compose nerdctl pod flutter expo ng pdm pixi pipenv rye mamba micromamba "
    "mise asdf pyenv rbenv nodenv goenv jenv fnm volta corepack devbox devenv moon coverage rush yarnpkg opam maturin "
    "doit invoke inv skaffold tilt podman-compose rebar3 gmake hugo wasm-pack trunk tauri capacitor ionic nest "
    "artisan symfony drush wp heroku-cli k9s kustomize argocd git-lfs cross trivy act earthly dagger tsh step"
)
"""Commands whose first two words name what is run; options never count."""

THREE_WORDS = wordset(
    "git/remote git/stash git/worktree git/submodule git/config git/reflog git/bisect git/notes npm/run pnpm/run "
    "yarn/run npm/run-script npm/rum npm/urn pnpm/run-script docker/system docker/buildx docker/builder "
    "docker/context podman/container podman/image podman/volume podman/network podman/system docker/compose "
    "docker/image docker/container docker/volume docker/network podman/compose gh/pr gh/issue gh/repo gh/release "
    "gh/run gh/workflow uv/pip pip/config go/mod conda/env"
)
"""Pairs that need a third word."""

PYTHON_MODULES = wordset("pytest unittest mypy ruff black")
"""Modules for which ``python -m MODULE`` is a prefix that may be offered."""

NEVER = wordset(
    "bash sh zsh dash ksh fish csh tcsh pwsh python python2 python3 pypy pypy3 node deno bun perl ruby php lua tclsh "
    "Rscript R julia ghci irb osascript env sudo doas su command builtin exec eval source . trap xargs nice ionice "
    "nohup timeout time watch stdbuf setsid parallel entr flock script unshare nsenter chroot strace ltrace gdb "
    "taskset chrt find fd ssh scp sftp rsync npx uvx pnpx bunx pipx rm rmdir mv cp ln dd chmod chown chgrp truncate "
    "shred install mkfs mount umount kill pkill killall reboot shutdown curl wget nc ncat socat telnet ftp awk gawk "
    "mawk nawk sed ed ex tee vim vi nano emacs less more man most bat top tar zip unzip crontab at batch sqlite3 psql "
    "mysql openssl gpg mapfile readarray read enable compgen complete hash bind export declare typeset local readonly "
    "set unset shopt alias unalias history fc jobs wait coproc printf test [ cd pushd popd java jshell groovy scala "
    "kotlin erl elixir iex racket guile sbcl clisp ocaml ghc runghc swift tsx ts-node busybox toybox pkexec runuser "
    "firejail proot fakeroot sg newgrp expect screen tmux systemd-run dbus-run-session ssh-agent eatmydata prlimit "
    "setpriv capsh unbuffer rlwrap hyperfine direnv nix nix-shell guix vagrant ansible bwrap runcon numactl chpst "
    "daemonize start-stop-daemon xvfb-run ptyxis gnome-terminal xterm coffee dart nu elvish xonsh rc es mksh ash wish "
    "pdb gdbserver lldb rr valgrind perf bpftrace aws gcloud az doctl gsutil bq heroku fly flyctl vercel netlify "
    "firebase wrangler serverless sls pulumi cdk sam ansible-playbook vault op pass security keyctl ip nmcli service "
    "launchctl defaults open xdg-open code cursor mail mutt sendmail rclone restic borg redis-cli mongo mongosh "
    "pg_dump mysqldump nodejs ipython bpython ptpython jython micropython jupyter ts-node-esm esno jiti babel-node "
    "vite-node zx swc-node luajit raku octave maxima gnuplot m4 dc bb clojure clj jbang jrunscript groovysh scala-cli "
    "amm crystal nim zig rdmd janet fennel hy csi gosh powershell cmd.exe wsl osh ysh murex linux32 linux64 setarch "
    "i386 x86_64 gosu su-exec run0 tini dumb-init setuidgid s6-setuidgid softlimit cgexec choom uclampset schedtool "
    "heaptrack coz uftrace catchsegv chronic ifne vidir vipe sponge retry caffeinate faketime systemd-inhibit "
    "pkttyagent runit watchexec nodemon onchange chokidar concurrently cross-env cross-env-shell env-cmd dotenv "
    "dotenvx npm-run-all run-s run-p wait-on start-server-and-test foreman honcho overmind goreman supervisord "
    "infisical chamber aws-vault envchain envdir envconsul consul-template teller doppler sops berks hwatch viddy "
    "gtime gtimeout gnice genv gxargs gstdbuf gnohup gsed gfind gtee gdd grm gmv gcp gln gchmod gchown ginstall "
    "gtruncate gtar bsdtar rename mmv unlink pacman yay paru emerge dpkg rpm port choco winget scoop opkg "
    "xbps-install pkg pkg_add eopkg tdnf microdnf mas cpan cpanm luarocks easy_install pear pecl nimble spack conan "
    "vcpkg twine subl gvim vimdiff nvim nvimdiff kak hx micro joe jed mcedit idea pycharm socket openvpn wg tailscale "
    "cloudflared ngrok iptables nft ufw sysctl modprobe insmod rmmod losetup cryptsetup fdisk parted swapon swapoff "
    "wipefs fsck userdel useradd usermod passwd chpasswd visudo chattr setfacl setcap loginctl machinectl hostnamectl "
    "timedatectl update-alternatives ldconfig dbus-send gdbus busctl xdotool wmctrl tmuxinator byobu dtach abduco "
    "nc.traditional nc.openbsd ncat6 lftp sftp-server aria2c axel httpie http https xh grpcurl websocat s3cmd "
    "mc.minio tftp rsh rlogin mosh autossh sshfs sshpass ssh-copy-id ssh-add ssh-keygen age pass-otp gopass bw lpass "
    "secret-tool dlv delve cgdb ddd radare2 r2 bpftool systemtap stap"
)
"""Commands that run, change or send whatever they are given: only an exact command is offered."""

EXACT_PAIRS = wordset(
    "pip/install pip3/install pip/download pip3/download npm/install npm/i npm/exec npm/x pnpm/add pnpm/dlx pnpm/exec "
    "yarn/add yarn/dlx docker/run docker/exec podman/run podman/exec kubectl/exec kubectl/delete poetry/run "
    "poetry/add uv/run uv/add uv/tool gh/api gh/alias git/config git/submodule git/bisect git/filter-branch git/clean "
    "git/reset git/push git/clone cargo/install cargo/run go/run go/install go/get go/env go/generate brew/install "
    "apt/install apt-get/install conda/run conda/install hatch/run bundle/exec pip/config uv/pip git/ls-remote "
    "git/archive git/fetch git/pull git/rebase git/help git/difftool git/mergetool git/svn git/lfs git/filter-repo "
    "git/send-email git/replace git/update-index gem/install gem/exec cabal/run cabal/exec stack/run stack/exec "
    "stack/runghc mix/run bazel/run nerdctl/run nerdctl/exec docker-compose/run docker-compose/exec snap/install "
    "flatpak/run yum/install apk/add zypper/install glab/api gh/extension gh/codespace gh/auth gh/secret rails/runner "
    "rails/console rails/dbconsole manage.py/shell manage.py/dbshell composer/exec dotnet/run dotnet/tool "
    "mvn/exec:java mvn/exec:exec helm/plugin kubectl/debug npm/add npm/in npm/ins npm/inst npm/install-test npm/it "
    "npm/link npm/ln npm/init npm/create npm/innit npm/explore npm/config npm/set npm/publish npm/update npm/up "
    "npm/upgrade pnpm/install pnpm/i pnpm/create pnpm/link pnpm/update pnpm/up pnpm/config pnpm/publish pnpm/env "
    "yarn/create yarn/node yarn/global yarn/link yarn/up yarn/upgrade yarn/config yarn/plugin yarn/publish yarn/set "
    "pip/wheel pip3/wheel pip/uninstall pip3/uninstall cargo/add cargo/rustc cargo/rustdoc cargo/binstall "
    "cargo/publish go/tool poetry/config poetry/self poetry/publish uv/publish uv/python uv/auth gh/config "
    "gh/ssh-key gh/gpg-key gh/variable gh/ext gh/extensions gh/cs kubectl/run kubectl/cp kubectl/attach kubectl/proxy "
    "kubectl/plugin kubectl/config "
    "docker/create docker/cp docker/plugin docker/push docker/rm docker/rmi docker/login podman/create podman/cp "
    "podman/rm podman/rmi brew/reinstall brew/upgrade brew/tap brew/uninstall brew/ruby brew/irb apt/remove apt/purge "
    "apt/upgrade apt-get/remove apt-get/purge apt-get/upgrade apt-get/dist-upgrade apt-get/source dnf/install "
    "dnf/remove dnf/upgrade dnf/update yum/remove yum/update yum/upgrade zypper/in zypper/remove zypper/rm "
    "snap/remove snap/run flatpak/uninstall apk/del systemctl/edit systemctl/link systemctl/enable "
    "systemctl/set-environment systemctl/import-environment rustup/run rustup/toolchain rustup/override "
    "rustup/install conda/create conda/update conda/config mamba/run mamba/install mamba/create micromamba/run "
    "micromamba/install micromamba/create pdm/run pdm/add pdm/config pixi/run pixi/add pixi/global pipenv/run "
    "pipenv/install rye/run rye/add rye/tools mise/run mise/use mise/install mise/trust mise/settings mise/plugins "
    "asdf/install asdf/plugin asdf/plugin-add volta/run volta/install volta/pin corepack/use corepack/npm "
    "corepack/yarn corepack/pnpm devbox/run devbox/add coverage/run opam/install composer/require composer/global "
    "composer/config composer/create-project bundle/add bundle/open bundle/config rails/new rails/r rails/c rails/db "
    "git/checkout git/restore git/rm git/credential git/for-each-repo git/hook git/daemon git/instaweb "
    "git/checkout-index git/update-ref git/gc git/prune git/maintenance git/gui git/citool git/p4 helm/install "
    "terraform/destroy meson/devenv lein/run gem/push gem/uninstall mix/archive.install hugo/mod podman-compose/run "
    "dotnet/fsi dotnet/script heroku-cli/run skaffold/run wp/eval-file drush/php"
)
"""Pairs that run, fetch or destroy whatever they are given."""

EXACT_SECONDS = wordset("exec x dlx shell sh eval console ssh")
"""Second words that run what follows them, whichever command of `TWO_WORDS` they follow."""

EXACT_TRIPLES = wordset(
    "docker/compose/run docker/compose/exec docker/container/run docker/container/exec podman/compose/run "
    "podman/compose/exec gh/repo/delete gh/repo/clone git/worktree/remove git/stash/clear"
)
"""The same, of three words."""
