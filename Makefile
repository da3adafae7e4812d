# Two commands do everything on a machine with python3, make and a compiler: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check format benchmark clean

demo: $(VENV)/core
	$(BIN)/vendirl demo

test: check
	$(BIN)/python -m pytest -n 2 --dist loadgroup --durations 20

check: $(VENV)/develop
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/develop
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: $(VENV)/develop
	$(BIN)/python benchmarks/run.py

# The files core and develop record what has been installed in .venv, so that a second run starts at once.
$(VENV)/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	touch $@

$(VENV)/develop: $(VENV)/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[test,check]"
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
