package event

import (
	"slices"

	"github.com/p20export/p20export/internal/eventnames"
	"github.com/p20export/p20export/internal/strictjson"
)

// RunStarted begins a run. A stream may have several runs.
type RunStarted struct {
	Base
	// ThreadID identifies the conversation, and RunID the run.
	ThreadID, RunID string
	// ProtocolVersion is the version of AG-UI that the agent speaks, such as "1.0".
	ProtocolVersion Optional[string]
	// ParentRunID is the run that this run continues as a branch, or the run that
	// started it.
	ParentRunID Optional[string]
	// Input is the request that the run answers, or nil.
	Input *RunAgentInput
}

// Type returns RUN_STARTED.
func (*RunStarted) Type() string { return eventnames.RunStarted }

func (e *RunStarted) visit(f *fields) {
	if f.lacks("threadId") {
		f.d.report(MissingThread, "threadId", f.start, "is missing")
	} else {
		must(f, "threadId", &e.ThreadID, text)
	}
	must(f, "runId", &e.RunID, text)
	may(f, "protocolVersion", &e.ProtocolVersion, text)
	may(f, "parentRunId", &e.ParentRunID, text)
	if f.d != nil {
		f.d.threadID, f.d.runID = e.ThreadID, e.RunID
	}
	mayObject(f, "input", &e.Input, runInput)
}

// RunFinished ends a run that did not fail.
type RunFinished struct {
	Base
	// ThreadID and RunID should be those of RunStarted, which nothing enforces.
	ThreadID, RunID string
	// Result is what the run returns. It is not null.
	Result JSON
	// Outcome says why the run ended. Nil means success.
	Outcome *Outcome
	// Usage has the tokens that the run used, one entry for each provider and model.
	// Nil means that they are not known. It has at most MaxUsage entries.
	Usage []TokenUsage
}

// Type returns RUN_FINISHED.
func (*RunFinished) Type() string { return eventnames.RunFinished }

func (e *RunFinished) visit(f *fields) {
	must(f, "threadId", &e.ThreadID, text)
	must(f, "runId", &e.RunID, text)
	mayList(f, "result", &e.Result, anyJSON)
	if !e.draftOutcome(f) {
		mayObject(f, "outcome", &e.Outcome, outcome)
	}
	mayList(f, "usage", &e.Usage, usageList)
}

// draftOutcome reads an outcome that is a string, as in a draft of AG-UI, and the
// interrupt next to it. It reports whether there is one.
func (e *RunFinished) draftOutcome(f *fields) bool {
	if f.d == nil {
		return false
	}
	if v, _ := f.object.Get("outcome"); v.Kind != strictjson.String {
		return false
	}
	v, _ := f.find("outcome")
	f.d.report(OutcomeString, "outcome", v.Start, "is a string where an object belongs")
	name, _ := v.Text()
	e.Outcome = &Outcome{Type: name}
	switch name {
	case OutcomeSuccess, OutcomeCancelled:
	case OutcomeInterrupt:
		var i *draftInterrupt
		if mayObject(f, "interrupt", &i, &recordKind[draftInterrupt, *draftInterrupt]{}); i == nil {
			f.d.report(EmptyInterrupts, "outcome", v.Start, "has no interrupt")
		} else {
			e.Outcome.Interrupts = []Interrupt{i.upgrade()}
		}
	default:
		f.d.report(UnknownMember, "outcome", v.Start, "is of a type that AG-UI does not define")
	}
	return true
}

// RunError ends a run that failed. It does not name the run: it ends the run that is
// open. It may also be the only event of a stream, or follow RunFinished.
type RunError struct {
	Base
	// Message is for people, Code for programs.
	Message string
	Code    Optional[string]
	// Usage is as in RunFinished.
	Usage []TokenUsage
}

// Type returns RUN_ERROR.
func (*RunError) Type() string { return eventnames.RunError }

func (e *RunError) visit(f *fields) {
	must(f, "message", &e.Message, text)
	may(f, "code", &e.Code, text)
	mayList(f, "usage", &e.Usage, usageList)
}

