package synth

import "strings"

// protocol is the kind without its transport.
func (k Kind) protocol() string {
	name, _, _ := strings.Cut(string(k), "-")
	return name
}

// websocket returns path without its query, which carries the early data size
// and is a field of its own in client files.
func (n *Node) websocketPath() string {
	path, _, _ := strings.Cut(n.Path, "?")
	return path
}

// grpcService returns the service name of a node over gRPC.
func (n *Node) grpcService() string {
	if n.Service != "" {
		return n.Service
	}
	return strings.TrimLeft(n.Path, "/")
}

func (n *Node) hostHeader() object { return object{{"Host", n.SNI}} }

func everywhere() []string { return []string{"0.0.0.0/0", "::/0"} }

func mihomoDocument(nodes []Node, layout Layout) []byte {
	dst := []byte("mixed-port: 7890\nmode: rule\nlog-level: warning\nproxies:\n")
	for i := range nodes {
		p := mihomoProxy(&nodes[i])
		dst = append(dst, "  - "...)
		if layout.Flow {
			dst = appendFlow(dst, p, yamlKey)
		} else {
			start := len(dst)
			dst = appendBlock(dst, p, "    ")
			dst = append(dst[:start], dst[start+4:]...) // the dash stands where the first pad would
		}
		dst = append(dst, '\n')
	}
	if !layout.Groups {
		return dst
	}
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = nodes[i].Name
	}
	dst = append(dst, "proxy-groups:\n  - "...)
	dst = appendFlow(dst, object{{"name", "PROXY"}, {"type", "select"}, {"proxies", append([]string{"AUTO", "DIRECT"}, names...)}}, yamlKey)
	dst = append(dst, "\n  - "...)
	dst = appendFlow(dst, object{{"name", "AUTO"}, {"type", "url-test"}, {"url", "https://www.example.com/generate_204"},
		{"interval", 300}, {"proxies", names}}, yamlKey)
	return append(dst, "\nrules:\n  - DOMAIN-SUFFIX,example.com,PROXY\n  - IP-CIDR,192.0.2.0/24,DIRECT,no-resolve\n  - MATCH,PROXY\n"...)
}

func mihomoProxy(n *Node) object {
	p := object{{"name", n.Name}, {"type", n.Kind.protocol()}, {"server", n.Server}, {"port", n.Port}}
	switch n.Kind {
	case Shadowsocks:
		p = append(p, object{{"cipher", n.Method}, {"password", n.Password}, {"udp", true}}...)
	case ShadowsocksR:
		p = append(p, object{{"cipher", n.Method}, {"password", n.Password}, {"protocol", n.Protocol}, {"obfs", n.Obfs},
			{"obfs-param", n.ObfsParam}, {"protocol-param", n.ProtocolParam}, {"udp", true}}...)
	case VMess:
		p = append(p, object{{"uuid", n.UUID}, {"alterId", 0}, {"cipher", "auto"}, {"udp", true}, {"network", n.Net}}...)
		if n.TLS {
			p = append(p, object{{"tls", true}, {"servername", n.SNI}}...)
		}
		switch n.Net {
		case "ws":
			p.add("ws-opts", object{{"path", n.Path}, {"headers", n.hostHeader()}})
		case "grpc":
			p.add("grpc-opts", object{{"grpc-service-name", n.grpcService()}})
		}
	case VLESSReality, VLESSWS, VLESSGRPC:
		p = append(p, object{{"uuid", n.UUID}, {"udp", true}, {"tls", true}, {"servername", n.SNI}, {"client-fingerprint", n.Fingerprint}}...)
		switch n.Kind {
		case VLESSReality:
			p = append(p, object{{"network", "tcp"}, {"flow", n.Flow},
				{"reality-opts", object{{"public-key", n.PublicKey}, {"short-id", n.ShortID}}}}...)
		case VLESSWS:
			p = append(p, object{{"network", "ws"}, {"ws-opts", object{{"path", n.websocketPath()}, {"headers", n.hostHeader()},
				{"max-early-data", 2048}, {"early-data-header-name", "Sec-WebSocket-Protocol"}}}}...)
		case VLESSGRPC:
			p = append(p, object{{"network", "grpc"}, {"grpc-opts", object{{"grpc-service-name", n.grpcService()}}}}...)
		}
	case Trojan:
		p = append(p, object{{"password", n.Password}, {"udp", true}, {"sni", n.SNI}, {"network", n.Net}}...)
		p.insecure(n, "skip-cert-verify")
		if n.Net == "ws" {
			p.add("ws-opts", object{{"path", n.Path}, {"headers", n.hostHeader()}})
		}
	case Hysteria2:
		p = append(p, object{{"password", n.Password}, {"sni", n.SNI}}...)
		p.addSet("ports", n.Ports)
		if n.Obfs != "" {
			p = append(p, object{{"obfs", "salamander"}, {"obfs-password", n.Obfs}}...)
		}
		p.insecure(n, "skip-cert-verify")
	case TUIC:
		p = append(p, object{{"uuid", n.UUID}, {"password", n.Password}, {"sni", n.SNI}, {"alpn", []string{"h3"}},
			{"congestion-controller", n.Congestion}, {"udp-relay-mode", n.UDPMode}}...)
	case AnyTLS:
		p = append(p, object{{"password", n.Password}, {"sni", n.SNI}, {"client-fingerprint", n.Fingerprint}, {"udp", true}}...)
		p.insecure(n, "skip-cert-verify")
	case WireGuard:
		p = append(p, object{{"ip", n.IP}, {"ipv6", n.IP6}, {"private-key", n.PrivateKey}, {"public-key", n.PeerKey},
			{"pre-shared-key", n.PSK}, {"allowed-ips", everywhere()}, {"mtu", n.MTU}, {"reserved", n.Reserved}, {"udp", true}}...)
	}
	return p
}

