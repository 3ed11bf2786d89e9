#!/usr/bin/env python3
"""A stand-in for a completion server: llama-server's and OpenAI's API with scripted times, slots with a prompt cache
of their own, and misbehaviour on demand. Logs every completion request, with the ids that it generated; LOG_FILE.started is
there once a completion was asked for.

usage: completion_server.py PORT_FILE LOG_FILE [OPTIONS]; ends when PORT_FILE is removed, or after two minutes
"""
import argparse
import json
import os
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

p = argparse.ArgumentParser()
p.add_argument("port_file")
p.add_argument("log")
p.add_argument("--api", default="llama", choices=["llama", "openai"])
p.add_argument("--slots", type=int, default=4)
p.add_argument("--ctx", type=int, default=4096, help="of a slot")
p.add_argument("--vocab", type=int, default=1000)
p.add_argument("--prefill-ms", type=float, default=3)
p.add_argument("--token-ms", type=float, default=1)
p.add_argument("--no-ids", action="store_true", help="no token ids in the stream")
p.add_argument("--no-erase", action="store_true")
p.add_argument("--no-cache-n", action="store_true", help="timings as before cache_n")
p.add_argument("--no-details", action="store_true", help="usage without cached tokens")
p.add_argument("--loading", action="store_true", help="answers 503 as while the model loads")
p.add_argument("--mode", default="", help="what goes wrong")
p.add_argument("--at", type=int, default=2, help="in which completion request, from 1; 0: in all")
A = p.parse_args()

lock = threading.Lock()
requests = 0
cache = [[] for _ in range(A.slots)]
busy = [threading.Lock() for _ in range(A.slots)]
log = open(A.log, "w", buffering=1)


