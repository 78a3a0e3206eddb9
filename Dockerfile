# structron for a user who is not root, on a root file system that may be read-only:
#
#     docker build -t structron .
#     docker run --rm -i --read-only --tmpfs /tmp structron annotate < report.txt > report.conllu
#     docker run --rm --read-only --tmpfs /tmp --user "$(id -u)" -v "$PWD:/data" structron \
#         train chunker --train train.conll --model chunker.structron
#
# Kernels are compiled once, here: the package's own folder keeps them, and nothing needs to be written later.

FROM python:3.12-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.12-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
COPY --from=build /wheels /wheels
# Whole seconds: images keep no others, and kernels are as old as the files that they were compiled from.
RUN pip install --no-cache-dir --compile /wheels/*.whl \
 && find "$(python -c 'import structron; print(structron.__path__[0])')" -name '*.py' -exec touch -d 2020-01-01T00:00:00Z {} + \
 && structron demo > /dev/null \
 && rm -rf /wheels \
 && useradd --uid 10001 --no-create-home --home-dir /nonexistent structron
USER 10001
WORKDIR /data
ENTRYPOINT ["structron"]
CMD ["--help"]
