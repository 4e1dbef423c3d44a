// CopilotKit's runtime with one built-in agent per path, and scripted models. See README.md.

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { BuiltInAgent, CopilotRuntime, defineTool } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";
import { z } from "zod";

const getWeather = defineTool({
  name: "get_weather",
  description: "Returns the weather in a city.",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, celsius: 4, sky: "rain" }),
});

const deleteFile = defineTool({
  name: "delete_file",
  description: "Deletes a file; the user has to confirm it first. Nothing is deleted.",
  parameters: z.object({ path: z.string() }),
  interrupt: true,
  interruptMessage: "Delete the file?",
});

// The paths of the agents, with the settings of single agents.
const PATHS = {
  "one-turn": {},
  "three-turns": {},
  "backend-tool": { tools: [getWeather], maxSteps: 2 },
  "state-change": { maxSteps: 2 },
  "reasoning": {},
  "model-error": {},
  "long-stream": {},
  "unicode": {},
  "client-tool": {},
  "confirmation": { tools: [deleteFile] },
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
  const openai = createOpenAI({ baseURL, apiKey: "none" });
  // OpenAI's chat completions have no reasoning, unlike those of other providers.
  const compatible = createOpenAICompatible({ baseURL, name: "scripted" });
  const model = (script) => (script === "reasoning" ? compatible(script) : openai.chat(script));
  const agents = Object.fromEntries(
    Object.entries(PATHS).map(([path, how]) => [
      path,
      new BuiltInAgent({ model: model(path), prompt: "Answer briefly.", ...how }),
    ]),
  );
  const listener = createCopilotNodeListener({ runtime: new CopilotRuntime({ agents }) });
  return (request, response) => {
    request.url = `/agent${request.url}/run`; // the runtime's own path
    return listener(request, response);
  };
}
