package convert_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
)

const (
	id     = "6f1c2b3a-0d4e-4f5a-8b6c-7d8e9fa0b1c2"
	key32  = "YctPZ6U7xPPcU+gp3u+0tx/tRizJN9K8y+uKlW2qjlI="
	key16  = "MDEyMzQ1Njc4OWFiY2RlZg=="
	secret = "s3cr3t-value"
)

// node reads a node from JSON; open maps get what a decoder makes of them.
func node(t *testing.T, text string) sandrone.Node {
	t.Helper()
	var n sandrone.Node
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

// object is v as a plain JSON object.
func object(t *testing.T, v any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNormalise(t *testing.T) {
	rows := []struct {
		name, in string
		want     string   // the members that differ from the input; null: gone
		warnings []string // "code field"
	}{
		{"name in one line", `{"type":"http","server":"a","name":" x\r\ny\tz\u0000 "}`, `{"name":"x  y z"}`, nil},
		{"no name", `{"type":"http","server":"a"}`, `{"name":"a"}`, nil},
		{"no name and no server", `{"type":"tor"}`, `{"name":"tor"}`, nil},
		{"server in brackets", `{"type":"http","server":" [2001:db8::1] ","name":"x"}`, `{"server":"2001:db8::1"}`, nil},
		{"server keeps its case and its dot", `{"type":"http","server":"A.Example.","name":"x"}`, `{}`, nil},
		{"type alias", `{"type":"SOCKS5","server":"a","name":"x"}`, `{"type":"socks"}`, nil},
		{"https", `{"type":"https","server":"a","name":"x"}`, `{"type":"http","tls":{"enabled":true}}`, nil},
		{"naive over quic", `{"type":"naive+quic","server":"a","name":"x"}`, `{"type":"naive","naive":{"quic":true},"tls":{"enabled":true}}`, nil},
		{"an unknown type", `{"type":"zzz","server":"a","name":"x"}`, `{}`, nil},

		{"vmess id", `{"type":"vmess","name":"x","server":"a","uuid":"my-secret-id"}`, `{"uuid":"a1213b1d-b410-5d14-b92a-c11b053baefd","cipher":"auto"}`, nil},
		{"vless id", `{"type":"vless","name":"x","server":"a","uuid":"{6F1C2B3A-0D4E-4F5A-8B6C-7D8E9FA0B1C2}"}`, `{"uuid":"` + id + `","encryption":"none"}`, nil},
		{"tuic id that is none", `{"type":"tuic","name":"x","server":"a","uuid":"not-a-uuid","tls":{"enabled":true}}`, `{}`, nil},
		{"tuic id", `{"type":"tuic","name":"x","server":"a","uuid":"6F1C2B3A0D4E4F5A8B6C7D8E9FA0B1C2","tls":{"enabled":true}}`, `{"uuid":"` + id + `"}`, nil},
		{"ss cipher", `{"type":"ss","name":"x","server":"a","cipher":"AEAD_CHACHA20_POLY1305"}`, `{"cipher":"chacha20-ietf-poly1305"}`, nil},
		{"ssr defaults", `{"type":"ssr","name":"x","server":"a","cipher":"dummy","shadowsocksr":{}}`, `{"cipher":"none","shadowsocksr":{"protocol":"origin","obfs":"plain"}}`, nil},

		{"flow in any case", `{"type":"vless","name":"x","server":"a","encryption":"none","flow":"XTLS-rprx-Vision","transport":{"type":"tcp"}}`, `{"flow":"xtls-rprx-vision"}`, nil},
		{"flow with another transport", `{"type":"vless","name":"x","server":"a","encryption":"none","flow":"xtls-rprx-vision","transport":{"type":"grpc"}}`, `{"flow":null}`, []string{"node_normalized_incompatible_flow flow"}},
		{"packet encoding", `{"type":"vless","name":"x","server":"a","encryption":"none","packet_encoding":"Packet"}`, `{"packet_encoding":"packetaddr"}`, nil},

		{"TLS is on where the protocol has it", `{"type":"trojan","name":"x","server":"a"}`, `{"tls":{"enabled":true}}`, nil},
		{"TLS with details only", `{"type":"hysteria2","name":"x","server":"a","tls":{"enabled":false,"server_name":"s"}}`, `{"tls":{"enabled":true,"server_name":"s"}}`, nil},
		{"TLS that says nothing", `{"type":"vmess","name":"x","server":"a","cipher":"auto","tls":{"enabled":false}}`, `{"tls":null}`, nil},
		{"TLS that is off with details", `{"type":"vmess","name":"x","server":"a","cipher":"auto","tls":{"enabled":false,"server_name":"s"}}`, `{}`, nil},
		{"REALITY", `{"type":"vless","name":"x","server":"a","encryption":"none","tls":{"enabled":false,"reality":{"enabled":true,"public_key":"k"}}}`, `{"tls":{"enabled":true,"client_fingerprint":"chrome","reality":{"enabled":true,"public_key":"k"}}}`, nil},
		{"REALITY that is off", `{"type":"vless","name":"x","server":"a","encryption":"none","tls":{"enabled":true,"reality":{"enabled":false,"public_key":"k"}}}`, `{}`, nil},
		{"REALITY on the way down", `{"type":"vless","name":"x","server":"a","encryption":"none","transport":{"type":"xhttp","xhttp":{"download_settings":{"tls":{"enabled":true,"reality":{"enabled":true,"public_key":"k"}}}}}}`,
			`{"transport":{"type":"xhttp","xhttp":{"download_settings":{"tls":{"enabled":true,"client_fingerprint":"chrome","reality":{"enabled":true,"public_key":"k"}}}}}}`, nil},
		{"fingerprint none with REALITY", `{"type":"vless","name":"x","server":"a","encryption":"none","tls":{"enabled":true,"client_fingerprint":"None","reality":{"enabled":true,"public_key":"k"}}}`, `{"tls":{"enabled":true,"client_fingerprint":"chrome","reality":{"enabled":true,"public_key":"k"}}}`, nil},
		{"ALPN", `{"type":"http","name":"x","server":"a","tls":{"enabled":true,"alpn":[" h2 ",""]}}`, `{"tls":{"enabled":true,"alpn":["h2"]}}`, nil},

		{"plugin alias and raw options", `{"type":"ss","name":"x","server":"a","plugin":"obfs-local","plugin_options":{"raw":"obfs=http;obfs-host=h"}}`, `{"plugin":"obfs","plugin_options":{"mode":"http","host":"h"}}`, nil},
		{"plugin options of JSON", `{"type":"ss","name":"x","server":"a","plugin":"shadow-tls","plugin_options":{"host":"h","version":"3"}}`, `{"plugin_options":{"host":"h","version":3}}`, nil},
		{"plugin options that are not understood", `{"type":"ss","name":"x","server":"a","plugin":"shadow-tls","plugin_options":{"raw":"version=9"}}`, `{}`, []string{"parse_unknown_field plugin_options"}},

		{"hysteria rates", `{"type":"hysteria","name":"x","server":"a","tls":{"enabled":true},"hysteria":{"up":"100","down":"500 Kbps"}}`, `{"hysteria":{"up_mbps":100,"down":"500 Kbps"}}`, nil},
		{"hysteria rates of both forms", `{"type":"hysteria","name":"x","server":"a","tls":{"enabled":true},"hysteria":{"up":"100 Mbps","up_mbps":50}}`, `{"hysteria":{"up_mbps":50}}`, nil},
		{"a rate that is none", `{"type":"hysteria","name":"x","server":"a","source_format":"mihomo","tls":{"enabled":true},"hysteria":{"up":"fast","down_mbps":1}}`, `{"hysteria":{"down_mbps":1},"raw":{"json-nodes.hysteria.up":"fast"}}`, []string{"parse_unknown_field json-nodes.hysteria.up"}},
		{"obfs of hysteria 1", `{"type":"hysteria","name":"x","server":"a","tls":{"enabled":true},"hysteria":{"obfs_password":"p"}}`, `{"hysteria":{"obfs":"xplus","obfs_password":"p"}}`, nil},
		{"obfs of hysteria 2", `{"type":"hysteria2","name":"x","server":"a","tls":{"enabled":true},"hysteria":{"obfs_password":"p"}}`, `{}`, nil},
		{"port hopping", `{"type":"hysteria2","name":"x","server":"a","tls":{"enabled":true},"hysteria":{"server_ports":["5000:6000","443"],"hop_interval":"1m"}}`, `{"port":5000,"hysteria":{"server_ports":["5000-6000","443"],"hop_interval":"60"}}`, nil},
		{"port hopping that is none", `{"type":"hysteria2","name":"x","server":"a","port":1,"tls":{"enabled":true},"hysteria":{"server_ports":["9-1"],"cwnd":1}}`, `{"hysteria":{"cwnd":1},"raw":{"json-nodes.hysteria.server_ports":"9-1"}}`, []string{"parse_unknown_field json-nodes.hysteria.server_ports"}},
		{"tuic words", `{"type":"tuic","name":"x","server":"a","tls":{"enabled":true},"tuic":{"congestion_control":"New-Reno","heartbeat":"10000ms","request_timeout":"8"}}`, `{"tuic":{"congestion_control":"new_reno","heartbeat":"10s","request_timeout":"8s"}}`, nil},
		{"anytls options are always there", `{"type":"anytls","name":"x","server":"a","tls":{"enabled":true}}`, `{"anytls":{}}`, nil},
		{"anytls durations", `{"type":"anytls","name":"x","server":"a","tls":{"enabled":true},"anytls":{"idle_session_timeout":"60"}}`, `{"anytls":{"idle_session_timeout":"1m0s"}}`, nil},
		{"mieru words", `{"type":"mieru","name":"x","server":"a","mieru":{"transport":"tcp","multiplexing":"multiplexing_low"}}`, `{"mieru":{"transport":"TCP","multiplexing":"MULTIPLEXING_LOW"}}`, nil},

		{"transport word", `{"type":"vmess","cipher":"auto","name":"x","server":"a","transport":{"type":"splithttp"}}`, `{"transport":{"type":"xhttp"}}`, nil},
		{"no-ops on plain tcp", `{"type":"vmess","cipher":"auto","name":"x","server":"a","transport":{"type":"tcp","header_type":"none","host":"h","path":"/","headers":{"Host":"h"}}}`, `{"transport":{"type":"tcp"}}`, nil},
		{"a path on plain tcp", `{"type":"vmess","cipher":"auto","name":"x","server":"a","transport":{"type":"tcp","path":"/x"}}`, `{}`, nil},
		{"host of the tcp header", `{"type":"vmess","cipher":"auto","name":"x","server":"a","transport":{"type":"tcp","header_type":"HTTP","host":"h","path":"/"}}`, `{"transport":{"type":"tcp","header_type":"http","host":"h","headers":{"Host":"h"},"path":"/"}}`, nil},
		{"grpc gun", `{"type":"vmess","cipher":"auto","name":"x","server":"a","transport":{"type":"gun","grpc_mode":"gun"}}`, `{"transport":{"type":"grpc"}}`, nil},
		{"websocket host goes to headers", `{"type":"vmess","cipher":"auto","name":"x","server":"a","transport":{"type":"ws","host":"h","headers":{"A":"b"}}}`, `{"transport":{"type":"websocket","host":"h","headers":{"A":"b","Host":"h"}}}`, nil},
		{"websocket host comes from headers", `{"type":"vmess","cipher":"auto","name":"x","server":"a","transport":{"type":"websocket","headers":{"host":"h"}}}`, `{"transport":{"type":"websocket","host":"h","headers":{"Host":"h"}}}`, nil},
		{"early data in the path", `{"type":"vmess","cipher":"auto","name":"x","server":"a","transport":{"type":"websocket","path":"/p?ed=2048"}}`, `{"transport":{"type":"websocket","path":"/p","max_early_data":2048,"early_data_header_name":"Sec-WebSocket-Protocol"}}`, nil},
		{"one host in a list", `{"type":"vmess","cipher":"auto","name":"x","server":"a","transport":{"type":"http","hosts":["h"]}}`, `{"transport":{"type":"http","host":"h"}}`, nil},
		{"hosts", `{"type":"vmess","cipher":"auto","name":"x","server":"a","transport":{"type":"http","hosts":["h","i"]}}`, `{"transport":{"type":"http","host":"h","hosts":["h","i"]}}`, nil},

		{"wireguard addresses", `{"type":"wireguard","name":"x","server":"a","wireguard":{"address":["10.0.0.2","2001:db8::2/64"]}}`, `{"wireguard":{"address":["10.0.0.2/32","2001:db8::2/64"],"ip":"10.0.0.2","ipv6":"2001:db8::2"}}`, nil},
		{"wireguard address aliases", `{"type":"wireguard","name":"x","server":"a","wireguard":{"ip":"10.0.0.2/24","ipv6":"2001:db8::2"}}`, `{"wireguard":{"address":["10.0.0.2/24","2001:db8::2/128"],"ip":"10.0.0.2","ipv6":"2001:db8::2"}}`, nil},
		{"wireguard alias beside the list", `{"type":"wireguard","name":"x","server":"a","wireguard":{"address":["10.0.0.2/32"],"ip":"10.9.9.9","ipv6":"2001:db8::2"}}`, `{"wireguard":{"address":["10.0.0.2/32","2001:db8::2/128"],"ip":"10.0.0.2","ipv6":"2001:db8::2"}}`, nil},
		{"wireguard endpoint from the peer", `{"type":"wireguard","wireguard":{"peers":[{"server":"[2001:db8::1]","port":51820,"public_key":"k"}]}}`, `{"name":"2001:db8::1","server":"2001:db8::1","port":51820,"wireguard":{"peers":[{"server":"2001:db8::1","port":51820,"public_key":"k"}]}}`, nil},
		{"wireguard peer from the endpoint", `{"type":"wireguard","name":"x","server":"a","port":1,"wireguard":{"peers":[{"server":"b","port":2}]}}`, `{"wireguard":{"peers":[{"server":"a","port":1}]}}`, nil},
		{"wireguard with several peers", `{"type":"wireguard","name":"x","wireguard":{"reserved":[1,2,3],"peers":[{"server":"a","port":1,"reserved":[4,5,6]},{"server":"b","port":2}]}}`, `{"wireguard":{"reserved":[1,2,3],"peers":[{"server":"a","port":1,"reserved":[4,5,6]},{"server":"b","port":2,"reserved":[1,2,3]}]}}`, nil},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			nodes := []sandrone.Node{{Type: "tor", Name: "before"}, node(t, r.in)}
			var got []string
			for _, w := range convert.Normalise(nodes) {
				got = append(got, w.Code+" "+w.Field)
				if w.NodeIndex == nil || *w.NodeIndex != 1 || w.Node == "" {
					t.Errorf("the warning does not say which node: %+v", w)
				}
			}
			if !slices.Equal(got, r.warnings) {
				t.Errorf("warnings: got %q, want %q", got, r.warnings)
			}
			want := object(t, node(t, r.in))
			var change map[string]any
			if err := json.Unmarshal([]byte(r.want), &change); err != nil {
				t.Fatal(err)
			}
			for k, v := range change {
				if want[k] = v; v == nil {
					delete(want, k)
				}
			}
			first := object(t, nodes[1])
			if !reflect.DeepEqual(first, want) {
				t.Fatalf("got\n%v, want\n%v", first, want)
			}
			convert.Normalise(nodes)
			if again := object(t, nodes[1]); !reflect.DeepEqual(again, want) {
				t.Errorf("a second run changes it to\n%v", again)
			}
		})
	}
}

