package value

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The SIP003 plugins whose options the node model knows, by canonical name.
const (
	PluginObfs      = "obfs"
	PluginV2Ray     = "v2ray-plugin"
	PluginGOST      = "gost-plugin"
	PluginShadowTLS = "shadow-tls"
	PluginRestls    = "restls"
	PluginKCPTun    = "kcptun"
)

// pluginKind is how the value of an option is stored.
type pluginKind uint8

const (
	pluginText pluginKind = iota
	pluginBool
	pluginInt
	pluginMux     // whole number; true is 1 and false is 0
	pluginVersion // version of ShadowTLS
	pluginList
	pluginMap
)

type pluginOption struct {
	key  string // canonical
	kind pluginKind
	text string   // key in SIP003 text, where it is another
	also []string // further spellings in SIP003 text
}

// pluginOptions are the options of each known plugin in the order in which
// SIP003 text is written; options that are not listed follow in key order.
var pluginOptions = map[string][]pluginOption{
	PluginObfs: {
		{key: "mode", text: "obfs"},
		{key: "host", text: "obfs-host"},
		{key: "path", text: "obfs-uri", also: []string{"uri"}},
	},
	PluginV2Ray: {
		{key: "mode"}, {key: "host"}, {key: "path"}, {key: "tls", kind: pluginBool}, {key: "mux", kind: pluginMux},
		{key: "skip-cert-verify", kind: pluginBool}, {key: "fingerprint"}, {key: "headers", kind: pluginMap},
		{key: "v2ray-http-upgrade", kind: pluginBool}, {key: "v2ray-http-upgrade-fast-open", kind: pluginBool},
	},
	PluginGOST: {
		{key: "mode"}, {key: "host"}, {key: "path"}, {key: "tls", kind: pluginBool}, {key: "mux", kind: pluginMux},
		{key: "skip-cert-verify", kind: pluginBool}, {key: "headers", kind: pluginMap},
	},
	PluginShadowTLS: {
		{key: "host", also: []string{"sni"}}, {key: "password", also: []string{"passwd"}},
		{key: "version", kind: pluginVersion}, {key: "alpn", kind: pluginList}, {key: "client-fingerprint"},
		{key: "fingerprint"}, {key: "skip-cert-verify", kind: pluginBool},
	},
	PluginRestls: {
		{key: "host"}, {key: "password"}, {key: "version-hint"}, {key: "restls-script"},
	},
	PluginKCPTun: {
		{key: "key"}, {key: "crypt"}, {key: "mode"}, {key: "conn", kind: pluginInt}, {key: "autoexpire", kind: pluginInt},
		{key: "scavengettl", kind: pluginInt}, {key: "mtu", kind: pluginInt}, {key: "ratelimit", kind: pluginInt},
		{key: "sndwnd", kind: pluginInt}, {key: "rcvwnd", kind: pluginInt}, {key: "datashard", kind: pluginInt},
		{key: "parityshard", kind: pluginInt}, {key: "dscp", kind: pluginInt}, {key: "nocomp", kind: pluginBool},
		{key: "acknodelay", kind: pluginBool}, {key: "nodelay", kind: pluginInt}, {key: "interval", kind: pluginInt},
		{key: "resend", kind: pluginInt}, {key: "nc", kind: pluginInt}, {key: "sockbuf", kind: pluginInt},
		{key: "smuxver", kind: pluginInt}, {key: "smuxbuf", kind: pluginInt}, {key: "framesize", kind: pluginInt},
		{key: "streambuf", kind: pluginInt}, {key: "keepalive", kind: pluginInt},
	},
}

// Plugin returns the canonical name of a plugin. A name that the model does
// not know stays as it is.
func Plugin(name string) string {
	switch name {
	case "obfs", "obfs-local", "simple-obfs":
		return PluginObfs
	case "v2ray-plugin", "xray-plugin":
		return PluginV2Ray
	case "gost-plugin", "gost":
		return PluginGOST
	case "shadow-tls", "shadowtls":
		return PluginShadowTLS
	}
	return name
}

// KnownPlugin reports whether the model knows the options of a plugin, by its
// canonical name.
func KnownPlugin(plugin string) bool { return pluginOptions[plugin] != nil }

// SplitPlugin splits the value of a link's plugin parameter, "name;options",
// into the canonical name and the SIP003 text.
func SplitPlugin(s string) (plugin, text string) {
	name, text, _ := strings.Cut(s, ";")
	return Plugin(strings.TrimSpace(name)), text
}

