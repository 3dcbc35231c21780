# docker build -t emu .                                  computes on CPUs
# docker build -t emu:cuda --build-arg DEVICE=cuda .     computes on NVIDIA GPUs
# docker run -p 127.0.0.1:8501:8501 -v emu-runs:/runs -v emu-data:/data emu
# Nothing is fetched when a container starts: the default encoders' weights are inside the packages.
ARG DEVICE=cpu
ARG PYTHON=3.11
# Where PyTorch keeps its builds without CUDA, a tenth as large. Behind a mirror, name the mirror's.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

FROM python:${PYTHON}-slim AS python
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1
WORKDIR /srv/emu
RUN python -m venv .venv
ENV PATH=/srv/emu/.venv/bin:$PATH
# hadolint ignore=DL3013
RUN python -m pip install -q --upgrade pip

# Every file is checked against the hash that `make lock` wrote, but for torch's build without CUDA: it comes from an index of
# its own and is known by its version, which is requirements.txt's.
FROM python AS torch-cpu
ARG TORCH_INDEX
COPY requirements.txt requirements-cpu.lock ./
RUN python -m pip install -q --no-deps --index-url "${TORCH_INDEX}" -c requirements.txt torch \
    && python -m pip install -q --no-deps --require-hashes -r requirements-cpu.lock

# The package index's own build for Linux has CUDA inside; it needs a driver on the host and no CUDA there.
FROM python AS torch-cuda
COPY requirements.lock ./
RUN python -m pip install -q --no-deps --require-hashes -r requirements.lock

# hadolint ignore=DL3006
FROM torch-${DEVICE} AS installed
WORKDIR /srv/emu
ENV PIP_NO_CACHE_DIR=1
COPY requirements.txt pyproject.toml README.md LICENSE THIRD_PARTY_NOTICES.md ./
COPY emu_core emu_core
COPY app app
RUN python -m pip install -q --no-deps --no-build-isolation -e . \
    && python -m pip check

# The same folder, without what installing left elsewhere.
FROM python:${PYTHON}-slim
RUN useradd --create-home --uid 1000 emu \
    && install --directory --owner emu --group emu /runs /data
COPY --from=installed /srv/emu /srv/emu
# /runs holds runs and what was uploaded to train on; /data your files, models of the hub, LASER's files.
ENV PATH=/srv/emu/.venv/bin:$PATH \
    EMU_RUNS=/runs \
    EMU_LASER_DIR=/data/laser \
    HF_HOME=/data/hub \
    MPLCONFIGDIR=/tmp/matplotlib \
    NUMBA_CACHE_DIR=/tmp/numba \
    PYTHONDONTWRITEBYTECODE=1
USER 1000
WORKDIR /data
VOLUME ["/runs", "/data"]
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-P", "-c", "from urllib.request import urlopen; urlopen('http://localhost:8501/_stcore/health', timeout=5)"]
# -P: no file in /data is taken for a module. Every address of the container, which nobody reaches before a port is published: publish it on 127.0.0.1.
CMD ["python", "-P", "-m", "streamlit", "run", "/srv/emu/app/emu_app/shell/served.py", "--server.address", "0.0.0.0", "--server.port", "8501", "--server.headless", "true", "--server.fileWatcherType", "none", "--browser.gatherUsageStats", "false"]
