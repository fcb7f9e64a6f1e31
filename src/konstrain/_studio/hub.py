"""Everything behind the page, without the page: one session, its clustering, its questions, its proof."""

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from konstrain._studio.asking import Asker
from konstrain._studio.data import PARAMS, StudioData, read_rows
from konstrain._studio.fitting import Fit, Fitter, Trouble, explain, moved, refusal_of_move, with_labels
from konstrain._studio.proving import Proof
from konstrain._studio.session import (
    APART,
    TOGETHER,
    Action,
    Answer,
    Link,
    Move,
    Pair,
    Removal,
    Saver,
    Session,
    SessionState,
    Setting,
    Settings,
    ordered,
    read_session,
    read_size,
)
from konstrain.constraints.inputs import read_links
from konstrain.exceptions import FileError, InfeasibleError, UndecidedError
from konstrain.report import Report, describe


class Studio:
    """A clustering to work on by answering questions; `konstrain.studio` makes one.

    It shows itself as a page in a notebook; `show` opens the page in a browser. What was answered is there while the
    page is open and after it: `must_link`, `cannot_link`, `labels_`.

    Parameters
    ----------
    session : Session
        Rows, settings and what was done so far.
    path : Path, optional
        File that is kept up to date with the session.
    note : str
        What the page shows first.

    Examples
    --------
    >>> from konstrain import studio
    >>> desk = studio([[0.0], [0.2], [5.0], [5.2], [9.0]], 2)
    >>> desk.answer([(2, 4)], "apart")
    >>> desk.wait()
    >>> bool(desk.labels_[2] == desk.labels_[4]), desk.cannot_link.tolist()
    (False, [[2, 4]])
    >>> desk.close()
    """

    def __init__(self, session: Session, path: Path | None = None, note: str = "") -> None:
        self.session = session
        self.rows = session.rows
        self.note = note
        self.fit: Fit | None = None
        self._unmoved: Fit | None = None  # The same before any move by hand.
        self.trouble: Trouble | None = None
        self.report: Report | None = None
        self.question: Pair | None = None
        self.proof: Proof | None = None
        self.is_asking_done = False
        self.fitter = Fitter(self.rows)
        self._asker = Asker(self.rows)
        self.lock = threading.RLock()
        self._version = self._previewed = 0
        self._listeners: list[Callable[[], object]] = []
        self._quick = ThreadPoolExecutor(1, "konstrain-studio-fit")
        self._slow = ThreadPoolExecutor(1, "konstrain-studio-scratch")
        self._searching = ThreadPoolExecutor(1, "konstrain-studio-ask")
        self._pending: list[Future[None]] = []
        self._server: Any = None
        self.saver = None if path is None else Saver(path, self._text, self._notify)
        self._start_over()

    # What happens on the page.

    def answer(self, pairs: Sequence[Pair], kind: str) -> None:
        """Say of pairs of rows that they are ``"together"``, ``"apart"``, or that you are ``"unsure"``."""
        self._do(Answer(tuple(dict.fromkeys(ordered(int(a), int(b)) for a, b in pairs)), kind))

    def answer_question(self, kind: str) -> None:
        """Answer the question that is asked."""
        with self.lock:
            pair = self.question
            if pair is not None:
                guess = None if self.fit is None else self.fit.guess(pair)
                self._do(Answer((pair,), kind, guess))

    def remove(self, pairs: Sequence[Pair]) -> None:
        """Say nothing any more of some pairs."""
        self._do(Removal(tuple(ordered(int(a), int(b)) for a, b in pairs)))

    def set(self, **changes: Any) -> None:
        """Change settings: `n_clusters`, `features`, `size_min`, `size_max`, `standardize`, `metric`, `previous`."""
        with self.lock:
            self._do(Setting(replace(self.session.state.settings, **changes)))

    def keep(self) -> None:
        """Have clusters stay as they are now: from here on a row leaves its own only for a reason that counts."""
        self.set(previous=tuple(self.labels_.tolist()))

    def move(self, row: int, beside: int) -> None:
        """Put a row into the cluster of another one by hand; raises ValueError where a constraint forbids it.

        The next change of links or settings leads to a clustering of its own, without the move.
        """
        with self.lock:
            if self.fit is None:
                raise ValueError("nothing is clustered yet")
            refusal = refusal_of_move(self.fit, self.rows, self.session.state, row, beside)
            if refusal:
                raise ValueError(f"Not moved. {refusal}")
            self.session.do(Move(int(row), int(beside)))
            self._show_moves()

    def undo(self) -> None:
        """Take the last action back; a question whose answer it was is asked again."""
        with self.lock:
            action = self.session.undo()
            if isinstance(action, Answer) and action.guess is not None:
                self._asker.ask_again(action.pairs[0])
            self._follow(action)

    def redo(self) -> None:
        """Do again what was taken back last."""
        with self.lock:
            self._follow(self.session.redo())

    def open_text(self, text: str, source: str) -> None:
        """Go on with a session that was saved."""
        session, note = read_session(text, self.rows, source)
        with self.lock:
            self.session, self.note = session, note
            self._asker = Asker(self.rows)
            self._start_over()

    def prove(self, time_limit: float = 60.0) -> None:
        """Start to search for a proof of how far from the best possible the clustering is."""
        with self.lock:
            fit = self.fit
            if fit is None or (self.proof is not None and self.proof.state.status == "running"):
                return
            self.proof = Proof(
                fit, {**self._constraints(), "violation_cost": fit.link_price}, time_limit, self._take_proof
            )
        self._notify()

    def stop_proof(self) -> None:
        """End the search for a proof."""
        proof = self.proof
        if proof is not None:
            proof.stop()

    # What others read.

    @property
    def labels_(self) -> NDArray[np.int32]:
        """Cluster of each row in the last clustering that was possible."""
        if self.fit is None:
            reason = "nothing was clustered yet" if self.trouble is None else self.trouble.message
            raise ValueError(f"there are no labels: {reason}")
        return self.fit.labels

    @property
    def must_link(self) -> NDArray[Any]:
        """Pairs that are together, as `fit` takes them."""
        return self._links("must_link")

    @property
    def cannot_link(self) -> NDArray[Any]:
        """Pairs that are apart, as `fit` takes them."""
        return self._links("cannot_link")

    def _links(self, kind: str) -> NDArray[Any]:
        links: NDArray[Any] = self.session.state.constraints.get(kind, np.zeros((0, 2), dtype=np.int64))
        return links

    @property
    def is_fitting(self) -> bool:
        """Whether a preview of the latest change is still to come."""
        return self._previewed != self._version

    def wait(self) -> None:
        """Wait until the clustering, its prices and the next question are there."""
        while True:
            with self.lock:
                self._pending = [job for job in self._pending if not job.done()]
                pending = list(self._pending)
            if not pending:
                return
            for job in pending:
                job.result()

    def listen(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Have a function called, from any thread, when something has changed; returns how to end that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def close(self) -> None:
        """End everything that runs, and save."""
        self.stop_proof()
        with self.lock:
            self._version += 1
        self._quick.shutdown()
        self._slow.shutdown()
        self._searching.shutdown()
        if self._server is not None:
            self._server.stop()
            self._server = None
        if self.saver is not None:
            self.saver.close()

    def show(self, *, port: int = 0, open_browser: bool = True) -> str:
        """Serve the page to this machine only, open it in the browser, and return its address."""
        if self._server is None:
            from konstrain._studio.server import BackgroundServer

            self._server = BackgroundServer(self, port)
        if open_browser:
            import webbrowser

            webbrowser.open(self._server.address)
        address: str = self._server.address
        return address

    def _repr_html_(self) -> str:
        from html import escape

        address = escape(self.show(open_browser=False), quote=True)
        return f'<iframe src="{address}" style="width:100%;height:820px;border:0" title="konstrain studio"></iframe>'

    # How a change leads to a clustering and a question.

    def _do(self, action: Action) -> None:
        with self.lock:
            self.session.do(action)
            self._start_over()

    def _follow(self, action: Action | None) -> None:
        """Show what an action that was taken back, or done again, leads to."""
        if isinstance(action, Move):
            self._show_moves()
        elif action is not None:
            self._start_over()

    def _show_moves(self) -> None:
        """Show the last clustering after the moves by hand: nothing is clustered again."""
        with self.lock:
            old_proof, self.proof = self.proof, None
            if self._unmoved is not None:
                self.fit, self.report = moved(self._unmoved, self.rows, self.session.state), None
            self._pending.append(self._slow.submit(self._price, self._version, self.session.state))
        self._end(old_proof)
        self._notify()

    def _end(self, proof: Proof | None) -> None:
        if proof is not None:
            threading.Thread(target=proof.stop, daemon=True).start()
        if self.saver is not None:
            self.saver.request()

    def _start_over(self) -> None:
        """Cluster again after a change, and search for the next question."""
        with self.lock:
            self._version += 1
            version, state = self._version, self.session.state
            old_proof, self.proof = self.proof, None
            self.question = self._asker.next(state)
            self._pending.append(self._quick.submit(self._preview, version, state))
        self._end(old_proof)

    def _preview(self, version: int, state: SessionState) -> None:
        if self._is_stale(version):
            return
        trouble = fit = None
        is_undecided = False
        try:
            fit = self.fitter.preview(state, self.fit)
        except InfeasibleError as error:
            trouble = explain(error, self.rows, state)
        except (UndecidedError, ValueError) as error:
            is_undecided = isinstance(error, UndecidedError)
            trouble = Trouble(str(error), "undecided" if is_undecided else "input")
        with self.lock:
            if self._is_stale(version):
                return
            self.trouble = trouble
            self._previewed = version
            if fit is not None:
                self._take(fit)
                self.report = None
            if fit is not None or (is_undecided and self.rows.connectivity is not None):
                # What may come later than the new picture. A preview may miss a map that a longer search finds.
                self._pending.append(self._slow.submit(self._fit, version, state))
            if fit is not None:
                self._pending.append(self._searching.submit(self._search, version, state))
        self._notify()

    def _fit(self, version: int, state: SessionState) -> None:
        if self._is_stale(version):
            return
        try:
            fit = self.fitter.fit(state, self.fit, lambda: self._is_stale(version))
        except UndecidedError:
            return  # the preview stays
        with self.lock:
            if self._is_stale(version):
                return
            self._take(fit)
            self.trouble = None
        self._notify()
        self._price(version, state)

    def _take(self, fit: Fit) -> None:
        """Show a clustering, with the moves by hand that belong to it."""
        self._unmoved, self.fit = fit, moved(fit, self.rows, self.session.state)

    def _price(self, version: int, state: SessionState) -> None:
        fit = self.fit
        if self._is_stale(version) or fit is None:
            return
        k = state.settings.n_clusters
        report = describe(fit.X, fit.labels, k, time_limit=PARAMS.quick_limit, **self._constraints())
        self._publish(version, report=report)

    def _search(self, version: int, state: SessionState) -> None:
        if self._is_stale(version):
            return
        try:
            pairs = self._asker.search(self.fitter.prepared(state.settings), state)
        except (UndecidedError, ValueError):
            # A sample of the rows may be impossible to cluster where all of them are not: then nothing is asked.
            pairs = []
        with self.lock:
            if self._is_stale(version):
                return
            self._asker.replace(pairs)
            question = self._asker.next(state)
        self._publish(version, question=question, is_asking_done=question is None)

    def _publish(self, version: int, **found: Any) -> None:
        with self.lock:
            if self._is_stale(version):
                return
            for name, value in found.items():
                setattr(self, name, value)
        self._notify()

    def _take_proof(self, proof: Proof) -> None:
        better = proof.state.better
        with self.lock:
            if self.proof is proof and better is not None and self.fit is not None:
                cost, labels = better
                # A search for a proof has found it to be better; it knows no graph and no labels to keep.
                if self.rows.connectivity is None and self.fit.settings.previous is None:
                    self._unmoved = self.fit = with_labels(self.fit, self.rows, labels, cost)
        self._notify()

    def _constraints(self) -> dict[str, Any]:
        settings = self.session.state.settings
        found = {
            **self.session.state.constraints,
            "size_min": settings.size_min,
            "size_max": settings.size_max,
            "demand": self.rows.demand,
            "sample_weight": self.rows.sample_weight,
            "connectivity": self.rows.connectivity,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _is_stale(self, version: int) -> bool:
        return version != self._version

    def _text(self) -> str:
        with self.lock:
            return self.session.to_json()

    def _notify(self) -> None:
        for listener in list(self._listeners):
            listener()


def studio(
    X: Any,
    n_clusters: int = 3,
    *,
    id: str | None = None,
    must_link: Any = None,
    cannot_link: Any = None,
    size_min: Any = None,
    size_max: Any = None,
    demand: Any = None,
    sample_weight: Any = None,
    connectivity: Any = None,
    areas: Any = None,
    standardize: bool = False,
    metric: str | None = None,
    random_state: int = 0,
    session: str | Path | None = None,
) -> Studio:
    """Make a page on which a person links rows, answers questions, and sees the clustering follow.

    Needs the extra ``konstrain[studio]``. In a notebook the object shows itself; elsewhere call `show` on it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), or a frame
        The rows. Of a frame, columns of numbers are the features; the other columns are shown and not clustered by.
    n_clusters : int, default=3
        Number of clusters to begin with.
    id : str, optional
        The column of the frame with the names of rows.
    must_link, cannot_link, size_min, size_max, demand, sample_weight, connectivity : optional
        Constraints to begin with, as in `ConstrainedKMeans`.
    areas : GeoDataFrame, sequence of shapely polygons, or array-like of shape (n_samples, 2), optional
        What a map of the rows is drawn of, as in `plot_map`; default: with `connectivity` the rows, if they have two
        features. Of more than 5,000 rows no map is drawn.
    standardize : bool, default=False
        Whether to begin with features of mean 0 and variance 1.
    metric : {"learned", "itml"} or None, default=None
        How to begin to measure distances, as in `ConstrainedKMeans`.
    random_state : int, default=0
        Seed of all randomness.
    session : str or Path, optional
        File that is kept up to date with what was done; if it is there, the session in it goes on.

    Returns
    -------
    Studio

    Examples
    --------
    >>> desk = studio([[0.0], [0.2], [5.0], [5.2], [9.0]], 2, must_link=[(0, 1)])
    >>> desk.wait()
    >>> desk.must_link.tolist(), sorted(desk.fit.sizes.tolist())
    ([[0, 1]], [2.0, 3.0])
    >>> desk.close()
    """
    counted = {"demand": demand, "sample_weight": sample_weight, "connectivity": connectivity}
    rows = read_rows(X, id=id, areas=areas, title="rows", **counted)
    settings = Settings(
        n_clusters, rows.features, read_size(size_min), read_size(size_max), standardize, random_state, metric
    )
    return open_studio(rows, settings, given_links(rows, must_link, cannot_link), session)


def open_studio(
    rows: StudioData, settings: Settings, given: tuple[Link, ...] = (), path: str | Path | None = None
) -> Studio:
    """Go on with the session in a file, or begin one that is saved there."""
    path = None if path is None else Path(path)
    if path is None or not path.exists():
        begun = Session(rows, settings, given)
        begun.do(Setting(settings))  # checks them
        begun.done.clear()
        return Studio(begun, path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    found, changed = read_session(text, rows, str(path))
    return Studio(found, path, changed or f"going on with {path.name}")


def given_links(rows: StudioData, must_link: Any, cannot_link: Any) -> tuple[Link, ...]:
    """Read links as `fit` takes them; of a pair only one thing can be said."""
    found: dict[Pair, Link] = {}
    for name, kind, value in (("must_link", TOGETHER, must_link), ("cannot_link", APART, cannot_link)):
        links = read_links(name, value, rows.n_samples)
        confidences = [*[math.inf] * len(links.hard), *links.confidence.tolist()]
        for (a, b), confidence in zip(links.pairs.tolist(), confidences, strict=True):
            if a == b:
                continue
            pair = ordered(a, b)
            if pair in found and found[pair].kind != kind:
                first, second = map(rows.names.name_of, pair)
                raise ValueError(
                    f"rows {first} and {second} are in must_link and in cannot_link; remove one of the two"
                )
            found[pair] = Link(pair, kind, confidence)
    return tuple(found.values())
