"""The addresses of the server: the page, its JSON API, UDPipe's protocol, what documents them."""

import logging
import math
from collections.abc import Callable
from contextlib import asynccontextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from structron._version import __version__
from structron.errors import StructronError
from structron.runtime.threads import Busy
from structron.serve import udpipe
from structron.serve.analyse import analyse, explain
from structron.serve.beam import trace
from structron.serve.bodies import describe as describe_mistakes
from structron.serve.bodies import read_form, read_json, read_query, to_json
from structron.serve.compare import compare
from structron.serve.library import Library, is_live, read_log
from structron.serve.limits import Limits, RequestGuard
from structron.serve.looks import describe, features
from structron.serve.requests import Late, RequestThreads
from structron.serve.schemas import (
    AnnotateRequest,
    BeamRequest,
    CompareRequest,
    ErrorAnswer,
    ExplainRequest,
    Health,
    Model,
    UDPipeAnswer,
    UDPipeModels,
)

PAGES = {"/": "index.html", "/docs": "docs.html"}
ABOUT = """Analyses of text by structured perceptrons, with explanations and the steps of the search.

`/process` and `/models` speak the REST protocol of UDPipe. Everything else is under `/api`. Requests have limits: a
body of 1 MB (413), 30 seconds (503), a number of requests at a time (429, with Retry-After)."""
MISTAKES: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorAnswer, "description": "No model, file or log of that name."},
    413: {"model": ErrorAnswer, "description": "The request is too long."},
    415: {"model": ErrorAnswer, "description": "The body is not JSON."},
    422: {"model": ErrorAnswer, "description": "The request is invalid; the response says why."},
    429: {"model": ErrorAnswer, "description": "Too many requests at a time; Retry-After says when to try again."},
    503: {
        "model": ErrorAnswer,
        "description": "It took too long, or is waiting for the compiler; Retry-After says when to try again.",
    },
}
MODEL_FILE = {
    "requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
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
            {"name": "analysis", "description": "Analyses of text, with explanations."},
            {"name": "models", "description": "What models have learned, and how they were trained."},
            {"name": "udpipe", "description": "UDPipe's REST protocol."},
            {"name": "server", "description": "The server itself."},
        ],
    )
    add_mistakes(app)
    _add_server(app, library, threads)
    _add_udpipe(app, library, threads)
    _add_analysis(app, library, threads)
    _add_models(app, library, threads)
    _add_pages(app)
    return RequestGuard(app, limits)


def in_json(value: Any) -> Response:
    """An answer, encoded by the thread that calls this."""
    return Response(to_json(value), media_type="application/json")


def add_mistakes(app: FastAPI) -> None:
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
        if error.compiling is None:
            return answer(503, "this took too long; expected a shorter text", **{"Retry-After": "30"})
        wait = math.ceil(error.compiling)
        why = f"compiling (first run only), about {wait} s left; try again then"
        return answer(503, why, **{"Retry-After": str(wait)})

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        return answer(error.status_code, error.detail, **dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        return answer(422, describe_mistakes([one | {"loc": one["loc"][1:]} for one in error.errors()]))


def _add_server(app: FastAPI, library: Library, threads: RequestThreads) -> None:
    @app.get("/health", tags=["server"], summary="Whether the server is working")
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
    @app.get("/models", tags=["udpipe"], summary="The models, in UDPipe's form")
    async def models() -> UDPipeModels:
        return UDPipeModels(**udpipe.models(library))

    async def process(request: Request) -> Response:
        body, kind = await request.body(), request.headers.get("content-type", "")
        query = request.scope["query_string"]
        try:
            return await threads.run(
                lambda: in_json(udpipe.process(library, read_query(query) | read_form(body, kind)))
            )
        except StructronError as error:
            return PlainTextResponse(f"{error}\n", 400)

    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string"}, "description": text, "required": name == "data"}
        for name, text in {
            "data": "The text, or CoNLL-U.",
            "model": "A model; by default the first.",
            "tokenizer": "Tokenise plain text. Options: ranges, presegmented.",
            "tagger": "Add tags, features and lemmas.",
            "parser": "Add heads and relations.",
            "input": f"Without a tokenizer: {', '.join(udpipe.INPUTS)}.",
            "output": ", ".join(udpipe.OUTPUTS),
        }.items()
    ]
    fields = {p["name"]: {"type": "string", "description": p["description"]} for p in parameters}
    form = {"schema": {"type": "object", "required": ["data"], "properties": fields}}
    kinds = ("application/x-www-form-urlencoded", "multipart/form-data")
    body = {"requestBody": {"content": dict.fromkeys(kinds, form)}}
    how: dict[str, Any] = {
        "tags": ["udpipe"],
        "response_model": UDPipeAnswer,
        "summary": "Analyse text with UDPipe's protocol",
    }
    app.get("/process", openapi_extra={"parameters": parameters}, operation_id="process_get", **how)(process)
    app.post("/process", openapi_extra=body, operation_id="process_post", **how)(process)


