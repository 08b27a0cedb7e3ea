// The same agents with the npm client. usage: node clients.mjs BASE_URL
import OpenAI from "openai";

const base = process.argv[2];
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
const tools = [{ type: "function", function: { name: "temperature", parameters } }];
const temperature = ({ city }) => `${city}: 21`;
const client = (name) => new OpenAI({ baseURL: base, apiKey: `sk-key-of-${name}-0123456789abcdef`, maxRetries: 0, timeout: 30000 });
const start = (name, cities) => [{ role: "user", content: `${cities} [case:${name}]` }];

async function chat(name, cities, ask) {
  const [own, messages] = [client(name), start(name, cities)];
  for (;;) {
    const message = await ask(own, { model: "m", messages, tools });
    if (!message.tool_calls?.length) return message.content;
    messages.push(message);
    for (const call of message.tool_calls) {
      messages.push({ role: "tool", tool_call_id: call.id, content: temperature(JSON.parse(call.function.arguments)) });
    }
  }
}

const loops = {
  node_chat_json: (name, cities) => chat(name, cities, async (own, body) => (await own.chat.completions.create(body)).choices[0].message),
  node_chat_stream: (name, cities) =>
    chat(name, cities, async (own, body) => (await own.chat.completions.stream(body).finalChatCompletion()).choices[0].message),
  node_run_tools: async (name, cities) => {
    const tool = { type: "function", function: { name: "temperature", parameters, function: temperature, parse: JSON.parse } };
    return client(name).chat.completions.runTools({ model: "m", stream: true, messages: start(name, cities), tools: [tool] }).finalContent();
  },
  node_responses_stream: async (name, cities) => {
    const [own, input] = [client(name), start(name, cities)];
    for (;;) {
      const flat = [{ type: "function", name: "temperature", parameters, strict: true }];
      const response = await own.responses.stream({ model: "m", input, tools: flat }).finalResponse();
      const calls = response.output.filter((item) => item.type === "function_call");
      if (!calls.length) return response.output_text;
      input.push(...calls.map(({ id, call_id, name, arguments: text }) => ({ type: "function_call", id, call_id, name, arguments: text })));
      input.push(...calls.map((call) => ({ type: "function_call_output", call_id: call.call_id, output: temperature(JSON.parse(call.arguments)) })));
    }
  },
};

let failed = 0;
for (const [loop, run] of Object.entries(loops)) {
  for (const cities of ["one city", "two cities"]) {
    const name = `${loop}-${cities.slice(0, 3)}`;
    const answer = await run(name, cities).catch((error) => String(error.stack));
    if (!String(answer).includes("ANSWERED")) {
      failed += 1;
      console.log("client failed:", name, answer);
    }
  }
}
process.exit(failed ? 1 : 0);