func (o *object) insecure(n *Node, key string) {
	if n.Insecure {
		o.add(key, true)
	}
}

func singboxDocument(nodes []Node, layout Layout) (text []byte, left int) {
	outbounds, endpoints := []object{}, []object{}
	var tags, endpointTags []string
	for i := range nodes {
		switch n := &nodes[i]; n.Kind {
		case ShadowsocksR:
			left++
		case WireGuard:
			endpoints = append(endpoints, singboxEndpoint(n))
			endpointTags = append(endpointTags, n.Name)
		default:
			outbounds = append(outbounds, singboxOutbound(n))
			tags = append(tags, n.Name)
		}
	}
	doc := object{{"outbounds", outbounds}}
	if layout.Groups {
		tags = append(tags, endpointTags...)
		doc = object{{"outbounds", append(outbounds,
			object{{"type", "urltest"}, {"tag", "AUTO"}, {"outbounds", tags}},
			object{{"type", "selector"}, {"tag", "PROXY"}, {"outbounds", append([]string{"AUTO"}, tags...)}})},
			{"route", object{{"final", "PROXY"}}}}
	}
	if len(endpoints) > 0 {
		doc.add("endpoints", endpoints)
	}
	return append(appendIndented(nil, doc, "\n"), '\n'), left
}

func singboxOutbound(n *Node) object {
	kind := n.Kind.protocol()
	if n.Kind == Shadowsocks {
		kind = "shadowsocks"
	}
	o := object{{"type", kind}, {"tag", n.Name}, {"server", n.Server}, {"server_port", n.Port}}
	tls := object{{"enabled", true}, {"server_name", n.SNI}}
	tls.insecure(n, "insecure")
	if n.Fingerprint != "" {
		tls.add("utls", object{{"enabled", true}, {"fingerprint", n.Fingerprint}})
	}
	switch n.Kind {
	case Shadowsocks:
		return append(o, object{{"method", n.Method}, {"password", n.Password}}...)
	case VMess:
		o = append(o, object{{"uuid", n.UUID}, {"security", "auto"}, {"alter_id", 0}}...)
		switch n.Net {
		case "ws":
			o.add("transport", object{{"type", "ws"}, {"path", n.Path}, {"headers", n.hostHeader()}})
		case "grpc":
			o.add("transport", object{{"type", "grpc"}, {"service_name", n.grpcService()}})
		}
		if !n.TLS {
			return o
		}
	case VLESSReality:
		o = append(o, object{{"uuid", n.UUID}, {"flow", n.Flow}}...)
		tls.add("reality", object{{"enabled", true}, {"public_key", n.PublicKey}, {"short_id", n.ShortID}})
	case VLESSWS:
		o = append(o, object{{"uuid", n.UUID}, {"transport", object{{"type", "ws"}, {"path", n.websocketPath()},
			{"headers", n.hostHeader()}, {"max_early_data", 2048}, {"early_data_header_name", "Sec-WebSocket-Protocol"}}}}...)
	case VLESSGRPC:
		o = append(o, object{{"uuid", n.UUID}, {"transport", object{{"type", "grpc"}, {"service_name", n.grpcService()}}}}...)
	case Trojan:
		o.add("password", n.Password)
		if n.Net == "ws" {
			o.add("transport", object{{"type", "ws"}, {"path", n.Path}, {"headers", n.hostHeader()}})
		}
	case Hysteria2:
		o.add("password", n.Password)
		if n.Ports != "" {
			o.add("server_ports", []string{strings.ReplaceAll(n.Ports, "-", ":")})
		}
		if n.Obfs != "" {
			o.add("obfs", object{{"type", "salamander"}, {"password", n.Obfs}})
		}
	case TUIC:
		o = append(o, object{{"uuid", n.UUID}, {"password", n.Password}, {"congestion_control", n.Congestion}, {"udp_relay_mode", n.UDPMode}}...)
		tls.add("alpn", []string{"h3"})
	case AnyTLS:
		o.add("password", n.Password)
	}
	o.add("tls", tls)
	return o
}

func singboxEndpoint(n *Node) object {
	return object{{"type", "wireguard"}, {"tag", n.Name}, {"address", []string{n.IP + "/32", n.IP6 + "/128"}}, {"mtu", n.MTU},
		{"private_key", n.PrivateKey}, {"peers", []object{{{"address", n.Server}, {"port", n.Port}, {"public_key", n.PeerKey},
			{"pre_shared_key", n.PSK}, {"allowed_ips", everywhere()}, {"reserved", n.Reserved}}}}}
}
