package convert

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/value"
)

// Normalise brings nodes to their one form, in place: what has several
// spellings gets the canonical one, what the protocol fixes is filled in, what
// says nothing goes. It runs once after parsing and once after every chain of
// processors; a second run changes nothing.
//
// Lists and maps are replaced, never written into, since nodes may share them.
// Warnings tell what was taken away; node indexes count in nodes.
func Normalise(nodes []sandrone.Node) []sandrone.Warning {
	var z normaliser
	for i := range nodes {
		z.node(&nodes[i], i)
	}
	return z.warnings
}

type normaliser struct {
	warnings []sandrone.Warning
	index    int
}

func (z *normaliser) warn(n *sandrone.Node, code, field, message string) {
	index := z.index
	z.warnings = append(z.warnings, sandrone.Warning{Code: code, Message: message, Node: n.Label(), NodeIndex: &index, Field: field})
}

// toRaw keeps what could not be understood. What a parser does not understand
// it keeps under the key of its own source; this is a value of the model.
func (z *normaliser) toRaw(n *sandrone.Node, field, text string) {
	v, err := json.Marshal(text)
	if err != nil {
		return
	}
	raw := maps.Clone(n.Raw)
	if raw == nil {
		raw = make(sandrone.Raw)
	}
	key := "json-nodes." + field
	raw[key] = v
	n.Raw = raw
	z.warn(n, sandrone.WarnUnknownField, key, field+" is not understood and kept in raw only")
}

func (z *normaliser) node(n *sandrone.Node, index int) {
	z.index = index
	normaliseType(n)
	n.Server = bareServer(n.Server)

	switch n.Type {
	case sandrone.Shadowsocks, sandrone.ShadowsocksR:
		n.Cipher = value.Cipher(n.Type, n.Cipher)
		if r := n.ShadowsocksR; r != nil {
			if r.Protocol == "" {
				r.Protocol = "origin"
			}
			if r.Obfs == "" {
				r.Obfs = "plain"
			}
		}
	case sandrone.VMess:
		n.Cipher = value.Cipher(n.Type, n.Cipher)
		n.UUID = userID(n.UUID)
	case sandrone.VLESS:
		n.UUID = userID(n.UUID)
		if n.Encryption == "" {
			n.Encryption = "none"
		}
		n.Flow = lower(n.Flow)
	case sandrone.TUIC, sandrone.Juicity:
		if id, ok := value.UUID(n.UUID); ok {
			n.UUID = id
		}
	case sandrone.AnyTLS:
		if n.AnyTLS == nil {
			n.AnyTLS = &sandrone.AnyTLSOptions{}
		}
		duration(&n.AnyTLS.IdleSessionCheckInterval)
		duration(&n.AnyTLS.IdleSessionTimeout)
	}
	// The options of a protocol follow their object, not the type: an object
	// that does not belong is the table's business.
	if n.WireGuard != nil {
		normaliseWireGuard(n)
	}
	if n.Hysteria != nil {
		before := len(z.warnings)
		z.hysteria(n)
		if len(z.warnings) > before && reflect.ValueOf(*n.Hysteria).IsZero() {
			n.Hysteria = nil // what it held is in raw now
		}
	}
	if t := n.TUIC; t != nil {
		switch t.CongestionControl = lower(t.CongestionControl); t.CongestionControl {
		case "new-reno", "newreno":
			t.CongestionControl = "new_reno"
		}
		t.UDPRelayMode = lower(t.UDPRelayMode)
		duration(&t.Heartbeat)
		duration(&t.RequestTimeout)
		before := len(z.warnings)
		z.hopping(n, "tuic", &t.ServerPorts, &t.HopInterval)
		if len(z.warnings) > before && reflect.ValueOf(*t).IsZero() {
			n.TUIC = nil
		}
	}
	if m := n.Mieru; m != nil {
		m.Transport = strings.ToUpper(m.Transport)
		m.Multiplexing = strings.ToUpper(m.Multiplexing)
		m.HandshakeMode = strings.ToUpper(m.HandshakeMode)
	}
	if s := n.Snell; s != nil {
		s.Obfs = lower(s.Obfs)
		s.ClientFingerprint = value.ClientFingerprint(s.ClientFingerprint)
		normaliseShadowTLS(s.ShadowTLS)
	}
	normaliseShadowTLS(n.ShadowTLS)
	if n.PacketEncoding != "" {
		if n.PacketEncoding = lower(n.PacketEncoding); n.PacketEncoding == "packet" {
			n.PacketEncoding = "packetaddr"
		}
	}
	if n.Network != "" {
		n.Network = lower(n.Network)
	}
	if n.Plugin != "" {
		n.Plugin = value.Plugin(n.Plugin)
		options, ok := value.CanonicalPlugin(n.Plugin, n.PluginOptions)
		n.PluginOptions = options
		if !ok {
			z.warn(n, sandrone.WarnUnknownField, "plugin_options", "the options of the plugin are not understood and kept as they are")
		}
	}

	if n.TLS == nil && n.Type.MandatoryTLS() {
		n.TLS = &sandrone.TLS{}
	}
	if n.TLS != nil {
		normaliseTLS(n.TLS)
		if n.Type.MandatoryTLS() {
			n.TLS.Enabled = true
		} else if !n.TLS.Enabled && emptyTLS(n.TLS) {
			n.TLS = nil
		}
	}
	if n.Transport != nil {
		normaliseTransport(n)
	}
	if n.Type == sandrone.VLESS && n.Flow == "xtls-rprx-vision" && n.Transport != nil {
		if t := n.Transport.Type; t != "" && t != sandrone.TransportTCP {
			n.Flow = ""
			n.Name = displayName(n)
			z.warn(n, sandrone.WarnIncompatibleFlow, "flow", "flow xtls-rprx-vision was removed, since it needs the tcp transport")
		}
	}
	n.Name = displayName(n)
}

