"""Rules for git. Source: the manuals of git 2.39 to 2.47. What the repository's configuration could
make these commands run is not visible here: `xun_policies.gitprobe` looks at that."""

from __future__ import annotations

from xun_policies.guards.rules import Rule

_DIFF = (
    "-# -pusawbzRBDMC -U# -M?: -C?: -B?: -l# -S: -G: -X?: --patch --no-patch --unified=# --raw --patch-with-raw "
    "--indent-heuristic "
    "--no-indent-heuristic --minimal --patience --histogram --anchored=: --diff-algorithm=: --stat=?: "
    "--stat-width=# --stat-name-width=# "
    "--stat-count=# --compact-summary --numstat --shortstat --dirstat=?: --cumulative --summary "
    "--patch-with-stat --name-only "
    "--name-status --color=?: --no-color --color-moved=?: --no-color-moved --color-moved-ws=: --word-diff=?: "
    "--word-diff-regex==: "
    "--color-words=?: --no-renames --rename-empty --no-rename-empty --check --ws-error-highlight=: --full-index "
    "--binary "
    "--abbrev=?# --no-abbrev --break-rewrites=?: --find-renames=?: --find-copies=?: --find-copies-harder "
    "--irreversible-delete "
    "--diff-filter=: --pickaxe-all --pickaxe-regex --relative=?: --no-relative --text --ignore-cr-at-eol "
    "--ignore-space-at-eol "
    "--ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines=: -I: "
    "--inter-hunk-context=# "
    "--function-context -W --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules=?: --src-prefix=: "
    "--dst-prefix=: "
    "--no-prefix --default-prefix --line-prefix=: --ita-invisible-in-index --output-indicator-new=: "
    "--output-indicator-old=: "
    "--output-indicator-context=: --rotate-to=: --skip-to=:"
)
_DIFF_ONLY = "--cached --staged --merge-base --base --ours --theirs -0123 --cc -c --combined-all-paths"
_REV = (
    "-n# --max-count=# --skip=# --since=: --after=: --until=: --before=: --since-as-filter=: --author=: "
    "--committer=: --grep-reflog=: --grep=: "
    "--all-match --invert-grep -i --regexp-ignore-case --basic-regexp -E --extended-regexp -F --fixed-strings -P "
    "--perl-regexp "
    "--merges --no-merges --min-parents=# --max-parents=# --no-min-parents --no-max-parents --first-parent "
    "--exclude-first-parent-only "
    "--not --all --branches=?: --tags=?: --remotes=?: --glob=: --exclude=: --exclude-hidden=: --reflog "
    "--single-worktree --ignore-missing "
    "--bisect --cherry-mark --cherry-pick --left-only --right-only --cherry -g --walk-reflogs --merge --boundary "
    "--simplify-by-decoration "
    "--show-pulls --full-history --dense --sparse --simplify-merges --ancestry-path=?: --date-order "
    "--author-date-order --topo-order "
    "--reverse --no-walk=?: --do-walk --parents --children --left-right --graph --no-graph "
    "--show-linear-break=?: --timestamp --count"
)
_PRETTY = (
    "--pretty=?: --format=: --abbrev-commit --no-abbrev-commit --oneline --encoding=: --expand-tabs=?# "
    "--no-expand-tabs --notes=?: --no-notes "
    "--show-notes=?: --relative-date --date=: --no-show-signature"
)
_LOG = (
    "-cmtr -L: --follow --no-decorate --decorate=?: --decorate-refs=: --decorate-refs-exclude=: "
    "--clear-decorations --source --mailmap --no-mailmap --use-mailmap --no-use-mailmap --log-size "
    "--full-diff --cc --no-diff-merges --combined-all-paths --dd "
    f"{_REV} {_PRETTY} {_DIFF}"
)
_REFS = (
    "--contains=: --no-contains=: --merged=: --no-merged=: --points-at=: --sort=: --format=: --ignore-case --omit-empty"
)