func TestNormaliseWritesIntoNoSharedListOrMap(t *testing.T) {
	alpn := []string{" h2"}
	headers := map[string]string{"A": "b"}
	address := []string{"10.0.0.2"}
	peers := []sandrone.WireGuardPeer{{PublicKey: "k"}}
	ports := []string{"1:2"}
	nodes := []sandrone.Node{
		{Type: sandrone.VMess, TLS: &sandrone.TLS{ALPN: alpn}, Transport: &sandrone.Transport{Type: "websocket", Host: "h", Headers: headers}},
		{Type: sandrone.WireGuard, Server: "a", WireGuard: &sandrone.WireGuardOptions{Address: address, Peers: peers, Reserved: []int{1, 2, 3}}},
		{Type: sandrone.Hysteria2, Hysteria: &sandrone.HysteriaOptions{ServerPorts: ports}},
	}
	convert.Normalise(nodes)
	if alpn[0] != " h2" || len(headers) != 1 || address[0] != "10.0.0.2" || peers[0].Server != "" || peers[0].Reserved != nil || ports[0] != "1:2" {
		t.Error("a list or map that may be shared was written into")
	}
	if nodes[1].WireGuard.Peers[0].Server != "a" || nodes[2].Hysteria.ServerPorts[0] != "1-2" {
		t.Error("nothing was normalised")
	}
}

