# Two commands do everything on a machine with python3, make and a compiler: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What is imported is compiled when it is; most of what is installed never is.
PIP := python -m pip install --quiet --disable-pip-version-check --no-compile
INSTALL := $(BIN)/$(PIP) --constraint constraints.txt
# The environments are installed, and style and types checked, side by side.
MAKEFLAGS += --jobs=2

.PHONY: demo test check format benchmark package lowest clean

demo: $(VENV)/core
	$(BIN)/vendirl demo

test: check $(VENV)-brax/ready
	$(BIN)/python -m pytest -n 2 --dist loadgroup --durations 20

check: $(VENV)/develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/develop
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: $(VENV)/develop
	$(BIN)/python benchmarks/run.py

# Builds what would be published, the wheel from the sdist, and tries both in empty environments outside of here.
package: $(VENV)/develop
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	tests/package/smoke.sh $(BIN)/python

# Tests the core with the oldest versions that pyproject.toml allows, in an environment of its own.
lowest: $(VENV)-lowest/ready
	PYTHONPATH=src $(VENV)-lowest/bin/python -m pytest tests/score tests/similarity tests/memory tests/data/test_npz.py \
		tests/data/test_trajectories.py tests/algorithms tests/training/test_carrying.py

$(VENV)-lowest/ready: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-lowest.txt \
		--editable . "beartype>=0.23" hypothesis "pytest>=8" "scikit-learn>=1.5"
	touch $@

# The files core and develop record what has been installed in .venv, so that a second run starts at once.
$(VENV)/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $@

$(VENV)/develop: $(VENV)/core pyproject.toml constraints.txt
	$(INSTALL) --editable ".[test,check]"
	touch $@

# Brax's own learners do not work with the newest JAX, so what is tested with them has an environment of its own.
$(VENV)-brax/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)-brax
	$(VENV)-brax/bin/$(PIP) --editable ".[brax]" jax==0.9.2 jaxlib==0.9.2
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-brax $(VENV)-lowest build dist .pytest_cache .ruff_cache .hypothesis
