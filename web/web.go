// Package web is the page that a browser gets: one self-contained HTML
// document, embedded in the program. It uses the public HTTP API of its own
// origin only, so whatever it can do, a script can do.
//
// The page is dist/index.html, written by hand; there is no build step. A
// build with the tag noui leaves it out.
package web

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/sandrone-gateway/sandrone"
)

// noncePlaceholder stands in the page where the nonce of an answer goes: at
// the one script and the one style, which have no other way through the policy.
const noncePlaceholder = "{{nonce}}"

// nonceBytes is the size of a nonce before encoding: 128 random bits.
const nonceBytes = 16

// Handler serves the page at exactly "/" for GET and HEAD. Every answer has a
// nonce of its own and must not be stored. Another method is 405, any other
// path 404, both with the JSON error object; without a page (tag noui) every
// path is 404.
func Handler() http.Handler {
	// The page is cut once, so that an answer only joins the parts.
	parts := bytes.Split(page, []byte(noncePlaceholder))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case len(page) == 0 || r.URL.Path != "/":
			writeError(w, sandrone.Errorf(sandrone.RouteNotFound, "no such path"))
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			writeError(w, sandrone.Errorf(sandrone.MethodNotAllowed, "method not allowed"))
		default:
			writePage(w, r, parts)
		}
	})
}

func writePage(w http.ResponseWriter, r *http.Request, parts [][]byte) {
	var random [nonceBytes]byte
	rand.Read(random[:]) // never fails: the program ends instead
	// The URL alphabet needs no escaping in an attribute or in a header.
	nonce := base64.RawURLEncoding.EncodeToString(random[:])
	body := bytes.Join(parts, []byte(nonce))

	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Content-Security-Policy", policy(nonce))
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	setCommon(h)
	if r.Method == http.MethodGet {
		w.Write(body) // a reader that went away is no concern of ours
	}
}

// policy lets the page run its own script and style and talk to its own
// origin. Images are for the icon in the tab, which is a data address.
// Trusted types turn any attempt to write text as markup into an error.
func policy(nonce string) string {
	return "default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'nonce-" + nonce + "'; " +
		"connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"
}

func setCommon(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}

func writeError(w http.ResponseWriter, e *sandrone.Error) {
	body, err := json.MarshalIndent(map[string]*sandrone.Error{"error": e}, "", "  ")
	if err != nil { // an Error is text and numbers
		panic(err)
	}
	body = append(body, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	setCommon(w.Header())
	w.WriteHeader(e.Code.Status())
	w.Write(body) // the server drops it for HEAD
}
