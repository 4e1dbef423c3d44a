// The graphs of the deployment, one for each path of app.mjs. The models are at MODELS_URL.

import { ToolMessage, createAgent, tool } from "langchain";
import { Command, END, MessagesValue, START, StateGraph, StateSchema, interrupt } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";

const model = (script) =>
  new ChatOpenAI({ model: script, apiKey: "none", configuration: { baseURL: process.env.MODELS_URL } });

/** LangChain's agent. */
const agent = (script, how = {}) =>
  createAgent({ model: model(script), systemPrompt: "Answer briefly.", name: "guide", ...how });

const getWeather = tool(({ city }) => ({ city, celsius: 4, sky: "rain" }), {
  name: "get_weather",
  description: "Returns the weather in a city.",
  schema: z.object({ city: z.string() }),
});

const addItem = tool(
  ({ item }, { state, toolCallId }) => {
    const items = [...(state.items ?? []), item];
    const answer = new ToolMessage({ content: `${items.length} on the list`, tool_call_id: toolCallId });
    return new Command({ update: { items, messages: [answer] } });
  },
  {
    name: "add_item",
    description: "Puts an item on the shopping list kept in the graph's state.",
    schema: z.object({ item: z.string() }),
  },
);

const deleteFile = tool(
  ({ path }) => ({ deleted: path, confirmed: interrupt({ message: `Delete ${path}?` }) }),
  {
    name: "delete_file",
    description: "Deletes a file; the user has to confirm it first. Nothing is deleted.",
    schema: z.object({ path: z.string() }),
  },
);

/** A graph that runs two agents, one after the other. */
function team() {
  return new StateGraph(new StateSchema({ messages: MessagesValue }))
    .addNode("researcher", agent("researcher", { name: "researcher" }).graph)
    .addNode("writer", agent("writer", { name: "writer" }).graph)
    .addEdge(START, "researcher")
    .addEdge("researcher", "writer")
    .addEdge("writer", END)
    .compile();
}

/** A graph of one model with the client's tools, which the integration puts into the state; it ends where the client has to run one. */
function chooser() {
  const bare = model("client-tool");
  return new StateGraph(new StateSchema({ messages: MessagesValue, tools: z.array(z.any()) }))
    .addNode("answer", async ({ messages, tools }) => ({ messages: [await bare.bindTools(tools).invoke(messages)] }))
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile();
}

// The name of a graph is its path with underscores.
export const one_turn = agent("one-turn");
export const three_turns = agent("three-turns");
export const backend_tool = agent("backend-tool", { tools: [getWeather] });
export const state_change = agent("state-change", { tools: [addItem], stateSchema: z.object({ items: z.array(z.string()) }) });
export const reasoning = agent("reasoning");
export const model_error = agent("model-error");
export const long_stream = agent("long-stream");
export const unicode = agent("unicode");
export const two_agents = team();
export const client_tool = chooser();
export const confirmation = agent("confirmation", { tools: [deleteFile] });
export const parent_run = agent("parent-run");
export const snapshot_off = agent("snapshot-off");
export const empty_reply = agent("empty-reply");
export const multimodal = agent("multimodal");
export const keep_alive = agent("keep-alive");
export const refused = agent("refused");
export const long_reply = agent("long-reply");
export const no_ids = agent("no-ids");
export const empty_ids = agent("empty-ids");
export const chat = agent("chat");
