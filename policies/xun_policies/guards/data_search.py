"""Rules for searching, small languages and HTTP. Sources: manuals of GNU grep, ripgrep, fd, findutils,
GNU sed, gawk and mawk, jq, curl."""

from __future__ import annotations

from xun_policies.guards.rules import Rule

_GREP = (
    "-# -EFGPivwxyclLqsobHhnrRIaUZzTu -A# -B# -C# -m# -e! -f@ -d% -D% --extended-regexp --fixed-strings --basic-regexp "
    "--perl-regexp --regexp=! --file=@ --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp "
    "--count --color=?: --colour=?: --files-without-match --files-with-matches --max-count=# --only-matching --quiet "
    "--silent --no-messages --byte-offset --with-filename --no-filename --label=: --line-number --initial-tab --null "
    "--after-context=# --before-context=# --context=# --group-separator=: --no-group-separator --text --binary-files=: "
    "--devices=: --directories=: --exclude=: --exclude-from=@ --exclude-dir=: --include=: --recursive "
    "--dereference-recursive --line-buffered --binary --null-data"
)
_GREP_ASKS = ("grep -f /etc/shadow a", "grep -rf../p x", "grep x /etc/passwd", "grep --exclude-from=../x y .")
_RG = (
    "-FHILNPSUabceghilnopqsuvwx0. -A# -B# -C# -E: -M# -T: -d# -e! -f@ -g: -j# -m# -r: -t: --after-context=# "
    "--before-context=# --context=# --auto-hybrid-regex --binary --block-buffered --byte-offset --case-sensitive "
    "--color=: --colors=: --column --no-column --context-separator=: --no-context-separator --count "
    "--count-matches --crlf --debug "
    "--dfa-size-limit=: --encoding=: --no-encoding --engine=: --field-context-separator=: --field-match-separator=: "
    "--file=@ --files --files-with-matches --files-without-match --fixed-strings --no-fixed-strings --follow "
    "--no-follow --glob=: "
    "--glob-case-insensitive --heading --no-heading --hidden --no-hidden --hyperlink-format=: --iglob=: --ignore-case "
    "--ignore-file=@ --ignore-file-case-insensitive --include-zero --invert-match --json --no-json --line-buffered "
    "--line-number --no-line-number --line-regexp --max-columns=# --max-columns-preview --max-count=# "
    "--max-depth=# --maxdepth=# "
    "--max-filesize=: --mmap --no-mmap --multiline --no-multiline --multiline-dotall --no-config --no-ignore --ignore "
    "--no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent "
    "--no-ignore-vcs --no-messages --no-require-git --no-unicode --null --null-data --one-file-system --only-matching "
    "--passthru --passthrough --path-separator=: --pcre2 --no-pcre2 --no-pcre2-unicode --pretty --print0 --quiet "
    "--regex-size-limit=: "
    "--regexp=! --replace=: --smart-case --sort=: --sortr=: --sort-files --stats --no-stats --stop-on-nonmatch "
    "--text --no-text "
    "--threads=# --trace --trim --no-trim --type=: --type-not=: --type-add=: --type-clear=: --type-list "
    "--unrestricted --vimgrep --with-filename --no-filename --word-regexp --no-search-zip --no-pre"
)
_FD = (
    "-HIusigFLap01q -d# -t: -e: -E: -S: -j# -c: -o: --hidden --no-hidden --no-ignore --ignore --no-ignore-vcs "
    "--no-ignore-parent "
    "--no-require-git --unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --and=: "
    "--absolute-path --relative-path "
    "--follow --no-follow --full-path --print0 --max-depth=# --min-depth=# --exact-depth=# --exclude=: --prune "
    "--type=: --extension=: "
    "--size=: --changed-within=: --changed-before=: --newer=: --older=: --owner=: --format=: --max-results=# "
    "--quiet --show-errors "
    "--color=: --hyperlink=?: --threads=# --strip-cwd-prefix=?: --path-separator=: --one-file-system --ignore-file=@"
)

