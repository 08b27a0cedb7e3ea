"""Agents that ask for temperatures, one for each client library and way to call it.

usage: clients.py BASE_URL    (ends in /v1; Anthropic's clients use it without)
Each runs a whole tool loop under a key of its own, so that the fixed call ids of the stand-in are unique for it.
"""

import asyncio
import json
import sys
import traceback

import anthropic
import openai
from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel as PydanticResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

set_tracing_disabled(True)
BASE = sys.argv[1]
ROOT = BASE.removesuffix("/v1")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
CHAT_TOOLS = [{"type": "function", "function": {"name": "temperature", "parameters": SCHEMA}}]
RESPONSES_TOOLS = [{"type": "function", "name": "temperature", "parameters": SCHEMA}]
MESSAGES_TOOLS = [{"name": "temperature", "input_schema": SCHEMA}]


def temperature(city: str) -> str:
    """The temperature of a city."""
    return f"{city}: 21"


def key(case):
    return f"sk-key-of-{case}-0123456789abcdef"


def prompt(case, cities):
    return f"{cities} [case:{case}]"


def sync_client(case):
    return openai.OpenAI(base_url=BASE, api_key=key(case), max_retries=0, timeout=30)


def async_client(case):
    return openai.AsyncOpenAI(base_url=BASE, api_key=key(case), max_retries=0, timeout=30)


def chat_message(calls, text):
    if not calls:
        return {"role": "assistant", "content": text}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls],
    }


def chat_results(calls):
    return [{"role": "tool", "tool_call_id": i, "content": temperature(**json.loads(a))} for i, _, a in calls]


def openai_chat_json(case, cities):
    client, messages = sync_client(case), [{"role": "user", "content": prompt(case, cities)}]
    while True:
        message = client.chat.completions.create(model="m", messages=messages, tools=CHAT_TOOLS).choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.model_dump(exclude_none=True))
        messages += chat_results([(c.id, c.function.name, c.function.arguments) for c in message.tool_calls])


def collect(chunks):
    """Text and calls of a stream, joined by hand as many agents do."""
    text, calls = "", {}
    for chunk in chunks:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for part in choice.delta.tool_calls or []:
                call = calls.setdefault(part.index, ["", "", ""])
                call[0] = part.id or call[0]
                call[1] = part.function.name or call[1]
                call[2] += part.function.arguments or ""
    return text, [tuple(call) for _, call in sorted(calls.items())]


def openai_chat_stream(case, cities):
    client, messages = sync_client(case), [{"role": "user", "content": prompt(case, cities)}]
    while True:
        options = {"include_usage": True}
        stream = client.chat.completions.create(model="m", messages=messages, tools=CHAT_TOOLS, stream=True, stream_options=options)
        text, calls = collect(stream)
        if not calls:
            return text
        messages += [chat_message(calls, text), *chat_results(calls)]


async def openai_chat_async_stream(case, cities):
    client, messages = async_client(case), [{"role": "user", "content": prompt(case, cities)}]
    while True:
        stream = await client.chat.completions.create(model="m", messages=messages, tools=CHAT_TOOLS, stream=True)
        text, calls = collect([chunk async for chunk in stream])
        if not calls:
            return text
        messages += [chat_message(calls, text), *chat_results(calls)]


def responses_loop(ask, case, cities):
    items = [{"role": "user", "content": prompt(case, cities)}]
    while True:
        response = ask(items)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        items += [call.model_dump(exclude_none=True) for call in calls]
        items += [{"type": "function_call_output", "call_id": c.call_id, "output": temperature(**json.loads(c.arguments))} for c in calls]


def openai_responses_json(case, cities):
    client = sync_client(case)
    return responses_loop(lambda items: client.responses.create(model="m", input=items, tools=RESPONSES_TOOLS), case, cities)


def openai_responses_stream(case, cities):
    client = sync_client(case)

    def ask(items):
        for event in client.responses.create(model="m", input=items, tools=RESPONSES_TOOLS, stream=True):
            last = event
        return last.response

    return responses_loop(ask, case, cities)


async def run_agent(model, case, cities, streamed):
    agent = Agent(name="weather", model=model, tools=[function_tool(temperature)])
    if not streamed:
        return (await Runner.run(agent, prompt(case, cities))).final_output
    result = Runner.run_streamed(agent, prompt(case, cities))
    async for _ in result.stream_events():
        pass
    return result.final_output


async def agents_chat_json(case, cities):
    return await run_agent(OpenAIChatCompletionsModel("m", async_client(case)), case, cities, False)


async def agents_chat_stream(case, cities):
    return await run_agent(OpenAIChatCompletionsModel("m", async_client(case)), case, cities, True)


