//go:build judge

package assay

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Times that match the reference's grammar, exactly or almost.
func TestJudgeRandomTimes(t *testing.T) {
	j := startJudge(t)
	pick := func(t *rapid.T, from ...string) string { return rapid.SampledFrom(from).Draw(t, "part") }
	repeat(t, 4000, func(t *rapid.T) {
		space := func() string {
			return pick(t, "", "", "", "", "", "", " ", "  ", "\\t", "\\u00a0", "\\u3000", "\\u200b")
		}
		two := func() string {
			return pick(t, "00", "01", "02", "9", "10", "12", "13", "23", "24", "28", "29", "30", "31", "32", "59", "60", "61", "99", "007", "", "x")
		}
		odd := rapid.IntRange(0, 2).Draw(t, "odd") == 0
		if !odd { // makes more of them valid
			two = func() string { return pick(t, "01", "2", "10", "12") }
		}
		parts := []string{
			space(), pick(t, "2026", "2024", "1900", "2000", "0", "-1", "+10000", "12345", "-262143", "+262142", "-262144", "+262143", "+0002026", "+", "-", "99999999999999999999"), space(), "-",
			space(), two(), space(), "-", space(), two(), pick(t, "T", "t", " ", "T", "T", "  ", "", "_"),
			space(), two(), space(), ":", space(), two(), space(), ":", space(), two(),
			pick(t, "", "", "", ".", ".0", ".123", ".123456789", ".1234567890123", ",5", " .5"), space(),
			pick(t, "Z", "Z", "z", "UTC", "utc", "Utc", "GMT", "", "+", "-", "\\u2212") + pick(t, "", "", "00:00", "0000", "02 : 00", "23:59", "24:00", "14::::30", "01:60", "1:00", "010", "01", "01:0x", "99:00"),
			space(), pick(t, "", "", "", "", "Z", "x"),
		}
		if odd {
			i := rapid.IntRange(0, len(parts)-1).Draw(t, "drop")
			parts[i] = pick(t, "", parts[i]+parts[i])
		}
		f := newForge()
		f.events = f.events[:1]
		f.events[0].set("time", `"`+strings.Join(parts, "")+`"`)
		j.agree(t, f.bytes())
	})
}

// Numbers in any notation in the data, hashed with our canonical form.
func TestJudgeRandomNumbers(t *testing.T) {
	j := startJudge(t)
	digits := func(t *rapid.T, least, most int) string {
		run := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), least, most, -1).Draw(t, "digits")
		if rapid.IntRange(0, 19).Draw(t, "long") == 0 {
			run = strings.Repeat(rapid.SampledFrom([]string{"0", "9", "5"}).Draw(t, "filler"), rapid.IntRange(300, 900).Draw(t, "n")) + run
		}
		return run
	}
	repeat(t, 4000, func(t *rapid.T) {
		number := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign")
		number += strings.TrimLeft(digits(t, 1, 22), "0")
		if number == "" || number == "-" {
			number += "0"
		}
		if rapid.Bool().Draw(t, "point") {
			number += "." + digits(t, 1, 22)
		}
		if rapid.Bool().Draw(t, "exponent") {
			number += rapid.SampledFrom([]string{"e", "E", "e+", "e-", "E-"}).Draw(t, "e") + fmt.Sprint(rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(280, 360), rapid.IntRange(0, 1000)).Draw(t, "power"))
		}
		f := newForge()
		f.events = f.events[:1]
		f.events[0].set("data", "["+number+"]")
		j.agree(t, f.bytes())
	})
}

// Strings and keys with any text and random escapes, hashed with our canonical form.
func TestJudgeRandomStrings(t *testing.T) {
	j := startJudge(t)
	repeat(t, 4000, func(t *rapid.T) {
		spell := func() string {
			var b strings.Builder
			for _, r := range anyText(8).Draw(t, "text") {
				if r < ' ' || r == '"' || r == '\\' || rapid.IntRange(0, 4).Draw(t, "escape") == 0 {
					if r > 0xffff {
						r -= 0x10000
						fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
					} else {
						fmt.Fprintf(&b, `\u%04x`, r)
					}
				} else {
					b.WriteRune(r)
				}
			}
			return `"` + b.String() + `"`
		}
		var data object
		for range rapid.IntRange(0, 6).Draw(t, "members") {
			data.add(spell(), spell())
		}
		f := newForge()
		f.events = f.events[:1]
		f.events[0].set("data", data.String())
		f.events[0].set("type", spell())
		f.events[0].set("subject", spell())
		j.agree(t, f.bytes())
	})
}
