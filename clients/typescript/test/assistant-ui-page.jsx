// The example of README.md as a page: /?url=URL&thread=ID
import { MessagePartPrimitive, MessagePrimitive, ThreadPrimitive, useAui } from "@assistant-ui/react";
import { createRoot } from "react-dom/client";
import { Chat } from "README.md";

function Text() {
  return <MessagePartPrimitive.Text smooth={false} />; // text shows when it arrives
}

function Message() {
  return <MessagePrimitive.Root><MessagePrimitive.Parts components={{ Text }} /></MessagePrimitive.Root>;
}

function Thread() {
  window.thread = useAui().thread(); // for the tests
  return <ThreadPrimitive.Root><ThreadPrimitive.Messages components={{ Message }} /></ThreadPrimitive.Root>;
}

createRoot(document.body.appendChild(document.createElement("main"))).render(<Chat><Thread /></Chat>);
