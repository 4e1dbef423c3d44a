// The same for assistant-ui.
import { useAgUiRuntime } from "@assistant-ui/react-ag-ui";
import { ThreadAgent } from "@p20export/client";
import { threadHistory } from "@p20export/client/assistant-ui";

const agent = new ThreadAgent({ server: "", agent: "guide" });
const history = threadHistory(agent);
export const useRuntime = () => useAgUiRuntime({ agent, adapters: { history } });

// A list of threads loads a thread with the same history.
export const threadList = {
  async onSwitchToThread(threadId: string) {
    agent.threadId = threadId;
    const { messages, ...rest } = await history.load();
    return { ...rest, messages: messages.map(({ message }) => message) };
  },
};
export const useRuntimeWithList = () => useAgUiRuntime({ agent, adapters: { history, threadList } });
