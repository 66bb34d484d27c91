package edit

// ChangeYAMLAbridged is [ChangeYAML] with another idea of a long list, in
// bytes.
func ChangeYAMLAbridged(text string, keys []string, long int, change func(*Document) error) (string, error) {
	return changeAbridged(text, keys, long, change)
}
