"""Reads lifecycle events from NATS JetStream with nothing but the standard library.

    python3 examples/readers/events.py nats://127.0.0.1:4222 [--ns default] [--count 10]

Prints one JSON object a line: what is stored, then what comes. It shows all a reader has to do in a language without
a client: speak the text protocol of NATS, make a consumer that belongs to it, fetch from it, and keep the order of each
session: drop what it has, and tell of what did not come.
"""

import argparse
import json
import os
import socket
import sys
from urllib.parse import unquote, urlparse

STREAM = "SWM_EVT"
BATCH = 100
SECOND = 1_000_000_000  # JetStream counts in nanoseconds


class Connection:
    """The part of the NATS protocol that a reader needs."""

    def __init__(self, url):
        address = urlparse(url if "://" in url else f"nats://{url}")
        self.socket = socket.create_connection((address.hostname, address.port or 4222), timeout=60)
        self.file = self.socket.makefile("rb")
        info = self.file.readline()
        if not info.startswith(b"INFO "):
            raise ConnectionError("this is no NATS server")
        options = {"verbose": False, "pedantic": False, "headers": True, "name": "events.py", "lang": "python"}
        user = unquote(address.username) if address.username else None
        if user:
            options["user"] = user
            options["pass"] = unquote(address.password or "")
        # Users of nats.conf may listen for answers below their own name only.
        self.inbox = f"_INBOX_{user}" if user else "_INBOX"
        self.inbox += "." + os.urandom(8).hex()
        self.send(f"CONNECT {json.dumps(options)}\r\nPING\r\n")
        while (line := self.line()) != "PONG":
            if line.startswith("-ERR"):
                raise ConnectionError(line)
        self.send(f"SUB {self.inbox}.> 1\r\n")

    def send(self, text):
        self.socket.sendall(text.encode())

    def line(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("the server closed the connection")
        return line.decode().rstrip("\r\n")

    def publish(self, subject, body, reply):
        payload = json.dumps(body)
        self.send(f"PUB {subject} {reply} {len(payload.encode())}\r\n{payload}\r\n")

    def message(self):
        """The next message: its subject, reply, headers and body."""
        while True:
            line = self.line()
            verb, *words = line.split(" ")
            if verb == "PING":
                self.send("PONG\r\n")
            elif verb == "-ERR":
                raise PermissionError(line)
            elif verb in ("MSG", "HMSG"):
                # MSG subject sid [reply] size; HMSG has the size of its headers before that.
                sizes = 2 if verb == "HMSG" else 1
                head = int(words[-2]) if verb == "HMSG" else 0
                reply = words[2] if len(words) == 3 + sizes else ""
                data = self.file.read(int(words[-1]) + 2)[:-2]
                return words[0], reply, data[:head].decode(), data[head:]


def stored(connection, subject):
    """Events below a subject, from the beginning and without end, with their place in the stream."""
    name = os.urandom(8).hex()
    config = {
        "name": name,
        "filter_subject": subject,
        "deliver_policy": "all",
        "ack_policy": "none",
        "mem_storage": True,
        "num_replicas": 1,
        "inactive_threshold": 300 * SECOND,
    }
    create = f"$JS.API.CONSUMER.CREATE.{STREAM}.{name}.{subject}"
    connection.publish(create, {"stream_name": STREAM, "config": config}, f"{connection.inbox}.made")
    answer = json.loads(connection.message()[3])
    if "error" in answer:
        raise RuntimeError(answer["error"]["description"])
    fetches = 0
    while True:
        fetches += 1
        reply = f"{connection.inbox}.{fetches}"
        fetch = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{name}"
        connection.publish(fetch, {"batch": BATCH, "expires": 30 * SECOND}, reply)
        for _ in range(BATCH):
            _, ack, headers, body = connection.message()
            # A status instead of a message: this fetch is over.
            if headers.startswith("NATS/1.0 ") and not body and len(headers.split("\r\n")[0]) > 8:
                break
            # $JS.ACK.<stream>.<consumer>.<delivered>.<sequence of the stream>...
            yield int(ack.split(".")[-4]), json.loads(body)


def main():
    parser = argparse.ArgumentParser(description="Reads lifecycle events from NATS.")
    parser.add_argument("url")
    parser.add_argument("--ns", default="default")
    parser.add_argument("--count", type=int, help="end after so many")
    options = parser.parse_args()
    last = {}
    shown = 0
    for sequence, event in stored(Connection(options.url), f"swm.v1.{options.ns}.evt.>"):
        # An envelope of another version says things this reader does not know.
        if event.get("v") != 1:
            continue
        session, seq, prev = event["session"], event["seq"], event["prev"]
        if seq <= last.get(session, 0):
            continue
        if session in last and prev > last[session]:
            print(f"gap in {session}: {last[session]} to {seq}", file=sys.stderr)
        last[session] = seq
        print(json.dumps({"sequence": sequence, "session": session, "seq": seq, "type": event["type"]}), flush=True)
        shown += 1
        if shown == options.count:
            return


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
