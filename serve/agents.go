package serve

import (
	"maps"
	"slices"
)

// agentList has the agents by name.
type agentList struct {
	Agents []agent `json:"agents"`
}

type agent struct {
	Name string `json:"name"`
}

// listAgents serves GET /agents.
func (s *Server) listAgents(q *request) {
	list := agentList{Agents: []agent{}}
	for _, name := range slices.Sorted(maps.Keys(s.settings.Agents)) {
		list.Agents = append(list.Agents, agent{name})
	}
	s.answer(q, list)
}
