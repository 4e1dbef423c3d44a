package assay

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Long numbers are read as the same doubles as with exact arithmetic.
func TestShorten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := func(name string, least int) string {
			return strings.Repeat(rapid.SampledFrom([]string{"0", "9", "49", "5"}).Draw(t, name), rapid.IntRange(0, 1000).Draw(t, name)) +
				rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), least, 30, -1).Draw(t, name)
		}
		number := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + rapid.SampledFrom([]string{"0", "1", "1" + digits("whole", 0)}).Draw(t, "begin")
		if rapid.Bool().Draw(t, "point") {
			number += "." + digits("fraction", 1)
		}
		if rapid.Bool().Draw(t, "exponent") {
			number += "e" + strconv.Itoa(rapid.IntRange(-1500, 1500).Draw(t, "power"))
		}
		exact, ok := new(big.Rat).SetString(number)
		if !ok {
			t.Fatalf("%s is no number", number)
		}
		want, _ := exact.Float64()
		short := shorten([]byte(number))
		if got, _ := strconv.ParseFloat(string(short), 64); got != want || len(short) > longNumber+20 {
			t.Errorf("%s is %v, want %v", number, got, want)
		}
		text := fmt.Sprintf(`{"%s":["\"%s",%s ,%s]}`, number, number, number, number)
		if got, want := string(shortenAll([]byte(text))), fmt.Sprintf(`{"%s":["\"%s",%s ,%s]}`, number, number, short, short); len(text) >= longNumber && got != want {
			t.Errorf("%s\nbecame %s\n  want %s", text, got, want)
		}
	})
}
