# beatwire: `make demo` and `make test` install what they need into .venv on a machine with Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Stamps: what running needs is installed; what tests, benchmarks and training need is installed too.
RUN_READY := $(VENV)/.run-ready
DEV_READY := $(VENV)/.dev-ready
# Modules are not compiled to bytecode here: Python does it when it imports one, and few of them are imported. It has to
# be allowed to: without bytecode every command of every test compiles anew what it imports.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt
# uv installs in a third of the time. Where it fails, and where pip is configured to use an index of its own, pip does.
install = if $(BIN)/python -m pip config list | grep -q index-url || \
	! { { test -x $(BIN)/uv || $(PIP) uv; } && $(UV) $(1); }; then $(PIP) $(1); fi
# What takes longest begins while the rest is installed, and goes on after it: the kernels are compiled, for which Numba
# is enough, and Kafka's jars are fetched. Whoever needs them waits; what fails here is done then. Python starts them,
# and no shell in the background: that would have them ignore Ctrl-C.
FIRST = numba scipy jgo
AHEAD = PYTHONPATH=streaming $(BIN)/python -c 'from subprocess import DEVNULL as no, Popen; \
	[Popen(["$(BIN)/python", "-m", module], stdin=no, stdout=no, stderr=no) \
	for module in ("beatwire.jit.precompile", "beatwire.kafka.local.jvm")]'

