package shadowrocket_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/field"
	"github.com/sandrone-gateway/sandrone/convert/nodetest"
	"github.com/sandrone-gateway/sandrone/convert/shadowrocket"
)

var options = convert.RenderOptions{Target: "shadowrocket-proxies"}

func render(nodes ...sandrone.Node) convert.Rendered {
	return shadowrocket.Renderer.Render(nodes, options)
}

// readLine reads one line the way the client's manual describes it. It is
// stricter than any client: an unknown key or a part too many is an error.
func readLine(line string) (n sandrone.Node, err error) {
	name, rest, ok := strings.Cut(line, "=")
	parts := strings.Split(rest, ",")
	if !ok || len(parts) < 3 || strings.ContainsAny(line, "\"\r\n") && !strings.Contains(name, `"`) {
		return n, fmt.Errorf("no line: %q", line)
	}
	n.Name, n.Server = name, parts[1]
	port, err := strconv.ParseUint(parts[2], 10, 16)
	if err != nil {
		return n, err
	}
	n.Port = uint16(port)
	word := parts[0]
	tls := func() *sandrone.TLS {
		if n.TLS == nil {
			n.TLS = &sandrone.TLS{Enabled: true}
		}
		return n.TLS
	}
	switch word {
	case "https", "socks5-tls":
		tls()
	case "trojan", "hysteria", "hysteria2", "tuic":
		tls()
	}
	n.Type = map[string]sandrone.Type{"https": "http", "socks5": "socks", "socks5-tls": "socks"}[word]
	if n.Type == "" {
		n.Type = sandrone.Type(word)
	}
	var (
		login []string
		known = keys[word]
		seen  = map[string]bool{}
	)
	for _, part := range parts[3:] {
		key, v, keyed := strings.Cut(part, "=")
		if !keyed {
			login = append(login, part)
			continue
		}
		if seen[key] || !slices.Contains(known, key) {
			return n, fmt.Errorf("%s has no key %s, or has it twice", word, key)
		}
		seen[key] = true
		if err := set(&n, tls, key, v); err != nil {
			return n, err
		}
	}
	if n.Type == sandrone.SOCKS || n.Type == sandrone.HTTP {
		login = append(login, "", "")
		n.Username, n.Password, login = login[0], login[1], login[2:]
		login = slices.DeleteFunc(login, func(s string) bool { return s == "" })
	}
	if len(login) > 0 {
		return n, fmt.Errorf("%s: parts without a key: %q", word, login)
	}
	return n, nil
}

// keys are those that the manual names for each word.
var keys = map[string][]string{
	"ss":         {"password", "method", "obfs", "obfs-host", "plugin"},
	"vmess":      {"password", "alterId", "method", "tls", "obfs", "obfs-host", "obfs-uri", "peer", "tfo"},
	"vless":      {"password", "tls", "obfs", "peer", "flow", "pbk", "sid"},
	"trojan":     {"password", "allowInsecure", "peer"},
	"hysteria":   {"auth", "obfsParam", "protocol", "udp", "peer", "alpn", "upmbps", "downmbps"},
	"hysteria2":  {"auth", "obfsParam", "udp", "peer", "alpn"},
	"tuic":       {"password", "user", "udp", "peer", "alpn"},
	"socks5-tls": {"skip-common-name-verify"},
	"wireguard":  {"privateKey", "publicKey", "ip", "mtu", "reserved", "keepalive", "udp"},
	"snell":      {"psk", "version", "obfs", "obfs-host", "udp"},
}

