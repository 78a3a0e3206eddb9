"""What requests and answers of the JSON API look like; OpenAPI is made of it."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

ModelName = Field(None, description="A model by its name, as /api/models lists them; by default the first.")


class Request(BaseModel):
    """Fields that are not known are refused."""

    model_config = ConfigDict(extra="forbid")


class AnnotateRequest(Request):
    """A text to be analysed."""

    text: str = Field(
        description="Plain text; for models that read tokens: one sentence per line, tokens separated by "
        "spaces, further columns after slashes.",
        examples=["Dr. Smith didn't sleep. He flew to Paris."],
    )
    model: str | None = ModelName
    margins: bool = Field(
        False, description="Include the margin of every tag over the next best analysis, where known."
    )


class ExplainRequest(Request):
    """A sentence whose analysis is to be explained."""

    words: list[dict[str, str]] = Field(
        description="The words of a sentence with their columns: form, upos, xpos, feats, lemma, or the model's.",
        examples=[[{"form": "He"}, {"form": "slept"}]],
    )
    model: str | None = ModelName
    part: str | None = Field(None, description="A part of a pipeline, for instance tagger or parser.")
    top: int = Field(8, ge=1, le=100, description="Number of features for each decision.")


class BeamRequest(Request):
    """A sentence to be searched with a beam, with its correct analysis or without."""

    sentence: str = Field(description="One sentence in CoNLL-U, in the model's columns, or as plain text.")
    model: str | None = ModelName
    part: str | None = Field(None, description="A part of a pipeline, for instance parser.")
    beam: int = Field(4, ge=1, le=64, description="Width of the beam.")


class CompareRequest(Request):
    """Two models on the same annotated sentences."""

    a: str = Field(description="A model.")
    b: str = Field(description="Another model of the same task.")
    data: str | None = Field(None, description="An annotated file by its name, as /api/data lists them.")
    text: str | None = Field(None, description="Or the annotated sentences themselves, in CoNLL-U or columns.")


class ErrorAnswer(BaseModel):
    """What is wrong, in a sentence."""

    detail: Any


class Health(BaseModel):
    """Whether the server works, and how busy it is."""

    status: str
    version: str
    models: list[str]
    workers: int
    busy: int
    given_up: int


class UDPipeModels(BaseModel):
    """The models that /process takes, each with its parts."""

    models: dict[str, list[str]]
    default_model: str | None


class UDPipeAnswer(BaseModel):
    """UDPipe's answer."""

    model: str
    acknowledgements: list[str]
    result: str


class PartAnswer(BaseModel):
    """A model that a pipeline is made of, and what it can be asked."""

    name: str
    task: str
    beam: bool
    features: bool
    explains: bool


class Model(BaseModel):
    """A model that the server has."""

    name: str
    task: str
    file: str
    bytes: int
    signature: str
    reads: list[str]
    text: bool
    parts: list[PartAnswer]
