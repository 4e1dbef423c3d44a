package cli

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// Number returns the value of a flag that is a positive number of something.
func Number(value *int64, of string) pflag.Value { return numberFlag{value, of} }

type numberFlag struct {
	value *int64
	of    string
}

// String implements pflag.Value.
func (f numberFlag) String() string {
	if f.value == nil || *f.value == 0 {
		return ""
	}
	return strconv.FormatInt(*f.value, 10)
}

// Set implements pflag.Value.
func (f numberFlag) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return fmt.Errorf("must be a number of %s, at least 1 and without a unit", f.of)
	}
	*f.value = n
	return nil
}

// Type implements pflag.Value.
func (numberFlag) Type() string { return "number" }

// Duration returns the value of a flag that is a duration.
func Duration(value *time.Duration) pflag.Value { return durationFlag{value} }

type durationFlag struct{ value *time.Duration }

// String implements pflag.Value.
func (f durationFlag) String() string {
	if f.value == nil || *f.value == 0 {
		return ""
	}
	return f.value.String()
}

// Set implements pflag.Value.
func (f durationFlag) Set(s string) (err error) {
	if *f.value, err = time.ParseDuration(s); err == nil {
		return nil
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return fmt.Errorf("give a unit, such as %ss", s)
	}
	return errors.New("not a duration such as 90s or 5m")
}

// Type implements pflag.Value.
func (durationFlag) Type() string { return "duration" }
