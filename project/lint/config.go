package lint

import (
	"context"
	"fmt"
	"net/url"

	"github.com/p20export/p20export/capture"
	"github.com/p20export/p20export/envelope/event"
	"github.com/p20export/p20export/finding"
	"github.com/p20export/p20export/internal/strictjson"
)

// ConfigName is the name of the configuration file.
const ConfigName = "lint.json"

// maxConfig is the maximum size of a configuration file.
const maxConfig = 1 << 20

// Config is the content of a configuration file. All keys are optional.
type Config struct {
	// Protocol is the version of AG-UI whose rules are applied.
	Protocol event.Protocol `json:"protocol,omitzero"`
	// FailOn is the least severity that makes the exit status 1.
	FailOn finding.Severity `json:"failOn,omitzero"`
	// Rules has the severities of rules that do not have the default one: error, warning,
	// info or off.
	Rules map[string]finding.Severity `json:"rules,omitempty"`
	// Require lists the features that each capture has to exercise.
	Require []string `json:"require,omitempty"`
	// Origin is the origin of the pages that use the endpoint.
	Origin string `json:"origin,omitzero"`
}

// LoadConfig reads a configuration file. It rejects unknown keys and values. The error
// matches fs.ErrNotExist if there is no file.
func LoadConfig(ctx context.Context, path string) (*Config, error) {
	data, err := capture.ReadFile(ctx, path, maxConfig)
	if err != nil {
		return nil, err
	}
	c := new(Config)
	err = strictjson.UnmarshalSettings(data, c, "a configuration of lint")
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", finding.Escape(path), err)
	}
	return c, nil
}

// check returns the first mistake.
func (c *Config) check() error {
	if c.Protocol != "" {
		if _, err := event.ParseProtocol(string(c.Protocol)); err != nil {
			return fmt.Errorf("protocol: %w", err)
		}
	}
	if c.FailOn != "" {
		if _, err := ParseSeverity(string(c.FailOn)); err != nil {
			return fmt.Errorf("failOn: %w", err)
		}
	}
	if c.Origin != "" {
		if err := CheckOrigin(c.Origin); err != nil {
			return fmt.Errorf("origin: %w", err)
		}
	}
	_, err := c.Policy()
	return err
}

// CheckOrigin returns an error unless s is an origin as a browser writes it: a scheme and a
// host, perhaps with a port, and no path.
func CheckOrigin(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != s {
		return fmt.Errorf("%s must be a scheme and a host, such as https://app.example", finding.Quote(s))
	}
	return nil
}

// Policy returns the policy of the configuration.
func (c *Config) Policy() (*Policy, error) {
	p := new(Policy)
	for _, rule := range sortedKeys(c.Rules) {
		if name, ok := ruleName(rule); ok && name != rule {
			return nil, fmt.Errorf("rules: %s is written %s in a configuration", finding.Quote(rule), name)
		}
		if err := p.Set(rule, c.Rules[rule]); err != nil {
			return nil, fmt.Errorf("rules: %w", err)
		}
	}
	if err := p.SetRequired(c.Require); err != nil {
		return nil, fmt.Errorf("require: %w", err)
	}
	return p, nil
}
