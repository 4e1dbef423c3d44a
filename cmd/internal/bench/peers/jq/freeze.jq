# Makes the artifact of a capture of one run, as the program does under emitted-snapshot. The
# input is one line of JSON per event. The result has the number of events and the artifact.
def refuse(why): error(why);

def time(given):
  if .timestamp == null then given
  else (.timestamp / 1000 | floor) as $seconds | (.timestamp - $seconds * 1000) as $ms
    | ($seconds | strftime("%Y-%m-%dT%H:%M:%S")) + (if $ms == 0 then "" else "." + ("00\($ms)000"[-6:]) end) + "Z"
  end;

def message:
  if (keys - ["id", "role", "content", "name"]) != [] or (has("id") and has("role") and has("content") | not)
  then refuse("a message has other keys than id, role, content and name")
  elif map(type) | any(. != "string") then refuse("a message has a value that is not text")
  elif [.role] | inside(["assistant", "developer", "system", "tool", "user"]) | not then refuse("a message has an unknown role")
  elif .content | length > 262144 then refuse("a message is too long")
  else {id, role, content} + (if has("name") then {name} else {} end)
  end;

reduce inputs as $event ({events: 0};
  .events += 1
  | if .terminal then refuse("the run goes on after its end")
    elif $event.type == "TEXT_MESSAGE_CONTENT" then .
    elif $event.type == "RUN_STARTED" then
      if .started then refuse("there are several runs") else .started = $event end
    elif .started | not then refuse("the first event is not RUN_STARTED")
    elif $event.type == "MESSAGES_SNAPSHOT" then
      if .snapshot then refuse("there are several snapshots") else .snapshot = $event end
    elif $event.type == "RUN_FINISHED" or $event.type == "RUN_ERROR" then .terminal = $event
    elif $event.type | type != "string" then refuse("an event has no type")
    else . end)
| if (.started and .snapshot and .terminal) | not then refuse("the run has no start, no snapshot or no end") else . end
| .started.threadId as $thread | .started.runId as $run
| if (.terminal.threadId // $thread) != $thread or (.terminal.runId // $run) != $run then refuse("the terminal event names another run") else . end
| if .snapshot.messages | length == 0 or length > 2000 or (map(.id) | (unique | length) != length)
  then refuse("the snapshot has no message, too many, or two with one id") else . end
| {events, artifact: (
    {schema: "ag-ui.compacted-message-snapshot.export.v1", framework: "ag_ui", surface: "compacted_message_snapshot_artifact",
     thread_id_ref: $thread, run_id_ref: $run, started_at: (.started | time($started_at))}
    + (if .terminal.timestamp then {finished_at: (.terminal | time(null))} else {} end)
    + {messages: (.snapshot.messages | map(message)), terminal_event: .terminal.type}
    + (if .terminal.type == "RUN_ERROR" then (if .terminal.code then {error_code: .terminal.code} else {} end) + {error_message: .terminal.message} else {} end))}
