"""A project: one SQLite file with texts, what is known of their words, every answer, and the versions of the model.

What a method returns from is on disk (WAL, synchronous): `kill -9` and a full disk lose nothing that was called saved.
"""

import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structron.errors import StructronError, quoted
from structron.io.doc import Doc
from structron.io.text import new_file

VERSION = 2
MARK = 0x73747274
"""What the file says it is (`PRAGMA application_id`)."""
SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE texts (id INTEGER PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL, before TEXT NOT NULL);
CREATE TABLE sentences (
    id INTEGER PRIMARY KEY, text INTEGER NOT NULL REFERENCES texts, data TEXT NOT NULL, words INTEGER NOT NULL,
    known TEXT, done INTEGER NOT NULL DEFAULT 0, aside INTEGER NOT NULL DEFAULT 0, rank REAL NOT NULL DEFAULT 0);
CREATE INDEX asked ON sentences (done, rank, id);
CREATE INDEX of_text ON sentences (text, id);
CREATE INDEX in_part ON sentences (id) WHERE known IS NOT NULL AND done = 0;
CREATE TABLE answers (
    id INTEGER PRIMARY KEY, sentence INTEGER NOT NULL REFERENCES sentences, time REAL NOT NULL, who TEXT NOT NULL,
    kind TEXT NOT NULL, before TEXT NOT NULL, after TEXT, predicted TEXT, corrected INTEGER NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0);
CREATE INDEX of_sentence ON answers (sentence);
CREATE TABLE leases (sentence INTEGER PRIMARY KEY REFERENCES sentences, window TEXT NOT NULL, until REAL NOT NULL);
CREATE TABLE models (id INTEGER PRIMARY KEY, time REAL NOT NULL, answers INTEGER NOT NULL, score REAL,
    data BLOB NOT NULL);
CREATE TABLE scores (answers INTEGER PRIMARY KEY, score REAL NOT NULL);
"""
WAITING = """
CREATE TEMP TABLE new_texts (id INTEGER PRIMARY KEY, name TEXT, text TEXT, before TEXT);
CREATE TEMP TABLE new_sentences (
    id INTEGER PRIMARY KEY, text INTEGER, data TEXT, words INTEGER, known TEXT, done INTEGER);
"""
"""Where texts wait until all of them are there: outside the project's file, so that nobody has to wait for them."""
UPGRADES: dict[int, str] = {
    1: """
CREATE INDEX in_part ON sentences (id) WHERE known IS NOT NULL AND done = 0;
UPDATE sentences SET done = 0 WHERE done = 1 AND (known LIKE '%[null%' OR known LIKE '%,null%')
    AND id NOT IN (SELECT sentence FROM answers)"""
}
"""What makes a file of the next version of one of this version."""
LEASE_SECONDS = 900.0
"""How long a sentence is kept for a window that says nothing."""
ASIDE = 10
"""One sentence in so many is not learned from, and scored."""
KEPT_MODELS = 3
NEW, DONE, SKIPPED = 0, 1, 2
TAUGHT = """SELECT id FROM sentences WHERE done = 1
    UNION ALL SELECT id FROM sentences INDEXED BY in_part WHERE known IS NOT NULL AND done = 0"""
"""Sentences that say something: answered ones, and those of which a file says something."""
UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Characters that no name has: controls and halves of pairs."""


Text = tuple[str, Doc, Sequence[dict[str, list] | None] | None]
"""The name of a text, the text, and what is known of each of its sentences."""


@dataclass(frozen=True, slots=True)
class Item:
    """A sentence of a project: its analysis as `Doc.to_json` has it, and what is known of it, if anything."""

    id: int
    text: int
    data: dict[str, Any]
    known: dict[str, list] | None
    done: int
    aside: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said of a sentence."""

    who: str
    kind: str  # "answer" or "skip"
    known: dict[str, list] | None
    predicted: dict[str, list] | None
    corrected: int


