// Package serve attaches clients to running agents, and runs agents for clients that may
// leave. It is the HTTP interface of an event log.
//
// A run belongs to the log, not to the client that started it: it goes on when the client
// leaves, and any client can join it. A client receives an event only after it was made
// durable. So what a client has seen is never lost, and the position of the last event that
// it has is enough to continue.
//
// The package knows HTTP, and which runs are active. It must not know file formats or SQL.
// Nothing that it serves is evidence; that is only made from captures.
package serve