func TestValidate(t *testing.T) {
	const (
		required = "node_validation_required "
		invalid  = "node_validation_invalid "
	)
	rows := []struct {
		name, in string
		issues   []string // "code field"; none: valid
	}{
		{"ss", `{"type":"ss","server":"a","port":1,"cipher":"aes-128-gcm","password":"p"}`, nil},
		{"ss without cipher and password", `{"type":"ss","server":"a","port":1}`, []string{required + "cipher", required + "password"}},
		{"ss without a key to need", `{"type":"ss","server":"a","port":1,"cipher":"none"}`, nil},
		{"ss 2022", `{"type":"ss","server":"a","port":1,"cipher":"2022-blake3-aes-256-gcm","password":"` + key32 + `"}`, nil},
		{"ss 2022 with two keys", `{"type":"ss","server":"a","port":1,"cipher":"2022-blake3-aes-128-gcm","password":"` + key16 + ":" + key16 + `"}`, nil},
		{"ss 2022 with a password", `{"type":"ss","server":"a","port":1,"cipher":"2022-blake3-aes-256-gcm","password":"` + secret + `"}`, []string{invalid + "password"}},
		{"ss 2022 with a short key", `{"type":"ss","server":"a","port":1,"cipher":"2022-blake3-chacha20-poly1305","password":"` + key16 + `"}`, []string{invalid + "password"}},
		{"ss 2022 with half a second key", `{"type":"ss","server":"a","port":1,"cipher":"2022-blake3-aes-128-gcm","password":"` + key16 + `:"}`, []string{invalid + "password"}},

		{"no type", `{"server":"a","port":1}`, []string{required + "type"}},
		{"unknown type", `{"type":"zzz","server":"a","port":1}`, []string{invalid + "type"}},
		{"no endpoint", `{"type":"http"}`, []string{required + "server", required + "port"}},
		{"no endpoint to have", `{"type":"tailscale"}`, nil},
		{"a URL as server", `{"type":"http","server":"http://a","port":1}`, []string{invalid + "server"}},
		{"a path in the server", `{"type":"http","server":"a/b","port":1}`, []string{invalid + "server"}},
		{"a query in the server", `{"type":"http","server":"a?b","port":1}`, []string{invalid + "server"}},
		{"a space in the server", `{"type":"http","server":"a b","port":1}`, []string{invalid + "server"}},
		{"a wide space in the server", `{"type":"http","server":"a\u3000b","port":1}`, []string{invalid + "server"}},
		{"a port in the server", `{"type":"http","server":"a:1","port":1}`, []string{invalid + "server"}},
		{"IPv6", `{"type":"http","server":"2001:db8::1","port":1}`, nil},
		{"an international name", `{"type":"http","server":"例え.example","port":1}`, nil},
		{"an odd network", `{"type":"http","server":"a","port":1,"network":"icmp"}`, []string{invalid + "network"}},

		{"ssr", `{"type":"ssr","server":"a","port":1}`, []string{required + "cipher", required + "password", required + "shadowsocksr"}},
		{"vmess without id", `{"type":"vmess","server":"a","port":1}`, []string{required + "uuid"}},
		{"vmess with a long id", `{"type":"vmess","server":"a","port":1,"uuid":"` + strings.Repeat("x", 31) + `"}`, []string{invalid + "uuid"}},
		{"vless without TLS", `{"type":"vless","server":"a","port":1,"uuid":"` + id + `"}`, nil},
		{"vless with a retired flow", `{"type":"vless","server":"a","port":1,"uuid":"` + id + `","flow":"xtls-rprx-direct"}`, []string{invalid + "flow"}},
		{"trojan", `{"type":"trojan","server":"a","port":1}`, []string{required + "password"}},
		{"anytls", `{"type":"anytls","server":"a","port":1}`, []string{required + "password"}},
		{"snell", `{"type":"snell","server":"a","port":1,"password":"p"}`, nil},
		{"snell 9", `{"type":"snell","server":"a","port":1,"password":"p","snell":{"version":9}}`, []string{invalid + "snell.version"}},
		{"snell with obfs and ShadowTLS", `{"type":"snell","server":"a","port":1,"password":"p","snell":{"version":4,"obfs":"http","shadow_tls":{"password":"x"}}}`, []string{invalid + "snell.obfs"}},
		{"snell 3 with reuse", `{"type":"snell","server":"a","port":1,"password":"p","snell":{"version":3,"reuse":true}}`, []string{invalid + "snell.reuse"}},
		{"snell 4 with reuse", `{"type":"snell","server":"a","port":1,"password":"p","snell":{"version":4,"reuse":true}}`, nil},
		{"hysteria2 without password", `{"type":"hysteria2","server":"a","port":1}`, nil},
		{"hysteria2 with half an obfs", `{"type":"hysteria2","server":"a","port":1,"hysteria":{"obfs":"salamander"}}`, []string{required + "hysteria.obfs_password"}},
		{"tuic 5", `{"type":"tuic","server":"a","port":1,"uuid":"` + id + `","password":"p"}`, nil},
		{"tuic 4", `{"type":"tuic","server":"a","port":1,"token":"t"}`, nil},
		{"tuic with both", `{"type":"tuic","server":"a","port":1,"token":"t","uuid":"` + id + `","password":"p"}`, []string{invalid + "token"}},
		{"tuic with neither", `{"type":"tuic","server":"a","port":1}`, []string{required + "uuid"}},
		{"tuic without password", `{"type":"tuic","server":"a","port":1,"uuid":"` + id + `"}`, []string{required + "password"}},
		{"tuic with a wrong id", `{"type":"tuic","server":"a","port":1,"uuid":"not-a-uuid","password":"p"}`, []string{invalid + "uuid"}},
		{"mieru", `{"type":"mieru","server":"a","port":1,"username":"u","password":"p","mieru":{"transport":"TCP"}}`, nil},
		{"mieru with a range", `{"type":"mieru","server":"a","username":"u","password":"p","mieru":{"transport":"TCP","port_range":"1-2"}}`, nil},
		{"mieru with both", `{"type":"mieru","server":"a","port":1,"username":"u","password":"p","mieru":{"transport":"TCP","port_range":"1-2"}}`, []string{invalid + "mieru.port_range"}},
		{"mieru without anything", `{"type":"mieru","server":"a","port":1}`, []string{required + "username", required + "password", required + "mieru.transport"}},
		{"socks with half a login", `{"type":"socks","server":"a","port":1,"password":"p"}`, []string{required + "username"}},
		{"http with a user only", `{"type":"http","server":"a","port":1,"username":"u"}`, nil},
		{"ssh", `{"type":"ssh","server":"a","port":1}`, []string{required + "username", required + "password"}},
		{"ssh with a key", `{"type":"ssh","server":"a","port":1,"username":"u","ssh":{"private_key_path":"/k"}}`, nil},
		{"wireguard", `{"type":"wireguard","server":"a","port":1,"wireguard":{"private_key":"k","address":["10.0.0.2/32"],"peers":[{"public_key":"k"}]}}`, nil},
		{"wireguard without anything", `{"type":"wireguard","server":"a","port":1}`, []string{required + "wireguard.private_key"}},
		{"wireguard with holes", `{"type":"wireguard","server":"a","port":1,"wireguard":{"peers":[{"public_key":"k"},{}]}}`, []string{required + "wireguard.private_key", required + "wireguard.address", required + "wireguard.peers[1].public_key"}},
		{"wireguard with a wrong address", `{"type":"wireguard","server":"a","port":1,"wireguard":{"private_key":"k","address":["10.0.0.2/32","office"],"peers":[{"public_key":"k"}]}}`, []string{invalid + "wireguard.address[1]"}},
		{"wireguard with several peers and no endpoint", `{"type":"wireguard","wireguard":{"private_key":"k","address":["10.0.0.2/32"],"peers":[{"public_key":"k"},{"public_key":"l"}]}}`, nil},

		{"an unknown profile", `{"type":"trojan","server":"a","port":1,"password":"p","tls":{"enabled":true,"client_fingerprint":"netscape"}}`, []string{invalid + "tls.client_fingerprint"}},
		{"an unknown profile while TLS is off", `{"type":"vless","server":"a","port":1,"uuid":"` + id + `","tls":{"enabled":false,"client_fingerprint":"netscape"}}`, nil},
		{"a certificate without its key", `{"type":"trojan","server":"a","port":1,"password":"p","tls":{"enabled":true,"certificate":"c"}}`, []string{required + "tls.private_key"}},
		{"a key without its certificate", `{"type":"trojan","server":"a","port":1,"password":"p","tls":{"enabled":true,"private_key":"k"}}`, []string{required + "tls.certificate"}},
		{"an odd ECH query", `{"type":"trojan","server":"a","port":1,"password":"p","tls":{"enabled":true,"ech":{"enabled":true,"force_query":"maybe"}}}`, []string{invalid + "tls.ech.force_query"}},
		{"REALITY without key", `{"type":"trojan","server":"a","port":1,"password":"p","tls":{"enabled":true,"reality":{"enabled":true}}}`, []string{required + "tls.reality.public_key"}},
		{"an odd short id", `{"type":"trojan","server":"a","port":1,"password":"p","tls":{"enabled":true,"reality":{"enabled":true,"public_key":"k","short_id":"abc"}}}`, []string{invalid + "tls.reality.short_id"}},
		{"a short id that is no hex", `{"type":"trojan","server":"a","port":1,"password":"p","tls":{"enabled":true,"reality":{"enabled":true,"public_key":"k","short_id":"xy"}}}`, []string{invalid + "tls.reality.short_id"}},
		{"a long short id", `{"type":"trojan","server":"a","port":1,"password":"p","tls":{"enabled":true,"reality":{"enabled":true,"public_key":"k","short_id":"` + strings.Repeat("a", 18) + `"}}}`, []string{invalid + "tls.reality.short_id"}},
		{"xhttp ranges", `{"type":"vless","server":"a","port":1,"uuid":"` + id + `","transport":{"type":"xhttp","xhttp":{"x_padding_bytes":"100-1000","reuse_settings":{"max_concurrency":"9-1"}}}}`, []string{invalid + "transport.xhttp.reuse_settings.max_concurrency"}},
		{"the way down without a port", `{"type":"vless","server":"a","port":1,"uuid":"` + id + `","transport":{"type":"xhttp","xhttp":{"download_settings":{"server":"d","tls":{"enabled":true,"reality":{"enabled":true}}}}}}`,
			[]string{required + "transport.xhttp.download_settings.port", required + "transport.xhttp.download_settings.tls.reality.public_key"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			nodes := []sandrone.Node{node(t, r.in), {Type: sandrone.Tor, Name: "stays"}}
			convert.Normalise(nodes)
			name := nodes[0].Name
			kept, issues, warnings, err := convert.Validate(nodes, sandrone.StageNormalized)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, i := range issues {
				got = append(got, i.Code+" "+i.Field)
				if i.Severity != "error" || i.Stage != "normalized" || *i.NodeIndex != 0 || i.NodeName != name {
					t.Errorf("the issue does not say where it is: %+v", i)
				}
				if strings.Contains(i.Message, secret) || !strings.HasPrefix(i.Message, i.Field) {
					t.Errorf("message: got %q", i.Message)
				}
			}
			if !slices.Equal(got, r.issues) {
				t.Fatalf("got %q, want %q", got, r.issues)
			}
			if r.issues == nil {
				if len(kept) != 2 || len(warnings) != 0 {
					t.Errorf("got %d nodes and %v", len(kept), warnings)
				}
				return
			}
			if len(kept) != 1 || kept[0].Name != "stays" || len(warnings) != 1 {
				t.Fatalf("got %d nodes and %v", len(kept), warnings)
			}
			w := warnings[0]
			_, field, _ := strings.Cut(r.issues[0], " ")
			if w.Code != "node_validation_dropped" || w.Field != field || w.Source != "normalized" || *w.NodeIndex != 0 || w.Node != name || w.NodeContext == nil || w.NodeContext.Raw != nil {
				t.Errorf("warning: got %+v", w)
			}
		})
	}
}

