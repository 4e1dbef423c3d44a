package reduce

// HasToolCall reports whether a message has a tool call with an id.
func (r *Reducer) HasToolCall(id string) bool {
	_, ok := r.conversation.calls.first(id)
	return ok
}
