// A chat page of assistant-ui: /?server=URL&agent=NAME&thread=ID
import { AssistantRuntimeProvider, MessagePartPrimitive, MessagePrimitive, ThreadPrimitive } from "@assistant-ui/react";
import { useAgUiRuntime } from "@assistant-ui/react-ag-ui";
import { ThreadAgent } from "@p20export/client";
import { threadHistory } from "@p20export/client/assistant-ui";
import { createRoot } from "react-dom/client";

const { server, agent: name, thread } = Object.fromEntries(new URLSearchParams(location.search));
const agent = new ThreadAgent({ server, agent: name, threadId: thread, retryDelay: 10, maxRetryDelay: 100 });
const history = threadHistory(agent);
const { load } = history;
history.load = () => load().finally(() => (window.loaded = true)); // for the tests

function Text() {
  return <MessagePartPrimitive.Text smooth={false} />; // text shows when it arrives
}

function Message() {
  return <MessagePrimitive.Root><MessagePrimitive.Parts components={{ Text }} /></MessagePrimitive.Root>;
}

function Page() {
  const runtime = useAgUiRuntime({ agent, adapters: { history } });
  window.runtime = runtime; // for the tests
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root><ThreadPrimitive.Messages components={{ Message }} /></ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

createRoot(document.body.appendChild(document.createElement("main"))).render(<Page />);
