"""Rules for commands that show or filter files. Sources: the GNU coreutils, diffutils, findutils,
util-linux and vim manuals; the corpus of `tests/corpus/commands.jsonl` holds the public bypasses."""

from __future__ import annotations

from xun_policies.guards.rules import Rule

_LS = (
    "-aAbBcCdDfFgGhHiIklLmnNopqQrRsStTuUvwxXZ1 -I: -T# -w# --all --almost-all --author --escape --ignore-backups "
    "--color=?: --colour=?: --directory --dired --classify=?: --file-type --full-time --group-directories-first "
    "--no-group --human-readable --si --dereference-command-line --dereference-command-line-symlink-to-dir "
    "--inode --kibibytes --dereference --numeric-uid-gid --literal --hide-control-chars --show-control-chars "
    "--quote-name --reverse --recursive --size --context --zero --block-size=: --format=: --hide=: --hyperlink=?: "
    "--indicator-style=: --ignore=: --quoting-style=: --sort=: --time=: --time-style=: --tabsize=# --width=#"
)
_DU = (
    "-abchHklmDLPSsx0 -B: -d# -t# --all --apparent-size --block-size=: --bytes --total --dereference-args "
    "--max-depth=# "
    "--human-readable --inodes --dereference --count-links --null --no-dereference --separate-dirs --si --summarize "
    "--threshold=# --time=?: --time-style=: --exclude=: --one-file-system -X@ --exclude-from=@"
)
_TREE = (
    "-adfilxpshugDFqNQrtcUvnCASJX -L# -P=: -I=: --noreport --dirsfirst --filesfirst --filelimit=# --charset=: "
    "--gitignore --prune --matchdirs --du --si --ignore-case --inodes --device --sort=: --timefmt=:"
)
_DIFF = (
    "-abBcdeEiNnpqrstTuwyZ0123456789 -C# -F: -I: -L: -S: -U# -W# -x: -X@ -# --brief --report-identical-files --normal "
    "--context=?# "
    "--unified=?# --ed --rcs --side-by-side --width=# --left-column --suppress-common-lines --show-c-function "
    "--show-function-line=: --label=: --expand-tabs --initial-tab --tabsize=# --recursive --no-dereference --new-file "
    "--unidirectional-new-file --ignore-file-name-case --no-ignore-file-name-case --exclude=: --exclude-from=@ "
    "--starting-file=: --from-file=@ --to-file=@ --ignore-case --ignore-tab-expansion --ignore-trailing-space "
    "--ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines=: --text "
    "--strip-trailing-cr "
    "--minimal --horizon-lines=# --speed-large-files --color=?: --palette=: --suppress-blank-empty "
    "--line-format=: --old-line-format=: --new-line-format=: --unchanged-line-format=: --changed-group-format=: "
    "--unchanged-group-format=: --old-group-format=: --new-group-format=:"
)
_SORT = (
    "-bdfgiMhnRrVcCmsuz -k: -t: -S: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort "
    "--ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --random-source=@ --reverse "
    "--sort=: --version-sort --batch-size=# --check=?: --debug --key=: --merge --stable --buffer-size=: "
    "--field-separator=: --parallel=# --unique --zero-terminated"
)
_SUM = "-btwz --binary --text --tag --zero"
_FILE = (
    "-bhikLnNrv0 -F: -e: --brief --mime --mime-type --mime-encoding --extension --apple --keep-going --dereference "
    "--no-dereference --no-buffer --no-pad --print0 --raw --separator=: --exclude=: --version"
)

