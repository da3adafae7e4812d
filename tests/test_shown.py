"""What people see of results when they print them, or look at them in a notebook."""

import numpy as np

import vendirl as vr


def test_results_print_in_a_few_lines_and_show_themselves_in_notebooks():
    data = vr.Trajectories.of(np.random.default_rng(0).normal(size=(3, 4, 10, 2)), source="<here>")
    found = vr.evaluate(data, "mmd", measures=False)
    run = vr.train("point", method="random", skills=2, scenes=8, steps=400, hidden=(8,), progress=False)
    score = vr.vendi(np.eye(20) * 0.5 + 0.5)
    for thing in (data, found, run, score):
        assert 1 <= len(str(thing).splitlines()) <= 5
        assert max(map(len, str(thing).splitlines())) < 160
        page = thing._repr_html_()
        assert page.startswith("<pre>")
        assert "<here>" not in page
    assert "<svg" in run._repr_html_()
    assert "<td>mmd</td>" in found._repr_html_()
    assert "mmd: no interval of a repetition or of the limit: it takes at least 8 episodes" in found._repr_html_()
    assert "of 20 items" in repr(score)
    assert repr(found) == str(found)
