"""A page with a counter, a search over texts, a message and a workflow."""

import json
import os

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel
from qstash import AsyncQStash, Receiver
from qstash.errors import SignatureError
from upstash_ratelimit.asyncio import Ratelimit, TokenBucket
from upstash_redis.asyncio import Redis
from upstash_vector import AsyncIndex, Data
from upstash_workflow import AsyncWorkflowContext
from upstash_workflow.fastapi import Serve

redis = Redis.from_env()
index = AsyncIndex.from_env()
qstash = AsyncQStash(os.environ["QSTASH_TOKEN"], base_url=os.environ["QSTASH_URL"])
receiver = Receiver(os.environ["QSTASH_CURRENT_SIGNING_KEY"], os.environ["QSTASH_NEXT_SIGNING_KEY"])
limit = Ratelimit(redis, TokenBucket(max_tokens=5, refill_rate=5, interval=60), prefix="texts")

app = FastAPI()
serve = Serve(app)


class Text(BaseModel):
    id: str
    text: str


class Message(BaseModel):
    text: str


class Order(BaseModel):
    id: str


@app.get("/", response_class=HTMLResponse)
async def page() -> str:
    return f"<h1>larder and FastAPI</h1><p>{await redis.incr('views')} views</p>"


@app.post("/api/texts", status_code=201)
async def add_text(text: Text) -> dict:
    # Behind a proxy, take the address that it reports. Here, all callers share the limit.
    if not (await limit.limit("everybody")).allowed:
        raise HTTPException(429, "Too many texts")
    await index.upsert([Data(id=text.id, data=text.text)])
    return {"id": text.id}


@app.get("/api/search")
async def search(q: str = "") -> dict:
    hits = await index.query(data=q, top_k=3, include_data=True)
    return {"texts": [{"id": hit.id, "score": hit.score, "text": hit.data} for hit in hits]}


@app.post("/api/messages", status_code=202)
async def send(message: Message, request: Request) -> dict:
    url = str(request.url_for("receive"))
    sent = await qstash.message.publish_json(url=url, body={"text": message.text})
    return {"messageId": sent.message_id}


@app.get("/api/messages")
async def messages() -> dict:
    return {"messages": await redis.lrange("messages", 0, -1)}


@app.post("/api/messages/receive")
async def receive(request: Request) -> dict:
    """What larder delivers, with its signature."""
    body = (await request.body()).decode()
    try:
        receiver.verify(signature=request.headers.get("upstash-signature", ""), body=body, url=str(request.url))
    except SignatureError:
        raise HTTPException(401, "The signature is not valid")
    await redis.rpush("messages", json.loads(body)["text"])
    return {"received": True}


@app.post("/api/orders", status_code=202)
async def begin_order(order: Order, request: Request) -> dict:
    # The first message to its address starts a run.
    url = str(request.base_url) + "api/workflow"
    sent = await qstash.message.publish_json(url=url, body={"id": order.id})
    return {"messageId": sent.message_id}


@app.get("/api/orders/{order_id}")
async def order_status(order_id: str) -> dict:
    return {"id": order_id, "status": await redis.get(f"order:{order_id}")}


@serve.post("/api/workflow")
async def workflow(context: AsyncWorkflowContext) -> None:
    """Each step is a request of larder, whose signature `Serve` verifies."""
    key = f"order:{context.request_payload['id']}"

    async def pay() -> None:
        await redis.set(key, "paid")

    async def ship() -> None:
        await redis.set(key, "shipped")

    await context.run("pay", pay)
    await context.sleep("pack", "10s")
    await context.run("ship", ship)
