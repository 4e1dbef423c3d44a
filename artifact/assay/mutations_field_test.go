package assay

import (
	"fmt"
	"slices"
	"strings"
)

// typeMutations remove each required field, and set each field to a value of the wrong
// type.
func typeMutations() []mutation {
	var ms []mutation
	for _, name := range []string{
		"specversion", "type", "source", "id", "time", "datacontenttype", "assayrunid", "assayproducer", "assayproducerversion", "assaygit",
	} {
		ms = append(ms,
			event0(name+" missing", contractJSON, func(e *object) { e.remove(name) }),
			event0(name+" null", contractJSON, func(e *object) { e.set(name, "null") }),
			event0(name+" a number", contractJSON, func(e *object) { e.set(name, "1") }),
			event0(name+" an array", contractJSON, func(e *object) { e.set(name, `["a"]`) }),
		)
	}
	for _, name := range []string{"assaypii", "assaysecrets"} {
		ms = append(ms,
			event0(name+" missing", contractJSON, func(e *object) { e.remove(name) }),
			event0(name+" null", contractJSON, func(e *object) { e.set(name, "null") }),
			event0(name+" text", contractJSON, func(e *object) { e.set(name, `"false"`) }),
			event0(name+" a number", contractJSON, func(e *object) { e.set(name, "0") }),
		)
	}
	ms = append(ms, event0("data missing", contractJSON, func(e *object) { e.remove("data") }), event0("assayseq missing", contractJSON, func(e *object) { e.remove("assayseq") }))
	for _, value := range []string{"null", `"0"`, "0.0", "0e0", "-0", "-1", "1e0", "true", "[0]", "{}"} {
		ms = append(ms, event0("assayseq "+value, contractJSON, func(e *object) { e.set("assayseq", value) }))
	}
	for _, value := range []string{
		"null", "true", `"text"`, "[]", "{}", "0", "-0", "1.0", "1e21", "1E+2", "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993",
		"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
		"1" + strings.Repeat("0", 308), "1e308", "1.7976931348623157e308", "1e-400", "5e-324", "2e-324", "-1e-999999999999", "0e999999999999", "0.1e1", "123456789012345678901234567890", "333333333.33333329", "1e-7", "0.000001", "4.35", "0.002",
		"0." + strings.Repeat("0", 100_000) + "1e100001", "0." + strings.Repeat("0", 2000) + "1e2001", "1" + strings.Repeat("0", 100_000) + "e-100000", strings.Repeat("9", 400) + "e-400",
	} {
		ms = append(ms, event0("data "+brief(value), accepted, func(e *object) { e.set("data", value) }))
	}
	for _, value := range []string{"1e400", "-1e400", "1" + strings.Repeat("0", 309), "1.7976931348623159e308", "1e99999999999999999999", "[1,[2,{\"a\":1e309}]]", strings.Repeat("9", 400)} {
		ms = append(ms, event0("data "+brief(value), contractJSON, func(e *object) { e.set("data", value) }))
	}
	for _, value := range timesAccepted {
		ms = append(ms, event0("time "+value, accepted, func(e *object) { e.set("time", `"`+value+`"`) }))
	}
	for _, value := range timesRefused {
		ms = append(ms, event0("time "+value, contractJSON, func(e *object) { e.set("time", `"`+value+`"`) }))
	}
	for i := range ms {
		value, isData := strings.CutPrefix(ms[i].name, "data ")
		ms[i].strict = ms[i].code == accepted && !(isData && slices.Contains(canonicalData, value))
	}
	return ms
}

// Data of typeMutations that is already canonical JSON.
var canonicalData = []string{"null", "true", `"text"`, "[]", "{}", "0", "9007199254740991", "5e-324", "1e-7", "0.000001", "4.35", "0.002"}

func brief(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%s… (%d bytes)", s[:20], len(s))
	}
	return s
}

// Times that the reference accepts but does not write.
var timesAccepted = []string{
	"2026-04-14t20:10:00z", "2026-04-14 20:10:00Z", "2026-04-14T20:10:00+00:00", "2026-04-14T20:10:00+02:00", "2026-04-14T20:10:00-23:59", "2026-04-14T20:10:00+0200",
	"2026-04-14T20:10:00 Z", "2026-04-14T20:10:00UTC", "2026-04-14T20:10:00 utc", "2026-04-14T20:10:00.5Z", "2026-04-14T20:10:00.500000Z", "2026-04-14T20:10:00.0Z",
	"2026-04-14T20:10:00.1234567891234Z", "2026-4-1T2:1:0Z", "26-04-14T20:10:00Z", "+2026-04-14T20:10:00Z", "-0001-04-14T20:10:00+00:00", "+12345-04-14T20:10:00-00:00",
	" 2026 - 04 - 14T 20 : 10 : 00 Z ", "2026-04-14T20:10:00+02 : 00", "2026-04-14T20:10:00\\u221202:00", "2026-04-14T20:10:60+01:00", "2024-02-29 00:00:00Z",
	"2026-04-14T20:10:00\\u00a0Z", "2026-04-14T20:10:00+02\\u3000:::00", "+262142-12-31T23:59:59.999999999+00:00", "-262143-01-01T00:00:00+00:00", "2026-04-14T20:10:00Z\\n", "0-1-1T0:0:0Z",
}

var timesRefused = []string{
	"", "Z", "2026-04-14", "2026-04-14T20:10:00", "2026-04-14T20:10Z", "2026-13-14T20:10:00Z", "2026-00-14T20:10:00Z", "2026-04-31T20:10:00Z", "2026-04-00T20:10:00Z", "2026-02-29T00:00:00Z",
	"2026-04-14T24:00:00Z", "2026-04-14T20:60:00Z", "2026-04-14T20:10:61Z", "2026-04-14T20:10:00.Z", "2026-04-14T20:10:00,5Z", "2026-04-14T20:10:00+24:00", "2026-04-14T20:10:00+2:00",
	"2026-04-14T20:10:00+02", "2026-04-14T20:10:00+02:60", "2026-04-14T20:10:00+02:0", "2026-04-14T20:10:00Z!", "2026-04-14  T20:10:00Z", "2026-04-14X20:10:00Z", "12026-04-14T20:10:00Z",
	"+262143-01-01T00:00:00Z", "-262144-12-31T00:00:00Z", "+262142-12-31T23:59:59-00:01", "-262143-01-01T00:00:00+00:01", "2026-04-14T20:10:00 .5Z", "2026-04-14T20:10:00GMT", "2026-04-14T20:10:00U",
	"+99999999999999999999-01-01T00:00:00Z", "2026--04-14T20:10:00Z", "2026-04-14T20:10:00+", "2026-04-14T\\u00e9", "20260414T201000Z", "1776197400",
}
