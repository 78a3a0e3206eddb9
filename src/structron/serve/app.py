"""The addresses of the server: the page, its JSON API, UDPipe's protocol, what documents them."""

import json
import logging
from collections.abc import Callable
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from structron._version import __version__
from structron.errors import StructronError
from structron.runtime.threads import Busy
from structron.serve import udpipe
from structron.serve.analyse import analyse, explain
from structron.serve.beam import trace
from structron.serve.compare import compare
from structron.serve.library import Library, age_of, read_log
from structron.serve.limits import Limits, RequestGuard
from structron.serve.looks import describe, features
from structron.serve.requests import Late, RequestThreads
from structron.serve.schemas import (
    AnnotateRequest,
    BeamRequest,
    CompareRequest,
    ExplainRequest,
    Health,
    Mistake,
    Model,
    UDPipeAnswer,
    UDPipeModels,
)

PAGES = {"/": "index.html", "/docs": "docs.html"}
ABOUT = """Analyses of text by structured perceptrons, why they are as they are, and how they were searched.

`/process` and `/models` speak the REST protocol of UDPipe. Everything else is under `/api`. Requests have limits: a
body of 1 MB (413), 30 seconds (503), a number of requests at a time (429, with Retry-After)."""
MISTAKES: dict[int | str, dict[str, Any]] = {
    404: {"model": Mistake, "description": "No model, file or log of that name."},
    413: {"model": Mistake, "description": "The request is too long."},
    422: {"model": Mistake, "description": "What is wrong with the request."},
    429: {"model": Mistake, "description": "Too many requests at a time; Retry-After says when to come back."},
    503: {"model": Mistake, "description": "It took too long."},
}
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # what is wrong with a form is answered, not logged
STATIC = Path(str(resources.files("structron"))) / "serve" / "static"


def make_app(library: Library, limits: Limits | None = None, threads: RequestThreads | None = None) -> RequestGuard:
    """The server's application for these models, files and logs."""
    limits = limits or Limits()
    threads = threads or RequestThreads(seconds=limits.seconds)

    @asynccontextmanager
    async def life(_: FastAPI) -> Any:
        yield
        threads.pool.close()

    app = FastAPI(
        title="structron",
        version=__version__,
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        license_info={"name": "Apache-2.0"},
        openapi_tags=[
            {"name": "analysis", "description": "From text to trees, and why."},
            {"name": "models", "description": "What models have learned, and how they were trained."},
            {"name": "udpipe", "description": "UDPipe's REST protocol."},
            {"name": "server", "description": "The server itself."},
        ],
    )
    _add_mistakes(app)
    _add_server(app, library, threads)
    _add_udpipe(app, library, threads)
    _add_analysis(app, library, threads)
    _add_models(app, library, threads)
    _add_pages(app)
    return RequestGuard(app, limits)


def in_json(value: Any) -> Response:
    """An answer that was made on a thread; every character of it is ASCII."""
    return Response(json.dumps(value, allow_nan=False, separators=(",", ":")), media_type="application/json")


def _add_mistakes(app: FastAPI) -> None:
    """What is answered to requests that cannot be served."""

    def answer(status: int, detail: Any, **headers: str) -> JSONResponse:
        return JSONResponse({"detail": detail}, status, headers)

    @app.exception_handler(StructronError)
    async def mistaken(_: Request, error: StructronError) -> Response:
        return answer(422, str(error))

    @app.exception_handler(LookupError)
    async def missing(_: Request, error: LookupError) -> Response:
        if type(error) is not LookupError:
            raise error
        return answer(404, str(error.args[0]))

    @app.exception_handler(Busy)
    async def busy(_: Request, error: Busy) -> Response:
        return answer(429, "too many requests at a time; try again in a second", **{"Retry-After": "1"})

    @app.exception_handler(Late)
    async def late(_: Request, error: Late) -> Response:
        return answer(503, "this took too long; expected a shorter text", **{"Retry-After": "30"})

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        return answer(error.status_code, error.detail, **dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        found = error.errors()[:5]
        texts = [f"{'.'.join(map(str, one['loc'][1:])) or 'body'}: {one['msg']}" for one in found]
        return answer(422, "; ".join(texts)[:2000])


def _add_server(app: FastAPI, library: Library, threads: RequestThreads) -> None:
    @app.get("/health", tags=["server"], summary="Whether the server works")
    async def health() -> Health:
        return Health(
            status="ok",
            version=__version__,
            models=list(library.models),
            workers=threads.pool.size,
            busy=threads.pool.busy,
            given_up=threads.pool.abandoned,
        )


def _add_udpipe(app: FastAPI, library: Library, threads: RequestThreads) -> None:
    @app.get("/models", tags=["udpipe"], summary="The models, as UDPipe lists them")
    async def models() -> UDPipeModels:
        return UDPipeModels(**udpipe.models(library))

    async def process(request: Request) -> Response:
        given = dict(request.query_params)
        if request.method == "POST":
            async with request.form(max_files=8, max_fields=32) as form:
                for name, value in form.items():
                    given[name] = _decoded(await value.read()) if isinstance(value, UploadFile) else value
        try:
            return await threads.run(lambda: in_json(udpipe.process(library, given)))
        except StructronError as error:
            return PlainTextResponse(f"{error}\n", 400)

    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string"}, "description": text, "required": name == "data"}
        for name, text in {
            "data": "The text, or CoNLL-U.",
            "model": "A model; by default the first.",
            "tokenizer": "Make tokens of plain text. Options: ranges, presegmented.",
            "tagger": "Fill tags, features and lemmas.",
            "parser": "Fill heads and relations.",
            "input": f"Without a tokenizer: {', '.join(udpipe.INPUTS)}.",
            "output": ", ".join(udpipe.OUTPUTS),
        }.items()
    ]
    fields = {p["name"]: {"type": "string", "description": p["description"]} for p in parameters}
    form = {"schema": {"type": "object", "required": ["data"], "properties": fields}}
    kinds = ("application/x-www-form-urlencoded", "multipart/form-data")
    body = {"requestBody": {"content": dict.fromkeys(kinds, form)}}
    how: dict[str, Any] = {"tags": ["udpipe"], "response_model": UDPipeAnswer, "summary": "Analyse, as UDPipe does"}
    app.get("/process", openapi_extra={"parameters": parameters}, operation_id="process_get", **how)(process)
    app.post("/process", openapi_extra=body, operation_id="process_post", **how)(process)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise HTTPException(400, "data: expected UTF-8") from None