// The types of Outcome and SubagentOutcome.
const (
	OutcomeSuccess   = "success"
	OutcomeInterrupt = "interrupt"
	OutcomeCancelled = "cancelled"
	OutcomeSuspended = "suspended"
)

// Outcome says why a run ended.
type Outcome struct {
	// Type is OutcomeSuccess, OutcomeInterrupt or OutcomeCancelled. After a
	// tolerant decode it can be another string, which is best read as success.
	Type string
	// PendingToolCallIDs, of a success, are the calls that the application has to
	// answer. If it is empty, these are the calls of the run without a result.
	PendingToolCallIDs []string
	// Interrupts, of an interrupt, are what the run waits for. There is at least one.
	Interrupts []Interrupt
	// Extra has the members that AG-UI does not define. See Base.
	Extra JSON
}

var outcome kind[Outcome] = &recordKind[Outcome, *Outcome]{what: "Outcome"}

func (o *Outcome) extra() *JSON { return &o.Extra }

func (o *Outcome) visit(f *fields) {
	outcomeType(f, &o.Type, OutcomeSuccess, OutcomeInterrupt, OutcomeCancelled)
	if o.Type == OutcomeSuccess || f.table != nil {
		mayList(f, "pendingToolCallIds", &o.PendingToolCallIDs, stringList)
	}
	if o.Type == OutcomeInterrupt || f.table != nil {
		if f.lacks("interrupts") {
			f.d.report(EmptyInterrupts, "interrupts", f.start, "is missing")
			return
		}
		must(f, "interrupts", &o.Interrupts, interruptList)
		if f.d != nil && o.Interrupts != nil && len(o.Interrupts) == 0 {
			f.d.report(EmptyInterrupts, "interrupts", f.start, "is empty")
		}
	}
}

// outcomeType visits the type of an outcome, which is one of those that are known or a
// tolerated string. The reference client removes an outcome without a type.
func outcomeType(f *fields, p *string, known ...string) {
	before := 0
	if f.d != nil {
		before = f.d.refused
	}
	must(f, "type", p, kind[string](openKind{textKind{values: known}}))
	switch {
	case f.d == nil:
	case f.d.refused > before:
		f.d.setFatal(false, true)
	case !slices.Contains(known, *p):
		f.d.report(UnknownMember, "", f.start, "is of a type that AG-UI does not define")
	}
}

// TokenUsage counts tokens for one provider and model. Counts are between 0 and
// MaxInteger.
type TokenUsage struct {
	Provider, Model Optional[string]
	// InputTokens and OutputTokens are the tokens that the model read and wrote, and
	// TotalTokens is their sum.
	InputTokens, OutputTokens, TotalTokens Optional[int64]
	// ReasoningTokens are part of OutputTokens. CachedInputTokens and
	// CacheWriteInputTokens are disjoint parts of InputTokens.
	ReasoningTokens, CachedInputTokens, CacheWriteInputTokens Optional[int64]
	// Extra has the members that AG-UI does not define. See Base.
	Extra JSON
}

var usageList kind[[]TokenUsage] = &listKind[TokenUsage]{of: &recordKind[TokenUsage, *TokenUsage]{what: "TokenUsage"}, what: "TokenUsage", max: MaxUsage}

func (u *TokenUsage) extra() *JSON { return &u.Extra }

func (u *TokenUsage) visit(f *fields) {
	may(f, "provider", &u.Provider, text)
	may(f, "model", &u.Model, text)
	may(f, "inputTokens", &u.InputTokens, countKind{})
	may(f, "outputTokens", &u.OutputTokens, countKind{})
	may(f, "totalTokens", &u.TotalTokens, countKind{})
	may(f, "reasoningTokens", &u.ReasoningTokens, countKind{})
	may(f, "cachedInputTokens", &u.CachedInputTokens, countKind{})
	may(f, "cacheWriteInputTokens", &u.CacheWriteInputTokens, countKind{})
}

