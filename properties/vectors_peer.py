"""A small program that answers three vectors, and misbehaves at the second in the way that it is told to."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec

from tree_oracle.vectors import find

IDS = ("stop-0003", "stop-0010", "stop-0020")


def answers() -> str:
    return json.dumps({name: msgspec.to_builtins(find(name)[1].expected) for name in IDS})


def peer_command(folder: Path, mode: str, known: str | None = None) -> list[str]:
    """How to start it; ``known`` is the JSON of what it answers, by default what is right."""
    path = folder / "peer.py"
    path.write_text(PEER, encoding="utf-8")
    return [sys.executable, "-I", "-S", str(path), mode, answers() if known is None else known]


# Answers three stop vectors, the mode's own way at the second. No site packages: it starts in a few hundredths of a second.
PEER = r"""
import os, signal, sys, time
import json
mode = sys.argv[1]
def say(text): sys.stdout.write(text); sys.stdout.flush()
def greet(version=1, name="peer"): say(json.dumps({"protocol": "tree-oracle-vectors", "version": version, "name": name}) + "\n")
RIGHT = json.loads(sys.argv[2])
def reply(ask): return json.dumps({"id": ask["id"], "answer": RIGHT[ask["id"]]}) + "\n"
sys.stdin.readline()
if mode == "silent": time.sleep(60)
if mode == "gone": sys.exit(7)
if mode == "old": greet(version=0)
if mode == "enormous version": say('{"protocol": "tree-oracle-vectors", "version": 1' + "0" * 4000 + "}\n")
if mode == "other": say('{"protocol": "chess", "version": 1}\n')
if mode == "no greeting": say("hello\n")
greet()
for number, line in enumerate(sys.stdin):
    ask = json.loads(line)
    if number != 1: say(reply(ask))
    elif mode == "cut": say(reply(ask)[:20] + "\n")
    elif mode == "cut and gone": say(reply(ask)[:20]); sys.exit(0)
    elif mode == "huge": say('{"id": "%s", "answer": %s}\n' % (ask["id"], "9" * 10**6))
    elif mode == "infinite": say('{"id": "%s", "answer": {"emitted": [1e999], "end": null}}\n' % ask["id"])
    elif mode == "deep": say('{"id": "%s", "answer": %s}\n' % (ask["id"], "[" * 200000))
    elif mode == "bytes": sys.stdout.buffer.write(b"\xff\xfe\x00\n"); sys.stdout.flush()
    elif mode == "dies": sys.stderr.write("out of ideas\n"); sys.exit(3)
    elif mode == "killed": os.kill(os.getpid(), signal.SIGSEGV)
    elif mode == "hangs": time.sleep(60)
    elif mode == "stubborn": signal.signal(signal.SIGTERM, signal.SIG_IGN); os.fork(); time.sleep(60)
    elif mode == "flood":
        while True: say("x" * 65536)
    elif mode == "lines":
        while True: say(reply(ask) * 1000)
    elif mode == "errors": sys.stderr.write("e" * 3_000_000); say(reply(ask))
    elif mode == "complains":
        while True: os.write(2, b"e" * 65536)
    elif mode == "out of order": ask2 = json.loads(sys.stdin.readline()); say(reply(ask2) + reply(ask))
    elif mode == "early": say(reply(ask) + reply({"id": "stop-0020"}))
    elif mode == "twice": say(reply(ask) * 2)
    elif mode == "other id": say(reply(ask).replace(ask["id"], "stop-9999"))
    elif mode == "deaf": os.close(0); time.sleep(0.1); say(reply(ask)); time.sleep(60)
    elif mode == "wrong": say(reply({"id": ask["id"]}).replace("[", "[99, "))
    elif mode == "empty": say("\n")
    else: say(reply(ask))
    if mode == "talks on" and number == 2: say("one more thing\n")
if mode == "stays": time.sleep(60)
"""
