package event

// Interrupt is something that a run needs before it can continue, such as an approval
// or a missing value. The next run answers it with a ResumeEntry.
type Interrupt struct {
	// SubagentRunID is the invocation of a subagent that waits, if it is not the agent
	// itself.
	SubagentRunID Optional[string]
	ID            string
	// Reason says why the run stopped. AG-UI does not define values.
	Reason string
	// Message is a question for people.
	Message Optional[string]
	// ToolCallID is the call that has to be approved.
	ToolCallID Optional[string]
	// ResponseSchema is a JSON Schema, an object, for the payload of the answer.
	ResponseSchema JSON
	// ExpiresAt is the time from which only a cancellation is accepted as the answer.
	// By convention it is an ISO 8601 time.
	ExpiresAt Optional[string]
	// Metadata is an object with extra information. For an interrupt of a draft, its
	// member "payload" is the payload; see ReadPayload.
	Metadata JSON
	// Extra has the members that AG-UI does not define. See Base.
	Extra JSON
}

var interruptList kind[[]Interrupt] = &listKind[Interrupt]{of: &recordKind[Interrupt, *Interrupt]{what: "Interrupt"}, what: "Interrupt"}

func (i *Interrupt) extra() *JSON { return &i.Extra }

func (i *Interrupt) visit(f *fields) {
	may(f, "subagentRunId", &i.SubagentRunID, text)
	must(f, "id", &i.ID, text)
	must(f, "reason", &i.Reason, text)
	may(f, "message", &i.Message, text)
	may(f, "toolCallId", &i.ToolCallID, text)
	mayList(f, "responseSchema", &i.ResponseSchema, anyObject)
	may(f, "expiresAt", &i.ExpiresAt, text)
	mayList(f, "metadata", &i.Metadata, anyObject)
}

// The statuses of a ResumeEntry.
const (
	StatusResolved  = "resolved"
	StatusCancelled = "cancelled"
)

// ResumeEntry is the answer to an interrupt.
type ResumeEntry struct {
	// InterruptID is the id of the interrupt.
	InterruptID string
	// Status is StatusResolved or StatusCancelled.
	Status string
	// Payload is the answer. It is not null.
	Payload JSON
	// Metadata is an object with extra information.
	Metadata JSON
	// Extra has the members that AG-UI does not define. See Base.
	Extra JSON
}

var (
	resumeList kind[[]ResumeEntry] = resumeKind{&listKind[ResumeEntry]{of: &recordKind[ResumeEntry, *ResumeEntry]{what: "ResumeEntry"}, what: "ResumeEntry"}}
	status     kind[string]        = textKind{values: []string{StatusResolved, StatusCancelled}}
)

func (r *ResumeEntry) extra() *JSON { return &r.Extra }

func (r *ResumeEntry) visit(f *fields) {
	must(f, "interruptId", &r.InterruptID, text)
	if f.d != nil && f.d.single && f.lacks("status") {
		r.Status = StatusResolved
	} else {
		must(f, "status", &r.Status, status)
	}
	mayList(f, "payload", &r.Payload, anyJSON)
	mayList(f, "metadata", &r.Metadata, anyObject)
}

// draftInterrupt is the interrupt of a draft of AG-UI, next to the outcome.
type draftInterrupt struct {
	id      string
	payload JSON
	rest    JSON
}

func (i *draftInterrupt) extra() *JSON { return &i.rest }

func (i *draftInterrupt) visit(f *fields) {
	must(f, "id", &i.id, text)
	mayList(f, "payload", &i.payload, anyJSON)
}

// upgrade returns the interrupt as AG-UI 1.0 has it. Its payload and its unknown keys
// become metadata, and its reason follows from the kind of payload.
func (i *draftInterrupt) upgrade() Interrupt {
	up := Interrupt{ID: i.id, Reason: "interrupt"}
	switch p, _ := ReadPayload(i.payload); p.(type) {
	case *ApprovalRequest:
		up.Reason = "function_approval"
	case *InputRequest:
		up.Reason = "user_input"
	}
	if i.payload != nil || i.rest != nil {
		f := fields{out: []byte{'{'}}
		mayList(&f, "payload", &i.payload, anyJSON)
		up.Metadata = append(appendMembers(f.out, f.more, i.rest), '}')
	}
	return up
}

// Payload is the payload of an interrupt or of its answer, as the guide of the .NET SDK
// defines them: an *ApprovalRequest, *ApprovalAnswer, *InputRequest or *InputAnswer.
// AG-UI 1.0 does not define payloads.
type Payload interface {
	record
	payload()
}

// ApprovalRequest asks whether a function may be called. ApprovalAnswer answers it.
type ApprovalRequest struct {
	FunctionName      string
	FunctionArguments JSON
	Extra             JSON
}

// ApprovalAnswer says whether the function may be called.
type ApprovalAnswer struct {
	Approved bool
	Extra    JSON
}

// InputRequest asks the user for a text. InputAnswer answers it.
type InputRequest struct {
	Prompt string
	// InputType is a hint for the user interface, such as "password".
	InputType Optional[string]
	Extra     JSON
}

// InputAnswer is what the user entered.
type InputAnswer struct {
	Response string
	Extra    JSON
}

func (*ApprovalRequest) payload() {}
func (*ApprovalAnswer) payload()  {}
func (*InputRequest) payload()    {}
func (*InputAnswer) payload()     {}

func (p *ApprovalRequest) extra() *JSON { return &p.Extra }
func (p *ApprovalAnswer) extra() *JSON  { return &p.Extra }
func (p *InputRequest) extra() *JSON    { return &p.Extra }
func (p *InputAnswer) extra() *JSON     { return &p.Extra }

func (p *ApprovalRequest) visit(f *fields) {
	must(f, "functionName", &p.FunctionName, text)
	mayList(f, "functionArguments", &p.FunctionArguments, anyJSON)
}

func (p *ApprovalAnswer) visit(f *fields) { must(f, "approved", &p.Approved, boolKind{}) }

func (p *InputRequest) visit(f *fields) {
	must(f, "prompt", &p.Prompt, text)
	may(f, "inputType", &p.InputType, text)
}

func (p *InputAnswer) visit(f *fields) { must(f, "response", &p.Response, text) }

// ReadPayload reads the payload of an interrupt, or of an answer, and reports whether it
// is one of those that are known. The payload of an interrupt is in its metadata:
//
//	payload, _ := interrupt.Metadata.Get("payload")
//	request, ok := event.ReadPayload(payload)
func ReadPayload(text JSON) (Payload, bool) {
	for _, p := range []Payload{new(ApprovalRequest), new(ApprovalAnswer), new(InputRequest), new(InputAnswer)} {
		d := new(decoder)
		f, err := d.object(text)
		if err != nil {
			return nil, false
		}
		p.visit(f)
		if *p.extra() = f.rest(false); d.refused == 0 {
			return p, true
		}
	}
	return nil, false
}

// AppendPayload appends the JSON text of p to dst.
func AppendPayload(dst []byte, p Payload) []byte { return appendRecord(dst, p) }
