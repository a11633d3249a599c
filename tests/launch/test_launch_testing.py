"""The tests of tests/launch_testing/: by launch_testing, or their cases against the same nodes."""

import os
import re
import subprocess
import sys
import unittest

import pytest

pytest.importorskip("rclpy")

from diffsim_ros.nodes.processes import NodeProcesses, own_domain
from tests.launch.stand_ins import ROOT, launched, loaded

FILES = sorted((ROOT / "tests" / "launch_testing").glob("*.py"))
pytestmark = pytest.mark.ros


@pytest.fixture
def domain():
    with own_domain() as number:
        yield number


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_by_launch_testing(file, domain):
    pytest.importorskip("launch_testing", reason="no launch_testing: PyPI does not have it")
    command = [sys.executable, "-m", "launch_testing.launch_test", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_its_cases_pass_against_the_nodes_that_launch_would_start(
    file, domain, tmp_path, monkeypatch
):
    module = loaded(file, monkeypatch, share=str(ROOT))
    include, _ = module.generate_test_description().arguments[0]
    assert include.arguments[0].arguments == (str(ROOT / "launch" / module.FILE),)
    given = dict(include.options["launch_arguments"])
    assert given == module.arguments()
    nodes = launched(module.FILE.partition(".")[0], monkeypatch, **given)
    assert set(nodes) == module.NODES
    monkeypatch.undo()  # the cases and the nodes need the true modules
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "NODES", module.CALLED)  # each takes seconds to start
    kinds = [v for v in vars(module).values() if isinstance(v, type)]
    cases = [k for k in kinds if issubclass(k, unittest.TestCase)]
    active = [k for k in cases if not hasattr(k, "after_shutdown")]
    assert len(active) == len(cases) - 1 == 1
    with NodeProcesses(tmp_path / "logs") as processes:
        for name, options in nodes.items():
            _, _, *clock = options["parameters"]
            if name in module.CALLED:
                processes.start(name, {**options["values"], **(clock[0] if clock else {})})
        suite = unittest.defaultTestLoader.loadTestsFromTestCase(active[0])
        result = unittest.TestResult()
        suite.run(result)
        assert result.testsRun and result.wasSuccessful(), (result.failures, result.errors)
        codes = processes.end()
    (after,) = set(cases) - set(active)
    after().test_every_node_ended_with_code_0(codes)
    with pytest.raises(AssertionError):
        after().test_every_node_ended_with_code_0({**codes, "observer": 1})


def test_cmake_adds_every_launch_test():
    cmake = (ROOT / "CMakeLists.txt").read_text()
    added = re.search(r"foreach\(_test IN ITEMS ([\w ]+)\)", cmake).group(1).split()
    assert sorted(added) == [file.stem for file in FILES]
    assert '"tests/launch_testing/${_test}.py"' in cmake