func TestValidateNeedsTLSOfQUICProtocols(t *testing.T) {
	// A step may turn TLS off after the normaliser turned it on.
	for _, typ := range []sandrone.Type{sandrone.Hysteria, sandrone.Hysteria2, sandrone.TUIC} {
		_, issues, _, err := convert.Validate([]sandrone.Node{{Name: "x", Type: typ, Server: "a", Port: 1, Token: "t", TLS: &sandrone.TLS{}}}, sandrone.StageProcessed)
		if len(issues) != 1 || issues[0].Field != "tls.enabled" || err == nil {
			t.Errorf("%s: got %v, %v", typ, issues, err)
		}
	}
}

func TestValidateKeepsOrderAndFailsOnlyWhenNothingIsLeft(t *testing.T) {
	good := func(name string) sandrone.Node { return sandrone.Node{Name: name, Type: sandrone.Tor} }
	nodes := []sandrone.Node{good("a"), {Name: "x"}, good("b"), {Name: "y"}, good("c")}
	array := nodes[:cap(nodes)]
	kept, _, warnings, err := convert.Validate(nodes, sandrone.StageProcessed)
	if err != nil || len(kept) != 3 || kept[0].Name+kept[1].Name+kept[2].Name != "abc" {
		t.Errorf("got %v, %v", kept, err)
	}
	if len(warnings) != 2 || *warnings[0].NodeIndex != 1 || *warnings[1].NodeIndex != 3 {
		t.Errorf("indexes do not count in the batch: %v", warnings)
	}
	if &kept[0] != &array[0] || array[4].Name != "" {
		t.Error("not filtered in place, or what was removed is still held")
	}

	kept, issues, warnings, err := convert.Validate([]sandrone.Node{{Name: "x"}, {Name: "y"}}, sandrone.StageProcessed)
	e := sandrone.AsError(err)
	if e == nil || e.Code != sandrone.NodeValidationFailed || e.Message != "all 2 node(s) failed semantic validation" {
		t.Errorf("got %v", err)
	}
	if len(kept) != 0 || len(issues) == 0 || len(warnings) != 2 {
		t.Errorf("got %d nodes, %v, %v", len(kept), issues, warnings)
	}
	if _, _, _, err := convert.Validate(nil, sandrone.StageProcessed); err != nil {
		t.Errorf("an empty batch: %v", err)
	}
}

