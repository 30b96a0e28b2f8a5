"""The tables that decide what is offered when a person grants a command."""

from __future__ import annotations

from xun_policies.wordset import wordset

TWO_WORDS = wordset(
    "git npm pnpm yarn docker podman cargo go pip pip3 uv poetry gh kubectl helm make brew apt apt-get dnf "
    "systemctl terraform dotnet mvn gradle rustup conda pipx hatch tox nox bundle rake composer rails just task "
    "ruff pre-commit hg svn jj glab gradlew mvnw manage.py cmake gem cabal stack mix sbt lein bazel meson "
    "turbo nx lerna snap flatpak yum apk zypper minikube kind docker-compose nerdctl pod flutter expo ng"
)
"""Commands whose first two words name what is run; options never count."""

THREE_WORDS = wordset(
    "git/remote git/stash git/worktree git/submodule git/config git/reflog git/bisect git/notes npm/run pnpm/run "
    "yarn/run docker/compose docker/image docker/container docker/volume docker/network podman/compose gh/pr "
    "gh/issue gh/repo gh/release gh/run gh/workflow uv/pip pip/config go/mod conda/env"
)
"""Pairs that need a third word."""

PYTHON_MODULES = wordset("pytest unittest mypy ruff black")
"""Modules for which ``python -m MODULE`` is a prefix that may be offered."""

NEVER = wordset(
    "bash sh zsh dash ksh fish csh tcsh pwsh python python2 python3 pypy pypy3 node deno bun perl ruby php lua "
    "tclsh Rscript R julia ghci irb osascript env sudo doas su command builtin exec eval source . trap xargs nice "
    "ionice nohup timeout time watch stdbuf setsid parallel entr flock script unshare nsenter chroot strace "
    "ltrace gdb taskset chrt find fd ssh scp sftp rsync npx uvx pnpx bunx pipx rm rmdir mv cp ln dd chmod chown "
    "chgrp truncate shred install mkfs mount umount kill pkill killall reboot shutdown curl wget nc ncat socat "
    "telnet ftp awk gawk mawk nawk sed ed ex tee vim vi nano emacs less more man most bat top tar zip unzip "
    "crontab at batch sqlite3 psql mysql openssl gpg mapfile readarray read enable compgen complete hash bind "
    "export declare typeset local readonly set unset shopt alias unalias history fc jobs wait coproc printf test "
    "[ cd pushd popd java jshell groovy scala kotlin erl elixir iex racket guile sbcl clisp ocaml ghc runghc "
    "swift tsx ts-node busybox toybox pkexec runuser firejail proot fakeroot sg newgrp expect screen tmux "
    "systemd-run dbus-run-session ssh-agent eatmydata prlimit setpriv capsh unbuffer rlwrap hyperfine direnv nix "
    "nix-shell guix vagrant ansible bwrap runcon numactl chpst daemonize start-stop-daemon xvfb-run ptyxis "
    "gnome-terminal xterm coffee dart nu elvish xonsh rc es mksh ash wish pdb gdbserver lldb rr valgrind perf "
    "bpftrace aws gcloud az doctl gsutil bq heroku fly flyctl vercel netlify firebase wrangler serverless sls "
    "pulumi cdk sam ansible-playbook vault op pass security keyctl ip nmcli service launchctl defaults open xdg-open "
    "code cursor mail mutt sendmail rclone restic borg redis-cli mongo mongosh pg_dump mysqldump"
)
"""Commands that run, change or send whatever they are given: only an exact command is offered."""

EXACT_PAIRS = wordset(
    "pip/install pip3/install pip/download pip3/download npm/install npm/i npm/exec npm/x pnpm/add pnpm/dlx "
    "pnpm/exec yarn/add yarn/dlx docker/run docker/exec podman/run podman/exec kubectl/exec kubectl/delete "
    "poetry/run poetry/add uv/run uv/add uv/tool gh/api gh/alias git/config git/submodule git/bisect "
    "git/filter-branch git/clean git/reset git/push git/clone cargo/install cargo/run go/run go/install go/get "
    "go/env go/generate brew/install apt/install apt-get/install conda/run conda/install hatch/run bundle/exec "
    "pip/config uv/pip git/ls-remote git/archive git/fetch git/pull git/rebase git/help git/difftool "
    "git/mergetool git/svn git/lfs git/filter-repo git/send-email git/replace git/update-index gem/install gem/exec "
    "cabal/run cabal/exec stack/run stack/exec stack/runghc mix/run bazel/run nerdctl/run nerdctl/exec "
    "docker-compose/run docker-compose/exec snap/install flatpak/run yum/install apk/add zypper/install glab/api "
    "gh/extension gh/codespace gh/auth gh/secret rails/runner rails/console rails/dbconsole manage.py/shell "
    "manage.py/dbshell composer/exec dotnet/run dotnet/tool mvn/exec:java mvn/exec:exec helm/plugin kubectl/debug"
)
"""Pairs that run, fetch or destroy whatever they are given."""

EXACT_TRIPLES = wordset(
    "docker/compose/run docker/compose/exec docker/container/run docker/container/exec podman/compose/run "
    "podman/compose/exec gh/repo/delete gh/repo/clone git/worktree/remove git/stash/clear"
)
"""The same, of three words."""
