package server

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/sandrone-gateway/sandrone"
)

// readQuery decodes the query of a request strictly: text that is no query is
// an error and not silently shorter.
func readQuery(r *http.Request) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "invalid query")
	}
	return query, nil
}

// queryArgs are the request args in a query: arg.<key>=<value>, of which the
// last one counts.
func queryArgs(r *http.Request) (map[string]string, error) {
	query, err := readQuery(r)
	if err != nil {
		return nil, err
	}
	return argsOf(query), nil
}

func argsOf(query url.Values) map[string]string {
	var args map[string]string
	for name, values := range query {
		key, ok := strings.CutPrefix(name, "arg.")
		if !ok || key == "" {
			continue
		}
		if args == nil {
			args = make(map[string]string)
		}
		args[key] = values[len(values)-1]
	}
	return args
}

// queryBool reads a boolean parameter: one of the words of strconv.ParseBool,
// or nothing, which is false.
func queryBool(query url.Values, name string) (bool, error) {
	text := query.Get(name)
	if text == "" {
		return false, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, sandrone.Errorf(sandrone.InvalidArgument, "%s must be true or false", name).At(name)
	}
	return v, nil
}

// resourceName returns a segment of the path that names a resource. It is
// decoded once: an encoded separator is part of the name, and refused.
func resourceName(r *http.Request, key string) (string, error) {
	name := pathName(r, key)
	switch {
	case strings.TrimSpace(name) == "":
		return "", sandrone.Errorf(sandrone.InvalidArgument, "%s is required", key).At(key)
	case strings.ContainsAny(name, `/\`), name == ".", name == "..":
		return "", sandrone.Errorf(sandrone.InvalidArgument, "%s must be a single path segment", key).At(key)
	}
	return name, nil
}