// usual is a batch as providers have it, each node with objects of its own.
func usual(n int) []sandrone.Node {
	nodes := make([]sandrone.Node, n)
	for i := range nodes {
		p := &nodes[i]
		p.Name, p.Server, p.Port, p.SourceFormat = "香港 01 | premium", "node1.example.com", 443, "uri"
		tls := &sandrone.TLS{Enabled: true, ServerName: "sni.example.com", ALPN: []string{"h2", "http/1.1"}, ClientFingerprint: "firefox"}
		switch i % 5 {
		case 0:
			p.Type, p.Cipher, p.Password = sandrone.Shadowsocks, "2022-blake3-aes-256-gcm", key32
			p.Plugin, p.PluginOptions = "obfs", map[string]any{"mode": "http", "host": "h"}
		case 1:
			p.Type, p.UUID, p.Cipher, p.TLS = sandrone.VMess, id, "auto", tls
			p.Transport = &sandrone.Transport{Type: "websocket", Path: "/ws", Host: "h", Headers: map[string]string{"Host": "h"}}
		case 2:
			p.Type, p.UUID, p.Encryption, p.Flow, p.TLS = sandrone.VLESS, id, "none", "xtls-rprx-vision", tls
			tls.Reality = &sandrone.Reality{Enabled: true, PublicKey: "k", ShortID: "0a1b2c3d"}
		case 3:
			p.Type, p.Password, p.TLS = sandrone.Trojan, "p", tls
		case 4:
			p.Type, p.Password, p.TLS = sandrone.Hysteria2, "p", tls
			p.Hysteria = &sandrone.HysteriaOptions{UpMbps: 50, DownMbps: 100, ServerPorts: []string{"20000-30000"}, HopInterval: "30"}
		}
	}
	return nodes
}