func set(n *sandrone.Node, tls func() *sandrone.TLS, key, v string) error {
	number := func(p *int) error {
		var err error
		*p, err = strconv.Atoi(v)
		return err
	}
	hysteria := func() *sandrone.HysteriaOptions {
		if n.Hysteria == nil {
			n.Hysteria = &sandrone.HysteriaOptions{}
		}
		return n.Hysteria
	}
	dialer := func() *sandrone.Dialer {
		if n.Dialer == nil {
			n.Dialer = &sandrone.Dialer{}
		}
		return n.Dialer
	}
	wireguard := func() *sandrone.WireGuardOptions {
		if n.WireGuard == nil {
			n.WireGuard = &sandrone.WireGuardOptions{Peers: []sandrone.WireGuardPeer{{Server: n.Server, Port: n.Port}}}
		}
		return n.WireGuard
	}
	snell := func() *sandrone.SnellOptions {
		if n.Snell == nil {
			n.Snell = &sandrone.SnellOptions{}
		}
		return n.Snell
	}
	webSocket := func() *sandrone.Transport {
		if n.Transport == nil {
			n.Transport = &sandrone.Transport{}
		}
		return n.Transport
	}
	is := func(want string) error {
		if v != want {
			return fmt.Errorf("%s=%s, want %s", key, v, want)
		}
		return nil
	}
	switch key {
	case "password":
		if n.Type == sandrone.VMess || n.Type == sandrone.VLESS {
			n.UUID = v
		} else {
			n.Password = v
		}
	case "user":
		n.UUID = v
	case "psk":
		n.Password = v
	case "auth":
		if n.Type == sandrone.Hysteria {
			hysteria().AuthStr = v
		} else {
			n.Password = v
		}
	case "obfsParam":
		hysteria().ObfsPassword = v
		n.Hysteria.Obfs = map[sandrone.Type]string{sandrone.Hysteria: "xplus", sandrone.Hysteria2: "salamander"}[n.Type]
	case "protocol":
		hysteria().Protocol = v
	case "upmbps":
		return number(&hysteria().UpMbps)
	case "downmbps":
		return number(&hysteria().DownMbps)
	case "method":
		n.Cipher = v
	case "alterId":
		return number(&n.AlterID)
	case "tls":
		tls()
		return is("true")
	case "peer":
		tls().ServerName = v
	case "alpn":
		tls().ALPN = []string{v}
	case "allowInsecure":
		tls().InsecureSkipVerify = true
		return is("1")
	case "skip-common-name-verify":
		tls().InsecureSkipVerify = true
		return is("true")
	case "flow":
		n.Flow = v
	case "pbk":
		tls().Reality = &sandrone.Reality{Enabled: true, PublicKey: v}
		n.TLS.ClientFingerprint = "chrome"
	case "sid":
		tls().Reality.ShortID = v
	case "obfs":
		switch {
		case n.Type == sandrone.Snell:
			snell().Obfs = v
		case v == "websocket":
			webSocket().Type = v
		default:
			n.Plugin, n.PluginOptions = "obfs", map[string]any{"mode": v}
		}
	case "obfs-host":
		switch n.Type {
		case sandrone.Snell:
			snell().ObfsHost = v
		case sandrone.Shadowsocks:
			n.PluginOptions["host"] = v
		default:
			webSocket().Host = v
		}
	case "obfs-uri":
		webSocket().Path = v
	case "plugin":
		return is("none")
	case "tfo":
		dialer().TFO = true
		return is("1")
	case "udp":
		dialer().UDPRelay = sandrone.TriOf(v == "1")
		if v != "1" {
			return is("0")
		}
	case "version":
		return number(&snell().Version)
	case "privateKey":
		wireguard().PrivateKey = v
	case "publicKey":
		wireguard().Peers[0].PublicKey = v
	case "ip":
		wireguard().Address = []string{v + "/32"}
	case "mtu":
		return number(&wireguard().MTU)
	case "keepalive":
		return number(&wireguard().PersistentKeepalive)
	case "reserved":
		for part := range strings.SplitSeq(v, "/") {
			b, err := strconv.ParseUint(part, 10, 8)
			if err != nil {
				return err
			}
			wireguard().Peers[0].Reserved = append(wireguard().Peers[0].Reserved, int(b))
		}
	default:
		return fmt.Errorf("no reader for %s", key)
	}
	return nil
}

// TestNothingIsLostInSilence reads every line back: what is not as it was in
// the node has a warning, or does not matter.
func TestNothingIsLostInSilence(t *testing.T) {
	rng := nodetest.Rand(1)
	written := map[sandrone.Type]int{}
	for _, typ := range sandrone.Types {
		for range 600 {
			n := nodetest.Node(rng, typ)
			out := render(n)
			if len(out.Warnings) == 0 && out.Count == 0 {
				t.Fatalf("%s: left out without a warning", typ)
			}
			if out.Count == 0 {
				if w := out.Warnings[0]; len(out.Warnings) != 1 || w.Code != sandrone.WarnNodeSkipped || w.Field == "" {
					t.Fatalf("%s: left out with %v", typ, out.Warnings)
				}
				continue
			}
			written[typ]++
			line, ok := strings.CutPrefix(string(out.Body), "[Proxy]\n")
			line, end := strings.CutSuffix(line, "\n")
			if !ok || !end {
				t.Fatalf("no section with a line: %q", out.Body)
			}
			got, err := readLine(line)
			if err != nil {
				t.Fatalf("%s: %v\n%s", typ, err, line)
			}
			if got.Name != out.Names[0] {
				t.Fatalf("name: got %q, want %q", got.Name, out.Names[0])
			}
			warned := map[string]bool{}
			for _, w := range out.Warnings {
				warned[w.Field] = true
			}
			inert := field.Inert(&n)
			nodetest.DiffEach(&got, &n, func(f *field.Info, difference string) {
				if warned[f.Path] || inert.Has(f.ID) || f.Usual() == field.Silent || silent(f, &n, &got) {
					return
				}
				t.Errorf("%s: %s\n%s", typ, difference, line)
			})
		}
	}
	for _, typ := range shadowrocket.Renderer.Profile().Types {
		if written[typ] < 10 {
			t.Errorf("%s: only %d nodes were written", typ, written[typ])
		}
	}
}

