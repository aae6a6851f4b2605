"""A decoder in plain Python for other interpreters: it knows the right texts from a file, and can misbehave in every way."""

from __future__ import annotations

import json
import venv
from pathlib import Path

from tree_oracle.record import Case, Limits, Truth

# It keeps to the limits by code of its own. A round verifies two siblings, of which the second is never right.
DECODER = """
import json, os, sys, time

try:
    import tree_oracle
except ImportError:
    pass
else:
    raise AssertionError("this package is installed here")

assert not {"numpy", "torch", "tree_oracle_record"} & set(sys.modules)


class Right:
    shift = 0

    def __init__(self, target):
        assert target == "exact", target
        with open("texts.json") as file:
            self.texts = {tuple(prompt): text for prompt, text in json.load(file)}
        self.calls = 0

    def text(self, prompt, limits):
        if limits.min_new:
            raise NotImplementedError("no minimum")
        self.calls += 1
        out = []
        for token in self.texts[tuple(prompt)]:
            if len(out) == limits.max_new_tokens or len(prompt) + len(out) == limits.max_length:
                break
            out.append(token)
            ends = [tuple(out[-len(stop):]) == tuple(stop) for stop in limits.stop]
            if token in limits.eos_ids or any(ends):
                break
        if out and self.shift:
            out[-1] = (out[-1] + self.shift) % 61
        return out

    def generate(self, prompts, limits):
        (prompt,) = prompts
        out, rounds, root = self.text(prompt, limits), [], prompt[-1]
        for start in range(0, len(out), 2):
            new = out[start : start + 2]
            tokens = [root, new[0], (new[0] + 1) % 61]
            rounds.append({"emitted": new, "tokens": tokens, "parents": [-1, 0, 0], "accepted": [1]})
            if len(new) == 1:
                rounds[-1]["tokens"] = [root, (new[0] + 1) % 61]
                rounds[-1].update(parents=[-1, 0], accepted=[])
            root = new[-1]
        return [rounds]


class Wrong(Right):
    shift = 3


class Plain(Right):
    def generate(self, prompts, limits):
        return [self.text(prompt, limits) for prompt in prompts]


class Raises(Right):
    def generate(self, prompts, limits):
        raise ValueError("no \\ud800 today")


class Exits(Right):
    def generate(self, prompts, limits):
        sys.exit(0)


class Dies(Right):
    def generate(self, prompts, limits):
        print("about to fall", flush=True)
        os._exit(7)


class Falls(Right):
    def generate(self, prompts, limits):
        import ctypes
        ctypes.string_at(0)


class Hangs(Right):
    def generate(self, prompts, limits):
        sys.stdout.write("x" * 2**21)  # more than a pipe holds
        import subprocess
        with open("grandchild", "w") as file:
            file.write(str(subprocess.Popen(["sleep", "1000"]).pid))
        time.sleep(1000)


class Hoards(Right):
    def generate(self, prompts, limits):
        self.hoard = [bytearray(2**24) for _ in range(2**7)]
        time.sleep(1000)


class Meddles(Right):
    def generate(self, prompts, limits):
        answer = super().generate(prompts, limits)
        prompts[0].append(1)
        return answer


class Unsteady(Plain):
    def text(self, prompt, limits):
        text = super().text(prompt, limits)
        answered = vars(self).setdefault("answered", [])
        answered.append((list(prompt), repr(limits)))
        return text[: 1 if answered.count(answered[-1]) > 1 else None]


# As a factory that this interpreter would hand a target: there it is text.
class Mistaken(Right):
    def __init__(self, target):
        super().__init__(target)
        self.target = target

    def generate(self, prompts, limits):
        return self.target.model.generate(prompts)


def mistaken(target):
    return Right(target.model)


class Number(Right):
    def generate(self, prompts, limits):
        return 7


class Unknown(Right):
    def generate(self, prompts, limits):
        return [[{"emitted": [1], "acepted": []}]]


class Scribbles(Right):
    def generate(self, prompts, limits):
        os.write(int(sys.argv[1]), b"?\\n")
        return super().generate(prompts, limits)


class Floods(Right):
    def generate(self, prompts, limits):
        while True:
            os.write(int(sys.argv[1]), b"x" * 2**16)


# As code that was written for the recorder: its rounds are recorded, and its answer is tokens.
class Recorded(Right):
    def generate(self, prompts, limits, trace=None):
        (prompt,) = prompts
        request, ((*rounds,),) = trace.request(prompt, max_new_tokens=9), super().generate(prompts, limits)
        for shown in rounds:
            trace.round(request, **shown)
        trace.done(request)
        return [[token for shown in rounds for token in shown["emitted"]]]


class Misrecorded(Recorded):
    def generate(self, prompts, limits, trace=None):
        return [[*super().generate(prompts, limits, trace)[0], 1]]


class Stops(Right):
    def generate(self, prompts, limits, trace):
        for shown in super().generate(prompts, limits)[0]:
            trace.round(0, **shown)
        raise RuntimeError("fell behind its last round")


def broken(target):
    raise RuntimeError("no weights")


class Stopless(Right):
    def generate(self, prompts, limits):
        if limits.stop or limits.min_new:
            raise NotImplementedError("only caps and end tokens")
        return super().generate(prompts, limits)


class Rootless(Right):
    def generate(self, prompts, limits):
        (rounds,) = super().generate(prompts, limits)
        for shown in rounds:
            shown.update(tokens=shown["tokens"][1:], parents=[parent - 1 for parent in shown["parents"][1:]])
            shown.update(accepted=[node - 1 for node in shown["accepted"]])
        return [rounds]


class Unwilling(Right):
    def generate(self, prompts, limits):
        raise NotImplementedError(f"no text of {limits.max_new_tokens} tokens")


class Mute:
    def __init__(self, target):
        pass


if os.path.exists("stillborn"):
    os._exit(9)
"""


def write_decoder(folder: Path, cases: tuple[Case, ...], truth: Truth, *, length: int = 24) -> None:
    """The module ``abroad`` and what it knows."""
    texts = [(case.prefix, truth.greedy(case.prefix, Limits(length)).tokens) for case in cases]
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    (folder / "abroad.py").write_text(DECODER, encoding="utf-8")


def bare_python(folder: Path) -> str:
    """An interpreter of a new environment that holds nothing, so not this package either."""
    venv.create(folder, symlinks=True)
    return str(folder / "bin" / "python")