func TestCleanNodesCostNoAllocation(t *testing.T) {
	nodes := append(usual(50), sandrone.Node{
		Name: "wg", Type: sandrone.WireGuard, Server: "a", Port: 1,
		WireGuard: &sandrone.WireGuardOptions{PrivateKey: "k", Address: []string{"10.0.0.2/32", "2001:db8::2/128"}, Reserved: []int{1, 2, 3},
			Peers: []sandrone.WireGuardPeer{{PublicKey: "k"}}},
	}, sandrone.Node{
		Name: "any", Type: sandrone.AnyTLS, Server: "a", Port: 1, Password: "p", AnyTLS: &sandrone.AnyTLSOptions{IdleSessionTimeout: "1m0s"},
	}, sandrone.Node{
		Name: "xhttp", Type: sandrone.VLESS, UUID: id, Server: "a", Port: 1,
		Transport: &sandrone.Transport{Type: "xhttp", XHTTP: &sandrone.XHTTP{XPaddingBytes: "1-2", ReuseSettings: &sandrone.XHTTPReuse{MaxConnections: "1-2"}}},
	})
	convert.Normalise(nodes)
	got := testing.AllocsPerRun(20, func() {
		convert.Normalise(nodes)
		kept, issues, _, _ := convert.Validate(nodes, sandrone.StageNormalized)
		if len(kept) != len(nodes) {
			t.Fatal(issues)
		}
	})
	if got > 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

func BenchmarkNormaliseAndValidate(b *testing.B) {
	nodes := usual(10000)
	b.ReportAllocs()
	for b.Loop() {
		convert.Normalise(nodes)
		if kept, _, _, _ := convert.Validate(nodes, sandrone.StageNormalized); len(kept) != len(nodes) {
			b.Fatal("nodes are missing")
		}
	}
}
