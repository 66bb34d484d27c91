package mcp

// Documents is how many documents the endpoint keeps.
func (e *Endpoint) Documents() (n int) {
	e.documents.Range(func(any, any) bool { n++; return true })
	return n
}
