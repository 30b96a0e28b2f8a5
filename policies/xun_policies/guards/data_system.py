"""Rules for shell built-ins, queries of the machine, test runners and package queries."""

from __future__ import annotations

from xun_policies.guards.rules import Rule
from xun_policies.wordset import wordset

RULES: tuple[Rule, ...] = (
    Rule(("echo",), free=True, allows=("echo -n a b", "echo *"), asks=("echo /etc/*",)),
    Rule(
        ("printf",),
        check="printf",
        allows=("printf '%s\\n' a b", "printf -- '-%d' 1"),
        asks=("printf -v a x", "printf '%n' PATH", "printf %hhn PATH", "printf '%5$n' PATH"),
    ),
    Rule(("true",), free=True, allows=("true", "true x")),
    Rule(("false",), free=True, allows=("false",)),
    Rule(
        ("test",),
        check="test",
        allows=("test -f a", "test a = b", "test -z ''"),
        asks=("test -v a", "test -R a", "test x -o -v a", "test -f /etc/shadow", "test -f *"),
    ),
    Rule(("[",), check="test", allows=("[ -d src ]", "[ a = b ]", "[ /a = /b ]"), asks=("[ -v a ]", "[ -e ../x ]")),
    Rule(
        ("seq",),
        "-w -f: -s: --equal-width --format=: --separator=:",
        operands="text",
        allows=("seq 1 5", "seq -s, 3"),
        asks=("seq --x",),
    ),
    Rule(("expr",), operands="text", check="text_only", allows=("expr 1 + 2",), asks=("expr *",)),
    Rule(
        ("which",), "-as --all", operands="text", allows=("which -a python3",), asks=("which --read-alias x", "which *")
    ),
    Rule(("whereis",), "-bmsul", operands="text", allows=("whereis ls",), asks=("whereis -B /home x",)),
    Rule(("type",), "-aftpP", operands="text", allows=("type -a ls",), asks=("type --x",)),
    Rule(
        ("command", "-v"),
        "",
        operands="text",
        allows=("command -v rg",),
        asks=("command -v -p x", "command ls", "command -p ls", "command -- x"),
    ),
    Rule(
        ("cd",),
        "-LP",
        check="cd",
        allows=("cd src", "cd ./docs"),
        asks=("cd ..", "cd /", "cd -", "cd", "cd ~", "cd */"),
    ),
    Rule(("whoami",), "", operands="none", allows=("whoami",), asks=("whoami x",)),
    Rule(
        ("id",),
        "-aunGgrzZ --user --name --groups --group --real --zero --context",
        operands="text",
        allows=("id -un",),
        asks=("id --x",),
    ),
    Rule(("groups",), "", operands="text", allows=("groups",), asks=("groups --x",)),
    Rule(
        ("uname",),
        "-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor "
        "--hardware-platform --operating-system",
        operands="none",
        allows=("uname -a",),
        asks=("uname x",),
    ),
    Rule(("arch",), "", operands="none", allows=("arch",), asks=("arch -x86_64 ls",)),
    Rule(
        ("date",),
        "-uR -I?: -d! -r@ --utc --universal --rfc-email --iso-8601=?: --rfc-3339=: --date=! --reference=@",
        operands="text",
        check="date",
        allows=("date", "date -u +%s", "date -d yesterday +%F", "date -d '-7 days' +%F"),
        asks=(
            "date -s 12:00",
            "date 010100002020",
            "date --set=x",
            "date --se=x",
            "date -f x",
            "date +%s 0101",
            "date --file=/etc/shadow",
        ),
    ),
    Rule(
        ("hostname",),
        "-fsiId --fqdn --long --short --ip-address --all-ip-addresses --domain",
        operands="none",
        allows=("hostname", "hostname -f"),
        asks=("hostname x", "hostname -F x", "hostname -b x"),
    ),
    Rule(("uptime",), "-ps --pretty --since", operands="none", allows=("uptime -p",), asks=("uptime x",)),
    Rule(
        ("free",),
        "-bkmghtwlvL -s# -c# --bytes --kibi --mebi --gibi --tebi --kilo --mega --giga --human --si --lohi "
        "--total --wide --seconds=# --count=#",
        operands="none",
        allows=("free -m",),
        asks=("free x",),
    ),
    Rule(("nproc",), "--all --ignore=#", operands="none", allows=("nproc --all",), asks=("nproc x",)),
    Rule(
        ("lscpu",),
        "-abcJxyB -e?: -p?: -C?: --all --online --offline --bytes --json --hex --physical --extended=?: "
        "--parse=?: --caches=?:",
        operands="none",
        allows=("lscpu -J",),
        asks=("lscpu -s /", "lscpu --sysroot=/x"),
    ),
    Rule(
        ("locale",),
        "-amckv --all-locales --charmaps --category-name --keyword-name --verbose",
        operands="text",
        allows=("locale -a", "locale"),
        asks=("locale --x",),
    ),
    Rule(
        ("ps",),
        check="ps",
        allows=("ps aux", "ps -ef", "ps -eo pid,cmd", "ps -p 1 -o etime=", "ps axo pid,etime"),
        asks=("ps auxe", "ps e", "ps -auxe", "ps eww", "ps -E", "ps -ef -u x", "ps axo e ewww"),
    ),
    Rule(
        ("journalctl",),
        "-kxrqael -n?# -b?: -u: -p: -o: -S: -U: -t: -g: --since=: --until=: --no-pager --lines=?# --list-boots "
        "--disk-usage --unit=: --user-unit=: "
        "--priority=: --boot=?: --output=: --identifier=: --grep=: --reverse --dmesg --catalog --quiet --utc "
        "--no-hostname --all --full --no-full "
        "--system --user --no-tail",
        operands="none",
        check="journal",
        allows=(
            "journalctl -n 20 --no-pager",
            "journalctl -u x -b",
            "journalctl -p err -b --no-pager",
            "journalctl -b -1",
            "journalctl -kn5",
        ),
        asks=(
            "journalctl --vacuum-size=1M",
            "journalctl -f",
            "journalctl -D x",
            "journalctl --rotate",
            "journalctl --vac=1s",
            "journalctl --file=x",
            "journalctl --root=/x",
            "journalctl /usr/bin/x",
        ),
    ),
    Rule(
        ("python", "-m", "pytest"),
        check="pytest",
        allows=("python -m pytest -q tests", "python -m pytest -k 'a and b' --maxfail=1"),
        asks=("python -m pytest -p evil", "python -m pytest --pdb", "python -m pytest /tmp/x", "python -m pytestx"),
    ),
    Rule(
        ("python3", "-m", "pytest"),
        check="pytest",
        allows=("python3 -m pytest -x --tb=short --lf",),
        asks=("python3 -m pytest -c x", "python3 -m pytest -o a=b"),
    ),
    Rule(
        ("pytest",),
        check="pytest",
        allows=("pytest -q tests", "pytest a.py::test_x -vv"),
        asks=(
            "pytest *",
            "pytest --rootdir=/x",
            "pytest @args",
            "pytest -pevil",
            "pytest --junitxml=x",
            "pytest --junit=x",
        ),
    ),
    Rule(
        ("pip", "list"),
        "",
        operands="none",
        allows=("pip list",),
        asks=("pip list --log=x", "pip list -o", "pip --log x list"),
    ),
    Rule(
        ("pip", "show"),
        "-fvq --files --verbose --quiet",
        operands="text",
        allows=("pip show requests",),
        asks=("pip show --log x a",),
    ),
    Rule(
        ("pip", "freeze"),
        "--all",
        operands="none",
        allows=("pip freeze", "pip freeze --all"),
        asks=("pip freeze -r x",),
    ),
    Rule(
        ("npm", "ls"),
        "--depth=# --all -a",
        operands="text",
        allows=("npm ls", "npm ls --depth=0"),
        asks=("npm ls --prefix=/x", "npm ls --userconfig=x"),
    ),
)

VERSIONS: tuple[tuple[str, ...], ...] = (
    ("python", "--version"),
    ("python", "-V"),
    ("python3", "--version"),
    ("python3", "-V"),
    ("node", "--version"),
    ("node", "-v"),
    ("npm", "--version"),
    ("npm", "-v"),
    ("cargo", "--version"),
    ("go", "version"),
    ("rustc", "--version"),
    ("gcc", "--version"),
    ("make", "--version"),
    ("docker", "--version"),
    ("pip", "--version"),
    ("pytest", "--version"),
    ("curl", "--version"),
    ("wget", "--version"),
    ("git", "--version"),
)
"""Commands that are free as they stand, with nothing added."""

ANSWERING = wordset("rg fd jq ls grep sed find tree diff sort")
"""Listed names that answer ``--version`` and ``--help`` by themselves, and do nothing else then."""
