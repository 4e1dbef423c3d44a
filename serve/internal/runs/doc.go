// Package runs starts, cancels and closes the runs of agents. A run goes on when the client
// that started it leaves.
//
// A request is appended to the log before it is sent to the agent, and so is each event
// before anybody receives it. The run of a request is a stream of the log. Its id is computed
// from the run id, so each process finds it.
//
// A process may only start a run while it has the lease of the thread. If a process ends or
// loses the lease, another one closes the stream. A stream that has ended accepts nothing
// more, so the first owner cannot add to it. Cancelling works in the same way: any process
// ends the stream, and the owner notices.
//
// The package knows the requests and streams of package serve. It must not know HTTP servers.
package runs
