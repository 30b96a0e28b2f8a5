"""The tables that decide what is offered when a person grants a command."""

from __future__ import annotations

from xun_policies.wordset import wordset

TWO_WORDS = wordset(
    "git npm pnpm yarn docker podman cargo go pip pip3 uv poetry gh kubectl helm make brew apt apt-get dnf "
    "systemctl terraform dotnet mvn gradle rustup conda pipx hatch tox nox bundle rake composer rails just task "
    "ruff pre-commit"
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
    "bpftrace"
)
"""Commands that run, change or send whatever they are given: only an exact command is offered."""

EXACT_PAIRS = wordset(
    "pip/install pip3/install pip/download pip3/download npm/install npm/i npm/exec npm/x pnpm/add pnpm/dlx "
    "pnpm/exec yarn/add yarn/dlx docker/run docker/exec podman/run podman/exec kubectl/exec kubectl/delete "
    "poetry/run poetry/add uv/run uv/add uv/tool gh/api gh/alias git/config git/submodule git/bisect "
    "git/filter-branch git/clean git/reset git/push git/clone cargo/install cargo/run go/run go/install go/get "
    "go/env go/generate brew/install apt/install apt-get/install conda/run conda/install hatch/run bundle/exec "
    "pip/config uv/pip git/ls-remote git/archive git/fetch git/pull git/rebase git/help git/difftool "
    "git/mergetool"
)
"""Pairs that run, fetch or destroy whatever they are given."""
