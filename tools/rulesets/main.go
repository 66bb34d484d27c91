// Rulesets makes the snapshot of the rule-set catalogue from listings of the
// public collections.
//
//	go run ./tools/rulesets [-o files/ruleset/snapshot.json.gz] LISTING...
//
// A listing is a JSON object with an array for each client that it covers
// (mihomo, sing-box, shadowrocket). Of the items, name, url, rule_kind,
// reference_type and group are looked at: a set of addresses whose group is
// geoip gets the ending "-ip", since collections use one name for the domains
// and the addresses of a service. Together the listings must cover all clients.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/sandrone-gateway/sandrone/files/ruleset"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "rulesets:", err)
		os.Exit(1)
	}
}

// listed is an item of a listing. What else it has is for people.
type listed struct {
	ruleset.Item
	Group string `json:"group"`
}

func run(args []string, log io.Writer) error {
	flags := flag.NewFlagSet("rulesets", flag.ContinueOnError)
	out := flags.String("o", "files/ruleset/snapshot.json.gz", "where the snapshot goes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return fmt.Errorf("name the listings")
	}
	s := make(ruleset.Snapshot)
	for _, path := range flags.Args() {
		if err := add(s, path); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	s.Sort()
	packed, err := s.Pack()
	if err != nil {
		return err
	}
	for _, target := range ruleset.Targets() {
		fmt.Fprintf(log, "%s: %d rule sets\n", target, len(s[target]))
	}
	return os.WriteFile(*out, packed, 0o644)
}

func add(s ruleset.Snapshot, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var listing map[string][]listed
	if err := json.Unmarshal(text, &listing); err != nil {
		return err
	}
	for target, items := range listing {
		if !slices.Contains(ruleset.Targets(), target) {
			return fmt.Errorf("unknown client %q", target)
		}
		for _, l := range items {
			if l.Group == "geoip" {
				l.Name += "-ip"
			}
			s[target] = append(s[target], l.Item)
		}
	}
	return nil
}
