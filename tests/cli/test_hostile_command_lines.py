"""Three hundred hostile command lines: no traceback, no answer that differs from a careful reading of the files."""

import csv
import io
import json

import numpy as np
import polars as pl
import pytest

from command_line import konstrain
from hostile import FAULTS, Truth, as_option, link_name, snapshot, write_links, write_table
from konstrain import InfeasibleError, check, pairs_from_groups, suggest_pairs
from konstrain.methods import get_method

VERBS = ["fit", "fit", "fit", "check", "certify", "suggest", "plot"]


class Refused(Exception):
    """The command must be refused."""


class Command:
    """One command line on files of its own, with what it should come to."""

    def __init__(self, seed, folder):
        self.rng = np.random.default_rng([18, seed])
        self.folder = folder
        self.truth = Truth.draw(self.rng)
        self.fault = str(self.rng.choice(list(FAULTS))) if self.rng.random() < 0.35 else None
        self.verb = str(self.rng.choice(VERBS)) if self.fault is None else "fit"
        self.given = {}

    def arguments(self):
        """Write the files; returns the command line."""
        truth, rng, c = self.truth, self.rng, self.truth.columns
        data = write_table(rng, truth, self.folder, self.fault)
        options = [f"--id={c['id']}", *self._columns()]
        links = write_links(rng, truth.ids, truth, self.folder)
        must = [np.array(truth.must, dtype=np.int64).reshape(-1, 2)]
        if self.with_group:
            options.append(f"--group={c['group']}")
            must.append(pairs_from_groups(truth.groups))
        if self.with_demand:
            options += [f"--demand={as_option(c['demand'])}", f"--size-max={truth.demand.sum()}"]
            self.given |= {"demand": truth.demand, "size_max": float(truth.demand.sum())}
        for kind, pairs in (("must_link", np.concatenate(must)), ("cannot_link", np.array(truth.cannot))):
            if len(pairs):
                self.given[kind] = pairs
        options += links
        positional = [data]
        if self.verb in ("certify", "plot"):
            positional.append(self._write_labels())
        if self.verb in ("fit", "check", "suggest"):
            options.append(f"-k{truth.k}")
        return [self.verb, *positional, *self._faulty(options, data)]

    def _columns(self):
        """Say which columns are features: by naming them, or by naming all others."""
        rng, c = self.rng, self.truth.columns
        self.with_group, self.with_demand, with_label = (rng.random(3) < 0.4).tolist()
        with_label = with_label and self.verb == "fit"
        options = [f"--label={c['label']}"] if with_label else []
        if rng.random() < 0.5:
            return [*options, f"--columns={','.join(map(as_option, self.truth.features))}"]
        others = [c["note"]]
        others += [] if self.with_group else [c["group"]]
        others += [] if self.with_demand else [c["demand"]]
        others += [] if with_label else [c["label"]]
        return [*options, f"--ignore={','.join(map(as_option, others))}"]

    def _write_labels(self):
        """Labels in another order of rows."""
        order = self.rng.permutation(len(self.truth.ids))
        frame = pl.DataFrame({self.truth.columns["id"]: self.truth.ids, "label": self.truth.classes})[order]
        ending = str(self.rng.choice(["csv", "parquet"]))
        write = frame.write_csv if ending == "csv" else frame.write_parquet
        write(self.folder / f"labels[1].{ending}")
        return f"labels[1].{ending}"

    def _faulty(self, options, data):
        """Add the faults that are in the command line or beside the table."""
        output = "out*.csv"
        if self.fault == "unknown row":
            (self.folder / "more.csv").write_text(f"{link_name(self.rng, self.truth.ids[0], ',')},nobody\n")
            options.append("--must-link=more.csv")
        elif self.fault == "unknown column":
            options.append("--weight=no such column")
        elif self.fault == "unwritable":
            output = "nowhere/out.csv"
        elif self.fault == "read-only":
            (self.folder / output).write_text("mine")
            (self.folder / output).chmod(0o400)
        elif self.fault == "no such file":
            (self.folder / data).unlink()
        if self.verb in ("fit", "suggest"):
            options.append(f"-o{output}")
        if self.verb == "plot":
            options.append("-op[1].png")
        return options if self.verb == "plot" else [*options, "--json"]

    def judge(self, done, before):
        """Compare what came out with what the library says about the problem as it was drawn."""
        lines = done.err.split("\n")
        assert lines.pop() == ""
        if self.fault is not None:
            return self._judge_refusal(done, lines, before, 2)
        try:
            judge = getattr(self, f"expect_{self.verb}")()
        except InfeasibleError:
            return self._judge_refusal(done, lines, before, 3)
        except Refused:
            return self._judge_refusal(done, lines, before, 2)
        assert all(line.startswith("note: ") for line in lines), done
        return judge(done)

    def _judge_refusal(self, done, lines, before, code):
        assert (done.code, done.out) == (code, ""), done
        told = [line for line in lines if not line.startswith("note: ")]
        assert len(told) == 1
        assert told[0].startswith("konstrain: ")
        assert snapshot(self.folder) == before

    def expect_fit(self):
        truth = self.truth
        model = get_method("constrained-kmeans").fit(truth.X, truth.k, params={}, random_state=0, **self.given)

        def judge(done):
            assert done.code == 0, done
            summary = json.loads(done.out)
            assert summary["features"] == truth.features
            assert summary["n_must_link"] == len(self.given.get("must_link", ()))
            assert summary["n_cannot_link"] == len(self.given.get("cannot_link", ()))
            written = list(csv.reader(io.StringIO((self.folder / "out*.csv").read_bytes().decode(), newline="")))
            assert [row[0] for row in written[1:]] == truth.ids
            assert [int(row[1]) for row in written[1:]] == model.labels_.tolist()
            assert summary["sse"] == pytest.approx(model.inertia_)

        return judge

    def expect_check(self):
        result = check(self.truth.X, self.truth.k, **self.given)

        def judge(done):
            assert done.code == {True: 0, False: 3, None: 4}[result.feasible]
            assert json.loads(done.out)["feasible"] is result.feasible
            assert json.loads(done.out)["n_blocks"] == result.n_blocks

        return judge

    def expect_certify(self):
        codes = np.unique(self.truth.classes, return_inverse=True)[1]
        result = check(self.truth.X, int(codes.max()) + 1, **self.given)
        if result.feasible is False:
            raise InfeasibleError("", reason="")
        means = [self.truth.X[codes == j].mean(axis=0) for j in range(codes.max() + 1)]
        cost = float(((self.truth.X - np.array(means)[codes]) ** 2).sum())

        broken = any(codes[a] != codes[b] for a, b in self.given.get("must_link", ()))
        if broken or any(codes[a] == codes[b] for a, b in self.given.get("cannot_link", ())):
            raise Refused

        def judge(done):
            assert done.code in (0, 4), done
            assert json.loads(done.out)["cost"] == pytest.approx(cost)

        return judge

    def expect_suggest(self):
        pairs = suggest_pairs(self.truth.X, self.truth.k, ask=10, random_state=0, **self.given)

        def judge(done):
            assert done.code == 0, done
            text = (self.folder / "out*.csv").read_bytes().decode()
            read = list(csv.reader(io.StringIO(text, newline="")))
            wanted = [[self.truth.ids[a], self.truth.ids[b], ""] for a, b in pairs]
            assert read == [["a", "b", "answer"], *wanted]
            # Given back with answers, every pair is a link.
            data = next(path for path in self.folder.iterdir() if path.name == self.data)
            (self.folder / "answers.csv").write_bytes(text.replace(",\n", ",must\n").encode())
            options = [f"--id={self.truth.columns['id']}", f"--columns={as_option(self.truth.features[0])}"]
            again = konstrain(
                "check", f"./{data.name}", "-k1", *options, "--answers=answers.csv", "--json", folder=self.folder
            )
            assert again.code == 0, again
            links = {"must_link": pairs} if len(pairs) else {}
            assert json.loads(again.out)["n_blocks"] == check(len(self.truth.ids), 1, **links).n_blocks

        return judge

    def expect_plot(self):
        def judge(done):
            assert done.code == 0, done
            assert (self.folder / "p[1].png").read_bytes().startswith(b"\x89PNG")

        return judge


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300))
def test_hostile_command_lines_are_read_with_care_or_refused_in_one_line(tmp_path, seed):
    command = Command(seed, tmp_path)
    arguments = command.arguments()
    command.data = arguments[1].removeprefix("./")
    before = snapshot(tmp_path)
    done = konstrain(*arguments, folder=tmp_path)
    assert "Traceback" not in done.err
    assert done.code in (0, 2, 3, 4), done
    command.judge(done, before)
