package processors

import (
	"context"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/convert/field"
)

type quickParams struct {
	udp, tfo, insecure, aead, reuse    string
	ipVersion, ecn, blockQUIC, useless string
}

// quickSettings turns common switches of all nodes at once.
func quickSettings() *processor[[]entry] {
	three := []string{"enabled", "disabled", "default"}
	return define(Descriptor{
		Type:        "quick_settings",
		Description: "Turns common switches of all nodes on or off; default leaves them as they are. What a protocol cannot have is left alone or warned about.",
		Examples: []sandrone.ProcessorSpec{
			example("quick_settings", `{"udp":"enabled","tfo":"disabled"}`),
			example("quick_settings", `{"ip_version":"ipv4-prefer","useless":"enabled"}`),
		},
	}, params[quickParams]{
		word("udp", "relay UDP", func(p *quickParams) *string { return &p.udp }, three...),
		word("tfo", "TCP Fast Open", func(p *quickParams) *string { return &p.tfo }, three...),
		word("allow_insecure", "TLS without verifying the certificate; enabled turns TLS on where the protocol can carry it", func(p *quickParams) *string { return &p.insecure }, three...),
		word("vmess_aead", "VMess with AEAD (alter_id 0)", func(p *quickParams) *string { return &p.aead }, three...),
		word("reuse", "Snell connection reuse", func(p *quickParams) *string { return &p.reuse }, three...),
		word("ip_version", "address family to dial", func(p *quickParams) *string { return &p.ipVersion }, "dual", "ipv4", "ipv6", "ipv4-prefer", "ipv6-prefer", "default"),
		word("ecn", "explicit congestion notification", func(p *quickParams) *string { return &p.ecn }, three...),
		word("block_quic", "block QUIC through the node", func(p *quickParams) *string { return &p.blockQUIC }, "auto", "on", "off", "default"),
		word("useless", "enabled first drops what useless_filter drops", func(p *quickParams) *string { return &p.useless }, three...),
	}, func(p *quickParams) (step[[]entry], error) {
		return func(ctx context.Context, s *scope, in []entry) ([]entry, error) {
			if p.useless == "enabled" {
				var err error
				if in, err = useful(ctx, in, nil); err != nil {
					return nil, err
				}
			}
			return edited(ctx, in, func(e entry) (*sandrone.Node, error) {
				d := &draft{node: e.node}
				p.apply(s, d)
				return d.own, nil
			})
		}, nil
	})
}

// draft is a node that is copied when it is first changed.
type draft struct {
	node *sandrone.Node // what it is now
	own  *sandrone.Node // the copy, nil as long as nothing changed
}

// put sets a leaf of the draft, with the objects that it needs.
func put[T comparable](d *draft, f field.Field[T], v T) {
	if p := f.At(d.node); p != nil && *p == v {
		return
	}
	if d.own == nil {
		n := *d.node
		d.own, d.node = &n, &n
	}
	*f.Own(d.own) = v
}

// The protocols that can carry TLS, for allow_insecure.
var insecurable = field.TypesOf(sandrone.VMess, sandrone.VLESS, sandrone.Trojan, sandrone.Hysteria, sandrone.Hysteria2,
	sandrone.TUIC, sandrone.AnyTLS, sandrone.HTTP, sandrone.SOCKS)

func (p *quickParams) apply(s *scope, d *draft) {
	switch p.udp {
	case "enabled":
		put(d, field.Dialer.UDPRelay, sandrone.On)
	case "disabled":
		put(d, field.Dialer.UDPRelay, sandrone.Off)
	}
	switch p.tfo {
	case "enabled":
		put(d, field.Dialer.TFO, true)
	case "disabled":
		if d.node.Dialer != nil {
			put(d, field.Dialer.TFO, false)
		}
	}
	switch p.insecure {
	case "enabled":
		if insecurable.Has(d.node.Type) {
			put(d, field.TLS.Enabled, true)
			put(d, field.TLS.Insecure, true)
		}
	case "disabled":
		if d.node.TLS != nil {
			put(d, field.TLS.Insecure, false)
		}
	}
	if d.node.Type == sandrone.VMess {
		switch {
		case p.aead == "enabled":
			put(d, field.AlterID, 0)
		case p.aead == "disabled" && d.node.AlterID == 0:
			s.warnQuick(d.node, "quick_settings_vmess_aead_legacy_unavailable", "alter_id", "the node has no legacy alter_id to go back to")
		}
	}
	if d.node.Type == sandrone.Snell && d.node.Snell != nil {
		p.snell(s, d)
	}
	if p.ipVersion != "" && p.ipVersion != "default" {
		put(d, field.Dialer.IPVersion, p.ipVersion)
	}
	switch p.ecn {
	case "enabled":
		put(d, field.Dialer.ECN, sandrone.On)
	case "disabled":
		put(d, field.Dialer.ECN, sandrone.Off)
	}
	if p.blockQUIC != "" && p.blockQUIC != "default" {
		put(d, field.Dialer.BlockQUIC, p.blockQUIC)
	}
}

// snell sets the reuse of connections, which depends on the version: an absent
// one is 1. Version 2 cannot do without.
func (p *quickParams) snell(s *scope, d *draft) {
	unavailable := func() {
		s.warnQuick(d.node, "quick_settings_snell_reuse_unavailable", "snell.reuse", "this version of Snell does not leave the choice")
	}
	version := d.node.Snell.Version
	switch p.reuse {
	case "enabled":
		switch version {
		case 2, 4, 5:
			put(d, field.Snell.Reuse, sandrone.On)
		default:
			unavailable()
		}
	case "disabled":
		switch version {
		case 4, 5:
			put(d, field.Snell.Reuse, sandrone.Off)
		case 2:
			put(d, field.Snell.Reuse, sandrone.On)
			unavailable()
		case 0, 1, 3:
		default:
			unavailable()
		}
	}
}

func (s *scope) warnQuick(n *sandrone.Node, code, field, message string) {
	s.warn(sandrone.Warning{Code: code, Message: message, Node: n.Name, Field: field, Source: "quick_settings"})
}
