package project_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/p20export/p20export/internal/testkit"
	"github.com/p20export/p20export/project"
)

func TestTimes(t *testing.T) {
	ms := func(when string) string {
		parsed, err := time.Parse(time.RFC3339Nano, when)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(parsed.UnixMilli())
	}
	operator := project.OperatorTimes{StartedAt: "2026-11-20T00:00:00Z", FinishedAt: "2026-11-20T00:00:01Z"}
	never := func(int) time.Time { return time.Time{} }
	firstOnly := func(i int) time.Time {
		if i == 0 {
			return base.Add(1500 * time.Nanosecond)
		}
		return time.Time{}
	}
	lastOnly := func(i int) time.Time {
		if i == 2 {
			return base
		}
		return time.Time{}
	}
	const (
		started0  = "(timestamp_implausible #0 /timestamp)"
		finished2 = "(timestamp_implausible #2 /timestamp)"
		unused    = "(operator_times_unused)"
		asserted  = "(operator_asserted)"
	)
	for _, c := range []struct {
		name       string
		start, end string // timestamps; empty for none
		at         func(int) time.Time
		operator   project.OperatorTimes
		want       project.Times
		left       []string
		findings   []string
	}{
		{"event", ms("2026-11-21T06:28:50Z"), ms("2026-11-21T06:28:51.5Z"), everySecond, operator, project.Times{Source: "event", StartedAt: "2026-11-21T06:28:50Z", FinishedAt: "2026-11-21T06:28:51.500000Z"}, nil, []string{unused}},
		{"event without arrivals", ms("2026-11-21T06:28:50.001Z"), ms("2026-11-21T06:28:51Z"), never, project.OperatorTimes{}, project.Times{Source: "event", StartedAt: "2026-11-21T06:28:50.001000Z", FinishedAt: "2026-11-21T06:28:51Z"}, nil, nil},
		{"event for the start alone", ms("2026-11-21T06:28:50Z"), "", everySecond, operator, project.Times{Source: "event", StartedAt: "2026-11-21T06:28:50Z"}, nil, []string{unused}},
		{"event for the end alone", "", ms("2026-11-21T06:28:51Z"), everySecond, operator, project.Times{Source: "arrival", StartedAt: "2026-11-21T06:28:50Z", FinishedAt: "2026-11-21T06:28:52Z"}, []string{"key_outside_subset #2 /timestamp"}, []string{unused}},
		{"event for the end alone, without arrivals", "", ms("2026-11-21T06:28:51Z"), never, operator, project.Times{Source: "operator", StartedAt: operator.StartedAt, FinishedAt: operator.FinishedAt}, []string{"key_outside_subset #2 /timestamp"}, []string{asserted}},
		{"event, end implausible", ms("2026-11-21T06:28:50Z"), "5", everySecond, project.OperatorTimes{}, project.Times{Source: "event", StartedAt: "2026-11-21T06:28:50Z"}, []string{"key_outside_subset #2 /timestamp"}, []string{finished2}},
		{"event, end null", ms("2026-11-21T06:28:50Z"), "null", everySecond, project.OperatorTimes{}, project.Times{Source: "event", StartedAt: "2026-11-21T06:28:50Z"}, []string{"key_outside_subset #2 /timestamp"}, nil},
		{"null", "null", "null", everySecond, project.OperatorTimes{}, project.Times{Source: "arrival", StartedAt: "2026-11-21T06:28:50Z", FinishedAt: "2026-11-21T06:28:52Z"}, []string{"key_outside_subset #0 /timestamp", "key_outside_subset #2 /timestamp"}, nil},
		{"arrival", "", "", everySecond, project.OperatorTimes{}, project.Times{Source: "arrival", StartedAt: "2026-11-21T06:28:50Z", FinishedAt: "2026-11-21T06:28:52Z"}, nil, nil},
		{"arrival of the start alone", "", "", firstOnly, operator, project.Times{Source: "arrival", StartedAt: "2026-11-21T06:28:50.000001Z"}, nil, []string{unused}},
		{"arrival of the end alone", "", "", lastOnly, operator, project.Times{Source: "operator", StartedAt: operator.StartedAt, FinishedAt: operator.FinishedAt}, nil, []string{asserted}},
		{"operator, start alone", "", "", never, project.OperatorTimes{StartedAt: operator.StartedAt}, project.Times{Source: "operator", StartedAt: operator.StartedAt}, nil, []string{asserted}},
		{"none", "", "", never, project.OperatorTimes{}, project.Times{}, nil, []string{"started_at_missing #0"}},
		{"none, end alone", "", ms("2026-11-21T06:28:51Z"), lastOnly, project.OperatorTimes{}, project.Times{}, nil, []string{"started_at_missing #0"}},
		{"seconds", "1795242530", "1795242531", everySecond, project.OperatorTimes{}, project.Times{Source: "arrival", StartedAt: "2026-11-21T06:28:50Z", FinishedAt: "2026-11-21T06:28:52Z"}, []string{"key_outside_subset #0 /timestamp", "key_outside_subset #2 /timestamp"}, []string{started0, finished2}},
		{"seconds, operator", "1795242530", "", never, operator, project.Times{Source: "operator", StartedAt: operator.StartedAt, FinishedAt: operator.FinishedAt}, []string{"key_outside_subset #0 /timestamp"}, []string{asserted, started0}},
		{"seconds, nothing else", "1795242530", "", never, project.OperatorTimes{}, project.Times{}, nil, []string{"started_at_missing #0", started0}},
		{"out of order", ms("2026-11-21T06:28:51Z"), ms("2026-11-21T06:28:50.999Z"), never, project.OperatorTimes{}, project.Times{}, nil, []string{"times_out_of_order #2"}},
		{"at once", ms("2026-11-21T06:28:51Z"), ms("2026-11-21T06:28:51Z"), never, project.OperatorTimes{}, project.Times{Source: "event", StartedAt: "2026-11-21T06:28:51Z", FinishedAt: "2026-11-21T06:28:51Z"}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			stamp := func(event, value string) string {
				if value == "" {
					return event
				}
				return strings.TrimSuffix(event, "}") + `,"timestamp":` + value + "}"
			}
			s := strict
			s.Operator = c.operator
			r := projectAll(t, input{Settings: s, at: c.at, raw: testkit.SSE(stamp(started, c.start), snapshot(user), stamp(finished, c.end))})[0]
			if diff := cmp.Diff(orEmpty(c.findings), formatFindings(r.findings)); diff != "" {
				t.Error(diff)
			}
			if r.out == nil {
				if c.want.Source != "" {
					t.Error("refused")
				}
				return
			}
			if diff := cmp.Diff(c.want, r.out.Times); diff != "" {
				t.Error(diff)
			}
			if a := r.out.Artifact; a.StartedAt != c.want.StartedAt || a.FinishedAt != c.want.FinishedAt {
				t.Errorf("the artifact says %q to %q", a.StartedAt, a.FinishedAt)
			}
			if diff := cmp.Diff(orEmpty(c.left), formatOmissions(r.out.Omissions)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A timestamp is used if it is an integer number of milliseconds between 2025 and
// one day after the event's arrival, or 2100 if the arrival is unknown.
func TestTimestampPlausible(t *testing.T) {
	const day = 24 * time.Hour
	arrived := base.Add(123 * time.Millisecond)
	for _, c := range []struct {
		stamp   string
		arrives bool
		want    string // empty: implausible
	}{
		{"1735689600000", true, "2025-01-01T00:00:00Z"},
		{"1735689599999", true, ""},
		{"1735689600000", false, "2025-01-01T00:00:00Z"},
		{"1735689599999", false, ""},
		{fmt.Sprint(arrived.Add(day).UnixMilli()), true, "2026-11-22T06:28:50.123000Z"},
		{fmt.Sprint(arrived.Add(day).UnixMilli() + 1), true, ""},
		{"4102444800000", false, "2100-01-01T00:00:00Z"},
		{"4102444800001", false, ""},
		{"4102444800000", true, ""},
		{"0", true, ""}, {"-1", false, ""}, {"-1735689600000", true, ""}, {"-0", false, ""},
		{"1795242530000.0", true, ""}, {"1795242530000.5", true, ""}, {"1.79524253e12", true, ""},
		{`"1795242530000"`, true, ""}, {`"2026-11-21T06:28:50Z"`, true, ""}, {"true", true, ""}, {"{}", true, ""}, {"[1795242530000]", true, ""},
		{"9223372036854775807", false, ""}, {"9223372036854775808", false, ""}, {"-9223372036854775808", false, ""}, {"1e400", false, ""},
	} {
		t.Run(c.stamp, func(t *testing.T) {
			at := func(int) time.Time {
				if c.arrives {
					return arrived
				}
				return time.Time{}
			}
			event := strings.TrimSuffix(started, "}") + `,"timestamp":` + c.stamp + "}"
			s := strict
			s.Operator.StartedAt = "2026-01-01T00:00:00Z"
			r := projectAll(t, input{Settings: s, at: at, raw: testkit.SSE(event, snapshot(user), `{"type":"RUN_FINISHED"}`)})[0]
			if r.out == nil {
				t.Fatal(formatFindings(r.findings))
			}
			if c.want != "" {
				if r.out.Times.Source != project.EventTime || r.out.Times.StartedAt != c.want {
					t.Errorf("%+v", r.out.Times)
				}
				return
			}
			if r.out.Times.Source == project.EventTime {
				t.Errorf("%+v", r.out.Times)
			}
			f := r.findings[len(r.findings)-1]
			if f.Code != "timestamp_implausible" || *f.Offset != int64(len("data: ")+strings.LastIndex(event, c.stamp)) {
				t.Errorf("%v at %d", formatFindings(r.findings), *f.Offset)
			}
		})
	}
}

func TestOperatorTimes(t *testing.T) {
	for _, c := range []struct{ started, finished, wantStarted, wantFinished string }{
		{"", "", "", ""},
		{"2026-11-21T06:28:50Z", "", "2026-11-21T06:28:50Z", ""},
		{"2026-11-21T07:28:50.5+01:00", "2026-11-21T06:28:51.000000Z", "2026-11-21T06:28:50.500000Z", "2026-11-21T06:28:51Z"},
	} {
		got, err := project.NewOperatorTimes(c.started, c.finished)
		if err != nil || got != (project.OperatorTimes{StartedAt: c.wantStarted, FinishedAt: c.wantFinished}) || got.Given() != (c.started != "") {
			t.Errorf("%+v %v", got, err)
		}
	}
	for _, bad := range [][2]string{{"", "2026-11-21T06:28:50Z"}, {"yesterday", ""}, {"2026-11-21", ""}, {"2026-11-21T06:28:50", ""}, {"2026-11-21T06:28:50.1234567Z", ""}, {"2026-11-21T06:28:50Z", "x"}, {"2026-02-30T00:00:00Z", ""}} {
		if got, err := project.NewOperatorTimes(bad[0], bad[1]); err == nil {
			t.Errorf("%q gives %+v", bad, got)
		}
	}
}