async def agents_responses_json(case, cities):
    return await run_agent(OpenAIResponsesModel("m", async_client(case)), case, cities, False)


async def agents_responses_stream(case, cities):
    return await run_agent(OpenAIResponsesModel("m", async_client(case)), case, cities, True)


async def run_pydantic(model, case, cities, streamed):
    agent = PydanticAgent(model, tools=[temperature])
    if not streamed:
        return (await agent.run(prompt(case, cities))).output
    async with agent.run_stream(prompt(case, cities)) as result:
        return await result.get_output()


async def pydantic_chat_json(case, cities):
    return await run_pydantic(OpenAIChatModel("m", provider=OpenAIProvider(openai_client=async_client(case))), case, cities, False)


async def pydantic_chat_stream(case, cities):
    return await run_pydantic(OpenAIChatModel("m", provider=OpenAIProvider(openai_client=async_client(case))), case, cities, True)


async def pydantic_responses_json(case, cities):
    model = PydanticResponsesModel("m", provider=OpenAIProvider(openai_client=async_client(case)))
    return await run_pydantic(model, case, cities, False)


async def pydantic_messages_stream(case, cities):
    client = anthropic.AsyncAnthropic(base_url=ROOT, api_key=key(case), max_retries=0)
    return await run_pydantic(AnthropicModel("m", provider=AnthropicProvider(anthropic_client=client)), case, cities, True)


def messages_loop(ask, case, cities):
    messages = [{"role": "user", "content": prompt(case, cities)}]
    while True:
        message = ask(messages)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in message.content if block.type == "text")
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": temperature(**call.input)} for call in calls]
        messages += [{"role": "assistant", "content": [block.model_dump() for block in message.content]}, {"role": "user", "content": results}]


def anthropic_json(case, cities):
    client = anthropic.Anthropic(base_url=ROOT, api_key=key(case), max_retries=0)
    return messages_loop(lambda messages: client.messages.create(model="m", max_tokens=99, messages=messages, tools=MESSAGES_TOOLS), case, cities)


def anthropic_stream(case, cities):
    client = anthropic.Anthropic(base_url=ROOT, api_key=key(case), max_retries=0)

    def ask(messages):
        with client.messages.stream(model="m", max_tokens=99, messages=messages, tools=MESSAGES_TOOLS) as stream:
            return stream.get_final_message()

    return messages_loop(ask, case, cities)


def openai_rate_limited(case):
    try:
        sync_client(case).chat.completions.create(model="m", messages=[{"role": "user", "content": prompt(case, "too many")}])
    except openai.RateLimitError as error:
        return "ANSWERED" if error.code == "rate_limit_exceeded" else repr(error)


def openai_closed_early(case):
    messages = [{"role": "user", "content": prompt(case, "slowly")}]
    stream = sync_client(case).chat.completions.create(model="m", messages=messages, stream=True)
    next(iter(stream))
    stream.close()
    return "ANSWERED"


async def openai_many_at_once(case):
    client = async_client(case)

    async def one(number):
        messages = [{"role": "user", "content": prompt(case, f"hello {number}")}]
        stream = await client.chat.completions.create(model="m", messages=messages, stream=True)
        return collect([chunk async for chunk in stream])[0]

    texts = await asyncio.gather(*[one(number) for number in range(30)])
    return "ANSWERED" if all("Olá 👋 ANSWERED" in text for text in texts) else repr(texts)


LOOPS = [
    openai_chat_json, openai_chat_stream, openai_chat_async_stream, openai_responses_json, openai_responses_stream,
    agents_chat_json, agents_chat_stream, agents_responses_json, agents_responses_stream,
    pydantic_chat_json, pydantic_chat_stream, pydantic_responses_json, pydantic_messages_stream,
    anthropic_json, anthropic_stream,
]


def main():
    cases = [(f"{loop.__name__}-{cities[:3]}", loop, (cities,)) for loop in LOOPS for cities in ("one city", "two cities")]
    cases += [(single.__name__, single, ()) for single in (openai_rate_limited, openai_closed_early, openai_many_at_once)]
    failed = 0
    # One loop for all: connections that a client leaves open would otherwise outlive their own.
    loop = asyncio.new_event_loop()
    for case, run, arguments in cases:
        try:
            answer = run(case, *arguments)
            if asyncio.iscoroutine(answer):
                answer = loop.run_until_complete(answer)
        except Exception:
            answer = traceback.format_exc()
        if "ANSWERED" not in str(answer):
            failed += 1
            print("client failed:", case, answer, flush=True)
    loop.run_until_complete(loop.shutdown_asyncgens())
    sys.exit(failed > 0)


main()
