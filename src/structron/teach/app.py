"""The addresses of `structron teach`: the page, what it asks, and what it says. Limits are those of the server."""

import re
from contextlib import asynccontextmanager
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.staticfiles import StaticFiles

from structron._version import __version__
from structron.serve.app import STATIC, add_mistakes, in_json
from structron.serve.bodies import read_json
from structron.serve.limits import Limits, RequestGuard
from structron.serve.requests import RequestThreads
from structron.teach.exchange import OUTPUTS, export
from structron.teach.teacher import Teacher

NAME = Field(min_length=1, max_length=100)


class Strict(BaseModel):
    """What a request says; fields that are not known are an error."""

    model_config = ConfigDict(extra="forbid")


class Asking(Strict):
    """A window of the page, and who sits before it."""

    window: str = NAME
    who: str = NAME


class Answering(Asking):
    """What somebody says of a sentence; without it the sentence is skipped."""

    sentence: int = Field(ge=0, lt=1 << 63)
    known: dict[Literal["labels", "heads", "relations"], list[Any]] | None = None
    predicted: dict[Literal["labels", "heads", "relations"], list[Any]] | None = None


class Labelling(Strict):
    """A new label."""

    label: str = Field(min_length=1, max_length=40)


def make_app(teacher: Teacher, limits: Limits | None = None) -> RequestGuard:
    """The server's application for a project."""
    limits = limits or Limits()
    threads = RequestThreads(4, seconds=limits.seconds)

    @asynccontextmanager
    async def life(_: FastAPI) -> Any:
        yield
        threads.pool.close()

    app = FastAPI(title="structron teach", version=__version__, docs_url=None, redoc_url=None, lifespan=life)
    add_mistakes(app)
    _add_questions(app, teacher, threads)

    @app.get("/health")
    async def health() -> Any:
        return {"status": "ok", "version": __version__}

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        text = (STATIC / "teach.html").read_bytes()
        return Response(text, media_type="text/html", headers={"cache-control": "no-cache"})

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    return RequestGuard(app, limits)


def _add_questions(app: FastAPI, teacher: Teacher, threads: RequestThreads) -> None:
    def add(name: str, kind: type[BaseModel], work: Any) -> None:
        @app.post(f"/api/teach/{name}", operation_id=name)
        async def post(request: Request) -> Response:
            body, content_type = await request.body(), request.headers.get("content-type", "")
            return await threads.run(lambda: in_json(work(read_json(body, content_type, kind))))

    def ask(given: Asking) -> Any:
        return {"item": teacher.ask(given.window, given.who), "status": teacher.status()}

    def answer(given: Answering) -> Any:
        number = teacher.answer(given.window, given.who, given.sentence, plain(given.known), plain(given.predicted))
        return {"saved": number, **ask(given)}

    def undo(given: Asking) -> Any:
        return {"item": teacher.undo(given.window, given.who), "status": teacher.status()}

    def label(given: Labelling) -> Any:
        return {"labels": teacher.add_label(given.label)}

    add("ask", Asking, ask)
    add("answer", Answering, answer)
    add("undo", Asking, undo)
    add("label", Labelling, label)

    @app.get("/api/teach/status")
    async def status() -> Response:
        return await threads.run(lambda: in_json(teacher.status()))

    @app.get("/api/teach/export/{format}")
    async def exported(format: str) -> Response:
        if format not in OUTPUTS or format == "brat":
            raise LookupError(f"no format {format} here; expected conll, conllu or jsonl")
        name = re.sub(r"[^ !#-\[\]-~]", "_", f"{teacher.project.path.stem}.{format}")
        text = await threads.run(lambda: export(teacher.project, format))
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(text, media_type="text/plain; charset=utf-8", headers=headers)


def plain(known: Any) -> dict[str, list] | None:
    """What is known as plain values."""
    return None if known is None else {str(name): values for name, values in known.items()}
