package project

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/p20export/p20export/artifact"
	"github.com/p20export/p20export/envelope"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// TimeSource says where an artifact's time labels come from.
type TimeSource string

// The sources, in order of preference. Both labels come from the same source.
const (
	// EventTime is the event's own timestamp.
	EventTime TimeSource = "event"
	// ArrivalTime is the moment of the read that completed the event.
	ArrivalTime TimeSource = "arrival"
	// OperatorTime was given by the person who ran the program.
	OperatorTime TimeSource = "operator"
)

// Times are the time labels of a run (P20 §8.3, "Envelope timestamps"). An
// empty label is absent.
type Times struct {
	Source     TimeSource
	StartedAt  string
	FinishedAt string
}

// OperatorTimes are time labels given by the operator for captures that have no
// times. The zero value contains no times.
type OperatorTimes struct {
	StartedAt  string
	FinishedAt string
}

// The labels of a run's times.
const (
	StartLabel  = "started_at"
	FinishLabel = "finished_at"
)

// TimeError reports a time given by the operator that cannot be parsed.
type TimeError struct {
	Label, Value string
	Err          error
}

// Error returns the label, the value and the reason.
func (e *TimeError) Error() string {
	return fmt.Sprintf("%s %s: %v", e.Label, finding.Quote(e.Value), e.Err)
}

// Unwrap returns e.Err.
func (e *TimeError) Unwrap() error { return e.Err }

// Errors for inconsistent operator times.
var (
	ErrFinishBeforeStart  = errors.New("finished_at is before started_at")
	ErrFinishWithoutStart = errors.New("finished_at requires started_at: both labels come from the same source")
)

// NewOperatorTimes parses two RFC 3339 times, either of which may be empty, and
// formats them as in artifacts.
func NewOperatorTimes(started, finished string) (OperatorTimes, error) {
	var t OperatorTimes
	var times []time.Time
	for _, given := range []struct {
		name, value string
		to          *string
	}{{StartLabel, started, &t.StartedAt}, {FinishLabel, finished, &t.FinishedAt}} {
		if given.value == "" {
			continue
		}
		parsed, err := artifact.ParseTime(given.value)
		if err != nil {
			return t, &TimeError{given.name, given.value, err}
		}
		*given.to = artifact.FormatTime(parsed)
		times = append(times, parsed)
	}
	if len(times) == 2 && times[1].Before(times[0]) {
		return t, ErrFinishBeforeStart
	}
	return t, t.check()
}

// Given reports whether the operator gave a time.
func (t OperatorTimes) Given() bool { return t != OperatorTimes{} }

func (t OperatorTimes) check() error {
	if t.FinishedAt != "" && t.StartedAt == "" {
		return ErrFinishWithoutStart
	}
	return nil
}

// The plausible range of an event's timestamp. AG-UI's first release was in 2025. A
// timestamp in seconds that is read as milliseconds is in January 1970.
var (
	earliest = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// skew is how far a timestamp may be later than the arrival of its event.
const skew = 24 * time.Hour

// ResolveTimes returns the time labels of a run from the first source that has a
// time for RUN_STARTED. If there is no such source, the labels are empty. The
// findings are warnings.
func ResolveTimes(run *envelope.Run, operator OperatorTimes) (Times, []finding.Finding) {
	var findings []finding.Finding
	own := func(e *envelope.Event) (time.Time, bool) {
		if e == nil {
			return time.Time{}, false
		}
		t, ok, fault := eventTime(e)
		if fault != nil {
			findings = append(findings, *fault)
		}
		return t, ok
	}
	started, startedOK := own(run.Started)
	finished, finishedOK := own(run.Terminal)
	switch {
	case startedOK:
		t := Times{Source: EventTime, StartedAt: artifact.FormatTime(started)}
		if finishedOK {
			t.FinishedAt = artifact.FormatTime(finished)
		}
		return t, warnUnused(findings, operator)
	case !run.Started.Arrived.IsZero():
		t := Times{Source: ArrivalTime, StartedAt: artifact.FormatTime(run.Started.Arrived)}
		if run.Terminal != nil && !run.Terminal.Arrived.IsZero() {
			t.FinishedAt = artifact.FormatTime(run.Terminal.Arrived)
		}
		return t, warnUnused(findings, operator)
	case operator.Given():
		return Times{Source: OperatorTime, StartedAt: operator.StartedAt, FinishedAt: operator.FinishedAt},
			append(findings, finding.New(finding.OperatorAsserted, "the times were given by the operator and are not in the capture"))
	}
	return Times{}, findings
}

func warnUnused(findings []finding.Finding, operator OperatorTimes) []finding.Finding {
	if operator.Given() {
		findings = append(findings, finding.New(finding.OperatorTimesUnused, "the times given were not needed: the capture has its own"))
	}
	return findings
}

// eventTime returns an event's timestamp, an integer number of milliseconds since
// 1970. If the timestamp is not plausible, it returns a finding instead.
func eventTime(e *envelope.Event) (time.Time, bool, *finding.Finding) {
	v, ok := e.Get("timestamp")
	if !ok || v.Kind == strictjson.Null {
		return time.Time{}, false, nil
	}
	fault := func(why string) *finding.Finding {
		f := e.FindingAt(v, finding.TimestampImplausible, "the timestamp %s of %s %s and is not used", finding.Quote(string(v.Raw)), e.Type, why).WithPointer("/timestamp")
		return &f
	}
	ms, err := strconv.ParseInt(string(v.Raw), 10, 64)
	if v.Kind != strictjson.Number || err != nil {
		return time.Time{}, false, fault("is not an integer number of milliseconds")
	}
	end := latest
	if !e.Arrived.IsZero() {
		end = e.Arrived.Add(skew)
	}
	t := time.UnixMilli(ms)
	switch {
	case t.Before(earliest):
		why := "is before 2025"
		if s := time.Unix(ms, 0); !s.Before(earliest) && !s.After(end) {
			why += " (it is plausible in seconds)"
		}
		return time.Time{}, false, fault(why)
	case t.After(end):
		return time.Time{}, false, fault("is after " + artifact.FormatTime(end))
	}
	return t, true, nil
}
