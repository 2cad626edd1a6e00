# beatwire: make demo, make test. Each does everything on a machine with Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.python-ready

.PHONY: demo test check test-fast bench train clean

demo: $(READY)
	$(BIN)/beatwire demo

# What CI runs: style, types, then every test but the heavy ones.
test: check
	$(BIN)/pytest -m "not slow" --durations=8

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Without a broker of its own, in about two minutes.
test-fast: $(READY)
	$(BIN)/pytest -m "not slow and not kafka"

# Everything, the heavy ones too.
test-heavy: $(READY)
	$(BIN)/pytest

# Both shipped models again, from the annotated recordings in ECG, into OUT. Interrupted, it goes on.
ECG ?= ../shared/ecg
OUT ?= build/train
train: $(READY)
	@test -d $(ECG)/mitdb -a -d $(ECG)/svdb -a -d $(ECG)/nstdb || \
		{ echo "make train needs the folders mitdb, svdb and nstdb in $(ECG) (make train ECG=FOLDER)"; exit 1; }
	$(BIN)/beatwire train vae $(ECG)/mitdb $(ECG)/svdb --out $(OUT)/vae.safetensors
	@cmp -s $(OUT)/vae.metrics.json streaming/beatwire/model/weights/vae.metrics.json && echo "vae: as shipped" || \
		echo "vae: figures differ from the shipped ones; another processor rounds differently"
	$(BIN)/beatwire train detector $(ECG)/mitdb $(ECG)/svdb --noise $(ECG)/nstdb/bw --noise $(ECG)/nstdb/ma \
		--out $(OUT)/detector.safetensors
	@cmp -s $(OUT)/detector.metrics.json streaming/beatwire/model/weights/detector.metrics.json && echo "detector: as shipped" || \
		echo "detector: figures differ from the shipped ones; another processor rounds differently"

bench: $(READY)
	$(BIN)/beatwire bench

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "beatwire needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "First time: creating $(VENV) and installing the pinned packages: 2-10 minutes, about 5 GB (PyTorch's default build brings CUDA)."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

clean:
	rm -rf $(VENV) build dist *.egg-info
