//go:build noui

package web

// page is empty: this program is built without one.
var page []byte