def _log(name: str, allows: tuple[str, ...], asks: tuple[str, ...]) -> Rule:
    shared = (
        f"git {name} --output=x",
        f"git {name} --ext-diff",
        f"git {name} --textconv",
        f"git {name} --show-signature",
        f"git {name} --outp=x",
    )
    return Rule(
        ("git", name), _LOG, check="git_pretty", allows=allows, asks=(*asks, *shared, f"git {name} --format=%G?")
    )


RULES: tuple[Rule, ...] = (
    Rule(
        ("git", "status"),
        "-sbzuv -u?: --short --branch --show-stash --porcelain=?: --long --verbose --untracked-files=?: "
        "--ignore-submodules=?: "
        "--ignored=?: --column=?: --no-column --ahead-behind --no-ahead-behind --renames --no-renames "
        "--find-renames=?:",
        allows=("git status", "git status -sb", "git status --porcelain=v2", "git -C src status -uno"),
        asks=("git status /etc", "git status --help", "git -c a.b=c status", "git -p status", "git -C .. status"),
    ),
    Rule(
        ("git", "diff"),
        f"{_DIFF} {_DIFF_ONLY}",
        check="git_paths",
        allows=("git diff", "git diff --stat HEAD~1", "git diff --cached -- a", "git diff main..HEAD", "git diff @{u}"),
        asks=(
            "git diff --output=x",
            "git diff --no-index a b",
            "git diff --ext-diff",
            "git diff --textconv",
            "git diff -Ox",
            "git diff *",
            "git diff --word-diff-regex -- --output=x",
            "git diff --out=x",
            "git diff /etc/passwd /dev/null",
        ),
    ),
    _log(
        "log",
        ("git log --oneline -5", "git log -p -2 -- a", "git log --grep=/etc/passwd", "git log --format='{%h,%s}' -3"),
        ("git log -p --ext-diff", "git log --remerge-diff", "git log --diff-merges=remerge"),
    ),
    _log(
        "show",
        ("git show HEAD:src/a.py", "git show --stat HEAD~1", "git show HEAD^{commit}"),
        ("git show ../a", "git show HEAD:../a"),
    ),
    Rule(
        ("git", "blame"),
        "-wltsefpbnMC -L: -M?# -C?# --date=: --since=: --abbrev=# --color-lines --color-by-age --show-name "
        "--show-number --show-email "
        "--show-stats --root --porcelain --line-porcelain --first-parent --reverse --ignore-rev=: "
        "--ignore-revs-file=@ --minimal "
        "--progress --no-progress --encoding=:",
        allows=("git blame -L 10,40 a.py", "git blame -w a.py HEAD"),
        asks=(
            "git blame --contents /etc/shadow a",
            "git blame --contents=x a",
            "git blame -S x a",
            "git blame ../a",
            "git blame --textconv a",
        ),
    ),
    Rule(
        ("git", "branch"),
        f"-avrlqi {_REFS} --all --remotes --list --verbose --show-current --color=?: --no-color "
        "--abbrev=?# --no-abbrev",
        operands="text",
        check="git_list",
        allows=(
            "git branch",
            "git branch -a",
            "git branch --list 'x*'",
            "git branch --contains HEAD",
            "git branch -vv",
            "git branch --merged main",
        ),
        asks=(
            "git branch x",
            "git branch -d x",
            "git branch -v x",
            "git branch -m a b",
            "git branch -f x",
            "git branch -u o/x",
            "git branch --sort=x name",
            "git branch --color x",
        ),
    ),
    Rule(
        ("git", "tag"),
        f"-li -n?# {_REFS} --list --color=?:",
        operands="text",
        check="git_list",
        allows=("git tag", "git tag -l 'v1.*'", "git tag -n3", "git tag --points-at HEAD"),
        asks=(
            "git tag v1",
            "git tag -a v1 -m x",
            "git tag -d v1",
            "git tag --sort=x v1",
            "git tag -v v1",
            "git tag -f x",
        ),
    ),
    Rule(
        ("git", "remote"),
        "-v --verbose",
        check="git_remote",
        allows=("git remote", "git remote -v", "git remote get-url origin"),
        asks=(
            "git remote add a b",
            "git remote show origin",
            "git remote update",
            "git remote -v update",
            "git remote prune x",
        ),
    ),
    Rule(
        ("git", "stash", "list"),
        _LOG,
        check="git_pretty",
        allows=("git stash list",),
        asks=("git stash pop", "git stash", "git stash list --output=x"),
    ),
    Rule(
        ("git", "stash", "show"),
        f"{_DIFF} --include-untracked --only-untracked --no-include-untracked",
        check="git_paths",
        allows=("git stash show -p", "git stash show stash@{0}"),
        asks=("git stash show --output=x",),
    ),
    Rule(
        ("git", "rev-parse"),
        "-q --show-toplevel --abbrev-ref=?: --short=?# --verify --quiet --git-dir --absolute-git-dir --git-common-dir "
        "--is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-prefix "
        "--show-cdup --symbolic "
        "--symbolic-full-name --all --branches=?: --tags=?: --remotes=?: --glob=: --exclude=: "
        ""
        "--revs-only --no-revs --flags --no-flags --default=: --since=: --until=: --path-format=: --not "
        "--show-object-format=?: "
        "--end-of-options --show-ref-format --disambiguate=:",
        allows=("git rev-parse HEAD", "git rev-parse --abbrev-ref HEAD", "git rev-parse main@{upstream}"),
        asks=(
            "git rev-parse --resolve-git-dir /x",
            "git rev-parse --parseopt",
            "git rev-parse --show-superproject-working-tree",
        ),
    ),
    Rule(
        ("git", "rev-list"),
        f"{_REV} {_PRETTY} -# --objects --objects-edge --unpacked --header --no-commit-header --commit-header "
        "--disk-usage=?: --no-object-names --object-names --filter=: --quiet --stdin",
        check="git_pretty",
        allows=("git rev-list --count HEAD", "git rev-list main..dev"),
        asks=("git rev-list --format=%G? HEAD", "git rev-list --use-bitmap HEAD"),
    ),
    Rule(
        ("git", "ls-files"),
        "-cdmoisuktvfz -x: -X@ --exclude=: --exclude-from=@ --exclude-per-directory=% --exclude-standard "
        "--cached --deleted --modified "
        "--others --ignored --stage --unmerged --killed --directory --no-empty-directory --eol --error-unmatch "
        "--full-name --abbrev=?# "
        "--debug --deduplicate --format=: --with-tree=: --sparse --resolve-undo",
        allows=("git ls-files", "git ls-files -o --exclude-standard", "git ls-files src"),
        asks=("git ls-files ../x", "git ls-files -X /etc/x", "git ls-files --recurse-submodules"),
    ),
    Rule(
        ("git", "ls-tree"),
        "-drtlz --name-only --name-status --object-only --full-name --full-tree --long --abbrev=?# --format=:",
        allows=("git ls-tree -r --name-only HEAD",),
        asks=("git ls-tree --x HEAD",),
    ),
    Rule(
        ("git", "describe"),
        "--all --tags --contains --abbrev=?# --candidates=# --exact-match --debug --long --match=: --exclude=: "
        "--always "
        "--first-parent --dirty=?:",
        operands="text",
        allows=("git describe --tags --always",),
        asks=("git describe --broken",),
    ),
    Rule(
        ("git", "shortlog"),
        f"{_REV} {_PRETTY} -nsecw -w?: --numbered --summary --email --group=:",
        check="git_pretty",
        allows=("git shortlog -sn HEAD",),
        asks=("git shortlog --output=x", "git shortlog --group=format:%GS", "git shortlog --group='%(describe)'"),
    ),
    Rule(
        ("git", "reflog"),
        _LOG,
        check="git_reflog",
        allows=("git reflog", "git reflog show main", "git reflog -5"),
        asks=("git reflog delete HEAD@{0}", "git reflog expire --all", "git reflog -5 expire", "git reflog --output=x"),
    ),
    Rule(
        ("git", "config", "--get"),
        "-z --global --local --system --worktree --type=: --bool --int --bool-or-int --path --null --show-origin "
        "--show-scope --name-only "
        "--includes --no-includes",
        operands="text",
        most=2,
        check="git_config",
        allows=("git config --get user.name",),
        asks=(
            "git config user.name x",
            "git config --get --unset a.b",
            "git config --get -f /x a.b",
            "git config --edit",
            "git config --get a b c",
            "git config --get http.extraHeader",
        ),
    ),
    Rule(
        ("git", "merge-base"),
        "-a --all --octopus --independent --is-ancestor --fork-point",
        operands="text",
        allows=("git merge-base main HEAD",),
        asks=("git merge-base --x",),
    ),
    Rule(
        ("git", "grep"),
        "-# -niwvlLcEGPFIahHzrpWoq -A# -B# -C# -e! -f@ -m# --line-number --column --ignore-case --word-regexp "
        "--invert-match "
        "--files-with-matches --name-only --files-without-match --count --extended-regexp --basic-regexp "
        "--perl-regexp --fixed-strings "
        "--text --no-textconv --cached --untracked --no-exclude-standard --exclude-standard --max-depth=# "
        "--recursive --no-recursive --full-name "
        "--null --only-matching --color=?: --no-color --break --heading --show-function --function-context --context=# "
        "--after-context=# --before-context=# --max-count=# --threads=# --and --or --not --all-match --quiet --file=@",
        operands="pattern",
        allows=("git grep -n x", "git grep -e /a/b -- src"),
        asks=(
            "git grep -O x",
            "git grep -Oless x",
            "git grep --open-files-in-pager=x y",
            "git grep --open x",
            "git grep --no-index x /etc",
            "git grep -f /etc/shadow",
            "git grep --textconv x",
        ),
    ),
    Rule(
        ("git", "cat-file"),
        "-ptse --batch=?: --batch-check=?: --batch-all-objects --unordered --allow-unknown-type",
        allows=("git cat-file -p HEAD", "git cat-file -t HEAD:src"),
        asks=("git cat-file --textconv HEAD:a", "git cat-file --filters HEAD:a", "git cat-file --textc HEAD:a"),
    ),
    Rule(
        ("git", "check-ignore"),
        "-qvznv --quiet --verbose --stdin --non-matching --no-index",
        allows=("git check-ignore -v a.o",),
        asks=("git check-ignore ../x",),
    ),
    Rule(
        ("git", "for-each-ref"),
        f"{_REFS} --count=# --shell --perl --python --tcl --color=?: --exclude=: --include-root-refs --stdin",
        operands="text",
        check="git_refs",
        allows=("git for-each-ref --sort=-committerdate refs/heads",),
        asks=("git for-each-ref --format='%(signature)'", "git for-each-ref --x"),
    ),
    Rule(
        ("git", "show-ref"),
        "-dqs --head --heads --branches --tags --dereference --hash=?# --verify --abbrev=?# --quiet --exists",
        operands="text",
        allows=("git show-ref --tags",),
        asks=("git show-ref --exclude-existing",),
    ),
    Rule(
        ("git", "name-rev"),
        "--tags --refs=: --exclude=: --all --name-only --always --no-undefined",
        operands="text",
        allows=("git name-rev HEAD",),
        asks=("git name-rev --x",),
    ),
    Rule(
        ("git", "worktree", "list"),
        "-vz --porcelain --verbose --expire=:",
        operands="none",
        allows=("git worktree list",),
        asks=("git worktree add x", "git worktree list x"),
    ),
)
