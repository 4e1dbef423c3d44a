// Mastra's agents behind CopilotKit's runtime, one per path, with scripted models. See README.md.

import { MastraAgent } from "@ag-ui/mastra";
import { CopilotRuntime } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { Memory } from "@mastra/memory";
import { z } from "zod";

const getWeather = createTool({
  id: "get_weather",
  description: "Returns the weather in a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, celsius: 4, sky: "rain" }),
});

const deleteFile = createTool({
  id: "delete_file",
  description: "Deletes a file; the user has to confirm it first. Nothing is deleted.",
  inputSchema: z.object({ path: z.string() }),
  suspendSchema: z.object({ question: z.string() }),
  resumeSchema: z.object({ confirmed: z.boolean() }),
  execute: ({ path }, { agent }) => agent.suspend({ question: `Delete ${path}?` }),
});

const shoppingList = new Memory({
  options: { workingMemory: { enabled: true, schema: z.object({ items: z.array(z.string()) }) } },
});

// The paths of the agents, with the settings of single agents. `team` names the subagents of an agent.
const PATHS = {
  "one-turn": {},
  "three-turns": {},
  "backend-tool": { tools: { get_weather: getWeather } },
  "state-change": { memory: shoppingList },
  "reasoning": {},
  "model-error": {},
  "long-stream": {},
  "unicode": {},
  "two-agents": { team: ["researcher", "writer"] },
  "client-tool": {},
  "confirmation": { tools: { delete_file: deleteFile } },
  "parent-run": {},
  "snapshot-off": {},
  "empty-reply": {},
  "multimodal": {},
  "keep-alive": {},
  "refused": {},
  "long-reply": {},
  "no-ids": {},
  "empty-ids": {},
  "chat": {},
};

/** Returns a listener for an HTTP server; the models are asked at baseURL. */
export function build(baseURL) {
  const agent = (script, { team = [], ...how } = {}) =>
    new Agent({
      id: script,
      name: script,
      description: `The ${script}.`,
      instructions: "Answer briefly.",
      model: { id: `scripted/${script}`, url: baseURL, apiKey: "none" },
      agents: Object.fromEntries(team.map((member) => [member, agent(member)])),
      ...how,
    });
  const mastra = new Mastra({
    agents: Object.fromEntries(Object.entries(PATHS).map(([path, how]) => [path, agent(path, how)])),
    storage: new InMemoryStore(),
  });
  const agents = MastraAgent.getLocalAgents({ mastra, resourceId: "harness" });
  const listener = createCopilotNodeListener({ runtime: new CopilotRuntime({ agents }) });
  return (request, response) => {
    request.url = `/agent${request.url}/run`; // the runtime's own path
    return listener(request, response);
  };
}
