package ruleset_test

import (
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/files/ruleset"
)

func TestTheSnapshotIsSound(t *testing.T) {
	s := make(ruleset.Snapshot)
	for _, target := range ruleset.Targets() {
		items, err := ruleset.Items(target)
		if err != nil {
			t.Fatal(err)
		}
		s[target] = items
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	// A refresh may move these a little. Less means that a listing was cut off.
	for target, least := range map[string]int{"mihomo": 2000, "sing-box": 2000, "shadowrocket": 750} {
		if n := len(s[target]); n < least {
			t.Errorf("%s has %d rule sets, want at least %d", target, n, least)
		}
	}
	for target, ending := range map[string]string{"mihomo": ".mrs", "sing-box": ".srs", "shadowrocket": ".list"} {
		for _, item := range s[target] {
			if !strings.HasSuffix(item.URL, ending) {
				t.Errorf("%s: %s is at %s, want a file %s", target, item.Name, item.URL, ending)
			}
		}
	}
}

func TestBothClientsOfOneCollectionKnowTheSameNames(t *testing.T) {
	mihomo, err := ruleset.Items("mihomo")
	if err != nil {
		t.Fatal(err)
	}
	singbox, err := ruleset.Items("sing-box")
	if err != nil {
		t.Fatal(err)
	}
	if len(mihomo) != len(singbox) {
		t.Fatalf("got %d and %d rule sets", len(mihomo), len(singbox))
	}
	for i, item := range mihomo {
		if other := singbox[i]; item.Name != other.Name || item.RuleKind != other.RuleKind {
			t.Errorf("got %s %s and %s %s", item.Name, item.RuleKind, other.Name, other.RuleKind)
		}
	}
}

func TestAnUnknownClientIsRefused(t *testing.T) {
	for _, target := range []string{"", "surge", "Mihomo", "mihomo@1.19", " mihomo"} {
		_, err := ruleset.Items(target)
		if e := sandrone.AsError(err); e == nil || e.Code != sandrone.InvalidArgument || e.Field != "target" {
			t.Errorf("%q: got %v, want invalid_argument at target", target, err)
		}
	}
}