RULES: tuple[Rule, ...] = (
    Rule(
        ("ls",),
        _LS,
        globs=True,
        follows=("-R|--recursive", "-L|--dereference"),
        allows=("ls -la", "ls *.py", "ls --sort=time src", "ls -w 80"),
        asks=("ls /", "ls --unknown", "ls ../x"),
    ),
    Rule(
        ("cat",),
        "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting",
        globs=True,
        allows=("cat -n a.txt", "cat *.md", "cat -"),
        asks=("cat /etc/shadow", "cat --output x"),
    ),
    Rule(
        ("head",),
        "-# -qvz -c# -n# --bytes=# --lines=# --quiet --silent --verbose --zero-terminated",
        globs=True,
        allows=("head -5 a.txt", "head -n -3 a.txt", "head -c 1k a.txt"),
        asks=("head /etc/shadow",),
    ),
    Rule(
        ("tail",),
        "-# -fFqvz -c# -n# -s# --bytes=# --lines=# --follow=?: --retry --pid=# --quiet --silent --verbose "
        "--sleep-interval=# --zero-terminated --max-unchanged-stats=#",
        globs=True,
        allows=("tail -20 a.log", "tail -n +5 a.log", "tail -f a.log"),
        asks=("tail /var/log/syslog", "tail -n /etc/shadow"),
    ),
    Rule(
        ("wc",),
        "-cmlLw --bytes --chars --lines --max-line-length --words --total=:",
        globs=True,
        allows=("wc -l *", "wc -c a.txt"),
        asks=("wc --files0-from=list", "wc --files0=list"),
    ),
    Rule(
        ("nl",),
        "-b: -d% -f: -h: -i# -l# -n% -p -s: -v# -w# --body-numbering=: --section-delimiter=: --footer-numbering=: "
        "--header-numbering=: --line-increment=# --join-blank-lines=# --number-format=: --no-renumber "
        "--number-separator=: --starting-line-number=# --number-width=#",
        globs=True,
        allows=("nl -ba a.txt",),
        asks=("nl ../a.txt",),
    ),
    Rule(
        ("tac",), "-br -s: --before --regex --separator=:", globs=True, allows=("tac a.log",), asks=("tac /etc/passwd",)
    ),
    Rule(
        ("stat",),
        "-Lftx -c: --dereference --file-system --terse --format=: --printf=: --cached=:",
        globs=True,
        allows=("stat -c %s a.txt",),
        asks=("stat /etc/shadow",),
    ),
    Rule(
        ("file",),
        _FILE,
        allows=("file a.png", "file -b --mime-type a.png", "file assets/*"),
        asks=(
            "file -C -m x",
            "file -m x a",
            "file -f list",
            "file -z a.gz",
            "file *",
            "file --compile",
            "file -bm x a",
        ),
    ),
    Rule(
        ("du",),
        _DU,
        globs=True,
        follows=("-L|--dereference",),
        allows=("du -sh .", "du -sh *"),
        asks=("du --files0-from=x", "du /"),
    ),
    Rule(
        ("df",),
        "-aBhHiklPT -B: -t: -x: --all --block-size=: --total --human-readable --si --inodes --local --output=?: "
        "--portability --type=: --print-type --exclude-type=: --no-sync",
        allows=("df -h", "df -hT ."),
        asks=("df --sync",),
    ),
    Rule(
        ("tree",),
        _TREE,
        follows=("-l",),
        allows=("tree -L 2 src", "tree -I 'node_modules|dist' -a"),
        asks=(
            "tree -o out",
            "tree -R .",
            "tree -H . x",
            "tree *",
            "tree --fromfile x",
            "tree -ao out",
            "tree -Px -- -o out",
        ),
    ),
    Rule(("pwd",), "-LP --logical --physical", operands="none", allows=("pwd -P",), asks=("pwd -x",)),
    Rule(
        ("basename",),
        "-az -s: --multiple --suffix=: --zero",
        operands="text",
        globs=True,
        allows=("basename /a/b .c",),
        asks=("basename --x a",),
    ),
    Rule(("dirname",), "-z --zero", operands="text", globs=True, allows=("dirname /a/b",), asks=("dirname --x a",)),
    Rule(
        ("realpath",),
        "-emqszLP --canonicalize-existing --canonicalize-missing --logical --physical --quiet --strip --no-symlinks "
        "--zero --relative-to=@ --relative-base=@",
        globs=True,
        allows=("realpath src",),
        asks=("realpath ../..",),
    ),
    Rule(
        ("readlink",),
        "-efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent "
        "--verbose --zero",
        globs=True,
        allows=("readlink -f a",),
        asks=("readlink -f /proc/self/exe",),
    ),
    Rule(
        ("sort",),
        _SORT,
        allows=("sort -t, -k2,2nr a.csv", "sort -u a", "sort -rn"),
        asks=(
            "sort -o x a",
            "sort a -ox",
            "sort -uo x a",
            "sort --outp=x a",
            "sort -T . a",
            "sort --compress-program=x",
            "sort *",
        ),
    ),
    Rule(
        ("uniq",),
        "-cdDuiz -f# -s# -w# --count --repeated --all-repeated=?: --group=?: --unique --ignore-case --skip-fields=# "
        "--skip-chars=# --check-chars=# --zero-terminated",
        most=1,
        check="one_file",
        allows=("uniq -c", "uniq -c a.txt"),
        asks=("uniq a.txt b.txt", "uniq a*", "uniq - b", "uniq -c -- a b", "uniq a -c"),
    ),
    Rule(
        ("cut",),
        "-nsz -b% -c% -d% -f% --bytes=: --characters=: --delimiter=: --fields=: --only-delimited --complement "
        "--output-delimiter=: --zero-terminated",
        globs=True,
        allows=("cut -d: -f1 a", "cut -d / -f 2", "cut -c4-"),
        asks=("cut -f1 /etc/passwd",),
    ),
    Rule(
        ("tr",),
        "-cCdst --complement --delete --squeeze-repeats --truncate-set1",
        operands="text",
        allows=("tr -d a",),
        asks=("tr --x a",),
    ),
    Rule(
        ("comm",),
        "-123z --check-order --nocheck-order --output-delimiter=: --total --zero-terminated",
        allows=("comm -12 a b",),
        asks=("comm a ../b",),
    ),
    Rule(
        ("diff",),
        _DIFF,
        check="tree_of_links",
        allows=("diff -u a b", "diff -rq a b", "diff --color=never a b"),
        asks=("diff -l a b", "diff --paginate a b", "diff a /etc/passwd", "diff -ul a b"),
    ),
    Rule(
        ("cmp",),
        "-bls -i: -n: --print-bytes --ignore-initial=: --verbose --bytes=: --quiet --silent",
        allows=("cmp -l a b",),
        asks=("cmp a /b",),
    ),
    Rule(
        ("paste",),
        "-sz -d% --delimiters=: --serial --zero-terminated",
        globs=True,
        allows=("paste -sd, a",),
        asks=("paste /a",),
    ),
    Rule(
        ("join",),
        "-iz -a# -e% -j# -o% -t% -v# -1# -2# --ignore-case --check-order --nocheck-order --header --zero-terminated",
        allows=("join -t, -1 2 a b",),
        asks=("join a /b",),
    ),
    Rule(("fold",), "-bs -w# --bytes --spaces --width=#", globs=True, allows=("fold -w 80 a",), asks=("fold /a",)),
    Rule(
        ("fmt",),
        "-# -cstu -w# -g# -p% --crown-margin --prefix=: --split-only --tagged-paragraph --uniform-spacing "
        "--width=# --goal=#",
        allows=("fmt -w 72 a",),
        asks=("fmt /a",),
    ),
    Rule(
        ("column",),
        "-tsxneLJ -s% -o% -c# -N% -R% -T% -H% -O% -W% -E% --table --separator=: --output-separator=: --json",
        allows=("column -t -s, a",),
        asks=("column /a",),
    ),
    Rule(("rev",), "", globs=True, allows=("rev a",), asks=("rev /a",)),
    Rule(("expand",), "-# -i -t: --initial --tabs=:", globs=True, allows=("expand -t 4 a",), asks=("expand /a",)),
    Rule(
        ("unexpand",),
        "-a -t: --all --first-only --tabs=:",
        globs=True,
        allows=("unexpand -a a",),
        asks=("unexpand /a",),
    ),
    Rule(
        ("xxd",),
        "-abCeEipuvd -c# -g# -l# -o# -s#",
        most=1,
        check="hex_dump",
        allows=("xxd -l 64 a", "xxd -s -16 a", "xxd -p a", "xxd -c16 a", "xxd -ps a"),
        asks=(
            "xxd -r a b",
            "xxd a b",
            "xxd *",
            "xxd -revert a",
            "xxd -g a b",
            "xxd -ps -r a",
            "xxd a -p",
            "xxd -ao 1 a",
        ),
    ),
    Rule(
        ("od",),
        "-abcdfhiloOsxv -A% -j# -N# -S# -t% -w?# --address-radix=: --skip-bytes=# --read-bytes=# --endian=: "
        "--strings=?# "
        "--format=: --output-duplicates --width=?# --traditional",
        allows=("od -c -N 32 a", "od -A x -t x1z a"),
        asks=("od /dev/sda", "od -x /etc/shadow"),
    ),
    Rule(
        ("strings",),
        "-# -afow -n# -t% -e% -s% --all --print-file-name --bytes=# --radix=: --encoding=: --include-all-whitespace "
        "--output-separator=:",
        check="no_at_file",
        allows=("strings -n 8 a", "strings -a a"),
        asks=("strings /etc/shadow", "strings @list", "strings *", "strings -T x a"),
    ),
    Rule(
        ("base64",),
        "-dDi -w# -b# --decode --ignore-garbage --wrap=# --break=#",
        most=1,
        check="one_file",
        allows=("base64 -d a", "base64 -w 0 a"),
        asks=("base64 -o x a", "base64 --output x a", "base64 a b"),
    ),
    Rule(("sha256sum",), _SUM, globs=True, allows=("sha256sum a",), asks=("sha256sum -c x", "sha256sum /a")),
    Rule(("sha1sum",), _SUM, globs=True, allows=("sha1sum a",), asks=("sha1sum -c x",)),
    Rule(("md5sum",), _SUM, globs=True, allows=("md5sum a b",), asks=("md5sum --check x",)),
    Rule(
        ("shasum",),
        "-bt01U -a# --algorithm=# --binary --text --portable --UNIVERSAL --BITS",
        globs=True,
        allows=("shasum -a 256 a",),
        asks=("shasum -c x",),
    ),
)
