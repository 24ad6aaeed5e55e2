"""Nothing here runs without the programs that tests/conformance/run makes."""
import os

import pytest

collect_ignore = [] if "THREAD_TOOL" in os.environ else ["test_langgraph_store.py"]


@pytest.fixture
def tool():
    return os.environ["THREAD_TOOL"]
