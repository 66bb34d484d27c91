package resolve

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	maxMessage = 64<<10 - 1 // bytes of a DNS message
	udpSize    = 1232       // bytes that pass without fragments
	maxAnswers = 64         // addresses of one name
)

var errMessage = errors.New("no valid DNS message")

// query is one question.
type query struct {
	id     uint16
	name   dnsmessage.Name
	kind   dnsmessage.Type
	packed []byte
}

// newQuery packs a question. Over HTTPS the id is 0, so that answers can be
// cached on the way.
func newQuery(name string, v6 bool, subnet netip.Addr, https bool) (*query, error) {
	q := &query{kind: dnsmessage.TypeA}
	if v6 {
		q.kind = dnsmessage.TypeAAAA
	}
	var err error
	if q.name, err = dnsmessage.NewName(name + "."); err != nil {
		return nil, err
	}
	if !https {
		var id [2]byte
		if _, err := rand.Read(id[:]); err != nil {
			return nil, err
		}
		q.id = binary.BigEndian.Uint16(id[:])
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: q.id, RecursionDesired: true})
	b.EnableCompression()
	// The builder's errors are sticky: the last one speaks for all.
	b.StartQuestions()
	b.Question(dnsmessage.Question{Name: q.name, Type: q.kind, Class: dnsmessage.ClassINET})
	b.StartAdditionals()
	var h dnsmessage.ResourceHeader
	if err := h.SetEDNS0(udpSize, dnsmessage.RCodeSuccess, false); err != nil {
		return nil, err
	}
	var opt dnsmessage.OPTResource
	if subnet.IsValid() {
		opt.Options = []dnsmessage.Option{clientSubnet(subnet)}
	}
	if err := b.OPTResource(h, opt); err != nil {
		return nil, err
	}
	q.packed, err = b.Finish()
	return q, err
}

// clientSubnet is the option of RFC 7871, with the prefix lengths that it
// recommends: more would tell who asks.
func clientSubnet(a netip.Addr) dnsmessage.Option {
	a = a.Unmap()
	family, bits := byte(1), 24
	if a.Is6() {
		family, bits = 2, 56
	}
	data := []byte{0, family, byte(bits), 0}
	return dnsmessage.Option{Code: 8, Data: append(data, a.AsSlice()[:bits/8]...)}
}

// read returns the addresses of a reply to q. A reply that does not belong to q
// is errMessage.
func (q *query) read(reply []byte) (addrs []netip.Addr, truncated bool, err error) {
	var p dnsmessage.Parser
	h, err := p.Start(reply)
	if err != nil || !h.Response || h.ID != q.id {
		return nil, false, errMessage
	}
	question, err := p.Question()
	if err != nil || question.Type != q.kind || question.Class != dnsmessage.ClassINET || !sameName(question.Name, q.name) {
		return nil, false, errMessage
	}
	if h.Truncated {
		return nil, true, nil
	}
	switch h.RCode {
	case dnsmessage.RCodeSuccess:
	case dnsmessage.RCodeNameError:
		return nil, false, ErrNoAddress
	default:
		return nil, false, errMessage
	}
	if err := p.SkipAllQuestions(); err != nil {
		return nil, false, errMessage
	}
	for len(addrs) < maxAnswers {
		h, err := p.AnswerHeader()
		if err == dnsmessage.ErrSectionDone {
			break
		}
		if err != nil {
			return nil, false, errMessage
		}
		// The answers behind an alias are the name's, whatever they are called.
		switch {
		case h.Type == dnsmessage.TypeA && q.kind == dnsmessage.TypeA:
			r, err := p.AResource()
			if err != nil {
				return nil, false, errMessage
			}
			addrs = append(addrs, netip.AddrFrom4(r.A))
		case h.Type == dnsmessage.TypeAAAA && q.kind == dnsmessage.TypeAAAA:
			r, err := p.AAAAResource()
			if err != nil {
				return nil, false, errMessage
			}
			addrs = append(addrs, netip.AddrFrom16(r.AAAA))
		default:
			if p.SkipAnswer() != nil {
				return nil, false, errMessage
			}
		}
	}
	return addrs, false, nil
}

func sameName(a, b dnsmessage.Name) bool {
	return bytes.EqualFold(a.Data[:a.Length], b.Data[:b.Length])
}

// overHTTPS sends a message as RFC 8484 says.
func (c *Client) overHTTPS(ctx context.Context, url string, message []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/dns-message")
	req.Header.Set("Accept", "application/dns-message")
	req.Header.Set("User-Agent", "")
	// RoundTrip follows no redirect.
	resp, err := c.transport().RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/dns-message") {
		return nil, errMessage
	}
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage+1))
	if err != nil || len(reply) > maxMessage {
		return nil, errMessage
	}
	return reply, nil
}

// dial connects to a server and ends the connection with ctx.
func (c *Client) dial(ctx context.Context, network string, s Server) (net.Conn, func(), error) {
	conn, err := c.Network.DialContext(ctx, network, s.addr)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	return conn, func() { stop(); conn.Close() }, nil
}

// overStream sends a message with its length in front, over TLS if the server
// is one of TLS, else over TCP.
func (c *Client) overStream(ctx context.Context, s Server, message []byte) ([]byte, error) {
	conn, done, err := c.dial(ctx, "tcp", s)
	if err != nil {
		return nil, err
	}
	defer done()
	if s.scheme == "tls" {
		secured := tls.Client(conn, c.tlsConfig(s.host))
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = secured
	}
	framed := binary.BigEndian.AppendUint16(nil, uint16(len(message)))
	if _, err := conn.Write(append(framed, message...)); err != nil {
		return nil, err
	}
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	reply := make([]byte, binary.BigEndian.Uint16(size[:]))
	_, err = io.ReadFull(conn, reply)
	return reply, err
}

// overUDP asks over UDP, and over TCP if the reply does not fit. Datagrams that
// are no reply to the question are ignored, since anyone can send them.
func (c *Client) overUDP(ctx context.Context, s Server, q *query) ([]netip.Addr, error) {
	conn, done, err := c.dial(ctx, "udp", s)
	if err != nil {
		return nil, err
	}
	defer done()
	if _, err := conn.Write(q.packed); err != nil {
		return nil, err
	}
	buffer := make([]byte, maxMessage)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return nil, err
		}
		addrs, truncated, err := q.read(buffer[:n])
		switch {
		case truncated:
			reply, err := c.overStream(ctx, s, q.packed)
			if err != nil {
				return nil, err
			}
			addrs, _, err = q.read(reply)
			return addrs, err
		case errors.Is(err, errMessage) && !q.answers(buffer[:n]):
			continue
		}
		return addrs, err
	}
}

// answers reports whether a message is at least addressed to q, so that an
// error in it is the server's word.
func (q *query) answers(reply []byte) bool {
	var p dnsmessage.Parser
	h, err := p.Start(reply)
	if err != nil || !h.Response || h.ID != q.id {
		return false
	}
	question, err := p.Question()
	return err == nil && question.Type == q.kind && sameName(question.Name, q.name)
}
