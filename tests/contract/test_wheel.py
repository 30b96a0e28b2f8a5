"""What a release holds: the wheel is built from the source archive, as an index would get it."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "xun": ROOT / "xun",
    "xun_cli": ROOT / "xun_cli",
    "xun_builtin_tools": ROOT / "builtin_tools" / "xun_builtin_tools",
    "xun_policies": ROOT / "policies" / "xun_policies",
}


def build(folder: Path, target: str, out: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    [made] = out.iterdir()
    return made


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], zipfile.ZipFile]:
    """Return the names in the source archive, and the wheel that was built from it."""
    work = tmp_path_factory.mktemp("release")
    archive = build(ROOT, "sdist", work / "sdist")
    with tarfile.open(archive) as packed:
        names = packed.getnames()
        packed.extractall(work / "source", filter="data")
    [source] = (work / "source").iterdir()
    return names, zipfile.ZipFile(build(source, "wheel", work / "wheel"))


def sources(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and "__pycache__" not in path.parts
    }


def test_wheel_has_the_four_packages_and_nothing_else(release: tuple[list[str], zipfile.ZipFile]):
    tops = {name.split("/")[0] for name in release[1].namelist()}
    [info] = [top for top in tops if top.endswith(".dist-info")]
    assert tops - {info} == set(PACKAGES) and info.startswith("xun-")


@pytest.mark.parametrize("package", PACKAGES)
def test_wheel_has_every_file_of_a_package(release: tuple[list[str], zipfile.ZipFile], package: str):
    packed = {name.removeprefix(f"{package}/") for name in release[1].namelist() if name.startswith(f"{package}/")}
    assert sources(PACKAGES[package]) - packed == set() and {"py.typed", "__init__.py"} <= packed


def test_wheel_metadata(release: tuple[list[str], zipfile.ZipFile]):
    wheel = release[1]
    read = {Path(name).name: wheel.read(name).decode() for name in wheel.namelist() if ".dist-info/" in name}
    version = (ROOT / "xun_cli" / "_version.py").read_text().split('"')[1]
    assert f"\nVersion: {version}\n" in read["METADATA"] and "\nRequires-Python: >=3.11\n" in read["METADATA"]
    assert read["entry_points.txt"].split("\n")[:2] == ["[console_scripts]", "xun = xun_cli._entry:main"]
    assert "LICENSE" in read


def test_source_archive_has_tests_and_no_caches(release: tuple[list[str], zipfile.ZipFile]):
    names = {name.split("/", 1)[1] for name in release[0] if "/" in name}
    named = re.findall(r"\b(?:scripts|docs|benchmarks)/[\w/]+\.(?:py|md|toml)\b", (ROOT / "Makefile").read_text())
    assert {"tests/contract/test_wheel.py", "CHANGELOG.md", "LICENSE", "pyproject.toml", "Makefile", *named} <= names
    linked = set(re.findall(r"\]\(([\w/.-]+)\)", (ROOT / "README.md").read_text()))
    assert linked and {link for link in linked if not (ROOT / link).is_dir()} <= names
    odd = [name for name in names if name.endswith(".pyc") or name.split("/")[0] in (".venv", ".git", "dist")]
    assert odd == []
