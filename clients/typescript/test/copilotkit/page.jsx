// The page of the tests: CopilotKit's chat for the thread in the address, with a tool.
import { CopilotChat, CopilotKitProvider, useAgent, useFrontendTool } from "@copilotkit/react-core/v2";
import "@copilotkit/react-core/v2/styles.css";
import { createRoot } from "react-dom/client";
import { z } from "zod";

const errors = (window.errors = []);
const threadId = new URL(location.href).searchParams.get("thread");

function Page() {
  useFrontendTool({
    name: "paint",
    description: "Paints the page.",
    parameters: z.object({ color: z.string() }),
    handler: async ({ color }) => {
      document.body.style.background = color;
      return { color };
    },
  });
  const { agent } = useAgent({ agentId: "painter" });
  window.agent = agent;
  return <CopilotChat agentId="painter" threadId={threadId} />;
}

createRoot(document.getElementById("root")).render(
  <CopilotKitProvider runtimeUrl="/copilotkit" enableInspector={false} onError={({ error }) => errors.push(error.message)}>
    <Page />
  </CopilotKitProvider>,
);
