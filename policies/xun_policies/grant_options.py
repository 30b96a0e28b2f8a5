"""What a granted prefix does not cover: options and settings by which a command runs something else than it says.

A person who grants ``make lint`` reads the target ``lint``, not ``make lint --eval=...``. Source: the manuals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from xun_policies.wordset import wordset

_NODE = "--script-shell --node-options --userconfig --globalconfig --onload-script --shell --prefix --cwd --dir -C"
_JVM = "-I --init-script -b --build-file -c --settings-file -p --project-dir -g --gradle-user-home --include-build"
_COMPILER = "-wrapper -fplugin -fpass-plugin -load -specs -B -Xclang"
_CONFIGURED = "-c --config"
_RAKE = "-f --rakefile -e --execute -E --execute-continue -p --execute-print -r --require -R --rakelibdir -I --libdir"
_JEST = "--globalSetup --globalTeardown --setupFiles --setupFilesAfterEnv --transform --resolver --rootDir --projects"
_GIT = "--exec --exec-path --upload-pack --receive-pack --template --ext-diff --textconv --open-files-in-pager"
_TABLE = {
    "ansible-lint": "-r -R --rules-dir",
    "bazel": "--run_under --workspace_status_command --shell_executable --override_repository --credential_helper",
    "cabal": "-w --with-compiler --with-hc-pkg --with-gcc --with-ld --with-ar --project-file",
    "cargo": "--config -Z -C --manifest-path",
    "clang": _COMPILER,
    "cmake": "-P -E -C --toolchain",
    "composer": "-d --working-dir",
    "ctest": "-S -SP -SE --script --build-and-test",
    "eslint": f"{_CONFIGURED} --rulesdir --resolve-plugins-relative-to",
    "gcc": _COMPILER,
    "git": f"{_GIT} -O",
    "go": "-exec -toolexec -vettool -overlay -modfile -C -ldflags -gccgoflags",
    "gradle": _JVM,
    "grunt": "--gruntfile --base --tasks",
    "gulp": "-f --gulpfile --cwd --preload",
    "helm": "--post-renderer",
    "jest": f"{_CONFIGURED} {_JEST}",
    "just": "--shell --shell-arg --set -f --justfile -d --working-directory -c --command --dotenv-path",
    "make": "--eval -E -f --file --makefile -C --directory -I --include-dir",
    "mix": "-r --require -e --eval",
    "mocha": "-r --require --config --loader -n --node-option",
    "mvn": "-f --file -s --settings -gs --global-settings -t --toolchains",
    "mypy": "--python-executable",
    "ninja": "-f -C",
    "nox": "-f --noxfile",
    "npm": _NODE,
    "pnpm": _NODE,
    "pdm": "-p --project",
    "playwright": _CONFIGURED,
    "poetry": "-C --directory -P --project",
    "prettier": "--plugin --config",
    "pre-commit": _CONFIGURED,
    "pylint": "--load-plugins --init-hook",
    "rake": _RAKE,
    "rollup": f"{_CONFIGURED} -p --plugin --configPlugin",
    "rspec": "-r --require -I -O --options",
    "rubocop": f"{_CONFIGURED} -r --require --plugin",
    "rustc": "-C --codegen -Z",
    "sphinx-build": "-c -C",
    "stylelint": "--config --custom-syntax --custom-formatter --plugin",
    "task": "-t --taskfile -d --dir",
    "tox": "-c --conf -x --override",
    "uv": "--directory --project",
    "vite": _CONFIGURED,
    "vitest": f"{_CONFIGURED} --root --globalSetup --runner",
    "webpack": f"{_CONFIGURED} -r --require",
    "yarn": _NODE,
}
"""Options that name a program, code or a file of such, by command; a short one counts with its value attached, too."""
_BY_PATH = {
    "cargo": "--target",
    "eslint": "-f --format --parser --plugin",
    "jest": "--reporters --testEnvironment --preset --runner --testRunner --testSequencer",
    "mocha": "-R --reporter -u --ui",
    "playwright": "--reporter",
    "uv": "-p --python",
    "vitest": "--reporter --environment",
}
"""The same, where their value is a path; else it is the name of something that is installed."""
_CLUSTERED = {
    "ansible-lint": "ctxwfi",
    "cargo": "jpF",
    "eslint": "o",
    "git": "eABCmfS",
    "gradle": "DPx",
    "jest": "tw",
    "just": "",
    "make": "Wjlo",
    "mocha": "gtsj",
    "mvn": "DPTplnrag",
    "ninja": "djkltw",
    "nox": "stkpe",
    "npm": "",
    "pnpm": "",
    "pre-commit": "sot",
    "rake": "DTWj",
    "rustc": "LloAWDF",
    "task": "CoI",
    "tox": "epfm",
    "vite": "lmd",
    "vitest": "t",
    "webpack": "odm",
}
"""Commands that take several short options as one word, with those that all the rest of the word is the value of."""
_SAME = {
    "bazelisk": "bazel",
    "c++": "gcc",
    "cc": "gcc",
    "clang++": "clang",
    "g++": "gcc",
    "gmake": "make",
    "gradlew": "gradle",
    "mvnw": "mvn",
    "yarnpkg": "yarn",
}
_ABBREVIATING = wordset(
    "ansible-lint cabal ctest git make mvn mypy nox npm pnpm pre-commit pylint rake rspec rubocop sphinx-build tox"
)
"""Programs that take a beginning of a long option for all of it."""
_ANY_DASHES = wordset("mvn npm pnpm")
"""Programs that take a long option with another number of dashes, too."""
_SETTING = r"[A-Za-z_.][A-Za-z0-9_.-]*[:+?]?:?=[\s\S]*"
_PLAIN_SETTING = r"(?:V|VERBOSE|DEBUG|Q|CI|NO_COLOR|JOBS|N)=[0-9a-z]*"
_SET_BY_WORDS = wordset("make just")
"""Commands that take NAME=VALUE for a variable, which recipes and the choice of the shell are made of."""
_OWN_ARGUMENTS = wordset("npm pnpm yarn cargo go")
"""Commands whose words behind ``--`` are for the script or the tests that they run."""


def beyond(tokens: Sequence[str], rest: Sequence[str], patterns: Sequence[str] = ()) -> str:
    """Return the word of *rest* that the granted prefix *tokens* does not cover, "" when it covers them all.

    Of *patterns*, the words that bash makes names of files of, none is covered where a name could be a setting.
    """
    name = _known(tokens[0])
    if patterns and name in _SET_BY_WORDS:
        return patterns[0]
    options, by_path = _options(name)
    for index, word in enumerate(rest):
        if word == "--" and name in _OWN_ARGUMENTS:
            break
        if word[:1] == "-":
            value = word.partition("=")[2] or (rest[index + 1] if index + 1 < len(rest) else "")
            leads = re.search(r"[/\\.]", value) is not None
            if _is_one_of(options, word, name) or (leads and _is_one_of(by_path, word, name)):
                return word
        elif name in _SET_BY_WORDS and re.fullmatch(_SETTING, word) and not re.fullmatch(_PLAIN_SETTING, word):
            return word
        if name == "mvn" and "exec" in word and (":" in word or word.startswith("-D")):
            return word
    return ""


@cache
def _options(name: str) -> tuple[frozenset[str], frozenset[str]]:
    return wordset(_TABLE.get(name, "")), wordset(_BY_PATH.get(name, ""))


def _known(word: str) -> str:
    """Return the name that the tables know *word* by: without its folder, and without a version."""
    name = word.rsplit("/", 1)[-1]
    name = name if name in _TABLE or name in _SAME else name.rstrip("0123456789.-")
    return _SAME.get(name, name)


def _is_one_of(options: frozenset[str], word: str, command: str) -> bool:
    name = word.partition("=")[0]
    # Some, as go, take an option with two dashes for the one with one.
    if name in options or name[1:] in options:
        return True
    short = [one for one in options if one[:2] != "--"]
    if word[:2] != "--" and (word.startswith(tuple(short)) or _in_cluster(options, word, command)):
        return True
    if command in _ANY_DASHES:
        name = "--" + name.lstrip("-")
    if name[:2] != "--" or len(name) < 4 or command not in _ABBREVIATING:
        return False
    return any(one.startswith(name) for one in options)


def _in_cluster(options: frozenset[str], word: str, command: str) -> bool:
    """Tell whether *word* is several short options, one of *options* among them: ``-kf`` of make is ``-k -f``."""
    valued = _CLUSTERED.get(command)
    if valued is None:
        return False
    for char in word[1:]:
        if f"-{char}" in options:
            return True
        if not char.isalnum() or char in valued:
            return False
    return False