def common(a, b):
    n = 0
    while n < len(a) and n < len(b) and a[n] == b[n]:
        n += 1
    return n


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    end = b"\n\n"

    def log_message(self, *_):
        pass

    def reply(self, status, obj, kind="application/json"):
        body = obj if isinstance(obj, bytes) else json.dumps(obj).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        model = {"id": "stand-in", "max_model_len": A.ctx, "meta": {"n_vocab": A.vocab}}
        if A.loading:
            self.reply(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
        elif self.path == "/v1/models":
            self.reply(200, {"object": "list", "data": [model]})
        elif A.api == "openai":
            self.reply(404, {"detail": "Not Found"})
        elif self.path == "/props":
            self.reply(200, {"default_generation_settings": {"n_ctx": A.ctx}, "total_slots": A.slots,
                             "model_path": "models/stand-in.gguf", "build_info": "b1-stand-in"})
        elif self.path == "/slots":
            self.reply(200, [{"id": i, "n_ctx": A.ctx, "is_processing": busy[i].locked()} for i in range(A.slots)])
        else:
            self.reply(404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}})

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def event(self, obj):
        data = obj if isinstance(obj, bytes) else b"data: " + json.dumps(obj).encode() + self.end
        if self.mode == "trickle":
            for i in range(len(data)):
                self.chunk(data[i:i + 1])
        else:
            self.chunk(data)

    def start(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def do_POST(self):
        global requests
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if "/slots/" in self.path:
            if A.no_erase:
                return self.reply(501, {"error": {"code": 501, "message": "not supported", "type": "not_supported"}})
            cache[int(self.path.split("/")[2].split("?")[0])] = []
            return self.reply(200, {"n_erased": 1})
        ask = json.loads(body)
        with lock:
            requests += 1
            self.mode = A.mode if A.at in (0, requests) else ""
        open(A.log + ".started", "w").close()
        at = time.monotonic()
        n = ask["n_predict"] if A.api == "llama" else ask["max_tokens"]
        prompt = ask["prompt"]
        out = [(sum(prompt) + 7 * i) % (A.vocab - 50) + 50 for i in range(n)]
        slot = ask.get("id_slot", -1)
        if slot < 0:
            slot = self.free_slot(prompt)
        with busy[slot]:
            self.complete(ask, prompt, out, slot)
            cache[slot] = (prompt + out)[:-1]
        with lock:
            log.write(json.dumps({"path": self.path, "ask": ask, "out": out, "slot": slot, "at": at,
                                  "ended": time.monotonic(), "peer": self.client_address[1]}) + "\n")

    def free_slot(self, prompt):
        return max((not busy[i].locked(), common(cache[i], prompt), -i) for i in range(A.slots))[2] * -1

    def broken_start(self):
        """Replies that are no stream; True: that was all."""
        m = self.mode
        if m == "http500":
            self.reply(500, {"error": {"code": 500, "message": "out of sheep\nand wool", "type": "server_error"}})
        elif m == "html502":
            self.reply(502, b"<html><body>Bad Gateway</body></html>", "text/html")
        elif m == "no_stream":
            self.reply(200, {"content": "all at once", "stop": True})
        elif m == "empty":
            self.reply(200, b"", "text/event-stream")
        elif m == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        else:
            return False
        self.close_connection = True
        return True

    def broken_token(self, i):
        """What goes wrong before token i; True: the connection ends here."""
        m = self.mode
        if m == "malformed" and i == 2:
            self.event(b'data: {"content": "x", "tok\n\n')
        elif m == "no_object" and i == 2:
            self.event(b"data: hello\n\n")
        elif m == "bad_ids" and i == 2:
            self.event({"content": "x", "tokens": ["x"], "stop": False})
        elif m == "error_event" and i == 2:
            self.event({"error": {"code": 500, "message": "the sheep escaped", "type": "server_error"}})
        elif m == "old_error" and i == 2:
            self.event(b'error: {"code": 500, "message": "the old sheep escaped"}\n\n')
        elif m == "cut" and i == 2:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return True
        elif m == "early_end" and i == 2:
            self.wfile.write(b"0\r\n\r\n")
            return True
        elif m == "stall" and i == 2:
            time.sleep(20)
        return False

    def complete(self, ask, prompt, out, slot):
        m = self.mode
        if self.broken_start():
            return
        found = common(cache[slot], prompt) if ask.get("cache_prompt", True) else 0
        found = min(found, len(prompt) - 1)
        self.start()
        time.sleep(A.prefill_ms / 1000)
        if m == "crlf":
            self.end = b"\r\n\r\n"
            self.event(b": a comment\r\n\r\nevent: message\r\nid: 7\r\nretry: 100\r\n")
        sent = {"fewer": out[:-1], "more": out + [60, 61]}.get(m, out)
        for i, token in enumerate(sent):
            time.sleep(A.token_ms / 1000)
            if self.broken_token(i):
                return
            if m == "held" and i in (1, len(sent) - 1):
                continue
            self.event(self.token(token, "y" * 1048576 if m == "huge" and i == 1 else " t", slot))
        self.event(self.last(m, len(prompt), found, len(sent), slot))
        if A.api == "openai":
            self.event({"choices": [], "usage": self.usage(len(prompt), found, len(sent))})
        self.event(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def token(self, token, text, slot):
        if A.api == "openai":
            choice = {"index": 0, "text": text, "finish_reason": None}
            if not A.no_ids:
                choice["token_ids"] = [token]
            return {"id": "cmpl-1", "object": "text_completion", "choices": [choice], "usage": None}
        o = {"index": 0, "content": text, "tokens": [token], "stop": False, "id_slot": slot}
        if A.no_ids:
            del o["tokens"]
        return o

    def usage(self, n, found, out):
        u = {"prompt_tokens": n, "completion_tokens": out, "total_tokens": n + out}
        if found and not A.no_details:
            u["prompt_tokens_details"] = {"cached_tokens": found}
        return u

    def last(self, m, n, found, out, slot):
        if A.api == "openai":
            return {"choices": [{"index": 0, "text": "", "finish_reason": "length"}], "usage": None}
        t = {"cache_n": found, "prompt_n": n - found, "prompt_ms": A.prefill_ms, "predicted_n": out,
             "predicted_ms": A.token_ms * out}
        if A.no_cache_n:
            del t["cache_n"]
        if m == "bad_counts":
            t["prompt_n"] += 5
        # tokens_cached as current versions have it: what is in the slot afterwards
        return {"content": "", "tokens": [], "id_slot": slot, "stop": True, "tokens_predicted": out,
                "tokens_evaluated": n + (m == "bos"), "tokens_cached": n + out - 1, "truncated": False,
                "stop_type": "eos" if m == "fewer" else "limit", "timings": t, "prompt": "x" * 2000}


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(A.port_file + ".new", "w") as f:
    f.write(str(server.server_address[1]))
os.rename(A.port_file + ".new", A.port_file)
until = time.monotonic() + 120
while os.path.exists(A.port_file) and time.monotonic() < until:
    time.sleep(0.05)
sys.exit(0)