def _add_analysis(app: FastAPI, library: Library, threads: RequestThreads) -> None:
    def add(name: str, kind: type[BaseModel], summary: str, work: Callable[[Any], Any]) -> None:
        content = {"application/json": {"schema": kind.model_json_schema()}}

        @app.post(
            f"/api/{name}",
            tags=["analysis"],
            summary=summary,
            operation_id=name,
            responses=MISTAKES,
            openapi_extra={"requestBody": {"required": True, "content": content}},
        )
        async def post(request: Request) -> Response:
            body, content_type = await request.body(), request.headers.get("content-type", "")
            return await threads.run(lambda: in_json(work(read_json(body, content_type, kind))))

    def annotate(given: AnnotateRequest) -> Any:
        return analyse(library, library.model(given.model), given.text, given.margins).to_json()

    def why(given: ExplainRequest) -> Any:
        return {"decisions": explain(library.model(given.model), given.part, given.words, given.top)}

    def beam(given: BeamRequest) -> Any:
        return trace(library, library.model(given.model), given.part, given.sentence, given.beam)

    def compared(given: CompareRequest) -> Any:
        source = library.annotated(given.data) if given.data is not None else given.text
        return compare(library.model(given.a), library.model(given.b), source)

    add("annotate", AnnotateRequest, "Sentences, words, tags, trees, entities, chunks of a text", annotate)
    add("explain", ExplainRequest, "The features that decided each word of a sentence", why)
    add("beam", BeamRequest, "Every step of a beam search, and what each update rule would learn", beam)
    add("compare", CompareRequest, "Two models on one annotated file", compared)


def _add_models(app: FastAPI, library: Library, threads: RequestThreads) -> None:
    how: dict[str, Any] = {"tags": ["models"], "responses": MISTAKES}

    @app.get("/api/models", summary="The models, and what each can do", **how)
    async def models() -> list[Model]:
        return [Model(**model.about()) for model in library.models.values()]

    @app.post("/api/models", summary="Send a model file, on this machine alone", openapi_extra=MODEL_FILE, **how)
    async def send(request: Request, name: str = Query("model", max_length=200)) -> Any:
        data = await request.body()
        return await threads.run(lambda: in_json({"name": library.add(name, data).name}))

    @app.get("/api/models/{name}", summary="Labels, sizes, options and training history of a model", **how)
    async def model(name: str) -> Any:
        found = library.model(name)
        return await threads.run(lambda: in_json(describe(found)))

    @app.get("/api/models/{name}/features", summary="The strongest features", **how)
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

        def some() -> Response:
            return in_json({"name": file.name, "sentences": file.blocks[first : first + count], "of": len(file.blocks)})

        return await threads.run(some)

    @app.get("/api/training", summary="The training logs", **how)
    async def logs() -> Any:
        return in_json([{"name": name, "exists": path.exists()} for name, path in library.logs.items()])

    @app.get("/api/training/{name}", summary="The passes that a training log has so far", **how)
    async def training(name: str, after: int = Query(0, ge=0)) -> Any:
        path = library.log(name)

        def passes() -> Response:
            found = read_log(path)
            return in_json({"name": name, "of": len(found), "live": is_live(path), "passes": found[after:]})

        return await threads.run(passes)


def _add_pages(app: FastAPI) -> None:
    def add(address: str, file: str) -> None:
        @app.get(address, include_in_schema=False)
        async def page() -> Response:
            text = (STATIC / file).read_bytes()
            return Response(text, media_type="text/html", headers={"cache-control": "no-cache"})

    for address, file in PAGES.items():
        add(address, file)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