// silent tells which differences are none for the client.
func silent(f *field.Info, n, got *sandrone.Node) bool {
	switch f.Path {
	case "dialer.udp_relay": // the line says what the node leaves open
		return n.Dialer == nil || n.Dialer.UDPRelay == sandrone.Unset
	case "transport.headers": // a copy of the host
		return len(n.Transport.Headers) == 1 && n.Transport.Headers["Host"] == n.Transport.Host
	case "tls.server_name": // the client verifies the server's name
		return n.TLS.ServerName == n.Server
	case "wireguard.peers.allowed_ips":
		return len(n.WireGuard.Peers[0].AllowedIPs) == 2
	case "wireguard.reserved": // on the peer
		return fmt.Sprint(n.WireGuard.Reserved) == fmt.Sprint(got.WireGuard.Peers[0].Reserved)
	case "wireguard.peers.persistent_keepalive": // one for both
		return got.WireGuard.PersistentKeepalive == n.WireGuard.Peers[0].PersistentKeepalive
	case "wireguard.persistent_keepalive":
		return n.WireGuard.PersistentKeepalive == 0 && got.WireGuard.PersistentKeepalive == n.WireGuard.Peers[0].PersistentKeepalive
	case "hysteria.obfs":
		return true // each version has one, that of obfsParam
	}
	return false
}

