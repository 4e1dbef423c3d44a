package event

import "github.com/p20export/p20export/internal/strictjson"

// RunAgentInput is a request to run an agent. RunStarted may repeat it.
type RunAgentInput struct {
	ThreadID, RunID string
	// ProtocolVersion is the version of AG-UI that the client speaks.
	ProtocolVersion Optional[string]
	// ParentRunID is as in RunStarted.
	ParentRunID Optional[string]
	// State is the state of the application, which may be null. Nil means that the
	// request has none.
	State JSON
	// Messages is the conversation, or the part of it that the client sends.
	Messages []Message
	// Tools are the tools of the application, and Context is more information for the
	// agent. Nil and empty mean the same.
	Tools   []Tool
	Context []Context
	// ForwardedProps is for the agent. It is not null.
	ForwardedProps JSON
	// Resume answers the interrupts of the previous run.
	Resume []ResumeEntry
	// Extra has the members that AG-UI does not define. See Base.
	Extra JSON
	// Raw is the text that was decoded, or nil. AppendRunInput ignores it.
	Raw []byte
}

var runInput kind[RunAgentInput] = &recordKind[RunAgentInput, *RunAgentInput]{what: "RunAgentInput"}

func (in *RunAgentInput) extra() *JSON { return &in.Extra }

func (in *RunAgentInput) visit(f *fields) {
	if f.d != nil {
		in.Raw = f.raw
	}
	inherit(f, "threadId", &in.ThreadID)
	inherit(f, "runId", &in.RunID)
	may(f, "protocolVersion", &in.ProtocolVersion, text)
	may(f, "parentRunId", &in.ParentRunID, text)
	mayList(f, "state", &in.State, orNull)
	if f.d != nil && f.d.checks && string(in.State) == "null" {
		v, _ := f.object.Get("state")
		f.d.report(NullOptional, "state", f.base+v.Start, "is null where AG-UI leaves the field out")
		f.d.setFatal(false, true)
	}
	if f.inRunStarted() && f.lacks("messages") {
		f.d.report(PartialInput, "messages", f.start, "is missing")
		in.Messages = []Message{}
	} else {
		must(f, "messages", &in.Messages, messageList)
	}
	mayList(f, "tools", &in.Tools, toolList)
	mayList(f, "context", &in.Context, contextList)
	mayList(f, "forwardedProps", &in.ForwardedProps, anyJSON)
	mayList(f, "resume", &in.Resume, resumeList)
}

// inherit visits an id of the input, which is that of RUN_STARTED if it is missing.
func inherit(f *fields, name string, p *string) {
	if f.inRunStarted() && f.lacks(name) {
		f.d.report(PartialInput, name, f.start, "is missing")
		if *p = f.d.runID; name == "threadId" {
			*p = f.d.threadID
		}
		return
	}
	must(f, name, p, text)
}

// inRunStarted reports whether an object of RUN_STARTED is decoded.
func (f *fields) inRunStarted() bool { return f.d != nil && f.d.inRunStarted() }

// DecodeRunInput reads a JSON text as a request, as Decode reads an event.
func DecodeRunInput(text []byte, options ...Option) (*RunAgentInput, error) {
	d := newDecoder(options)
	defer d.free(text)
	d.what = "the input"
	f, err := d.object(text)
	if err != nil {
		return nil, err
	}
	in := new(RunAgentInput)
	in.visit(f)
	in.Extra = f.rest(true)
	if err := d.finish(); err != nil {
		return nil, err
	}
	return in, nil
}

// AppendRunInput appends the JSON text of in to dst. See Append.
func AppendRunInput(dst []byte, in *RunAgentInput) []byte { return appendRecord(dst, in) }

// Tool is a tool of the application that the agent may call.
type Tool struct {
	Name, Description string
	// Parameters is a JSON Schema for the arguments. It is any value except null.
	Parameters JSON
	// Metadata is an object with extra information.
	Metadata JSON
	// Extra has the members that AG-UI does not define. See Base.
	Extra JSON
}

// Context is a named piece of information for the agent.
type Context struct {
	Description, Value string
	Extra              JSON
}

var (
	toolList    kind[[]Tool]    = &listKind[Tool]{of: &recordKind[Tool, *Tool]{what: "Tool"}, what: "Tool"}
	contextList kind[[]Context] = &listKind[Context]{of: &recordKind[Context, *Context]{what: "Context"}, what: "Context"}
)

func (t *Tool) extra() *JSON    { return &t.Extra }
func (c *Context) extra() *JSON { return &c.Extra }

func (t *Tool) visit(f *fields) {
	must(f, "name", &t.Name, text)
	must(f, "description", &t.Description, text)
	mayList(f, "parameters", &t.Parameters, anyJSON)
	mayList(f, "metadata", &t.Metadata, anyObject)
}

func (c *Context) visit(f *fields) {
	must(f, "description", &c.Description, text)
	must(f, "value", &c.Value, text)
}

// resumeKind is a list of entries, or one entry as in a draft of AG-UI.
type resumeKind struct{ *listKind[ResumeEntry] }

func (k resumeKind) read(d *decoder, v strictjson.Value) ([]ResumeEntry, bool) {
	if v.Kind != strictjson.ObjectStart {
		return k.listKind.read(d, v)
	}
	d.report(SingleResume, "", v.Start, "is an object where an array belongs")
	d.single = true
	r, ok := k.of.read(d, v)
	d.single = false
	return []ResumeEntry{r}, ok
}
