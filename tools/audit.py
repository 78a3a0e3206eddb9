"""What an installation consists of: its known vulnerabilities, and a bill of materials.

    python tools/audit.py audit             pip-audit over all packages that an installation has
    python tools/audit.py sbom              dist/structron-VERSION.cdx.json (CycloneDX 1.6)
    python tools/audit.py sbom --extras ''  of the package without its extras; --extras serve,ray with some

pip resolves what `pip install structron[all]` would install here, and installs nothing of it. The tools have an
environment of their own (`.venv-audit`). Status of `audit`: 0, nothing is known; 1, something is; 2, nobody could be
asked.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from pythons import ROOT, in_venv, install, make_venv, name_of

NAME = "structron"
SERVICES = ("pypi", "osv")
"""Who knows of vulnerabilities; the next is asked where one cannot be reached."""
Package = dict[str, Any]


def tools(root: Path = ROOT) -> list[str]:
    """What this script needs: the extra `audit`."""
    with open(root / "pyproject.toml", "rb") as stream:
        return tomllib.load(stream)["project"]["optional-dependencies"]["audit"]


def prepared() -> Path:
    """The Python of the environment with the tools."""
    folder = ROOT / ".venv-audit"
    made, wanted = folder / "made.json", json.dumps(tools())
    if not made.is_file() or made.read_text() != wanted:
        install(make_venv(Path(sys.executable), folder), *tools())
        made.write_text(wanted)
    return in_venv(folder)


EXTRA = re.compile(r"extra\s*==\s*['\"]([\w.-]+)['\"]")
"""In a marker: the extra that a requirement belongs to."""


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def resolved(python: Path, extras: str) -> list[Package]:
    """What pip would install into an empty environment, the project first."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        what = f"{ROOT}[{extras}]" if extras else str(ROOT)
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"]
        command += ["--ignore-installed", "--report", report, what]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"pip cannot resolve what is to be installed:\n{done.stderr}")
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
    return sorted(found, key=lambda own: (normal(own["metadata"]["name"]) != NAME, normal(own["metadata"]["name"])))


# -- vulnerabilities ---------------------------------------------------------------------------------------------------


def audit(python: Path, packages: list[Package]) -> int:
    """Ask for known vulnerabilities of exactly these versions."""
    others = [own["metadata"] for own in packages if normal(own["metadata"]["name"]) != NAME]
    with tempfile.TemporaryDirectory() as folder:
        pinned = Path(folder) / "requirements.txt"
        pinned.write_text("".join(f"{own['name']}=={own['version']}\n" for own in others), encoding="utf-8")
        for service in SERVICES:
            command = [python, "-m", "pip_audit", "--requirement", pinned, "--no-deps", "--disable-pip"]
            command += ["--vulnerability-service", service, "--format", "json", "--progress-spinner", "off"]
            done = subprocess.run(command, capture_output=True, text=True)
            lines, status = judged(done.stdout)
            if status != 2:
                print("\n".join(lines))
                return status
    print(f"the advisory databases ({', '.join(SERVICES)}) cannot be reached: nothing was audited", file=sys.stderr)
    return 2


def judged(answer: str) -> tuple[list[str], int]:
    """What pip-audit found, in lines, and a status. A package that the service does not know was not looked at."""
    try:
        asked = json.loads(answer)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return [], 2
    unknown = sorted(own["name"] for own in asked if "skip_reason" in own)
    if len(unknown) == len(asked):
        return [], 2
    wrong = [
        f"{own['name']} {own['version']}: {flaw['id']}; fixed in {', '.join(flaw['fix_versions']) or 'no version yet'}"
        for own in asked
        for flaw in own.get("vulns", [])
    ]
    seen = f"{len(asked) - len(unknown)} packages audited, {len(wrong)} known vulnerabilities"
    return [*wrong, seen, *([f"not audited: {', '.join(unknown)}"] if unknown else [])], 1 if wrong else 0


# -- the bill of materials ---------------------------------------------------------------------------------------------


def needs(package: Package, extras: set[str], present: set[str]) -> Iterator[tuple[str, set[str]]]:
    """The packages that one asks for, with their extras, of those that are present: markers were judged by pip."""
    for text in package["metadata"].get("requires_dist", []):
        name, extra, with_ = normal(name_of(text)), EXTRA.search(text), re.match(r"[\w.-]+\s*\[([^\]]+)\]", text)
        if name in present and (extra is None or extra[1] in extras):
            yield name, {part.strip() for part in with_[1].split(",")} if with_ else set()


def extras_of(packages: list[Package]) -> dict[str, set[str]]:
    """The extras that each package is installed with: those that pip was asked for, and those that packages ask for."""
    found = {normal(own["metadata"]["name"]): {*own.get("requested_extras", [])} for own in packages}
    before: list[int] = []
    while before != (before := [len(extras) for extras in found.values()]):
        for own in packages:
            for name, more in [*needs(own, found[normal(own["metadata"]["name"])], {*found})]:
                found[name] |= more
    return found


def bill(packages: list[Package]) -> str:
    """CycloneDX 1.6 as JSON, the same for the same packages: no time, no number of its own."""
    project, *others = packages
    extras, references = extras_of(packages), {normal(own["metadata"]["name"]): _reference(own) for own in packages}
    depends = []
    for name, own in zip(references, packages, strict=True):
        wanted = {references[other] for other, _ in needs(own, extras[name], {*references}) if other != name}
        depends.append({"ref": references[name], "dependsOn": sorted(wanted)})
    found = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": _component(project, "application")},
        "components": [_component(own, "library") for own in others],
        "dependencies": depends,
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _reference(package: Package) -> str:
    about = package["metadata"]
    return f"pkg:pypi/{normal(about['name'])}@{about['version']}"


def _component(package: Package, kind: str) -> dict[str, Any]:
    about, archive = package["metadata"], package.get("download_info", {}).get("archive_info", {})
    found = {
        "type": kind,
        "bom-ref": _reference(package),
        "name": about["name"],
        "version": about["version"],
        "purl": _reference(package),
    }
    if summary := about.get("summary"):
        found["description"] = summary
    if licence := about.get("license_expression"):
        found["licenses"] = [{"expression": licence}]
    elif names := [licence for licence in [about.get("license", "")] if licence and "\n" not in licence] or [
        kind.rpartition(" :: ")[2] for kind in about.get("classifier", []) if kind.startswith("License ::")
    ]:
        found["licenses"] = [{"license": {"name": name}} for name in names]
    if digest := archive.get("hashes", {}).get("sha256"):
        found["hashes"] = [{"alg": "SHA-256", "content": digest}]
    return found


VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())
sys.exit(f"not CycloneDX 1.6: {wrong}" if wrong else 0)
"""


def sbom(python: Path, packages: list[Package], out: Path | None) -> int:
    """Write the bill of materials, if it is what the format asks for."""
    text = bill(packages)
    if subprocess.run([python, "-c", VALIDATE], input=text, text=True, encoding="utf-8").returncode:
        return 1
    out = out or ROOT / "dist" / f"{NAME}-{packages[0]['metadata']['version']}.cdx.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    print(f"{out}: {len(packages)} packages")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("audit", "sbom"))
    parser.add_argument("--extras", default="all", help="extras of the package, with commas between them")
    parser.add_argument("--out", type=Path, help="where the bill of materials is written")
    given = parser.parse_args()
    python = prepared()
    packages = resolved(python, given.extras)
    return audit(python, packages) if given.what == "audit" else sbom(python, packages, given.out)


if __name__ == "__main__":
    sys.exit(main())
