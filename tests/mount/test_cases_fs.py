"""Cases from other projects' reports: each script checks one situation in a
workspace (W), some in a thread directory (T), and says what was wrong."""
import os

import pytest

from saf import ROOT, run

CASES = sorted((ROOT / "tests/cases/fs").glob("*.sh"))
# What this version does not do yet, by case.
LATER = {}


@pytest.mark.limit(150)
@pytest.mark.parametrize("case", CASES, ids=[c.stem for c in CASES])
def test_case(workspace, case):
    if case.stem in LATER:
        pytest.skip(LATER[case.stem])
    workspace.idle()
    env = dict(os.environ, W=str(workspace.workspace), T=str(workspace.path))
    p = run(f"bash '{case}'", env=env, timeout=140)
    if p.returncode == 77:
        pytest.skip(p.stdout.strip() or "the script says: not applicable")
    assert p.returncode == 0, p.stdout + p.stderr