func TestLinesAreThoseOfTheManual(t *testing.T) {
	const uuid = "11d4f6a8-72c9-4e0b-9b35-d7e8f9a0b1c2"
	key := strings.Repeat("A", 43) + "="
	at := func(n sandrone.Node) sandrone.Node {
		n.Name, n.Server, n.Port = "n", "a.example.com", 443
		return n
	}
	on := &sandrone.TLS{Enabled: true, ServerName: "sni.example.com"}
	for _, c := range []struct {
		name string
		node sandrone.Node
		want string
	}{
		{"ss", sandrone.Node{Type: "ss", Cipher: "aes-128-gcm", Password: "pw"}, "ss,a.example.com,443,password=pw,method=aes-128-gcm,plugin=none"},
		{"ss with obfs", sandrone.Node{Type: "ss", Cipher: "aes-128-gcm", Password: "pw", Plugin: "obfs", PluginOptions: map[string]any{"mode": "tls", "host": "h.example.com"}}, "ss,a.example.com,443,password=pw,method=aes-128-gcm,obfs=tls,obfs-host=h.example.com"},
		{"ss over websocket", sandrone.Node{Type: "ss", Cipher: "aes-128-gcm", Password: "pw", Transport: &sandrone.Transport{Type: "websocket"}}, "ss,a.example.com,443,password=pw,method=aes-128-gcm,obfs=websocket,plugin=none"},
		{"vmess", sandrone.Node{Type: "vmess", UUID: uuid, Cipher: "auto"}, "vmess,a.example.com,443,password=" + uuid + ",alterId=0,method=auto"},
		{"vmess over websocket", sandrone.Node{Type: "vmess", UUID: uuid, Cipher: "auto", TLS: on, Transport: &sandrone.Transport{Type: "websocket", Path: "/p?x=1", Host: "h.example.com", Headers: map[string]string{"Host": "h.example.com"}}, Dialer: &sandrone.Dialer{TFO: true}},
			"vmess,a.example.com,443,password=" + uuid + ",alterId=0,method=auto,tls=true,peer=sni.example.com,obfs=websocket,obfs-host=h.example.com,obfs-uri=/p?x=1,tfo=1"},
		{"vless with reality", sandrone.Node{Type: "vless", UUID: uuid, Encryption: "none", Flow: "xtls-rprx-vision", TLS: &sandrone.TLS{Enabled: true, ServerName: "s.example.com", ClientFingerprint: "chrome", Reality: &sandrone.Reality{Enabled: true, PublicKey: key[:43], ShortID: "0088"}}},
			"vless,a.example.com,443,password=" + uuid + ",tls=true,peer=s.example.com,flow=xtls-rprx-vision,pbk=" + key[:43] + ",sid=0088"},
		{"trojan", sandrone.Node{Type: "trojan", Password: "p=w", TLS: &sandrone.TLS{Enabled: true, InsecureSkipVerify: true, ServerName: "s.example.com"}}, "trojan,a.example.com,443,password=p=w,allowInsecure=1,peer=s.example.com"},
		{"hysteria", sandrone.Node{Type: "hysteria", TLS: on, Hysteria: &sandrone.HysteriaOptions{AuthStr: "pw", Protocol: "udp", UpMbps: 100, DownMbps: 200, Obfs: "xplus", ObfsPassword: "ob"}}, "hysteria,a.example.com,443,auth=pw,obfsParam=ob,protocol=udp,udp=1,peer=sni.example.com,upmbps=100,downmbps=200"},
		{"hysteria2", sandrone.Node{Type: "hysteria2", Password: "pw", TLS: &sandrone.TLS{Enabled: true, ALPN: []string{"h3"}}}, "hysteria2,a.example.com,443,auth=pw,udp=1,alpn=h3"},
		{"tuic", sandrone.Node{Type: "tuic", UUID: uuid, Password: "pw", TLS: on, Dialer: &sandrone.Dialer{UDPRelay: sandrone.Off}}, "tuic,a.example.com,443,password=pw,user=" + uuid + ",udp=0,peer=sni.example.com"},
		{"wireguard", sandrone.Node{Type: "wireguard", WireGuard: &sandrone.WireGuardOptions{PrivateKey: key, Address: []string{"10.0.0.2/32"}, MTU: 1280, Peers: []sandrone.WireGuardPeer{{Server: "a.example.com", Port: 443, PublicKey: key, Reserved: []int{1, 2, 3}, PersistentKeepalive: 25}}}},
			"wireguard,a.example.com,443,privateKey=" + key + ",publicKey=" + key + ",ip=10.0.0.2,mtu=1280,reserved=1/2/3,keepalive=25,udp=1"},
		{"snell", sandrone.Node{Type: "snell", Password: "pw", Snell: &sandrone.SnellOptions{Version: 2, Obfs: "http", ObfsHost: "h.example.com"}}, "snell,a.example.com,443,psk=pw,version=2,obfs=http,obfs-host=h.example.com,udp=1"},
		{"http", sandrone.Node{Type: "http", Username: "u", Password: "pw"}, "http,a.example.com,443,u,pw"},
		{"https without login", sandrone.Node{Type: "http", TLS: &sandrone.TLS{Enabled: true}}, "https,a.example.com,443"},
		{"socks over TLS", sandrone.Node{Type: "socks", Username: "u", TLS: &sandrone.TLS{Enabled: true, InsecureSkipVerify: true}}, "socks5-tls,a.example.com,443,u,skip-common-name-verify=true"},
	} {
		out := render(at(c.node))
		if got, want := string(out.Body), "[Proxy]\nn="+c.want+"\n"; got != want || len(out.Warnings) > 0 {
			t.Errorf("%s:\n got %s\nwant %s\n%v", c.name, got, want, out.Warnings)
		}
	}
}

