"""What `make audit` and `make sbom` make of pip's and pip-audit's answers."""

import json
import subprocess
import sys

import pytest

from helpers import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import audit


def package(name: str, version: str, needs=(), extras=(), **more) -> dict:
    """A package as pip reports it."""
    found = {"metadata": {"name": name, "version": version, "requires_dist": [*needs], **more}}
    return found | ({"requested_extras": [*extras]} if extras else {})


PACKAGES = [
    package("structron", "1.0", ["NumPy>=1", 'ray>=2; extra == "ray"', 'structron[ray]; extra == "all"'], ["all"]),
    package(
        "Gone_By", "0.1", license="a\ntext", classifier=["License :: OSI Approved :: MIT License", "Typing :: Typed"]
    ),
    package("numpy", "2.0", license_expression="BSD-3-Clause", license="a long\ntext"),
    package("ray", "2.60", ["numpy", 'absent; sys_platform == "win32"', 'gone.by; extra == "default"']),
]


def test_a_bill_has_every_package_and_who_asks_for_it():
    PACKAGES[2]["download_info"] = {"archive_info": {"hashes": {"sha256": "ab" * 32}}}
    text = audit.bill(PACKAGES)
    found = json.loads(text)
    assert text == audit.bill(PACKAGES)
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert found["metadata"]["component"]["purl"] == "pkg:pypi/structron@1.0"
    by_name = {own["name"]: own for own in found["components"]}
    assert {*by_name} == {"Gone_By", "numpy", "ray"}
    assert by_name["numpy"]["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    assert by_name["numpy"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert by_name["Gone_By"]["licenses"] == [{"license": {"name": "MIT License"}}]
    assert {own["ref"]: own["dependsOn"] for own in found["dependencies"]} == {
        "pkg:pypi/structron@1.0": ["pkg:pypi/numpy@2.0", "pkg:pypi/ray@2.60"],
        "pkg:pypi/gone-by@0.1": [],
        "pkg:pypi/numpy@2.0": [],
        "pkg:pypi/ray@2.60": ["pkg:pypi/numpy@2.0"],
    }


FLAW = {"id": "PYSEC-1", "fix_versions": ["2.1"]}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], (["1 packages audited, 0 known vulnerabilities"], 0)),
        (
            [{"name": "a", "version": "2", "vulns": [FLAW]}, {"name": "b", "skip_reason": "not found"}],
            (["a 2: PYSEC-1; fixed in 2.1", "1 packages audited, 1 known vulnerabilities", "not audited: b"], 1),
        ),
        ([{"name": "a", "skip_reason": "not found"}], ([], 2)),  # an index without advisories knows no package
        ([], ([], 2)),
    ],
)
def test_a_package_that_nobody_knows_was_not_audited(answer, expected):
    assert audit.judged(json.dumps({"dependencies": answer})) == expected


def test_no_answer_is_no_audit(monkeypatch, capsys):
    done = subprocess.CompletedProcess([], 1, stdout="", stderr="ConnectionError")
    monkeypatch.setattr(audit.subprocess, "run", lambda *given, **more: done)
    assert audit.audit("python", PACKAGES) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "the advisory databases (pypi, osv) cannot be reached: nothing was audited\n"