class Project:
    """An open project. All threads of a process share it; so may several processes."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.lock = threading.RLock()
        if not self.path.is_file():
            raise StructronError(f"{path}: no such project; expected a file that 'structron teach --texts' made")
        try:
            self.base = sqlite3.connect(self.path, timeout=10, check_same_thread=False, isolation_level=None)
            self._check()
            found = self.base.execute("SELECT name, value FROM settings").fetchall()
        except sqlite3.OperationalError as error:
            raise StructronError(f"{path}: cannot be opened: {error}") from None
        except sqlite3.Error as error:
            raise StructronError(f"{path}: not a project of 'structron teach' ({error})") from None
        try:
            self.settings: dict[str, Any] = {name: json.loads(value) for name, value in found}
            whole = all(isinstance(label, str) for label in self.settings.get("labels", []))
        except (ValueError, TypeError):
            whole = False
        if not whole or not isinstance(self.settings.get("overlap", 0), int):
            raise StructronError(f"{path}: damaged settings; expected a project that 'structron teach' made")

    @classmethod
    def create(cls, path: str | Path, **settings: Any) -> "Project":
        """A new file; one that is there is left as it is, and told."""
        with cls.making(path, **settings):
            pass
        return cls(path)

    @classmethod
    @contextmanager
    def making(cls, path: str | Path, **settings: Any) -> Iterator["Project"]:
        """A new project, which gets its name when the block ends well: with all that was added to it, or not at all."""
        if Path(path).exists():
            raise StructronError(f"{path}: exists already; expected the name of a new project")
        with new_file(path) as name:
            made = cls.__new__(cls)
            made.path, made.lock, made.settings = Path(path), threading.RLock(), dict(settings)
            try:
                made.base = sqlite3.connect(name, check_same_thread=False, isolation_level=None)
            except sqlite3.Error as error:
                raise StructronError(f"{path}: not saved: {error}") from None
            try:
                # What fails is thrown away: a journal in memory is enough.
                made._try("PRAGMA journal_mode = MEMORY", "PRAGMA synchronous = OFF")
                with made.saving() as base:
                    for statement in (*SCHEMA.split(";"), f"PRAGMA application_id = {MARK}"):
                        base.execute(statement)
                    base.execute(f"PRAGMA user_version = {VERSION}")
                    rows = [(name, json.dumps(value)) for name, value in settings.items()]
                    base.executemany("INSERT INTO settings VALUES (?, ?)", rows)
                yield made
            finally:
                made.close()

    def _check(self) -> None:
        if self.base.execute("PRAGMA application_id").fetchone()[0] != MARK:
            raise StructronError(f"{self.path}: not a project of 'structron teach'")
        version = self.base.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise StructronError(
                f"{self.path}: a project of version {version}; expected versions up to {VERSION}: upgrade structron"
            )
        self.base.execute("PRAGMA trusted_schema = OFF")
        self.base.execute("PRAGMA journal_mode = WAL")
        self.base.execute("PRAGMA synchronous = FULL")
        self.base.execute("PRAGMA foreign_keys = ON")
        while version < VERSION:
            with self.saving():
                for statement in UPGRADES[version].split(";"):
                    self.base.execute(statement)
                version += 1
                self.base.execute(f"PRAGMA user_version = {version}")

    def close(self) -> None:
        """Let go of the file; what could not be tidied up then is when it is opened next."""
        with self.lock, suppress(sqlite3.Error):
            self.base.close()

    @contextmanager
    def saving(self) -> Iterator[sqlite3.Connection]:
        """Changes that are all made, or none of them."""
        with self.lock:
            try:
                self.base.execute("BEGIN IMMEDIATE")
                yield self.base
                self.base.execute("COMMIT")
            except sqlite3.Error as error:
                self._roll_back()
                raise StructronError(f"{self.path}: not saved: {error}") from None
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):  # where it fails, SQLite has rolled back, or does when the file is opened next
            if self.base.in_transaction:
                self.base.execute("ROLLBACK")

    def rows(self, query: str, *values: Any) -> list[tuple]:
        """What a query finds."""
        with self.lock:
            try:
                return self.base.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise StructronError(f"{self.path}: cannot be read: {error}") from None

    def one(self, query: str, *values: Any) -> Any:
        """The first value that a query finds, or None."""
        found = self.rows(query, *values)
        return found[0][0] if found else None

    # -- texts ---------------------------------------------------------------------------------------------------------

    def add(self, name: str, doc: Doc, known: Sequence[dict[str, list] | None] | None = None) -> int:
        """Add a text whose tokens are known; returns how many sentences it has. known: what is known of each."""
        return self.add_all([(name, doc, known)])[0]

    def add_all(
        self, texts: Iterable[Text], labels_in: Callable[[dict[str, list]], Iterable[str]] = lambda _: ()
    ) -> tuple[int, int, int]:
        """Add several texts, one after the other, and the labels in what is known of them: all of it or nothing.
        Returns the number of sentences, of those of which something is known, and of those of which everything is: the
        others are asked."""
        labels: dict[str, None] = {}
        with self.lock:
            try:
                self._try("BEGIN", *WAITING.split(";"), "COMMIT")
                for name, doc, known in texts:
                    self._wait(name, doc, known)
                    labels.update((label, None) for own in known or () if own is not None for label in labels_in(own))
                with self.saving() as base:
                    found = self._take(base)
                    self._add_labels(base, list(labels))
            finally:
                self._roll_back()
                self._try("DROP TABLE IF EXISTS new_sentences", "DROP TABLE IF EXISTS new_texts")
        return found

    def _try(self, *statements: str) -> None:
        """Change something that needs no transaction of its own."""
        try:
            for statement in statements:
                self.base.execute(statement)
        except sqlite3.Error as error:
            raise StructronError(f"{self.path}: not saved: {error}") from None

    def _wait(self, name: str, doc: Doc, known: Sequence[dict[str, list] | None] | None) -> None:
        """Let a text wait."""
        data = doc.to_json()["sentences"]
        given = known if known is not None else [None] * len(data)
        try:
            self.base.execute("BEGIN")
            text = self.base.execute(
                "INSERT INTO new_texts (name, text, before) VALUES (?, ?, ?)", (name, doc.text, doc.spaces_before)
            ).lastrowid
            self.base.executemany(
                "INSERT INTO new_sentences (text, data, words, known, done) VALUES (?, ?, ?, ?, ?)",
                (
                    (text, dumped(sentence), _words(sentence), dumped(own), DONE if is_whole(own) else NEW)
                    for sentence, own in zip(data, given, strict=True)
                ),
            )
            self.base.execute("COMMIT")
        except sqlite3.Error as error:
            raise StructronError(f"{self.path}: not saved: {error}") from None

    def _take(self, base: sqlite3.Connection) -> tuple[int, int, int]:
        """Take up the texts that wait."""
        texts, sentences = (
            base.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0] for table in ("texts", "sentences")
        )
        base.execute(
            "INSERT INTO texts (id, name, text, before) SELECT id + ?, name, text, before FROM new_texts ORDER BY id",
            (texts,),
        )
        base.execute(
            "INSERT INTO sentences (id, text, data, words, known, done, aside) "
            "SELECT id + ?1, text + ?2, data, words, known, done, (id + ?1) % ?3 = 0 "
            "FROM new_sentences ORDER BY id",
            (sentences, texts, ASIDE),
        )
        return base.execute("SELECT count(*), count(known), coalesce(sum(done), 0) FROM new_sentences").fetchone()

    def labels(self) -> list[str]:
        """The labels that may be given; another process may have added some."""
        return json.loads(self.one("SELECT value FROM settings WHERE name = 'labels'") or "[]")

    def add_labels(self, labels: Sequence[str]) -> None:
        """Labels beside those that are there."""
        with self.saving() as base:
            self._add_labels(base, labels)

    def _add_labels(self, base: sqlite3.Connection, labels: Sequence[str]) -> None:
        joined = list(dict.fromkeys([*self.labels(), *labels]))
        base.execute("INSERT OR REPLACE INTO settings VALUES ('labels', ?)", (json.dumps(joined),))
        self.settings["labels"] = joined

    def documents(self) -> Iterator[tuple[str, Doc, list[Item]]]:
        """Every text with its name and its sentences."""
        for text, name, whole, before in self.rows("SELECT id, name, text, before FROM texts ORDER BY id"):
            items = self.items("text = ? ORDER BY id", text)
            yield (
                name,
                Doc.from_json({"text": whole, "spaces_before": before, "sentences": [i.data for i in items]}),
                items,
            )

    def items(self, where: str, *values: Any) -> list[Item]:
        """The sentences for which an SQL condition holds."""
        found = self.rows(f"SELECT id, text, data, known, done, aside FROM sentences WHERE {where}", *values)
        try:
            return [
                Item(id, text, json.loads(data), loaded(known), done, bool(aside))
                for id, text, data, known, done, aside in found
            ]
        except (ValueError, TypeError):
            raise StructronError(f"{self.path}: a damaged sentence; expected JSON") from None

    def items_of(self, sentences: Sequence[int]) -> list[Item]:
        """Some sentences, in this order."""
        found = {item.id: item for item in self.items(f"id IN ({','.join('?' * len(sentences))})", *sentences)}
        return [found[sentence] for sentence in sentences if sentence in found]

    def item(self, sentence: int) -> Item:
        """One sentence."""
        found = self.items("id = ?", sentence)
        if not found:
            raise LookupError(f"no sentence {sentence} in this project")
        return found[0]

    # -- asking --------------------------------------------------------------------------------------------------------

    def ask(self, window: str, who: str, at_random: float | None = None, now: float | None = None) -> Item | None:
        """The sentence that a window is asked next, which no other is asked meanwhile; None: there is none.

        at_random: from 0 to 1, where in the pool to take it from; by default the one of the highest rank.
        """
        now = time.time() if now is None else now
        with self.saving() as base:
            base.execute("DELETE FROM leases WHERE until < ?", (now,))
            held = base.execute("SELECT sentence FROM leases WHERE window = ?", (window,)).fetchone()
            found = held or self._twice(base, who) or self._new(base, at_random)
            if found is None:
                return None
            base.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?)", (found[0], window, now + LEASE_SECONDS))
        return self.item(found[0])

    def _new(self, base: sqlite3.Connection, at_random: float | None) -> tuple | None:
        free = "done = 0 AND id NOT IN (SELECT sentence FROM leases)"
        if at_random is not None:
            top = base.execute("SELECT max(id) FROM sentences").fetchone()[0] or 0
            found = base.execute(
                f"SELECT id FROM sentences WHERE {free} AND id >= ? ORDER BY id LIMIT 1", (int(at_random * top) + 1,)
            )
            if one := found.fetchone():
                return one
        return base.execute(f"SELECT id FROM sentences WHERE {free} ORDER BY done, rank, id LIMIT 1").fetchone()

    def _twice(self, base: sqlite3.Connection, who: str) -> tuple | None:
        """A sentence that somebody else has answered, and that two are to answer."""
        share = int(self.settings.get("overlap", 0))
        if not share:
            return None
        return base.execute(
            "SELECT s.id FROM sentences s JOIN answers a ON a.sentence = s.id AND NOT a.undone AND a.kind = 'answer' "
            "WHERE s.done = 1 AND (s.id * 37) % 100 < ? AND s.id NOT IN (SELECT sentence FROM leases) "
            "GROUP BY s.id HAVING count(DISTINCT a.who) = 1 AND max(a.who) <> ? ORDER BY s.id LIMIT 1",
            (share, who),
        ).fetchone()

    def holds(self, window: str, sentence: int) -> bool:
        """Whether a window may answer a sentence: it was asked, and nobody else since."""
        other = self.one("SELECT window FROM leases WHERE sentence = ?", sentence)
        return other is None or other == window

    def rank(self, ranks: Iterable[tuple[float, int]]) -> None:
        """Set in which order sentences are asked: the smallest first."""
        with self.saving() as base:
            base.executemany("UPDATE sentences SET rank = ? WHERE id = ?", list(ranks))

    # -- answers -------------------------------------------------------------------------------------------------------

    def answer(self, sentence: int, window: str, answer: Answer) -> int:
        """Keep what a person said; returns the number of the answer."""
        with self.saving() as base:
            if not self.holds(window, sentence):
                raise StructronError(f"sentence {sentence}: not saved, because another window has it now")
            before = self.item(sentence)
            number = base.execute(
                "INSERT INTO answers (sentence, time, who, kind, before, after, predicted, corrected) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    sentence,
                    time.time(),
                    answer.who,
                    answer.kind,
                    dumped([before.known, before.done]),
                    dumped(answer.known),
                    dumped(answer.predicted),
                    answer.corrected,
                ),
            ).lastrowid
            if answer.kind == "skip":  # what a file says of it stays known
                base.execute("UPDATE sentences SET done = ? WHERE id = ?", (SKIPPED, sentence))
            elif before.done != DONE:  # the first answer counts; the second measures agreement
                base.execute(
                    "UPDATE sentences SET known = ?, done = ? WHERE id = ?", (dumped(answer.known), DONE, sentence)
                )
            base.execute("DELETE FROM leases WHERE sentence = ?", (sentence,))
        assert number is not None
        return number

    def undo(self, window: str, who: str, now: float | None = None) -> tuple[Item, Answer] | None:
        """Take back somebody's last answer, and ask for that sentence again; None: there is no answer left."""
        now = time.time() if now is None else now
        with self.saving() as base:
            found = base.execute(
                "SELECT id, sentence, kind, before, after, predicted, corrected FROM answers "
                "WHERE who = ? AND NOT undone ORDER BY id DESC LIMIT 1",
                (who,),
            ).fetchone()
            if found is None:
                return None
            id, sentence, kind, before, after, predicted, corrected = found
            known, done = json.loads(before)
            base.execute("UPDATE answers SET undone = 1 WHERE id = ?", (id,))
            base.execute("UPDATE sentences SET known = ?, done = ? WHERE id = ?", (dumped(known), done, sentence))
            base.execute("DELETE FROM leases WHERE window = ? OR sentence = ?", (window, sentence))
            base.execute("INSERT INTO leases VALUES (?, ?, ?)", (sentence, window, now + LEASE_SECONDS))
        return self.item(sentence), Answer(who, kind, loaded(after), loaded(predicted), corrected)

    def ids(self, done: int) -> list[int]:
        """The sentences that are new, done or skipped; quick, however many there are."""
        return [own for (own,) in self.rows("SELECT id FROM sentences WHERE done = ? ORDER BY id", done)]

    def count(self, done: int) -> int:
        """How many of them there are."""
        return int(self.one("SELECT count(*) FROM sentences WHERE done = ?", done))

    def known(self, aside: bool = False) -> list[Item]:
        """The sentences to learn from, or those that are set aside: also those of which a file says something."""
        return self.items(f"id IN ({TAUGHT}) AND aside = ? ORDER BY id", int(aside))

    def taught(self) -> list[int]:
        """The numbers of all these sentences; quick, however many others there are."""
        return sorted(own for (own,) in self.rows(TAUGHT))

    def answers(self) -> int:
        """How many answers count."""
        return int(self.one("SELECT count(*) FROM answers WHERE NOT undone"))

    def counts(self) -> dict[str, int]:
        """Sentences in all, answered, skipped; words of those that were answered, and corrections among them."""
        found = dict(self.rows("SELECT done, count(*) FROM sentences GROUP BY done"))
        words, corrected = self.rows(
            "SELECT coalesce(sum(s.words), 0), coalesce(sum(a.corrected), 0) "
            "FROM answers a JOIN sentences s ON s.id = a.sentence WHERE NOT a.undone AND a.kind = 'answer'"
        )[0]
        return {
            "sentences": sum(found.values()), "answered": found.get(DONE, 0), "skipped": found.get(SKIPPED, 0),
            "words": words, "corrected": corrected,
        }  # fmt: skip

    def corrections(self) -> list[tuple[int, int]]:
        """Words and corrections of each answer, in order."""
        return self.rows(
            "SELECT s.words, a.corrected FROM answers a JOIN sentences s ON s.id = a.sentence "
            "WHERE NOT a.undone AND a.kind = 'answer' ORDER BY a.id"
        )

    def pairs(self) -> list[tuple[dict, dict]]:
        """What two people said of the same sentence."""
        found = self.rows(
            "SELECT a.after, b.after FROM answers a JOIN answers b "
            "ON a.sentence = b.sentence AND a.id < b.id AND a.who <> b.who "
            "WHERE NOT a.undone AND NOT b.undone AND a.kind = 'answer' AND b.kind = 'answer'"
        )
        return [(json.loads(a), json.loads(b)) for a, b in found]

    # -- settings, models, scores --------------------------------------------------------------------------------------

    def set(self, name: str, value: Any) -> None:
        """Keep a setting."""
        with self.saving() as base:
            base.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, json.dumps(value)))
            self.settings[name] = value

    def save_model(self, data: bytes, score: float | None) -> None:
        """Keep a version of the model, and a few before it."""
        answers = self.answers()
        with self.saving() as base:
            base.execute(
                "INSERT INTO models (time, answers, score, data) VALUES (?, ?, ?, ?)",
                (time.time(), answers, score, data),
            )
            base.execute(
                "DELETE FROM models WHERE id NOT IN (SELECT id FROM models ORDER BY id DESC LIMIT ?)", (KEPT_MODELS,)
            )
            if score is not None:
                base.execute("INSERT OR REPLACE INTO scores VALUES (?, ?)", (answers, score))

    def model(self) -> tuple[int, bytes] | None:
        """The newest version of the model, and how many answers there were."""
        found = self.rows("SELECT answers, data FROM models ORDER BY id DESC LIMIT 1")
        return (found[0][0], found[0][1]) if found else None

    def scores(self) -> list[tuple[int, float]]:
        """Numbers of answers, with the score on sentences set aside at that time."""
        return self.rows("SELECT answers, score FROM scores ORDER BY answers")


def is_whole(known: dict[str, list] | None) -> bool:
    """Whether everything is known of a sentence."""
    return known is not None and not any(None in values for values in known.values())


def _words(sentence: dict[str, Any]) -> int:
    """How many words a sentence has."""
    return sum(len(token["words"]) for token in sentence["tokens"])


def is_project(path: str | Path) -> bool:
    """Whether a file begins as projects do."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(72)
    except OSError:
        return False
    return head.startswith(b"SQLite format 3\0") and int.from_bytes(head[68:72], "big") == MARK


def dumped(value: Any) -> str | None:
    """A value as the database keeps it."""
    return None if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def loaded(text: str | None) -> Any:
    """The value that `dumped` kept."""
    return None if text is None else json.loads(text)


def check_name(name: str, what: str, longest: int = 100) -> str:
    """A name that a person gave, without spaces around it."""
    name = name.strip()
    if not name or len(name) > longest or UNFIT.search(name):
        raise StructronError(f"{what}: {quoted(name)}; expected 1 to {longest} characters")
    return name