RULES: tuple[Rule, ...] = (
    Rule(
        ("grep",),
        _GREP,
        operands="pattern",
        follows=("-R|--dereference-recursive",),
        allows=("grep -rn x .", "grep -n -- --output a", "grep -A3 /x/y a", "grep -rn --include=*.py x ."),
        asks=(*_GREP_ASKS, "grep *", "grep -e x /etc/passwd", "grep x -- /etc/passwd"),
    ),
    Rule(
        ("egrep",),
        _GREP,
        operands="pattern",
        follows=("-R|--dereference-recursive",),
        allows=("egrep 'a|b' x",),
        asks=("egrep -f ../x a",),
    ),
    Rule(
        ("fgrep",),
        _GREP,
        operands="pattern",
        follows=("-R|--dereference-recursive",),
        allows=("fgrep a.b x",),
        asks=("fgrep a /x",),
    ),
    Rule(
        ("rg",),
        _RG,
        operands="pattern",
        follows=("-L|--follow",),
        allows=("rg -n x src", "rg --files -g '*.ts'", "rg -uu --hidden x .", "rg -e -x -t py", "rg x ./*.py"),
        asks=(
            "rg --pre=./p x",
            "rg --pre ./p x",
            "rg -z x",
            "rg -nz x",
            "rg --search-zip x",
            "rg --hostname-bin=./p x",
            "rg -f ../p x",
            "rg x /etc",
            "rg x *",
            "rg --files /etc",
            "rg -e -- --pre=./p",
            "rg --pr=./p x",
        ),
    ),
    Rule(
        ("fd",),
        _FD,
        operands="pattern",
        follows=("-L|--follow",),
        allows=("fd -e py", "fd main src"),
        asks=(
            "fd -x rm",
            "fd . -Hx touch a",
            "fd --exec touch",
            "fd -X rm",
            "fd x /etc",
            "fd --base-directory /etc",
            "fd -l",
        ),
    ),
    Rule(
        ("find",),
        check="find",
        allows=("find . -name '*.py'", "find src -type f -newer a", "find . \\( -name a -o -name b \\) -print"),
        asks=(
            "find . -exec touch a ;",
            "find . -delete",
            "find . -fprint x",
            "find . -fls x",
            "find / -name a",
            "find . -newer /etc/x",
            "find . -name *.py",
            "find . -okdir x ;",
            "find -files0-from x",
            "find . -name -- -fprint m5",
        ),
    ),
    Rule(
        ("sed",),
        "-nErsuz -e! --quiet --silent --regexp-extended --separate --unbuffered --null-data --expression=! --posix "
        "--debug --sandbox --line-length=# -l#",
        check="sed",
        allows=("sed -n 1,20p a", "sed 's/a/b/g' a", "sed -e '/x/d' -e '1q' a", "sed -n '/a/,/b/p' a"),
        asks=(
            "sed -i s/a/b/ a",
            "sed -ni p a",
            "sed --in-pl s/a/b/ a",
            "sed 'w x' a",
            "sed 's/a/b/e' a",
            "sed 's/a/b/w x' a",
            "sed '1e date' a",
            "sed -f x a",
            "sed 'r /etc/shadow' a",
            "sed -n 1p /etc/shadow",
            "sed -n 1p *",
            "sed 's/a/b/\nw x' a",
            "sed --expression=w",
            "sed 'w x' a -e p",
        ),
    ),
    Rule(
        ("awk",),
        "-F: --field-separator==:",
        check="awk",
        allows=("awk '{print $1}' a", "awk -F: '{print $1, $3}' a", "awk 'NR==10' a"),
        asks=(
            "awk 'BEGIN{system(\"x\")}'",
            "awk '{print > \"x\"}' a",
            "awk '{print | \"x\"}' a",
            "awk -f x a",
            "awk -i x 1",
            "awk '{getline x < \"/etc/shadow\"}' a",
            "awk '{print ENVIRON[1]}'",
            "awk 1 /etc/shadow",
            "awk 1 *",
            "awk -v x=1 1 a",
            "awk 1 -F /etc/shadow",
            "awk --field-separator 'BEGIN{system(\"x\")}' 1 a",
            "awk '@load \"x\"'",
        ),
    ),
    Rule(
        ("jq",),
        "-cnrjaSCMseRg --compact-output --null-input --raw-output --raw-output0 --join-output --ascii-output "
        "--sort-keys "
        "--color-output --monochrome-output --slurp --exit-status --raw-input --tab --indent=# --seq --stream "
        "--stream-errors "
        "--unbuffered --ascii",
        check="jq",
        allows=(
            "jq .name a.json",
            "jq -r '.a | keys[]' a.json",
            "jq --arg x 1 '.[$x]' a.json",
            "jq '.include[0], .[\"env\"]' tsconfig.json",
        ),
        asks=(
            "jq -n env",
            "jq -n '$ENV.A'",
            "jq -f x a",
            "jq -L . x a",
            "jq . /etc/x",
            "jq --rawfile a /etc/shadow .",
            "jq --slurpfile a b .",
            "jq 'import \"a\" as a; .'",
            "jq -n 'input_filename' /etc/x",
            "jq --from-file x",
        ),
    ),
    Rule(
        ("curl",),
        "-sSfIikvg -m# -o: -w: --silent --show-error --fail --fail-with-body --head --include --insecure "
        "--verbose --globoff "
        "--max-time=# --connect-timeout=# --output=: --write-out=: --compressed --no-progress-meter --http1.1 "
        "--ipv4 --ipv6 -46",
        check="curl",
        allows=(
            "curl -s http://localhost:3000/x",
            "curl -sI http://127.0.0.1/",
            "curl -fsS 'http://[::1]:8000/'",
            "curl -so /dev/null -w '%{http_code}' http://localhost/",
        ),
        asks=(
            "curl http://h",
            "curl -o x http://localhost/",
            "curl -d @a http://localhost/",
            "curl -sL http://localhost/",
            "curl http://127.0.0.1@h/",
            "curl http://localhost.h/",
            "curl -w @x http://localhost/",
            "curl -w '%output{x}' http://localhost/",
            "curl -X POST http://localhost/",
            "curl file:///etc/passwd",
            "curl localhost http://h",
        ),
    ),
)