func TestNodesWithoutALineAreLeftOut(t *testing.T) {
	const uuid = "11d4f6a8-72c9-4e0b-9b35-d7e8f9a0b1c2"
	ss := func(password string) sandrone.Node {
		return sandrone.Node{Type: "ss", Cipher: "aes-128-gcm", Password: password}
	}
	vless := func(t *sandrone.TLS, tr *sandrone.Transport) sandrone.Node {
		return sandrone.Node{Type: "vless", UUID: uuid, Encryption: "none", TLS: t, Transport: tr}
	}
	snell := func(version int) sandrone.Node {
		return sandrone.Node{Type: "snell", Password: "pw", Snell: &sandrone.SnellOptions{Version: version}}
	}
	for _, c := range []struct {
		name  string
		node  sandrone.Node
		field string
	}{
		{"a comma in a password", ss("a,b"), "password"},
		{"a quote in a password", ss(`a"b`), "password"},
		{"a line break in a password", ss("a\nb"), "password"},
		{"a login that looks like an option", sandrone.Node{Type: "http", Username: "a=b"}, "username"},
		{"a path that no key can say", vless(nil, &sandrone.Transport{Type: "websocket", Path: "/x"}), "transport.path"},
		{"grpc", vless(nil, &sandrone.Transport{Type: "grpc"}), "transport.type"},
		{"TLS that is not verified", vless(&sandrone.TLS{Enabled: true, InsecureSkipVerify: true}, nil), "tls.insecure_skip_verify"},
		{"snell of another version", snell(4), "snell.version"},
		{"snell that says no version", snell(0), "snell.version"},
		{"a chain", sandrone.Node{Type: "ss", Cipher: "aes-128-gcm", Password: "pw", Dialer: &sandrone.Dialer{Proxy: "front"}}, "dialer.proxy"},
		{"a protocol without a line", sandrone.Node{Type: "ssr", Cipher: "none", Password: "pw", ShadowsocksR: &sandrone.ShadowsocksROptions{}}, "type"},
		{"several peers", sandrone.Node{Type: "wireguard", WireGuard: &sandrone.WireGuardOptions{Address: []string{"10.0.0.2/32"}, PrivateKey: strings.Repeat("A", 43) + "=", Peers: make([]sandrone.WireGuardPeer, 2)}}, "wireguard.peers.public_key"},
	} {
		c.node.Name, c.node.Server, c.node.Port = "n", "a.example.com", 443
		out := render(c.node)
		if string(out.Body) != "[Proxy]\n" || len(out.Warnings) != 1 {
			t.Errorf("%s: got %q with %v", c.name, out.Body, out.Warnings)
			continue
		}
		if w := out.Warnings[0]; w.Code != sandrone.WarnNodeSkipped || w.Field != c.field {
			t.Errorf("%s: got %s of %s, want %s of %s", c.name, w.Code, w.Field, sandrone.WarnNodeSkipped, c.field)
		}
	}
}

func TestNamesFitTheFile(t *testing.T) {
	var nodes []sandrone.Node
	for _, name := range []string{"a", "a", "x=1,y", "x 1 y", "#", "[Rule]", "direct", "Proxy", "REJECT-IMG", "it's", "a\u2028b"} {
		nodes = append(nodes, sandrone.Node{Name: name, Type: "ss", Server: "a.example.com", Port: 1, Cipher: "none", Password: "pw"})
	}
	out := render(nodes...)
	want := []string{"a", "a 2", "x 1 y", "x 1 y 2", "node", "Rule]", "direct node", "Proxy node", "REJECT-IMG node", "it's", "a b"}
	if !slices.Equal(out.Names, want) {
		t.Errorf("got %q\nwant %q", out.Names, want)
	}
	var renamed []int
	for _, w := range out.Warnings {
		if w.Code == sandrone.WarnNodeRenamed {
			renamed = append(renamed, *w.NodeIndex)
		}
	}
	if want := []int{1, 2, 3, 4, 5, 6, 7, 8, 10}; !slices.Equal(renamed, want) {
		t.Errorf("renamed: got %v, want %v", renamed, want)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(out.Body), "\n"), "\n")[1:] {
		if n, err := readLine(line); err != nil || n.Name != out.Names[i] {
			t.Errorf("line %q: got the name %q, %v", line, n.Name, err)
		}
	}
}

func TestNothingIsASectionToo(t *testing.T) {
	if out := render(); string(out.Body) != "[Proxy]\n" || out.Count != 0 {
		t.Errorf("got %q", out.Body)
	}
}

func TestTheSameNodesGiveTheSameBytes(t *testing.T) {
	nodes := nodetest.All(nodetest.Rand(4), 20)
	a, b := render(nodes...), render(nodes...)
	if string(a.Body) != string(b.Body) {
		t.Error("two renderings differ")
	}
}

func BenchmarkRender(b *testing.B) {
	nodes := make([]sandrone.Node, 10_000)
	for i := range nodes {
		nodes[i] = sandrone.Node{Name: "node " + strconv.Itoa(i), Type: "vmess", Server: "a.example.com", Port: 443, UUID: "11d4f6a8-72c9-4e0b-9b35-d7e8f9a0b1c2", Cipher: "auto",
			TLS: &sandrone.TLS{Enabled: true, ServerName: "s.example.com"}, Transport: &sandrone.Transport{Type: "websocket", Path: "/p", Host: "h.example.com"}}
	}
	b.ReportAllocs()
	for b.Loop() {
		render(nodes...)
	}
}
