package server

import (
	"container/list"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// rateTable holds a bucket for each client of a public route, at most
// maxClients of them. The client seen longest ago makes room for a new one;
// its bucket is full again by then, unless that many clients came within a
// minute.
type rateTable struct {
	mu      sync.Mutex
	clients map[netip.Prefix]*list.Element
	order   *list.List // of *client, last seen first
}

type client struct {
	prefix netip.Prefix
	bucket *rate.Limiter
}

const maxClients = 4096

func newRateTable() *rateTable {
	return &rateTable{clients: make(map[netip.Prefix]*list.Element), order: list.New()}
}

// allow takes one token from the bucket of addr, which holds perMinute and is
// refilled evenly. If it is empty, wait is the time until it is not.
func (t *rateTable) allow(addr netip.Addr, perMinute int, now time.Time) (wait time.Duration) {
	if perMinute == 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	prefix := clientPrefix(addr)
	e := t.clients[prefix]
	if e == nil {
		if t.order.Len() >= maxClients {
			oldest := t.order.Back()
			delete(t.clients, oldest.Value.(*client).prefix)
			t.order.Remove(oldest)
		}
		bucket := rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute)
		e = t.order.PushFront(&client{prefix, bucket})
		t.clients[prefix] = e
	}
	t.order.MoveToFront(e)
	r := e.Value.(*client).bucket.ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now) // a refused request costs nothing
	}
	return wait
}

// clientPrefix is what counts as one client: an IPv4 address, or the /64 that
// an IPv6 client can move in at will.
func clientPrefix(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.Prefix(bits)
	return prefix
}

// limitRate refuses a request of a client that sent too many.
func (s *Server) limitRate(w http.ResponseWriter, r *http.Request, t *rateTable, perMinute int) error {
	wait := t.allow(s.clientAddr(r), perMinute, s.now())
	if wait == 0 {
		return nil
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	return sandrone.Errorf(sandrone.RateLimited, "too many requests")
}

// clientAddr is the address to count for: the peer's, or, behind trusted
// proxies, the last one that X-Forwarded-For names before them. What stands
// further left was written by the client and proves nothing.
func (s *Server) clientAddr(r *http.Request) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := peer.Addr()
	if !s.trusted(addr) {
		return addr
	}
	entries := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(entries) - 1; i >= 0; i-- {
		next, ok := forwardedAddr(entries[i])
		if !ok {
			break
		}
		addr = next
		if !s.trusted(addr) {
			break
		}
	}
	return addr
}

// trusted reports whether addr is that of a proxy of the settings, which were
// checked.
func (s *Server) trusted(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, proxy := range s.engine.Settings().HTTP.TrustedProxies {
		prefix, err := engine.ParsePrefix(proxy)
		if err == nil && prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// forwardedAddr reads an entry of X-Forwarded-For, which some proxies write
// with a port.
func forwardedAddr(entry string) (netip.Addr, bool) {
	entry = strings.TrimSpace(entry)
	if host, _, err := net.SplitHostPort(entry); err == nil {
		entry = host
	}
	addr, err := netip.ParseAddr(strings.Trim(entry, "[]"))
	return addr, err == nil
}