// PluginOptions reads SIP003 text: key=value pairs between semicolons, where a
// backslash escapes a backslash, a semicolon or an equals sign and a key alone
// means true. Values get their types, keys their canonical names; of a
// repeated key the first counts, empty values are left out, and so are
// switches that are off.
//
// The options of a plugin that the model does not know are {"raw": text}.
// Text that is not understood for a known plugin has that form too, with ok
// false: it deserves a warning.
func PluginOptions(plugin, text string) (options map[string]any, ok bool) {
	if text == "" {
		return nil, true
	}
	known := pluginOptions[plugin]
	if known == nil {
		return rawPlugin(text), true
	}
	pairs, err := splitSIP003(text)
	if err != nil {
		return rawPlugin(text), false
	}
	// Options by their first spelling first, as everywhere; then the rest.
	for i := range known {
		o := &known[i]
		v, found := pairs.take(o)
		if !found {
			continue
		}
		typed, ok := o.typed(v)
		if !ok {
			return rawPlugin(text), false
		}
		if typed != nil {
			options = put(options, o.key, typed)
		}
	}
	for _, p := range pairs {
		if _, twice := options[p.key]; p.value != "" && p.key != "" && !twice {
			options = put(options, p.key, p.value)
		}
	}
	return options, true
}

func rawPlugin(text string) map[string]any { return map[string]any{"raw": text} }

func put(m map[string]any, key string, v any) map[string]any {
	if m == nil {
		m = make(map[string]any)
	}
	m[key] = v
	return m
}

type pair struct{ key, value string }

type pairList []pair

// take removes every spelling of an option and returns its value.
func (l pairList) take(o *pluginOption) (value string, found bool) {
	rank := math.MaxInt
	for i := range l {
		p := &l[i]
		if p.key == "" {
			continue
		}
		r := o.rank(p.key)
		if r < 0 {
			continue
		}
		if p.value != "" && r < rank {
			rank, value, found = r, p.value, true
		}
		p.key = ""
	}
	return value, found
}

// rank returns how far down the list of an option's spellings key stands.
func (o *pluginOption) rank(key string) int {
	switch key {
	case cmp.Or(o.text, o.key):
		return 0
	case o.key:
		return 1
	}
	if i := slices.Index(o.also, key); i >= 0 {
		return 2 + i
	}
	return -1
}

const maxPluginPairs = 256

var errSIP003 = errors.New("not SIP003 text")

func splitSIP003(text string) (pairList, error) {
	var (
		list  pairList
		buf   []byte
		key   string
		inKey = true
	)
	flush := func() error {
		switch {
		case !inKey:
			list = append(list, pair{key, string(buf)})
		case len(buf) > 0:
			list = append(list, pair{string(buf), "true"})
		}
		buf, inKey = buf[:0], true
		if len(list) > maxPluginPairs {
			return errSIP003
		}
		return nil
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			if i++; i == len(text) {
				return nil, errSIP003
			}
			buf = append(buf, text[i])
		case c == ';':
			if err := flush(); err != nil {
				return nil, err
			}
		case c == '=' && inKey:
			if len(buf) == 0 {
				return nil, errSIP003
			}
			key, buf, inKey = string(buf), buf[:0], false
		default:
			buf = append(buf, c)
		}
	}
	return list, flush()
}

// typed converts the text of an option; nil means that there is nothing to
// store.
func (o *pluginOption) typed(s string) (v any, ok bool) {
	switch o.kind {
	case pluginBool:
		b, ok := Bool(s)
		if !b {
			return nil, ok
		}
		return true, true
	case pluginInt, pluginMux:
		if n, err := strconv.Atoi(s); err == nil {
			return n, true
		}
		if o.kind == pluginInt {
			return nil, false
		}
		b, ok := Bool(s)
		if b {
			return 1, true
		}
		return 0, ok
	case pluginVersion:
		return okOr(ShadowTLSVersion(s))
	case pluginList:
		if list := List(s); list != nil {
			return list, true
		}
		return nil, true
	case pluginMap:
		var m map[string]string
		if json.Unmarshal([]byte(s), &m) != nil {
			return nil, false
		}
		return m, true
	}
	return s, true
}

func okOr[T any](v T, ok bool) (any, bool) {
	if !ok {
		return nil, false
	}
	return v, true
}

