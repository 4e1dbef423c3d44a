package judge

// A Run is what the client made of a response to a run input.
type Run struct {
	// Events are the events that the subscribers of the client received.
	Events []string `json:"events"`
	// Messages and State are those of the client at the end.
	Messages string `json:"messages"`
	State    string `json:"state"`
	// Error is the text of the error with which the run failed, or empty.
	Error string `json:"text"`
}

// A Response is an HTTP response that no server sent.
type Response struct {
	Status      int    `json:"status"`
	ContentType string `json:"contentType"`
	Body        []byte `json:"body"`
	// Broken makes the connection fail after the body.
	Broken bool `json:"broken"`
}

// Post makes the client post a run input to a URL over HTTP, and returns what it made of
// the response. The client sends exactly the bytes of the input.
func (j *Judge) Post(url, input string) (run Run) {
	j.t.Helper()
	j.must("post", arguments{"url": url, "input": checked(j.t, input)}, &run)
	return run
}

// Receive is like Post for a response that is already there.
func (j *Judge) Receive(response Response, input string) (run Run) {
	j.t.Helper()
	j.must("receive", arguments{"response": response, "input": checked(j.t, input)}, &run)
	return run
}
