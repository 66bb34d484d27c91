package files_test

import (
	"fmt"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert"
	"github.com/sandrone-gateway/sandrone/convert/nodetest"
)

// customs are settings of a kind that use what it has.
var customs = map[string]string{
	"mihomo": `{"groups":[
		{"name":"Go","type":"select","proxies":["Deep","$nodes","DIRECT"]},
		{"name":"Deep","type":"url-test","proxies":["$nodes"],"url":"https://cp.cloudflare.com","interval":300,"tolerance":50},
		{"name":"All","type":"select","include-all-proxies":true,"filter":"(?i)hk"}],
		"rule_sets":[{"name":"ads","type":"http","behavior":"domain","format":"mrs","interval":86400,"url":"https://example.com/ads.mrs"}],
		"rules":["DST-PORT,853,Go","RULE-SET,ads,REJECT","AND,((NETWORK,UDP),(DST-PORT,443)),REJECT","GEOSITE,cn,DIRECT","GEOIP,CN,DIRECT,no-resolve","MATCH,Go"]}`,
	"sing-box": `{"groups":[
		{"type":"selector","tag":"Go","outbounds":["Deep","$nodes","direct"],"default":"direct"},
		{"type":"urltest","tag":"Deep","outbounds":["$nodes"],"url":"https://cp.cloudflare.com","interval":"5m","tolerance":50}],
		"rule_sets":[{"type":"remote","tag":"ads","format":"binary","url":"https://example.com/ads.srs","update_interval":"1d"}],
		"rules":[{"action":"sniff"},{"type":"logical","mode":"or","rules":[{"protocol":"dns"},{"port":53}],"action":"hijack-dns"},
			{"rule_set":["ads"],"action":"reject"},{"port":853,"outbound":"Go"},{"action":"resolve"},{"outbound":"Go"}]}`,
	"shadowrocket": `{"groups":[
		{"name":"Go","type":"select","proxies":["Deep","$nodes","DIRECT"]},
		{"name":"Deep","type":"url-test","proxies":["$nodes"],"interval":300,"timeout":5,"tolerance":50,"hidden":true},
		{"name":"HK","type":"select","policy-regex-filter":"(?i)hk"}],
		"rule_sets":[{"name":"ads","type":"domain-set","url":"https://example.com/ads.list"}],
		"rules":["DOMAIN-SET, ads, REJECT","AND,((PROTOCOL,UDP),(DST-PORT,443)),REJECT-DROP","GEOIP,CN,DIRECT","FINAL,Go"]}`,
}

const empty = `{"groups":[],"rule_sets":[],"rules":[]}`

// everyType is one node of every protocol that can be written.
func everyType() []sandrone.Node {
	rng := nodetest.Rand(5)
	var nodes []sandrone.Node
	for _, typ := range sandrone.Types {
		if typ.Carried() {
			continue
		}
		n := nodetest.Node(rng, typ)
		n.Name = string(typ)
		n.Dialer, n.TLS = nil, withoutFiles(n.TLS)
		if n.Encryption != "" {
			n.Encryption = "none"
		}
		if n.SSH != nil {
			n.SSH.PrivateKeyPath = ""
		}
		if n.Snell != nil {
			n.Snell.ShadowTLS = nil
		}
		nodes = append(nodes, n)
	}
	convert.Normalise(nodes)
	return nodes
}

func withoutFiles(t *sandrone.TLS) *sandrone.TLS {
	if t == nil {
		return nil
	}
	own := *t
	own.Certificate, own.PrivateKey, own.CA, own.CAPath = "", "", "", ""
	return &own
}

// many are so many nodes that any client takes.
func many(count int) []sandrone.Node {
	nodes := make([]sandrone.Node, count)
	for i := range nodes {
		nodes[i] = sandrone.Node{Name: fmt.Sprintf("HK %05d", i), Type: sandrone.Trojan, Server: "a.example.com", Port: 443, Password: "secret"}
	}
	convert.Normalise(nodes)
	return nodes
}
