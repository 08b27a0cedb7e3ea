// What npm's clients read of a reply. usage: node damaged.mjs BASE_URL CASE [stream]
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, streamText, tool } from "ai";
import OpenAI from "openai";

const [base, model, stream] = process.argv.slice(2);
const messages = [{ role: "user", content: "hello" }];
const names = (found) => [...found.values()].filter(Boolean);

async function openai() {
  const client = new OpenAI({ baseURL: base, apiKey: "sk-key-of-node-0123456789", maxRetries: 0, timeout: 30000 });
  const found = new Map();
  try {
    if (!stream) {
      const reply = await client.chat.completions.create({ model, messages });
      return [(reply.choices[0].message.tool_calls ?? []).map((call) => call.function.name), null];
    }
    for await (const part of await client.chat.completions.create({ model, messages, stream: true })) {
      for (const call of part.choices?.[0]?.delta?.tool_calls ?? []) {
        found.set(call.index, found.get(call.index) ?? call.function?.name);
      }
    }
  } catch (error) {
    return [names(found), error.constructor.name];
  }
  return [names(found), null];
}

// Here the tools run: what is listed was executed.
async function ai() {
  const ran = [];
  const run = (name) => tool({ inputSchema: jsonSchema({ type: "object" }), execute: () => (ran.push(name), "done") });
  const provider = createOpenAICompatible({ name: "own", baseURL: base, apiKey: "sk-key-of-ai-0123456789" });
  const ask = { model: provider(model), messages, maxRetries: 0, tools: { look: run("look"), late: run("late") } };
  let failure = null;
  try {
    if (stream) {
      const result = streamText({ ...ask, onError: ({ error }) => (failure = error.constructor.name) });
      await result.consumeStream();
    } else {
      await generateText(ask);
    }
  } catch (error) {
    failure = error.constructor.name;
  }
  return [ran, failure];
}

// Some clients never settle on a reply that is cut: what is left to do is then done when nothing else is going on.
const out = { openai: [[], "NeverSettled"], ai: [[], "NeverSettled"] };
const steps = [["openai", openai], ["ai", ai]];
let printed = false;
function next() {
  const [name, ask] = steps.shift();
  ask().then((found) => {
    out[name] = found;
    if (steps.length > 0) next();
  });
}
process.on("beforeExit", () => {
  if (steps.length > 0) {
    next();
  } else if (!printed) {
    printed = true;
    console.log(JSON.stringify(out));
  }
});
next();
