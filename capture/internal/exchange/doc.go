// Package exchange has what the packages at both ends of an HTTP exchange share: what of
// a response is stored in a capture, and the settings of servers and connections.
//
// It knows HTTP and package capture. It must not know AG-UI.
package exchange
