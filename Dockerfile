# structron for a user who is not root, on a root file system that may be read-only:
#
#     docker build -t structron .
#     docker run --rm -i --read-only --tmpfs /tmp structron annotate < report.txt > report.conllu
#     docker run --rm --read-only --tmpfs /tmp --user "$(id -u)" -v "$PWD:/data" structron \
#         train chunker --train train.conll --model chunker.structron
#
# Kernels are compiled once, here, for the processor that builds the image; everybody may read them, and nothing needs to
# be written later. What is not among them (your own search problem, another kind of processor) is compiled at each start,
# unless STRUCTRON_CACHE names a volume that can be written to.

FROM python:3.12-slim AS build
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.12-slim
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 STRUCTRON_CACHE=/opt/structron/kernels
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --compile /wheels/*.whl \
 && rm -rf /wheels \
 && structron precompile \
 && chmod -R a+rX /opt/structron \
 && useradd --uid 10001 --no-create-home --home-dir /nonexistent structron
USER 10001
WORKDIR /data
ENTRYPOINT ["structron"]
CMD ["--help"]
