"""
The requests that the official Python clients send for main.py, and what they do with the answers, without the clients.
Needs httpx and PyJWT, which the clients need too, and a larder whose addresses are in the environment.
"""

import base64
import hashlib
import http.server
import json
import os
import threading
import time
import unittest

import httpx
import jwt

SDK_VERSION = "Upstash-Workflow-Sdk-Version"
LIMIT_SECONDS = 20


def post(prefix, path, body, headers=None):
    token = os.environ[f"{prefix}_TOKEN"]
    answer = httpx.post(
        os.environ[f"{prefix}_URL"] + path,
        content=json.dumps(body),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json", **(headers or {})},
    )
    assert answer.is_success, f"{path}: {answer.status_code} {answer.text}"
    return answer.json()


def verify(key, signature, body, url):
    claims = jwt.decode(
        signature,
        key,
        algorithms=["HS256"],
        issuer="Upstash",
        options={"require": ["iss", "sub", "exp", "nbf"]},
    )
    digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).decode().rstrip("=")
    assert claims["sub"] == url, claims
    assert claims["body"].rstrip("=") == digest, claims


def submit(url, run_id, body, init="false", headers=None):
    """A message of a workflow run."""
    item = {
        "destination": url,
        "queue": None,
        "headers": {
            "Content-Type": "application/json",
            "Upstash-Workflow-Init": init,
            "Upstash-Workflow-RunId": run_id,
            "Upstash-Workflow-Url": url,
            "Upstash-Feature-Set": "LazyFetch,InitialBody,WF_DetectTrigger",
            f"Upstash-Forward-{SDK_VERSION}": "1",
            **(headers or {}),
        },
        "body": json.dumps(body),
    }
    post("QSTASH", "/v2/batch", [item])


def step(number, name, kind, sleep=None):
    return {
        "method": "POST",
        "stepId": number,
        "stepName": name,
        "stepType": kind,
        "out": "null",
        "sleepFor": sleep,
        "sleepUntil": None,
        "concurrent": 1,
        "targetStep": None,
        "callUrl": None,
        "callMethod": None,
        "callBody": None,
        "callHeaders": None,
    }


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Receives messages at /message, and the steps of a workflow of two steps and a sleep at /workflow."""

    received = []
    executed = []
    ended = threading.Event()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        url = f"http://{self.headers['Host']}{self.path}"
        try:
            verify(os.environ["QSTASH_CURRENT_SIGNING_KEY"], self.headers["Upstash-Signature"], body, url)
            if self.path == "/message":
                Endpoint.received.append(json.loads(body))
                Endpoint.ended.set()
            else:
                self.work(url, body)
            self.send_response(200)
            self.send_header(SDK_VERSION, "1")
        except Exception as error:  # The test fails because nothing ends.
            print(repr(error))
            self.send_response(500)
        self.end_headers()

    def work(self, url, body):
        if self.headers[SDK_VERSION] is None:
            return submit(url, "wfr_python", json.loads(body), init="true")
        run_id = self.headers["Upstash-Workflow-RunId"]
        first, *others = json.loads(body)
        assert json.loads(base64.b64decode(first["body"])) == {"id": "7"}, first
        done = [json.loads(base64.b64decode(each["body"]))["stepName"] for each in others if each["callType"] == "step"]
        if done == []:
            Endpoint.executed.append("pay")
            return submit(url, run_id, step(1, "pay", "Run"))
        if done == ["pay"]:
            return submit(url, run_id, step(2, "pack", "SleepFor", "1s"), headers={"Upstash-Delay": "1s"})
        if done == ["pay", "pack"]:
            Endpoint.executed.append("ship")
            return submit(url, run_id, step(3, "ship", "Run"))
        assert done == ["pay", "pack", "ship"], done
        path = f"{os.environ['QSTASH_URL']}/v2/workflows/runs/{run_id}?cancel=false"
        httpx.delete(path, headers={"Authorization": f"Bearer {os.environ['QSTASH_TOKEN']}"}).raise_for_status()
        Endpoint.ended.set()

    def log_message(self, *_):
        pass


class Requests(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        threading.Thread(target=self.server.serve_forever).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        Endpoint.ended.clear()

    def tearDown(self):
        self.server.shutdown()
        self.server.server_close()

    def test_store(self):
        def command(*words):
            return post("UPSTASH_REDIS_REST", "", words, {"Upstash-Encoding": "base64"})["result"]

        self.assertEqual(command("INCR", "python:views"), 1)
        self.assertEqual(command("SET", "python:order", "paid"), "OK")
        self.assertEqual(base64.b64decode(command("GET", "python:order")), b"paid")
        self.assertIsNone(command("GET", "python:none"))
        self.assertEqual(command("RPUSH", "python:list", "hello"), 1)
        self.assertEqual(command("LRANGE", "python:list", 0, -1), [base64.b64encode(b"hello").decode()])
        script = "#!lua flags=allow-key-locking\nreturn {redis.call('INCRBY', KEYS[1], ARGV[1]), 7}"
        self.assertEqual(command("EVAL", script, 1, "python:bucket", 2), [2, 7])

    def test_vector_index(self):
        texts = {"python:a": "Penguins huddle against the wind", "python:b": "A journal keeps what was acknowledged"}
        records = [{"id": id, "data": text, "metadata": None} for id, text in texts.items()]
        self.assertEqual(post("UPSTASH_VECTOR_REST", "/upsert-data", records), {"result": "Success"})
        query = {
            "topK": 1,
            "includeVectors": False,
            "includeMetadata": False,
            "includeData": True,
            "filter": "",
            "data": "penguin",
        }
        (hit,) = post("UPSTASH_VECTOR_REST", "/query-data", query)["result"]
        self.assertEqual((hit["id"], hit["data"]), ("python:a", texts["python:a"]))

    def test_message(self):
        answer = post("QSTASH", f"/v2/publish/{self.url}/message", {"text": "hello"}, {"Upstash-Method": "POST"})
        self.assertRegex(answer["messageId"], "^msg_")
        self.assertTrue(Endpoint.ended.wait(LIMIT_SECONDS))
        self.assertEqual(Endpoint.received[0], {"text": "hello"})

    def test_workflow(self):
        start = time.monotonic()
        post("QSTASH", f"/v2/publish/{self.url}/workflow", {"id": "7"})
        self.assertTrue(Endpoint.ended.wait(LIMIT_SECONDS))
        self.assertEqual(Endpoint.executed, ["pay", "ship"])
        self.assertGreaterEqual(time.monotonic() - start, 1)


if __name__ == "__main__":
    unittest.main()
