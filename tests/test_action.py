"""The action for GitHub: its steps, run by bash as a runner runs them."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import forked
import pytest
import yaml
from tiny import WRITE

ROOT = Path(__file__).resolve().parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@dataclass
class Job:
    """One use of the action: each step's exit code and outputs, as far as it was run."""

    inputs: dict[str, str]
    directory: Path
    program: Path = field(default_factory=forked.program)
    codes: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)

    def run(self) -> "Job":
        for step in ACTION["runs"]["steps"]:
            name = step.get("id", step["name"])
            if name == "install":  # the heatsoak under test is there already
                self.outputs["steps.install.outputs.program"] = str(self.program)
            elif "run" in step and (not any(self.codes.values()) or "always()" in step["if"]):
                self.codes[name] = self._bash(name, step)
        return self

    def _bash(self, name: str, step: dict[str, Any]) -> int:
        said = self.directory / f"outputs of {name}"
        script = self.directory / "step.sh"
        script.write_text(step["run"], "utf-8")
        env = {**os.environ, "GITHUB_OUTPUT": str(said), "RUNNER_TEMP": str(self.directory)}
        env |= {key: self.value(value) for key, value in step["env"].items()}
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(words, cwd=self.directory, env=env, check=False)
        for line in said.read_text("utf-8").splitlines() if said.exists() else ():
            key, _, value = line.partition("=")
            self.outputs[f"steps.{name}.outputs.{key}"] = value
        return done.returncode

    def value(self, text: str) -> str:
        """Return what GitHub makes of a text with expressions in it."""
        defaults = {key: one.get("default", "") for key, one in ACTION["inputs"].items()}
        known = {f"inputs.{key}": value for key, value in {**defaults, **self.inputs}.items()}
        known |= {"github.action_path": str(ROOT), **self.outputs}

        def first(found: re.Match[str]) -> str:
            return next(filter(None, (known[name] for name in found[1].split(" || "))), "")

        return _EXPRESSION.sub(first, text)


def job(directory: Path, **inputs: str) -> Job:
    (directory / "tiny.toml").write_text(WRITE, "utf-8")
    return Job({"protocol": "tiny.toml", **inputs}, directory).run()


def failures(path: Path) -> int:
    return len(ElementTree.parse(path).findall(".//failure"))


def assert_page(path: Path) -> None:
    assert path.read_text("utf-8").lower().startswith("<!doctype html")


@pytest.mark.slow
def test_a_drive_that_throttles_fails_the_job_and_leaves_junit_and_page(
    tmp_path: Path, small_drive: Path
) -> None:
    target = f"sim:{small_drive}@puget-top-2gpu-loaded"
    done = job(tmp_path, protocol="quick", target=target, output="kept here")
    assert done.codes == {"run": 1, "Make JUnit and page": 0}
    assert done.outputs["steps.run.outputs.exit-code"] == "1"
    assert failures(tmp_path / "kept here" / "junit.xml") > 0
    assert_page(tmp_path / "kept here" / "report.html")
    # one that is to fail for nothing keeps what it found
    done = job(tmp_path, protocol="quick", target=target, **{"fail-on": ""})
    assert done.codes == {"run": 0, "Make JUnit and page": 0}
    assert failures(tmp_path / "heatsoak-ci" / "junit.xml") > 0


def test_a_drive_that_does_not_throttle_passes_and_leaves_both_as_well(
    tmp_path: Path, small_drive: Path
) -> None:
    (tmp_path / "tiny.toml").write_text(WRITE, "utf-8")
    installed = Path(sys.executable).with_name("heatsoak")
    inputs = {"protocol": "tiny.toml", "target": f"sim:{small_drive}"}
    done = Job(inputs, tmp_path, installed).run()
    assert done.codes == {"run": 0, "Make JUnit and page": 0}
    assert done.outputs["steps.run.outputs.exit-code"] == "0"
    assert failures(tmp_path / "heatsoak-ci" / "junit.xml") == 0
    assert_page(tmp_path / "heatsoak-ci" / "report.html")


@pytest.mark.slow
def test_more_arguments_are_words_with_quotes_and_nothing_else(
    tmp_path: Path, small_drive: Path
) -> None:
    arguments = "--set 'label=a b'\n--set 'other=$(touch owned)' --dry-run"
    done = job(tmp_path, target=f"sim:{small_drive}", arguments=arguments)
    assert done.codes["run"] == 0
    assert not (tmp_path / "heatsoak-ci" / "recording").exists()  # a dry run records nothing
    done = job(tmp_path, target=f"sim:{small_drive}", arguments=arguments.replace("--dry-run", ""))
    assert done.codes["run"] == 0
    recorded = (tmp_path / "heatsoak-ci" / "recording" / "recording.json").read_text("utf-8")
    assert '"a b"' in recorded
    assert '"$(touch owned)"' in recorded
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"target": "sim:nothing"}, 2),
        ({"target": "; touch owned"}, 2),
        ({"target": "sim:samsung-950-pro-512", "protocol": "$(touch owned)"}, 2),
        ({"target": "sim:samsung-950-pro-512", "arguments": "; touch owned"}, 2),
        ({"target": "sim:samsung-950-pro-512", "protocol": "--help"}, 2),
        ({"target": "--help", "output": "--version"}, 2),
    ],
)
def test_what_is_wrong_fails_with_its_own_exit_code_and_is_never_run_as_a_script(
    tmp_path: Path, inputs: dict[str, str], code: int
) -> None:
    done = job(tmp_path, **inputs)
    assert done.codes == {"run": code, "Make JUnit and page": 0}
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("inputs", "installed"), [({}, str(ROOT)), ({"package": "dist/x.whl"}, "dist/x.whl")]
)
def test_it_installs_its_own_checkout_unless_a_package_is_named(
    tmp_path: Path, inputs: dict[str, str], installed: str
) -> None:
    (step,) = (one for one in ACTION["runs"]["steps"] if one.get("id") == "install")
    assert Job(inputs, tmp_path).value(step["env"]["PACKAGE"]) == installed


def test_no_input_is_written_into_a_scripts_text() -> None:
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    assert scripts
    assert not any(_EXPRESSION.search(script) for script in scripts)
