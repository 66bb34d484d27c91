package core

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// document is what a check must know of a file: the geo data that it names,
// and the secrets that no message may repeat.
type document struct {
	sites    map[string]map[string]bool // codes of GeoSite.dat, upper case, with their attributes
	ips      map[string]bool            // codes of GeoIP.dat, upper case
	asn      bool                       // rules on numbers of autonomous systems
	byDat    bool                       // the client looks addresses up in GeoIP.dat, not in its MMDB
	secrets  map[string]bool
	keys     map[string]bool // keys that were seen, and whether a secret stands under them
	patterns documentPatterns
}

type documentPatterns struct {
	rule, asn, secretKey, secretLine *regexp.Regexp
}

// Compiled when a file is first checked.
var compilePatterns = sync.OnceValue(func() documentPatterns {
	const secret = `pass|pwd|secret|psk|uuid|token|auth|user|credential|cookie|private|short[-_]?id|key`
	return documentPatterns{
		// A rule, also one inside AND, OR and NOT.
		rule: regexp.MustCompile(`(?i)(?:^|[(\s,])(?:SRC-)?(GEOIP|GEOSITE)\s*,\s*([^,()]+)`),
		asn:  regexp.MustCompile(`(?i)(?:^|[(\s,])(?:SRC-)?IP-ASN\s*,`),
		// What "id" alone names is a secret of vmess and vless in Xray.
		secretKey:  regexp.MustCompile(`(?i)^(?:id|obfs)$|` + secret),
		secretLine: regexp.MustCompile(`(?im)["']?[\w-]*(?:` + secret + `)[\w-]*["']?\s*[:=]\s*["']?([^\s"',}\]]+)`),
	}
})

// readDocument reads YAML or JSON. Of a text that is neither, which no client
// takes, it finds the secrets line by line.
func readDocument(text []byte) *document {
	d := &document{sites: make(map[string]map[string]bool), ips: make(map[string]bool), secrets: make(map[string]bool), keys: make(map[string]bool), patterns: compilePatterns()}
	var values any
	var root yaml.Node
	switch {
	case decodeJSON(text, &values): // YAML knows no pairs of surrogates
		d.values("", values)
	case yaml.NewDecoder(bytes.NewReader(text)).Decode(&root) == nil:
		d.node("", &root)
	default:
		for _, m := range d.patterns.secretLine.FindAllSubmatch(text, -1) {
			d.secrets[string(m[1])] = true
		}
	}
	return d
}

// decodeJSON keeps numbers as they are written.
func decodeJSON(text []byte, v *any) bool {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return dec.Decode(v) == nil && !dec.More()
}

// values walks a JSON value that stands under key.
func (d *document) values(key string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			d.scalar("", k)
			d.values(k, member)
		}
	case []any:
		for _, element := range v {
			d.values(key, element)
		}
	case string:
		d.scalar(key, v)
	case json.Number:
		d.scalar(key, v.String())
	case bool:
		d.scalar(key, strconv.FormatBool(v))
	}
}

// node walks a YAML node that stands under key. Anchored nodes are walked where
// they stand; behind an alias only a scalar is looked at, so that aliases of
// aliases cost nothing.
func (d *document) node(key string, n *yaml.Node) {
	switch n.Kind {
	case yaml.DocumentNode, yaml.SequenceNode:
		for _, child := range n.Content {
			d.node(key, child)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			d.node("", n.Content[i])
			d.node(n.Content[i].Value, n.Content[i+1])
		}
	case yaml.AliasNode:
		if n.Alias != nil && n.Alias.Kind == yaml.ScalarNode {
			d.scalar(key, n.Alias.Value)
		}
	case yaml.ScalarNode:
		d.scalar(key, n.Value)
	}
}

// scalar looks at one value under its key. A key is a value without one.
func (d *document) scalar(key, value string) {
	if key != "" {
		secret, seen := d.keys[key]
		if !seen {
			secret = d.patterns.secretKey.MatchString(key)
			d.keys[key] = secret
		}
		if secret {
			d.secret(key, value)
		}
	}
	switch strings.ToLower(key) {
	case "geosite": // dns.fallback-filter
		d.site(value)
	case "geoip-code":
		d.ip(value)
	case "geodata-mode":
		d.byDat = strings.EqualFold(value, "true")
	}
	if len(value) < len("geoip:x") {
		return
	}
	// "geosite:cn,private" as a key of nameserver-policy: the prefix holds on.
	add := func(string) {}
	for part := range strings.SplitSeq(value, ",") {
		if rest, ok := cutPrefixFold(part, "geosite:"); ok {
			add, part = d.site, rest
		} else if rest, ok := cutPrefixFold(part, "geoip:"); ok {
			add, part = d.ip, rest
		} else if strings.Contains(part, ":") {
			add = func(string) {}
		}
		add(part)
	}
	if !strings.Contains(value, ",") {
		return
	}
	for _, m := range d.patterns.rule.FindAllStringSubmatch(value, -1) {
		if strings.EqualFold(m[1], "geosite") {
			d.site(m[2])
		} else {
			d.ip(m[2])
		}
	}
	d.asn = d.asn || d.patterns.asn.MatchString(value)
}

// plain are values under the keys of secrets that are none. With the first
// Hysteria obfs is a password, elsewhere the name of a method.
var plain = []string{"", "true", "false", "null", "none", "auto",
	"salamander", "http", "tls", "plain", "random_head", "http_simple", "http_post", "tls1.2_ticket_auth", "tls1.2_ticket_fastauth"}

func (d *document) secret(key, value string) {
	if slices.Contains(plain, strings.ToLower(value)) {
		return
	}
	d.secrets[value] = true
	// "user:password", as in the list of those who may use a port.
	if user, password, ok := strings.Cut(value, ":"); ok && strings.HasPrefix(strings.ToLower(key), "authentication") {
		d.secret("", user)
		d.secret("", password)
	}
}

func cutPrefixFold(s, prefix string) (rest string, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// site takes a code with its marks: "!cn", "google@ads@cn".
func (d *document) site(text string) {
	code, attributes, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "!"), "@")
	code = geoCode(code)
	if code == "" {
		return
	}
	if d.sites[code] == nil {
		d.sites[code] = make(map[string]bool)
	}
	for a := range strings.SplitSeq(attributes, "@") {
		if a = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(a), "!")); a != "" {
			d.sites[code][a] = true
		}
	}
}

func (d *document) ip(text string) {
	// The lan is known without data.
	if code := geoCode(strings.TrimPrefix(strings.TrimSpace(text), "!")); code != "" && code != "LAN" {
		d.ips[code] = true
	}
}

// geoCode returns a code as geo data spells it, or "" for what is none, as the
// address of the data is.
func geoCode(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 64 || strings.ContainsAny(text, "/:") {
		return ""
	}
	return strings.ToUpper(text)
}
