package doc

// The two YAML readers behind EachYAML, for the test that they agree.

// EachSubset is false for text that it leaves to the library.
func EachSubset(text string, keys []string, f func(key string, entry Items) error) (found []string, ok bool, err error) {
	return eachSubset(text, keys, f)
}

func EachByLibrary(text string, keys []string, f func(key string, entry Items) error) (found []string, err error) {
	root, err := parseYAML(text)
	if err != nil {
		return nil, err
	}
	return eachLibrary(root, len(text), keys, f)
}

// SetMaxItems changes the limit of one tree and returns what restores it.
func SetMaxItems(n int) (restore func()) {
	old := maxItems
	maxItems = n
	return func() { maxItems = old }
}