# Four processes share the tests by file, because many wait; those that measure time run alone, after them. One that is
# lost ends the run: where xdist starts another in its place it may wait for ever.
SHARED := $(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder --max-worker-restart=0 --durations=8

# One thread each for the linear algebra, as the commands have it: several would wait for each other, at work, while
# other tests have the cores. The heavy suite leaves their number to the libraries.
test shared test-fast: export OPENBLAS_NUM_THREADS = 1
test shared test-fast: export OMP_NUM_THREADS = 1

.PHONY: demo test dev shared check kernels jars test-fast test-heavy test-gpu compose-test docs site bench first-alert screenshots train clean

demo: $(RUN_READY)
	$(BIN)/beatwire demo

# What CI runs: style, types, import rules, and all tests except the slow ones.
test: $(RUN_READY)
	$(MAKE) --no-print-directory -j 3 dev kernels jars
	$(MAKE) --no-print-directory -j 2 check shared
	$(BIN)/pytest $$(grep -rl "mark.alone" tests) -m "alone and not slow" --durations=8

dev: $(DEV_READY)

shared: $(DEV_READY)
	$(SHARED) -m "not slow and not alone"

check: $(DEV_READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(MAKE) --no-print-directory site
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec compose/compose*.yaml
	$(BIN)/hadolint compose/Dockerfile

# Compiled once, before two processes of tests would both compile them; and while pip downloads what tests need.
kernels: $(RUN_READY)
	$(BIN)/python -c 'from beatwire.service.warmup import warm_up; warm_up(print)'

# Kafka's, and an archive of their classes, with which a node starts in half the time; while pip downloads. Where there is
# no network the tests that need them are skipped.
jars: $(RUN_READY)
	-$(BIN)/python -c 'from beatwire.kafka.local.classes import write_archive; write_archive()'

# Without the tests that start a broker.
test-fast: $(DEV_READY) kernels
	$(SHARED) -m "not slow and not kafka"

# All tests, the slow ones included.
test-heavy: $(DEV_READY)
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-all} $(BIN)/pytest

# Tests of a GPU, by a Python with the extras gpu and dev. CHECK=memcheck, synccheck or racecheck: some of them, small wards
# of one lead and more, under NVIDIA's compute-sanitizer.
GPU_PYTHON ?= $(BIN)/python
SMALL_WARDS := tests/kernels/test_device.py -k "doubtful or chooses or steps or all_events and 2.0"
CHECKED = $(if $(CHECK),compute-sanitizer --tool $(CHECK) --report-api-errors no --error-exitcode 1)
test-gpu:
	$(CHECKED) $(GPU_PYTHON) -m pytest -m gpu $(if $(CHECK),$(SMALL_WARDS),tests/kernels tests/judging tests/api)

# The containers of compose/, with stand-ins for images that are not pulled; as root, with Debian's podman. RUN=--cluster
compose-test: $(DEV_READY)
	PYTHONPATH=tests/compose:$$(printf '%s:' tests/helpers tests/helpers/*) \
		$(BIN)/python tests/compose/compose_run.py $(RUN)

# A model, folders of recordings, records of noise: train it, and compare its figures with those of the shipped one.
define trained
	$(BIN)/beatwire train $(1) $(addprefix $(ECG)/,$(2)) $(addprefix --noise $(ECG)/nstdb/,$(3)) --out $(OUT)/$(1).safetensors
	@cmp -s $(OUT)/$(1).metrics.json $(SHIPPED)/$(1).metrics.json && echo "$(1): same figures as the shipped model" || \
		echo "$(1): figures differ from the shipped model's; processors round differently"
endef

# Train the shipped models again from the annotated recordings in ECG into OUT. An interrupted run is resumed.
ECG ?= ../shared/ecg
OUT ?= build/train
SHIPPED := streaming/beatwire/model/weights
train: $(DEV_READY)
	@test -d $(ECG)/mitdb -a -d $(ECG)/svdb -a -d $(ECG)/nstdb || \
		{ echo "make train: expected the folders mitdb, svdb and nstdb in $(ECG); another folder: make train ECG=FOLDER"; exit 1; }
	$(call trained,vae,mitdb svdb,)
	$(call trained,detector,mitdb svdb,bw ma)
	$(call trained,classes,mitdb svdb cinc2017 mimicaf nsrdb,)
	$(call trained,ventricular,cinc2015 cinc2017 mimicaf mitdb svdb vfdb,bw ma em100)
	$(call trained,rhythm,cinc2015 cinc2017 cudb mimicaf mitdb svdb vfdb,bw ma em100)

# The pictures in docs/images, of the live page and of a report of ../shared/ecg/mitdb/205; needs the command chromium.
screenshots: $(DEV_READY)
	PYTHONPATH=$$(printf '%s:' tests/helpers tests/helpers/*) $(BIN)/python tests/helpers/page/screenshots.py docs/images

# Tables of the documents that follow from code and data.
docs: $(DEV_READY)
	$(BIN)/python docs/make/tables.py

# The documents as a site, in build/site.
site: $(DEV_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(DEV_READY)
	$(BIN)/beatwire bench

# From a clone of the last commit, with an empty home folder, to the first alert of its demo: the stages and their seconds.
first-alert:
	$(PYTHON) tests/helpers/service/first_alert.py

$(RUN_READY): EXTRAS = broker,report,dashboard
$(RUN_READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "make: expected Python 3.11 or newer; got $$($(PYTHON) --version 2>&1) as $(PYTHON). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Installing into $(VENV) what running needs: less than a minute, 0.9 GB."
	$(PYTHON) -m venv $(VENV)
	@$(call install,$(FIRST))
	@$(AHEAD)
	@$(call install,--editable '.[$(EXTRAS)]')
	@touch $@

# Bytecode of all packages but the largest and those of which little is imported, and not of their tests: a test run turns
# warnings into errors, those of the compiler too.
$(DEV_READY): EXTRAS = dev
$(DEV_READY): $(RUN_READY)
	@echo "Installing into $(VENV) what tests, benchmarks and training need: about a minute, 6 GB (PyTorch brings CUDA)."
	@$(call install,--editable '.[$(EXTRAS)]')
	@$(BIN)/python -W ignore -m compileall -qq -j 0 -x '/(dask|fhir|fontTools|matplotlib|mpmath|mypyc?|networkx|neurokit2|numba_cuda|nvidia|pip|pydicom|pygments|setuptools|sklearn|sympy|tests?|torch|torchgen|triton)/' $(VENV)/lib || true
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
