package server

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/sandrone-gateway/sandrone/store"
)

// precondition is what the headers of a write ask of the stored definition.
func precondition(r *http.Request) store.Precondition {
	return store.Precondition{
		IfMatch:  entityTags(r.Header.Values("If-Match")),
		IfAbsent: slices.Contains(entityTags(r.Header.Values("If-None-Match")), "*"),
	}
}

// entityTags splits the lists of entity tags in headers. What is no tag stays
// as it is, and matches nothing.
func entityTags(headers []string) []string {
	var tags []string
	for _, header := range headers {
		// A comma may stand in a tag, though none of this server's has one.
		for tag := range strings.SplitSeq(header, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				tags = append(tags, tag)
			}
		}
	}
	return tags
}

// tagged says which state of a resource the answer shows. A client may keep
// it, but has to ask before it uses it again.
func tagged(w http.ResponseWriter, etag string) {
	if etag != "" {
		w.Header().Set("ETag", etag)
		w.Header().Set("Cache-Control", "private, no-cache")
	}
}

// unchanged answers 304 if the reader has the state with a tag already.
func unchanged(w http.ResponseWriter, r *http.Request, etag string) bool {
	for _, tag := range entityTags(r.Header.Values("If-None-Match")) {
		// For a read, a weak tag is as good as a strong one.
		if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

// replyTagged answers a read with v, or with 304 if the reader has it.
func replyTagged(w http.ResponseWriter, r *http.Request, etag string, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	tagged(w, etag)
	if etag == "" || !unchanged(w, r, etag) {
		send(w, http.StatusOK, jsonType, body)
	}
	return nil
}

// sendHashed answers a read with a JSON text that only another build of the
// program would change, or with 304 if the reader has it.
func sendHashed(w http.ResponseWriter, r *http.Request, text []byte) {
	hash := sha256.Sum256(text)
	etag := `"` + hex.EncodeToString(hash[:16]) + `"`
	tagged(w, etag)
	if !unchanged(w, r, etag) {
		send(w, http.StatusOK, jsonType, text)
	}
}
