# make app: set up and serve the app.  make test: set up, and run what a change can break in an afternoon.  make test-all: also
# what is slow and rarely breaks.  make docs: build/site.  make dist: dist.
# make lock: requirements*.lock.  make sbom: dist/*.cdx.json.  make audit: known advisories.  make container-check: builds the image.
# A Python from 3.11 to 3.14; name another with make PYTHON=/path/to/python.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
PORT ?= 8501

# Bytecode is stored, even where a shell or an image forbids it: each test worker would compile every module again.
export PYTHONDONTWRITEBYTECODE :=

# torch and what it alone brings for CUDA, which the lock of the image for CPUs leaves out.
CUDA := torch triton cuda-bindings cuda-pathfinder cuda-toolkit $(addprefix nvidia-,cublas cuda-cupti cuda-nvrtc \
	cuda-runtime cudnn-cu13 cufft cufile curand cusolver cusparse cusparselt-cu13 nccl-cu13 nvjitlink nvshmem-cu13 nvtx)
COMPILE = $(TOOLS)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command "make lock" $(addprefix --extra ,$(IMAGE_EXTRAS)) pyproject.toml
IMAGE_EXTRAS := generate onnx
TOOLS := .venv-release/bin
CHROMIUM = { command -v chromium-headless-shell || command -v chromium || command -v google-chrome; } >/dev/null

.PHONY: app setup setup-dev test test-all suite slow journeys browser lint types chromium notebooks docs dist lock sbom audit container-check bench gpu cluster torture clean

app: setup
	$(BIN)/emu app --port $(PORT)

setup: .venv/installed

setup-dev: .venv/installed-dev

# These run side by side, so that both cores are busy to the end; their output is mixed until the summaries.
test: setup-dev chromium lint
	@$(MAKE) --no-print-directory -j 3 types suite browser

test-all: test slow journeys

suite: setup-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not browser and not slow"  # beside the browser; each worker imports all tests

slow: setup-dev chromium
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "slow and not browser"

# The longer journeys in a real browser.
journeys: setup-dev chromium
	$(BIN)/python -m pytest -n 2 --dist loadscope -m "slow and browser" tests/browser  # a served app for each file

browser: setup-dev chromium
	$(BIN)/python -m pytest -m "browser and not slow" tests/browser

lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup-dev
	$(BIN)/mypy  # in one process: workers give up on a busy machine

# The browser tests drive Debian's Chromium without windows, or any chromium or google-chrome on the PATH, one of them behind nginx.
chromium:
	@$(CHROMIUM) && PATH=$$PATH:/usr/sbin command -v nginx >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && apt-get update -qq && \
			DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium-headless-shell fonts-noto-cjk nginx-light; } || \
		$(CHROMIUM) || \
		{ echo "the browser tests need Chromium: sudo apt-get install chromium-headless-shell nginx-light"; exit 1; }

# Runs every notebook top to bottom and stores its outputs in it.
notebooks: setup-dev
	$(BIN)/python -m tools.run_notebooks

docs: setup-dev
	$(BIN)/python -m tools.settings_page
	$(BIN)/zensical build --strict --clean

dist: setup-dev
	rm -rf build dist
	$(BIN)/python -m build

# The versions that requirements.txt and the image's extras allow today, on every platform, with the hash of each file.
lock: .venv-release/installed
	$(COMPILE) --upgrade -o requirements.lock
	$(COMPILE) $(addprefix --no-emit-package ,$(CUDA)) --constraint requirements.lock -o requirements-cpu.lock

# CycloneDX: what the wheel brings with it, by version and hash.
sbom: .venv-release/installed
	mkdir -p dist
	$(TOOLS)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible -o dist/emu-core.cdx.json requirements.lock

# Asks the package index for the advisories on each locked version.
audit: .venv-release/installed
	$(TOOLS)/pip-audit --strict --disable-pip --no-deps --require-hashes -r requirements.lock

# Builds the image with buildah, as root and without a daemon, and starts it as docs/how-to/container.md says.
container-check:
	python3 -m tools.container $(CONTAINER)

bench: setup-dev
	$(BIN)/python -m benchmarks.critic_step
	$(BIN)/python -m benchmarks.encoding

# Needs a GPU to say anything; on a CPU it runs with small sizes. Under eight minutes.
gpu: setup-dev
	$(BIN)/python -m benchmarks.gpu --out build/gpu.json

# The tests on a Ray cluster of several nodes and on Spark, with packages that nothing else needs; Spark needs Java 17.
cluster: .venv-cluster/installed
	.venv-cluster/bin/python -m pytest tests/cluster

# Kills trainings at 100 moments a method and compares what they end with; an hour.
torture: setup-dev
	$(BIN)/python -m benchmarks.torture

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "no Python 3.11 to 3.14 found; name one: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python requirements.txt pyproject.toml
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -r requirements.txt
	$(BIN)/python -m pip install -q --no-deps -e .
	touch $@

.venv/installed-dev: .venv/installed requirements-dev.txt
	$(BIN)/python -m pip install -q -r requirements-dev.txt
	touch $@

.venv-release/installed: requirements-release.txt
	$(PYTHON) -m venv .venv-release
	$(TOOLS)/python -m pip install -q -r $<
	touch $@

.venv-cluster/installed: requirements.txt requirements-dev.txt pyproject.toml
	$(PYTHON) -m venv .venv-cluster
	.venv-cluster/bin/python -m pip install -q -r requirements.txt -r requirements-dev.txt
	.venv-cluster/bin/python -m pip install -q -e ".[ray,spark]"
	touch $@

clean:
	rm -rf .venv .venv-release .venv-cluster build dist *.egg-info .cache .pytest_cache .mypy_cache .ruff_cache