// normaliseType folds aliases of a type, with what an alias says besides.
func normaliseType(n *sandrone.Node) {
	if n.Type.Index() >= 0 {
		return
	}
	word := strings.ToLower(strings.TrimSpace(string(n.Type)))
	t := sandrone.TypeOf(word)
	if t == "" {
		return // validation names it
	}
	n.Type = t
	switch word {
	case "https":
		if n.TLS == nil {
			n.TLS = &sandrone.TLS{}
		}
		n.TLS.Enabled = true
	case "naive+quic":
		if n.Naive == nil {
			n.Naive = &sandrone.NaiveOptions{}
		}
		n.Naive.QUIC = true
	}
}

// displayName is the name in one line; without one, the server or the type.
func displayName(n *sandrone.Node) string {
	name := n.Name
	if strings.ContainsAny(name, "\r\n\t\x00") {
		name = strings.Map(func(r rune) rune {
			switch r {
			case '\r', '\n', '\t', 0:
				return ' '
			}
			return r
		}, name)
	}
	if name = strings.TrimSpace(name); name != "" {
		return name
	}
	if n.Server != "" {
		return n.Server
	}
	return string(n.Type)
}

func bareServer(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 2 && s[0] == '[' && s[len(s)-1] == ']' {
		s = strings.TrimSpace(s[1 : len(s)-1])
	}
	return s
}

// userID maps what VMess and VLESS take for a user to a UUID; what is none
// stays for validation.
func userID(s string) string {
	if id, ok := value.UserID(s); ok {
		return id
	}
	return s
}