// StepStarted begins a named part of a run. Steps may cross each other.
type StepStarted struct {
	Base
	// SubagentRunID is the invocation of a subagent to which the event belongs. If
	// it is absent, the event belongs to the agent itself. An empty id is not the
	// same as none. Other events have the field too.
	SubagentRunID Optional[string]
	// StepName identifies the step among those of the same agent or subagent.
	StepName string
}

// Type returns STEP_STARTED.
func (*StepStarted) Type() string { return eventnames.StepStarted }

func (e *StepStarted) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "stepName", &e.StepName, text)
}

// StepFinished ends a step.
type StepFinished struct {
	Base
	SubagentRunID Optional[string]
	StepName      string
}

// Type returns STEP_FINISHED.
func (*StepFinished) Type() string { return eventnames.StepFinished }

func (e *StepFinished) visit(f *fields) {
	may(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "stepName", &e.StepName, text)
}

// SubagentStarted begins an invocation of a subagent. Events that belong to it have its
// SubagentRunID.
type SubagentStarted struct {
	Base
	// SubagentRunID identifies the invocation, not the subagent.
	SubagentRunID string
	// Name is the name of the subagent.
	Name        string
	Description Optional[string]
	// ParentSubagentRunID is the invocation that made this one. ParentToolCallID and
	// ParentMessageID are the call and the message from which it was made.
	ParentSubagentRunID, ParentToolCallID, ParentMessageID Optional[string]
}

// Type returns SUBAGENT_STARTED.
func (*SubagentStarted) Type() string { return eventnames.SubagentStarted }

func (e *SubagentStarted) visit(f *fields) {
	must(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "name", &e.Name, text)
	may(f, "description", &e.Description, text)
	may(f, "parentSubagentRunId", &e.ParentSubagentRunID, text)
	may(f, "parentToolCallId", &e.ParentToolCallID, text)
	may(f, "parentMessageId", &e.ParentMessageID, text)
}

// SubagentFinished ends an invocation of a subagent in this run.
type SubagentFinished struct {
	Base
	SubagentRunID string
	// Result is what the subagent returns. It is not null.
	Result JSON
	// Outcome says why the invocation ended. Nil means success.
	Outcome *SubagentOutcome
}

// Type returns SUBAGENT_FINISHED.
func (*SubagentFinished) Type() string { return eventnames.SubagentFinished }

func (e *SubagentFinished) visit(f *fields) {
	must(f, "subagentRunId", &e.SubagentRunID, text)
	mayList(f, "result", &e.Result, anyJSON)
	mayObject(f, "outcome", &e.Outcome, subagentOutcome)
}

// SubagentOutcome says why an invocation of a subagent ended.
type SubagentOutcome struct {
	// Type is OutcomeSuccess, or OutcomeSuspended if a later run may continue the
	// invocation. After a tolerant decode it can be another string.
	Type string
	// InterruptIDs, of a suspended invocation, are the interrupts it waits for.
	InterruptIDs []string
	// Extra has the members that AG-UI does not define. See Base.
	Extra JSON
}

var subagentOutcome kind[SubagentOutcome] = &recordKind[SubagentOutcome, *SubagentOutcome]{what: "SubagentOutcome"}

func (o *SubagentOutcome) extra() *JSON { return &o.Extra }

func (o *SubagentOutcome) visit(f *fields) {
	outcomeType(f, &o.Type, OutcomeSuccess, OutcomeSuspended)
	if o.Type == OutcomeSuspended || f.table != nil {
		mayList(f, "interruptIds", &o.InterruptIDs, stringList)
	}
}

// SubagentError ends an invocation of a subagent that failed. The run may continue.
type SubagentError struct {
	Base
	SubagentRunID string
	// Message is for people, Code for programs.
	Message string
	Code    Optional[string]
}

// Type returns SUBAGENT_ERROR.
func (*SubagentError) Type() string { return eventnames.SubagentError }

func (e *SubagentError) visit(f *fields) {
	must(f, "subagentRunId", &e.SubagentRunID, text)
	must(f, "message", &e.Message, text)
	may(f, "code", &e.Code, text)
}