// CanonicalPlugin brings options to their structured form, whoever made them:
// {"raw": text} of a known plugin is parsed, values get the types of the
// model, switches that are off and empty values go. Options that are in this
// form are returned as they are; others are copied, never changed. ok is false
// when a value is not understood, which is then kept as it is.
func CanonicalPlugin(plugin string, options map[string]any) (canonical map[string]any, ok bool) {
	known := pluginOptions[plugin]
	if known == nil {
		return options, true
	}
	if raw, is := options["raw"].(string); is && len(options) == 1 {
		return PluginOptions(plugin, raw)
	}
	canonical, ok = options, true
	own := false
	for key, v := range options {
		kind := pluginText
		i := slices.IndexFunc(known, func(o pluginOption) bool { return o.key == key })
		if i >= 0 {
			kind = known[i].kind
		}
		if fits(kind, v) {
			continue
		}
		if !own {
			canonical, own = make(map[string]any, len(options)), true
			for k, v := range options {
				canonical[k] = v
			}
		}
		typed, good := convert(kind, v)
		switch {
		case !good:
			ok = false
		case typed == nil:
			delete(canonical, key)
		default:
			canonical[key] = typed
		}
	}
	return canonical, ok
}

// fits reports whether v is as the model stores an option of this kind.
func fits(kind pluginKind, v any) bool {
	switch v := v.(type) {
	case string:
		return kind == pluginText && v != ""
	case bool:
		return kind == pluginBool && v
	case int:
		return kind == pluginInt || kind == pluginMux || kind == pluginVersion && 1 <= v && v <= 3
	case []string:
		return kind == pluginList && len(v) > 0
	case map[string]string:
		return kind == pluginMap && len(v) > 0
	}
	return false
}

// convert makes v fit, if it can; nil means that nothing need be stored.
func convert(kind pluginKind, v any) (any, bool) {
	var text string
	switch v := v.(type) {
	case nil:
		return nil, true
	case string:
		text = v
	case bool:
		text = strconv.FormatBool(v)
	case int:
		text = strconv.Itoa(v)
	case int64:
		text = strconv.FormatInt(v, 10)
	case float64: // what decoders of JSON and scripts make of numbers
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return nil, false
		}
		text = strconv.FormatInt(int64(v), 10)
	case json.Number:
		text = v.String()
	case []string:
		if kind == pluginList {
			return nil, len(v) == 0
		}
		if kind != pluginText {
			return nil, false
		}
		return strings.Join(v, ","), true
	case []any:
		if kind != pluginList {
			return nil, false
		}
		var list []string
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, false
			}
			list = append(list, s)
		}
		return list, true
	case map[string]string:
		return nil, kind == pluginMap && len(v) == 0
	case map[string]any:
		if kind != pluginMap {
			return nil, false
		}
		m := make(map[string]string, len(v))
		for k, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, false
			}
			m[k] = s
		}
		return m, true
	default:
		return nil, false
	}
	if text == "" {
		return nil, true
	}
	return (&pluginOption{kind: kind}).typed(text)
}

// PluginText writes options as SIP003 text, without the plugin's name: first
// those that the model knows, in a fixed order, then the others by key. The
// names of options are those of the plugins themselves (obfs, obfs-host);
// switches stand alone, and one that is off is not written, since plugins look
// only for the key. ok is false for a value that the text has no form for:
// headers, other than the Host that the host says already.
func PluginText(plugin string, options map[string]any) (text string, ok bool) {
	if raw, is := options["raw"].(string); is && len(options) == 1 {
		return raw, true
	}
	var b strings.Builder
	known := pluginOptions[plugin]
	for i := range known {
		o := &known[i]
		v, has := options[o.key]
		if !has {
			continue
		}
		if !writePair(&b, cmp.Or(o.text, o.key), v, options["host"]) {
			return "", false
		}
	}
	var rest []string
	for key := range options {
		if !slices.ContainsFunc(known, func(o pluginOption) bool { return o.key == key }) {
			rest = append(rest, key)
		}
	}
	slices.Sort(rest)
	for _, key := range rest {
		if !writePair(&b, key, options[key], nil) {
			return "", false
		}
	}
	return b.String(), true
}

func writePair(b *strings.Builder, key string, v, host any) bool {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case bool:
		if !v {
			return true
		}
		writeKey(b, key)
		return true
	case int:
		text = strconv.Itoa(v)
	case []string:
		text = strings.Join(v, ",")
	case map[string]string:
		for k, h := range v {
			if !strings.EqualFold(k, "Host") || h != host {
				return false
			}
		}
		return true
	default:
		return false
	}
	writeKey(b, key)
	b.WriteByte('=')
	writeEscaped(b, text)
	return true
}

func writeKey(b *strings.Builder, key string) {
	if b.Len() > 0 {
		b.WriteByte(';')
	}
	writeEscaped(b, key)
}

func writeEscaped(b *strings.Builder, s string) {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == '\\' || c == ';' || c == '=' {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
}
