#!/usr/bin/env bash
# Does what we would publish work for somebody who has nothing else? The wheel and the sdist in dist/ are installed,
# each in an empty virtual environment outside of the repository, imported, and used to train for a few seconds.
#
#     tests/package/smoke.sh [python]
set -euo pipefail

python=${1:-python3}
repository=$(cd "$(dirname "$0")/../.." && pwd)
case $python in
    */*) python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python") ;; # it is called from another folder below
esac

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV

# The one file that a pattern matches, or an error.
only() {
    if [[ $# -ne 1 || ! -f $1 ]]; then
        echo "smoke.sh: dist/ must hold one wheel and one sdist; make package builds them" >&2
        return 1
    fi
    echo "$1"
}

smoke() {
    local kind=$1 artefact=$2
    local home=$folder/$kind
    echo "== $kind: $(basename "$artefact")"
    mkdir "$home"
    cd "$home"
    "$python" -m venv environment
    environment/bin/python -m pip install --quiet --disable-pip-version-check \
        --constraint "$repository/constraints.txt" "$artefact"
    environment/bin/python -m pip check --disable-pip-version-check

    environment/bin/python -c '
import importlib.metadata
import importlib.resources
import pathlib
import sys

import numpy as np

import vendirl as vr

assert pathlib.Path(vr.__file__).is_relative_to(sys.prefix), f"imported from elsewhere: {vr.__file__}"
installed = importlib.metadata.version("vendirl")
assert vr.__version__ == installed, f"{vr.__version__} is imported, {installed} is installed"
score = float(vr.vendi_score(np.eye(4)))
assert abs(score - 4.0) < 1e-5, f"four items that have nothing in common score {score}"
package = importlib.resources.files("vendirl")
for name in ("py.typed", "show/report/page.css", "show/report/page.html"):
    assert package.joinpath(*name.split("/")).is_file(), f"{name} is missing"
print(f"vendirl {installed} on Python {sys.version.split()[0]}: four different items score {score:.3f}")
'
    # Compiled programs are kept in a cache, which is an empty one here; pip has used its own.
    XDG_CACHE_HOME=$home/cache environment/bin/vendirl list > list.txt
    grep -q mmd list.txt || { echo "smoke.sh: vendirl list does not name the similarity mmd" >&2; return 1; }
    XDG_CACHE_HOME=$home/cache environment/bin/vendirl train --skills 2 --scenes 8 --steps 4000 --out run
    [[ -s run/summary.json ]] || { echo "smoke.sh: the training left no run/summary.json" >&2; return 1; }
}

shopt -s nullglob
wheel=$(only "$repository"/dist/vendirl-*.whl)
sdist=$(only "$repository"/dist/vendirl-*.tar.gz)
smoke wheel "$wheel"
smoke sdist "$sdist"
echo "The wheel and the sdist work."
