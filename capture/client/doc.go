// Package client records a run over HTTP into a capture directory.
//
// It knows HTTP and package capture. It must not know AG-UI: it sends the request
// body unchanged and does not interpret the response.
//
// Every response is stored, even an error page, because that is evidence too. Data
// that could identify the caller is not stored: request headers are never stored, and
// user info, query and fragment are removed from URLs, also in messages.
package client
