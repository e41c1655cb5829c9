# The search server alone: no PyTorch, no MkDocs; the default encoder is part of the package.
#
#   docker build --tag semsearch .
#   docker run --read-only --tmpfs /tmp --publish 8765:8765 --volume ./semsearch-index:/index:ro semsearch

# A name with a digest makes the base image the same every time: --build-arg BASE=python:3.13-slim@sha256:...
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY .docker .docker
COPY mkdocs_semsearch mkdocs_semsearch
COPY theme theme
# What the build and the search server require comes with hashes (`make lock`); the package needs more, for building sites.
RUN pip install --require-hashes --requirement .docker/build.txt \
 && pip wheel --no-deps --no-build-isolation --wheel-dir /wheel . \
 && python -m venv --without-pip /opt/semsearch \
 && pip --python /opt/semsearch/bin/python install --require-hashes --requirement .docker/image.txt \
 && pip --python /opt/semsearch/bin/python install --no-deps /wheel/*.whl \
 && /opt/semsearch/bin/python -m compileall -q /opt/semsearch/lib

FROM ${BASE}
COPY --from=build /opt/semsearch /opt/semsearch
ENV PATH=/opt/semsearch/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    XDG_CACHE_HOME=/tmp \
    SEMSEARCH_INDEX=/index
USER 10001:10001
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8765/healthz', timeout=2)"]
ENTRYPOINT ["semsearch"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8765"]