func lower(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// duration makes *s a Go duration; a bare number is seconds.
func duration(s *string) {
	if *s == "" {
		return
	}
	if d, ok := value.Duration(*s, time.Second); ok {
		*s = d
	}
}

func normaliseShadowTLS(s *sandrone.ShadowTLS) {
	if s == nil {
		return
	}
	s.ALPN = value.Words(s.ALPN)
	s.ClientFingerprint = value.ClientFingerprint(s.ClientFingerprint)
}

func normaliseTLS(t *sandrone.TLS) {
	t.ALPN = value.Words(t.ALPN)
	t.ClientFingerprint = value.ClientFingerprint(t.ClientFingerprint)
	if r := t.Reality; r != nil {
		switch {
		case *r == sandrone.Reality{}:
			t.Reality = nil
		case r.Enabled:
			t.Enabled = true
			if t.ClientFingerprint == "" {
				// REALITY has to look like a browser, and this is the default
				// of the clients that have one.
				t.ClientFingerprint = "chrome"
			}
		}
	}
}

// emptyTLS reports whether t says nothing but that TLS is off, which is what a
// node without the object says.
func emptyTLS(t *sandrone.TLS) bool {
	return t.ServerName == "" && !t.DisableSNI && !t.InsecureSkipVerify && len(t.ALPN) == 0 && t.ClientFingerprint == "" &&
		t.Fingerprint == "" && len(t.PublicKeySHA256) == 0 && len(t.VerifyNames) == 0 && t.Certificate == "" && t.PrivateKey == "" &&
		t.CA == "" && t.CAPath == "" && t.MinVersion == "" && t.MaxVersion == "" && len(t.CipherSuites) == 0 && len(t.CurvePreferences) == 0 &&
		!t.Fragment && !t.RecordFragment && t.SessionTicket == sandrone.Unset && t.ECH == nil && t.Reality == nil
}

func normaliseTransport(n *sandrone.Node) {
	t := n.Transport
	switch t.Type {
	case sandrone.TransportTCP, sandrone.TransportWebSocket, sandrone.TransportGRPC, sandrone.TransportHTTP,
		sandrone.TransportHTTPUpgrade, sandrone.TransportXHTTP, sandrone.TransportQUIC, sandrone.TransportKCP, "":
	default:
		if kind, _, ok := value.Transport(t.Type, false); ok {
			t.Type = kind
		}
	}
	if t.HeaderType != "" {
		if t.HeaderType = lower(t.HeaderType); t.HeaderType == "none" {
			t.HeaderType = ""
		}
	}
	if t.GRPCMode == "gun" {
		t.GRPCMode = ""
	}
	if t.QUICSecurity == "none" && t.Type != sandrone.TransportQUIC {
		t.QUICSecurity = ""
	}
	if len(t.Hosts) > 0 {
		if t.Host == "" {
			t.Host = t.Hosts[0]
		}
		if len(t.Hosts) == 1 && t.Hosts[0] == t.Host {
			t.Hosts = nil
		}
	}
	switch t.Type {
	case sandrone.TransportTCP, "":
		if t.HeaderType == "" {
			plainTCP(t)
		} else {
			hostFromHeaders(t)
			headersFromHost(t)
		}
	case sandrone.TransportWebSocket:
		if rest, bytes, ok := value.EarlyData(t.Path); ok {
			t.Path, t.MaxEarlyData = rest, bytes
			if t.EarlyDataHeaderName == "" {
				t.EarlyDataHeaderName = value.EarlyDataHeader
			}
		}
		hostFromHeaders(t)
		headersFromHost(t)
	case sandrone.TransportXHTTP:
		if x := t.XHTTP; x != nil && x.DownloadSettings != nil && x.DownloadSettings.TLS != nil {
			normaliseTLS(x.DownloadSettings.TLS)
		}
	}
}

// plainTCP removes a host and the root path, which mean nothing there.
func plainTCP(t *sandrone.Transport) {
	if len(t.Headers) == 1 && t.Host != "" && t.Headers["Host"] == t.Host {
		t.Headers = nil
	}
	t.Host = ""
	if t.Path == "/" {
		t.Path = ""
	}
}

// hostFromHeaders gives the Host header its canonical spelling, whatever its
// letter case, and makes it the host where none is stated.
func hostFromHeaders(t *sandrone.Transport) {
	if len(t.Headers) == 0 {
		return
	}
	if _, has := t.Headers["Host"]; !has {
		other := ""
		for k := range t.Headers {
			// Of several odd spellings the same one must win each time.
			if strings.EqualFold(k, "Host") && (other == "" || k < other) {
				other = k
			}
		}
		if other == "" {
			return
		}
		headers := maps.Clone(t.Headers)
		headers["Host"] = headers[other]
		delete(headers, other)
		t.Headers = headers
	}
	if t.Host == "" {
		t.Host = t.Headers["Host"]
	}
}

// headersFromHost states the host among the headers as well, where a transport
// sends it as one. The host is what counts: a step may have changed it alone.
func headersFromHost(t *sandrone.Transport) {
	if t.Host == "" || t.Headers["Host"] == t.Host {
		return
	}
	headers := make(map[string]string, len(t.Headers)+1)
	maps.Copy(headers, t.Headers)
	headers["Host"] = t.Host
	t.Headers = headers
}

func (z *normaliser) hysteria(n *sandrone.Node) {
	h := n.Hysteria
	z.rate(n, "hysteria.up", &h.UpMbps, &h.Up)
	z.rate(n, "hysteria.down", &h.DownMbps, &h.Down)
	h.Obfs = lower(h.Obfs)
	if n.Type == sandrone.Hysteria && h.Obfs == "" && h.ObfsPassword != "" {
		h.Obfs = "xplus" // the only one that the first version has
	}
	z.hopping(n, "hysteria", &h.ServerPorts, &h.HopInterval)
}

// rate brings one direction to its form. The two forms exclude each other; the
// number wins, since only older data has both.
func (z *normaliser) rate(n *sandrone.Node, field string, mbps *int, text *string) {
	if *mbps < 0 {
		z.toRaw(n, field+"_mbps", strconv.Itoa(*mbps))
		*mbps = 0
	}
	if *text == "" {
		return
	}
	if *mbps > 0 {
		*text = ""
		return
	}
	r, ok := value.ParseRate(*text)
	if !ok {
		old := *text
		*text = ""
		z.toRaw(n, field, old)
		return
	}
	*mbps, *text = r.Mbps, r.Text
}

// hopping brings a port set and its interval to their form. The first port of
// the set stands in for a port that is not stated.
func (z *normaliser) hopping(n *sandrone.Node, object string, ports *[]string, interval *string) {
	if *interval != "" {
		if s, ok := value.HopInterval(*interval); ok {
			*interval = s
		} else {
			old := *interval
			*interval = ""
			z.toRaw(n, object+".hop_interval", old)
		}
	}
	if len(*ports) == 0 {
		return
	}
	items, ok := value.PortList(*ports)
	if !ok {
		old := strings.Join(*ports, ",")
		*ports = nil
		z.toRaw(n, object+".server_ports", old)
		return
	}
	*ports = items
	if n.Port == 0 {
		n.Port = value.FirstPort(items)
	}
}

func normaliseWireGuard(n *sandrone.Node) {
	w := n.WireGuard
	for i, a := range w.Address {
		if full, ok := value.CIDR(strings.TrimSpace(a)); ok && full != a {
			w.Address = slices.Clone(w.Address)
			for j := i; j < len(w.Address); j++ {
				if full, ok := value.CIDR(strings.TrimSpace(w.Address[j])); ok {
					w.Address[j] = full
				}
			}
			break
		}
	}
	w.IP = interfaceAddress(w, w.IP, false)
	w.IPv6 = interfaceAddress(w, w.IPv6, true)

	if len(w.Peers) == 1 {
		p := w.Peers[0]
		p.Server = bareServer(p.Server)
		if n.Server == "" {
			n.Server = p.Server
		}
		if n.Port == 0 {
			n.Port = p.Port
		}
		// The node's own endpoint wins: processors change that one.
		if p.Server, p.Port = n.Server, n.Port; p.Server != w.Peers[0].Server || p.Port != w.Peers[0].Port {
			w.Peers = []sandrone.WireGuardPeer{p}
		}
	}
	if len(w.Reserved) == 0 {
		return
	}
	for i := range w.Peers {
		if len(w.Peers[i].Reserved) > 0 {
			continue
		}
		w.Peers = slices.Clone(w.Peers)
		for j := i; j < len(w.Peers); j++ {
			if len(w.Peers[j].Reserved) == 0 {
				w.Peers[j].Reserved = slices.Clone(w.Reserved)
			}
		}
		break
	}
}

// interfaceAddress is the first address of a family, without its prefix
// length. If the list has none, the alias is added to it.
func interfaceAddress(w *sandrone.WireGuardOptions, alias string, v6 bool) string {
	for _, a := range w.Address {
		if strings.Contains(a, ":") == v6 {
			bare, _, _ := strings.Cut(a, "/")
			return bare
		}
	}
	if alias == "" {
		return ""
	}
	full, ok := value.CIDR(strings.TrimSpace(alias))
	if !ok || strings.Contains(full, ":") != v6 {
		return alias
	}
	w.Address = append(slices.Clone(w.Address), full)
	bare, _, _ := strings.Cut(full, "/")
	return bare
}
