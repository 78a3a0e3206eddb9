PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DATA   ?= ../shared/data

.PHONY: demo test test-oldest test-newest bench english mutations smoke torture load lint docs build wheels audit sbom clean

$(VENV)/.core: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ $(VENV)/.core

demo: $(VENV)/.core
	$(BIN)/structron demo

# One process more than there are cores: a part of the tests waits for browsers, servers and clusters.
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $$($(BIN)/python -c "import os; print((os.cpu_count() or 1) + 1)") --dist loadfile

# The core suite with the oldest and the newest versions that pyproject.toml allows; TESTS="tests/io -x" for a part of it.
test-oldest test-newest:
	$(PYTHON) tools/versions.py $(@:test-%=%) $(TESTS)

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks --data $(DATA)

EWT := $(DATA)/ud-english-ewt
UNER := $(DATA)/uner-english-ewt

ENGLISH := build/english
CLUSTERS := $(ENGLISH)/en_lexeme_cluster.json.gz
LISTS := ORG=organisations LOC=places PER=people

english: $(VENV)/.dev
	mkdir -p src/structron/models
	$(BIN)/python tools/english.py $(ENGLISH)
	$(BIN)/structron train pipeline --train $(EWT)/train.conllu.gz --dev $(EWT)/dev.conllu.gz \
	    --entities $(UNER)/train.conll.gz --dev-entities $(UNER)/dev.conll.gz \
	    --clusters $(CLUSTERS) $(foreach list,$(LISTS),--gazetteer $(subst =,=$(ENGLISH)/,$(list)).txt) --compact --jobs 2 \
	    --model src/structron/models/english.structron
	$(BIN)/structron evaluate english $(EWT)/test.conllu.gz
	$(BIN)/structron evaluate english $(EWT)/test.conllu.gz --gold tokens --entities $(UNER)/test.conll.gz

mutations: $(VENV)/.dev
	$(BIN)/python tests/mutations.py --mutations 2000

smoke: $(VENV)/.dev
	$(BIN)/python tests/smoke.py

# Two nights: it goes on where it was (build/torture/ledger.jsonl). PARTS="models inputs" for some of it.
torture: $(VENV)/.dev
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[torture]'
	PYTHONPATH=tests $(BIN)/python -m torture $(PARTS); found=$$?; \
	PYTHONPATH=tests $(BIN)/python -m torture --report benchmarks/torture.md; exit $$found

load: $(VENV)/.dev
	$(BIN)/python -m benchmarks.load
	$(BIN)/python -m benchmarks.load --requests 1000000

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

build: $(VENV)/.dev
	$(BIN)/python -m build

# A wheel with compiled kernels for every Python that is here, each tested; PYTHONS="3.12 3.13" for some of them.
wheels:
	$(PYTHON) tools/wheels.py $(PYTHONS)

# Known vulnerabilities of all that an installation consists of, and its bill of materials (CycloneDX, in dist/).
audit sbom:
	$(PYTHON) tools/audit.py $@

clean:
	rm -rf $(VENV) .venv-oldest .venv-newest .venv-audit build dist *.egg-info src/*.egg-info src/structron/kernels/binary
