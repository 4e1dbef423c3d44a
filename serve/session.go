package serve

import (
	"maps"
	"slices"
	"strings"

	"github.com/p20export/p20export/serve/internal/guard"
)

// sessionOf is what the sender of a request may do.
type sessionOf struct {
	// Version is the name and the version of the program.
	Version string `json:"version"`
	Tenant  string `json:"tenant"`
	// Agents are the names of the agents.
	Agents []string   `json:"agents"`
	May    permission `json:"may"`
}

type permission struct {
	// Run and Cancel report whether the server runs agents, and whether runs can be cancelled.
	Run    bool `json:"run"`
	Cancel bool `json:"cancel"`
	// Append reports whether the request may append events.
	Append bool `json:"append"`
	// Evidence reports whether the server records captures.
	Evidence bool `json:"evidence"`
}

// session serves GET /session.
func (s *Server) session(q *request) {
	tool := s.settings.Exchanges.Tool
	agents := slices.Sorted(maps.Keys(s.settings.Agents))
	s.answer(q, sessionOf{
		Version: strings.TrimSpace(tool.Name + " " + tool.Version), Tenant: q.tenant, Agents: append([]string{}, agents...),
		May: permission{
			Run: len(agents) > 0, Cancel: s.writes(), Append: s.settings.AllowAppend && guard.MayAppend(q.Context()),
			Evidence: s.settings.Exchanges.Captures != nil,
		},
	})
}