def _add_analysis(app: FastAPI, library: Library, threads: RequestThreads) -> None:
    how: dict[str, Any] = {"tags": ["analysis"], "responses": MISTAKES}

    async def run(work: Callable[[], Any]) -> Response:
        return await threads.run(lambda: in_json(work()))

    @app.post("/api/annotate", summary="Sentences, words, tags, trees, entities, chunks of a text", **how)
    async def annotate(given: AnnotateRequest) -> Any:
        model = library.model(given.model)
        return await run(lambda: analyse(library, model, given.text, given.margins).to_json())

    @app.post("/api/explain", summary="What decided on each word of a sentence", **how)
    async def why(given: ExplainRequest) -> Any:
        model = library.model(given.model)
        return await run(lambda: {"decisions": explain(model, given.part, given.words, given.top)})

    @app.post("/api/beam", summary="Every step of a beam search, and what each update rule would learn", **how)
    async def beam(given: BeamRequest) -> Any:
        model = library.model(given.model)
        return await run(lambda: trace(library, model, given.part, given.sentence, given.beam))

    @app.post("/api/compare", summary="Two models on one annotated file", **how)
    async def compared(given: CompareRequest) -> Any:
        a, b = library.model(given.a), library.model(given.b)
        source = library.annotated(given.data) if given.data is not None else given.text
        return await run(lambda: compare(a, b, source))


def _add_models(app: FastAPI, library: Library, threads: RequestThreads) -> None:
    how: dict[str, Any] = {"tags": ["models"], "responses": MISTAKES}

    @app.get("/api/models", summary="The models, and what each can be asked", **how)
    async def models() -> list[Model]:
        return [Model(**model.about()) for model in library.models.values()]

    @app.get("/api/models/{name}", summary="Labels, sizes, options and training history of a model", **how)
    async def model(name: str) -> Any:
        found = library.model(name)
        return await threads.run(lambda: in_json(describe(found)))

    @app.get("/api/models/{name}/features", summary="The heaviest features", **how)
    async def heaviest(
        name: str,
        part: str | None = None,
        label: str | None = None,
        search: str = Query("", max_length=200),
        top: int = Query(50, ge=1, le=500),
    ) -> Any:
        found = library.model(name).part(part)
        return await threads.run(lambda: in_json(features(found, label, search, top)))

    @app.get("/api/data", summary="The annotated files", **how)
    async def data() -> Any:
        files = library.data.values()
        return in_json([{"name": file.name, "format": file.format, "sentences": len(file.blocks)} for file in files])

    @app.get("/api/data/{name}", summary="Sentences of an annotated file", **how)
    async def sentences(name: str, first: int = Query(0, ge=0), count: int = Query(20, ge=1, le=200)) -> Any:
        file = library.annotated(name)
        return in_json({"name": file.name, "sentences": file.blocks[first : first + count], "of": len(file.blocks)})

    @app.get("/api/training", summary="The training logs", **how)
    async def logs() -> Any:
        return in_json([{"name": name, "exists": path.exists()} for name, path in library.logs.items()])

    @app.get("/api/training/{name}", summary="The passes that a training log has so far", **how)
    async def training(name: str, after: int = Query(0, ge=0)) -> Any:
        path = library.log(name)
        found, age = await threads.run(lambda: (read_log(path), age_of(path)))
        return in_json({"name": name, "of": len(found), "age": age, "passes": found[after:]})


def _add_pages(app: FastAPI) -> None:
    def add(address: str, file: str) -> None:
        @app.get(address, include_in_schema=False)
        async def page() -> Response:
            text = (STATIC / file).read_bytes()
            return Response(text, media_type="text/html", headers={"cache-control": "no-cache"})

    for address, file in PAGES.items():
        add(address, file)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
