// Package ruleset is the catalogue of public rule sets: their names and where
// each client finds them, nothing of what is in them.
//
// The catalogue is a snapshot that is part of every build, one compressed JSON
// document with a list a client. It stays compressed: [Items] unpacks one list
// when it is asked for and keeps nothing. The program tools/rulesets makes the
// snapshot anew.
package ruleset

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/sandrone-gateway/sandrone"
)

// Item is one rule set.
type Item struct {
	Name          string `json:"name"` // unique for its client
	URL           string `json:"url"`  // absolute, https
	RuleKind      string `json:"rule_kind"`
	ReferenceType string `json:"reference_type,omitempty"` // how a rule of Shadowrocket names it; other clients have one way only
}

// What the rules of a set are.
const (
	Domain = "domain"
	IP     = "ip"
	Mixed  = "mixed" // of Shadowrocket only
)

// The reference types of Shadowrocket: a domain set holds plain host names, a
// rule set whole rules.
const (
	DomainSet = "DOMAIN-SET"
	RuleSet   = "RULE-SET"
)

// Targets lists the clients that have a list, in their usual order.
func Targets() []string {
	return []string{sandrone.FileMihomo, sandrone.FileSingBox, sandrone.FileShadowrocket}
}

//go:embed snapshot.json.gz
var snapshot []byte

// Items returns the rule sets for a client, by name. An unknown client is an
// invalid_argument error. Each call unpacks the list anew.
func Items(target string) ([]Item, error) {
	if !slices.Contains(Targets(), target) {
		return nil, sandrone.Errorf(sandrone.InvalidArgument, "target must be one of mihomo, sing-box, shadowrocket").At("target")
	}
	packed, err := gzip.NewReader(bytes.NewReader(snapshot))
	if err != nil {
		return nil, fmt.Errorf("rule-set snapshot: %w", err)
	}
	// The lists of other clients are read over without being decoded.
	dec := json.NewDecoder(packed)
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("rule-set snapshot: %w", err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("rule-set snapshot: %w", err)
		}
		var items []Item
		var list any = new(skipped)
		if name == target {
			list = &items
		}
		if err := dec.Decode(list); err != nil {
			return nil, fmt.Errorf("rule-set snapshot: %w", err)
		}
		if name == target {
			return items, nil
		}
	}
	return nil, fmt.Errorf("rule-set snapshot: no list for %s", target)
}

// skipped takes any JSON value and keeps nothing of it.
type skipped struct{}

func (*skipped) UnmarshalJSON([]byte) error { return nil }

// Snapshot is a whole catalogue: a list for each of [Targets].
type Snapshot map[string][]Item

// Sort brings every list into the order of names.
func (s Snapshot) Sort() {
	for _, items := range s {
		slices.SortFunc(items, func(a, b Item) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// Check tells the first thing that is wrong with a catalogue: a list that is
// missing, empty or out of order, a name or an address that stands twice in
// one, an address that is not absolute and https, or a kind that does not
// belong to the client or to the reference type.
func (s Snapshot) Check() error {
	for _, target := range Targets() {
		items := s[target]
		if len(items) == 0 {
			return fmt.Errorf("%s: no rule sets", target)
		}
		addresses := make(map[string]bool, len(items))
		for i, item := range items {
			if err := item.check(target); err != nil {
				return fmt.Errorf("%s: rule set %q: %w", target, item.Name, err)
			}
			if i > 0 && items[i-1].Name >= item.Name {
				return fmt.Errorf("%s: rule set %q stands twice, or out of order", target, item.Name)
			}
			if addresses[item.URL] {
				return fmt.Errorf("%s: rule set %q: %s stands twice", target, item.Name, item.URL)
			}
			addresses[item.URL] = true
		}
	}
	if len(s) > len(Targets()) {
		return fmt.Errorf("a list of no client: there are %d", len(s))
	}
	return nil
}

func (i Item) check(target string) error {
	if i.Name == "" {
		return fmt.Errorf("it has no name")
	}
	if u, err := url.Parse(i.URL); err != nil || u.Scheme != "https" || u.Host == "" || u.Path == "" {
		return fmt.Errorf("%q is no absolute https address", i.URL)
	}
	want := "" // reference type
	switch {
	case i.RuleKind != Domain && i.RuleKind != IP && (i.RuleKind != Mixed || target != sandrone.FileShadowrocket):
		return fmt.Errorf("unknown kind %q", i.RuleKind)
	case target == sandrone.FileShadowrocket && i.RuleKind == Domain:
		want = DomainSet
	case target == sandrone.FileShadowrocket:
		want = RuleSet
	}
	if i.ReferenceType != want {
		return fmt.Errorf("kind %s has reference type %q, want %q", i.RuleKind, i.ReferenceType, want)
	}
	return nil
}

// Pack writes a catalogue in the form in which it is embedded: the same bytes
// for the same catalogue and version of Go. One that [Snapshot.Check] refuses
// is not written.
func (s Snapshot) Pack() ([]byte, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	text.WriteByte('{')
	for i, target := range Targets() {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, "%q:", target)
		if err := enc.Encode(s[target]); err != nil {
			return nil, err
		}
	}
	text.WriteString("}\n")
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
