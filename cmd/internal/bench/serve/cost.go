package main

import (
	"context"

	"github.com/p20export/p20export/cmd/internal/bench/logs"
	"github.com/p20export/p20export/cmd/internal/bench/processes"
)

// A cost is what the parts of a measurement used so far: seconds of processor time, and bytes of
// PostgreSQL's write-ahead log.
type cost struct {
	serve, postgres, nginx, others float64
	wal                            int64
}

func (c cost) minus(d cost) cost {
	return cost{c.serve - d.serve, c.postgres - d.postgres, c.nginx - d.nginx, c.others - d.others, c.wal - d.wal}
}

// meters are the parts whose cost is measured. PostgreSQL runs on this machine.
type meters struct {
	servers      []*processes.Process
	nginx, agent *processes.Process
	log          *logs.Observer
}

// read returns the cost so far.
func (m *meters) read(ctx context.Context) (c cost, err error) {
	for _, server := range m.servers {
		cpu, err := server.CPU()
		if err != nil {
			return c, err
		}
		c.serve += cpu
	}
	if c.nginx, err = m.nginx.CPU(); err != nil {
		return c, err
	}
	if c.others, err = m.agent.CPU(); err != nil {
		return c, err
	}
	postmaster, err := processes.Parent(m.log.Process())
	if err != nil {
		return c, err
	}
	if c.postgres, err = processes.FamilyCPU(postmaster); err != nil {
		return c, err
	}
	c.wal, err = m.log.WAL(ctx)
	return c, err
}
