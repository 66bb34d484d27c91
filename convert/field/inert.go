//go:generate go run ./gen

package field

import (
	"github.com/sandrone-gateway/sandrone"
)

// applicable holds, by protocol, the leaves that it can use and whose loss
// would matter.
var applicable = func() []Set {
	all := make([]Set, len(sandrone.Types))
	for _, f := range registry {
		for i, t := range sandrone.Types {
			if f.For.Has(t) && f.class != Silent {
				all[i].Add(f.ID)
			}
		}
	}
	return all
}()

// under returns the leaves at and below a path.
func under(path string) (s Set) {
	for _, f := range registry {
		if f.Path == path || len(f.Path) > len(path) && f.Path[:len(path)] == path && f.Path[len(path)] == '.' {
			s.Add(f.ID)
		}
	}
	return s
}

var (
	tlsSet       = under("tls")
	echSet       = under("tls.ech")
	realitySet   = under("tls.reality")
	multiplexSet = under("multiplex")
	brutalSet    = under("multiplex.brutal")
	uotSet       = under("udp_over_tcp")
	trojanSet    = under("trojan")
	kcpSet       = under("transport.kcp")
	xhttpSet     = under("transport.xhttp")
	downTLSSet   = under("transport.xhttp.download_settings.tls")
	flowlessSet  = SetOf(Encryption.Info)
	udpSet       = SetOf(Hysteria.Protocol.Info)
	obfsSet      = SetOf(Hysteria.ObfsPassword.Info)
	pluginSet    = SetOf(PluginOptions.Info)
	headerSet    = SetOf(Transport.HeaderType.Info)
	securitySet  = SetOf(Transport.QUICSecurity.Info, Transport.QUICKey.Info)

	// framing holds, by transport, the leaves of the transport object that it
	// does not use.
	framing = func() map[string]Set {
		all := under("transport")
		t := Transport
		http := SetOf(t.Path.Info, t.Host.Info, t.Headers.Info)
		with := func(s Set, more ...*Info) Set { s.AddAll(SetOf(more...)); s.Add(t.Type.ID); return s }
		kcp := with(kcpSet, t.HeaderType.Info, t.Seed.Info)
		xhttp := with(xhttpSet)
		xhttp.AddAll(http)
		m := map[string]Set{
			sandrone.TransportTCP:         SetOf(),
			"tcp+http":                    with(http, t.HeaderType.Info, t.Method.Info, t.Hosts.Info),
			sandrone.TransportWebSocket:   with(http, t.MaxEarlyData.Info, t.EarlyDataHeader.Info),
			sandrone.TransportHTTP:        with(http, t.Method.Info, t.Hosts.Info, t.IdleTimeout.Info, t.PingTimeout.Info),
			sandrone.TransportHTTPUpgrade: with(http, t.MaxEarlyData.Info, t.EarlyDataHeader.Info, t.FastOpen.Info),
			sandrone.TransportGRPC:        with(Set{}, t.ServiceName.Info, t.GRPCMode.Info, t.Authority.Info, t.UserAgent.Info, t.IdleTimeout.Info, t.PingTimeout.Info, t.PermitWithoutStream.Info),
			sandrone.TransportQUIC:        with(Set{}, t.HeaderType.Info, t.QUICSecurity.Info, t.QUICKey.Info),
			sandrone.TransportKCP:         kcp,
			sandrone.TransportXHTTP:       xhttp,
		}
		for name, used := range m {
			m[name] = all.Minus(used)
		}
		return m
	}()
)

// Inert returns the leaves of n that cannot matter as the node stands: all of
// tls when TLS is off, the path of a plain tcp stream, multiplex when it is
// off. Their loss is no loss.
func Inert(n *sandrone.Node) Set {
	var s Set
	if t := n.TLS; t != nil {
		if !t.Enabled {
			s.AddAll(tlsSet)
		} else {
			if t.Reality != nil && !t.Reality.Enabled {
				s.AddAll(realitySet)
			}
			if t.ECH != nil && !t.ECH.Enabled {
				s.AddAll(echSet)
			}
		}
	}
	if t := n.Transport; t != nil {
		kind := t.Type
		if kind == "" {
			kind = sandrone.TransportTCP
		}
		if kind == sandrone.TransportTCP && t.HeaderType == "http" {
			kind = "tcp+http"
		}
		s.AddAll(framing[kind])
		if t.HeaderType == "none" {
			s.AddAll(headerSet)
		}
		if t.QUICSecurity == "none" {
			s.AddAll(securitySet)
		}
		if x := t.XHTTP; x != nil && x.DownloadSettings != nil && x.DownloadSettings.TLS != nil && !x.DownloadSettings.TLS.Enabled {
			s.AddAll(downTLSSet)
		}
	}
	if m := n.Multiplex; m != nil {
		if !m.Enabled {
			s.AddAll(multiplexSet)
		} else if m.Brutal != nil && !m.Brutal.Enabled {
			s.AddAll(brutalSet)
		}
	}
	if u := n.UDPOverTCP; u != nil && !u.Enabled {
		s.AddAll(uotSet)
	}
	if t := n.Trojan; t != nil && !t.SSEnabled {
		s.AddAll(trojanSet)
	}
	if n.Encryption == "none" {
		s.AddAll(flowlessSet)
	}
	if h := n.Hysteria; h != nil && h.Protocol == "udp" {
		s.AddAll(udpSet)
	}
	if h := n.Hysteria; h != nil && h.Obfs == "" {
		s.AddAll(obfsSet)
	}
	if n.Plugin == "" {
		s.AddAll(pluginSet)
	}
	return s
}

// extraHeaders reports whether t has a header besides the copy of its host,
// which says nothing that the host does not say.
func extraHeaders(t *sandrone.Transport) bool {
	for k, v := range t.Headers {
		if k != "Host" || v != t.Host {
			return true
		}
	}
	return false
}
