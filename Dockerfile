# The built book and JupyterLab in one image, with the embedded checkpoint and nothing to fetch when it runs:
#
#     docker build -t vitbook .
#     docker run --rm -p 127.0.0.1:8000:8000 -p 127.0.0.1:8888:8888 vitbook
#
# The book is on http://127.0.0.1:8000, JupyterLab at the address with a token that it prints.
# PyPI's torch for Linux brings CUDA along (several GB); an index that offers torch 2.13.0+cpu makes the image much smaller:
#
#     docker build -t vitbook --build-arg EXTRA_INDEX=https://... .
ARG BASE=python:3.11-slim-bookworm
FROM ${BASE}

RUN apt-get update \
    && apt-get install --yes --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home reader \
    && install --directory --owner=reader --group=reader /book
USER reader
WORKDIR /book

# First what seldom changes: everything that is installed. The package is an empty shell until the book comes.
COPY --chown=reader:reader Makefile pyproject.toml requirements*.txt README.md LICENSE ./
ARG EXTRA_INDEX=""
ENV DEV="" PIP_NO_CACHE_DIR=1
RUN mkdir vitbook \
    && touch vitbook/__init__.py \
    && PIP_EXTRA_INDEX_URL="${EXTRA_INDEX}" make install

# Then the book, built as everywhere, but without asking for the reference checkpoint.
COPY --chown=reader:reader . .
ENV VITBOOK_CHECKPOINT=embedded
RUN HF_HUB_OFFLINE=1 make book

EXPOSE 8000 8888
HEALTHCHECK --interval=30s --start-period=20s \
    CMD [".venv/bin/python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000'); urlopen('http://127.0.0.1:8888/api')"]
CMD ["make", "--jobs=2", "serve", "lab", "HOST=0.0.0.0", "PORT=8000", "LAB_OPTIONS=--port=8888 --no-browser"]
