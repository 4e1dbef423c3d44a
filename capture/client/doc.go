// Package client records a run over HTTP into a capture directory.
//
// It knows HTTP and package capture. It must not know AG-UI: the request body is
// sent as it is, and what comes back is bytes in frames.
//
// What is kept is what arrived, also when it is not what was asked for: an error
// page is evidence too. What could identify the caller is not kept: request
// headers are never stored, and URLs lose user info, query and fragment, in
// messages as well.
package client
