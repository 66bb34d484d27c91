package fetch_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/fetch"
)

// refusedRanges are the first and the last address of everything that is not
// publicly routable.
var refusedRanges = []string{
	"0.0.0.0 0.255.255.255", "10.0.0.0 10.255.255.255", "100.64.0.0 100.127.255.255", "127.0.0.0 127.255.255.255",
	"169.254.0.0 169.254.255.255", "172.16.0.0 172.31.255.255", "192.0.0.0 192.0.0.255", "192.0.2.0 192.0.2.255",
	"192.88.99.0 192.88.99.255", "192.168.0.0 192.168.255.255", "198.18.0.0 198.19.255.255",
	"198.51.100.0 198.51.100.255", "203.0.113.0 203.0.113.255", "224.0.0.0 239.255.255.255", "240.0.0.0 255.255.255.255",
	":: ::1", "::2 ::ffff:ffff", "64:ff9b:: 64:ff9b::ffff:ffff", "64:ff9b:1:: 64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
	"100:: 100::ffff:ffff:ffff:ffff", "2001:: 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
	"2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2002:: 2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	"3fff:: 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "5f00:: 5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	"fc00:: fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe80:: febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	"fec0:: feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ff00:: ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	"::ffff:127.0.0.1 ::ffff:10.1.2.3", "::ffff:0:7f00:1 ::ffff:0:a00:1", "4000:: 4000::1",
}

// neighbours are public addresses just outside those ranges.
var neighbours = []string{
	"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
	"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0",
	"192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
	"198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255",
	"2001:200::", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::", "2003::", "2001:4860:4860::8888",
	"3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::", "::ffff:8.8.8.8",
}

func TestAddressesThatAreNotPublicAreRefused(t *testing.T) {
	for _, policy := range []fetch.Policy{fetch.Public, fetch.Managed} {
		for _, ends := range refusedRanges {
			for _, a := range strings.Fields(ends) {
				n := internet{names: map[string]string{"a.example": a, "mixed.example": "8.8.8.8 " + a}}
				c := n.client(t, fetch.Options{})
				for _, host := range []string{"[" + a + "]", "a.example", "mixed.example"} {
					if !strings.Contains(a, ":") {
						host = strings.Trim(host, "[]")
					}
					_, err := c.Get(t.Context(), fetch.Request{URL: "http://" + host + "/", Policy: policy})
					e := wantCode(t, err, sandrone.FetchForbidden)
					if names := strings.Contains(e.Message, "remote_defaults.allow_hosts"); names != (policy == fetch.Managed) {
						t.Errorf("policy %v: got message %q", policy, e.Message)
					}
				}
				if d := n.dialed(); len(d) != 0 {
					t.Errorf("%s: dialled %v", a, d)
				}
			}
		}
	}
}

func TestPublicAddressesAreReached(t *testing.T) {
	for _, a := range neighbours {
		n := internet{names: map[string]string{"a.example": a}}
		_, err := n.client(t, fetch.Options{}).Get(t.Context(), fetch.Request{URL: "http://a.example:8080/"})
		wantCode(t, err, sandrone.FetchFailed) // nobody is there
		if want := netip.AddrPortFrom(netip.MustParseAddr(a).Unmap(), 8080).String(); !slices.Equal(n.dialed(), []string{want}) {
			t.Errorf("got dials %v, want %s", n.dialed(), want)
		}
	}
}

func TestForbiddenMessageNamesHostForTheOperatorOnly(t *testing.T) {
	n := internet{names: map[string]string{"nas.lan": "192.168.1.10"}}
	c := n.client(t, fetch.Options{})
	_, err := c.Get(t.Context(), fetch.Request{URL: "http://NAS.lan/x", Policy: fetch.Managed})
	if e := wantCode(t, err, sandrone.FetchForbidden); !strings.Contains(e.Message, `"nas.lan"`) || strings.Contains(e.Message, "192.168") {
		t.Errorf("got %q", e.Message)
	}
	_, err = c.Get(t.Context(), fetch.Request{URL: "http://nas.lan/x"})
	if e := wantCode(t, err, sandrone.FetchForbidden); strings.Contains(e.Message, "nas.lan") || strings.Contains(e.Message, "192.168") {
		t.Errorf("got %q", e.Message)
	}
}

// A spelling of a host must not decide what is reached. Where it is an address
// the resolver is not asked, for what it would say depends on the system.
func TestOddSpellingsOfAHostAreNoWayAround(t *testing.T) {
	tests := []struct {
		host string
		want sandrone.Code
	}{
		{"127.1", sandrone.FetchForbidden},
		{"127.0.1", sandrone.FetchForbidden},
		{"2130706433", sandrone.FetchForbidden},
		{"0x7f000001", sandrone.FetchForbidden},
		{"0X7F.1", sandrone.FetchForbidden},
		{"0x7f.0x0.0x0.0x1", sandrone.FetchForbidden},
		{"017700000001", sandrone.FetchForbidden},
		{"0177.0.0.01", sandrone.FetchForbidden},
		{"0", sandrone.FetchForbidden},
		{"0x", sandrone.FetchForbidden},
		{"0x.0x.0x.0x", sandrone.FetchForbidden},
		{"127.0.0.1.", sandrone.FetchForbidden},
		{"127.1.", sandrone.FetchForbidden},
		{"0xa9fea9fe", sandrone.FetchForbidden},
		{"169.254.43518", sandrone.FetchForbidden},
		{"[::ffff:127.0.0.1]", sandrone.FetchForbidden},
		{"[::ffff:7f00:1]", sandrone.FetchForbidden},
		{"[0:0:0:0:0:0:0:1]", sandrone.FetchForbidden},
		{"[::127.0.0.1]", sandrone.FetchForbidden},
		{"[64:ff9b::7f00:1]", sandrone.FetchForbidden},
		{"[fe80::1%25eth0]", sandrone.FetchForbidden},
		{"[2001:4860:4860::8888%25eth0]", sandrone.FetchForbidden},
		{"[::ffff:8.8.8.8%25eth0]", sandrone.FetchForbidden},
		{"①②⑦.⓪.⓪.①", sandrone.FetchForbidden},
		{"１２７。０。０。１", sandrone.FetchForbidden},
		{"②①③⓪⑦⓪⑥④③③", sandrone.FetchForbidden},
		{"%E2%91%A0%E2%91%A1%E2%91%A6.1", sandrone.FetchForbidden},
		{"4294967296", sandrone.InvalidArgument},
		{"256.0.0.1", sandrone.InvalidArgument},
		{"127.0.0.08", sandrone.InvalidArgument},
		{"0x7g.1", sandrone.InvalidArgument},
		{"127.0.0.1_", sandrone.FetchFailed}, // a name nobody knows
		{"LOCALHOST", sandrone.FetchForbidden},
		{"localhost.", sandrone.FetchForbidden},
		{"ⓛocalhost", sandrone.FetchForbidden},
		{"内网.example", sandrone.FetchForbidden},
		{"xn--yetx72b.example", sandrone.FetchForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			n := internet{names: map[string]string{"localhost": "127.0.0.1 ::1", "xn--v6q792i.example": "10.0.0.1", "xn--yetx72b.example": "10.0.0.1"}}
			c := n.client(t, fetch.Options{})
			for _, policy := range []fetch.Policy{fetch.Public, fetch.Managed} {
				_, err := c.Get(t.Context(), fetch.Request{URL: "http://" + tt.host + "/", Policy: policy})
				wantCode(t, err, tt.want)
			}
			if d := n.dialed(); len(d) != 0 {
				t.Errorf("dialled %v", d)
			}
		})
	}
}

func TestOddSpellingOfAPublicAddressIsThatAddress(t *testing.T) {
	for _, host := range []string{"134744072", "0x8080808", "8.8.2056", "010.8.8.8", "[::ffff:8.8.8.8]", "8.8.8.8."} {
		var n internet
		_, err := n.client(t, fetch.Options{}).Get(t.Context(), fetch.Request{URL: "https://" + host + "/"})
		wantCode(t, err, sandrone.FetchFailed)
		if !slices.Equal(n.dialed(), []string{"8.8.8.8:443"}) || len(n.lookups) != 0 {
			t.Errorf("%s: got dials %v, lookups %v", host, n.dialed(), n.lookups)
		}
	}
}

func TestAllowHostsOpensWhatItLists(t *testing.T) {
	names := map[string]string{
		"nas.lan": "192.168.1.10", "a.nas.lan": "192.168.1.11", "xnas.lan": "192.168.1.12", "nas.lan.example": "192.168.1.13",
		"split.example": "8.8.8.8 10.8.1.1", "six.example": "fd00::5", "far.example": "10.9.0.1", "xn--mnchen-3ya.lan": "10.0.0.9",
		"zone.lan": "fe80::1%eth0",
	}
	tests := []struct {
		entry, host string
		open        bool
	}{
		{"nas.lan", "nas.lan", true},
		{" NAS.Lan. ", "Nas.LAN.", true},
		{"nas.lan", "a.nas.lan", false},
		{"nas.lan", "xnas.lan", false},
		{"nas.lan", "nas.lan.example", false},
		{"nas.lan", "192.168.1.10", false},
		{"*.nas.lan", "a.nas.lan", true},
		{"*.nas.lan", "nas.lan", false},
		{"*.nas.lan", "xnas.lan", false},
		{"*.lan", "a.nas.lan", true},
		{"münchen.lan", "MÜNCHEN.lan", true},
		{"xn--mnchen-3ya.lan", "münchen.lan", true},
		{"192.168.1.10", "192.168.1.10", true},
		{"192.168.1.10", "nas.lan", true},
		{"192.168.1.10", "[::ffff:192.168.1.10]", true},
		{"192.168.1.10", "0xc0a8010a", true},
		{"192.168.1.10", "192.168.1.11", false},
		{"::ffff:192.168.1.10", "192.168.1.10", true},
		{"10.8.0.0/16", "split.example", true},
		{"10.8.7.7/16", "split.example", true},
		{"::ffff:10.8.0.0/112", "split.example", true},
		{"10.8.0.0/16", "far.example", false},
		{"fd00::/8", "six.example", true},
		{"fd00::/8", "nas.lan", false},
		{"fd00::5", "[fd00:0::5]", true},
		{"zone.lan", "zone.lan", false},
		{"fe80::/10", "[fe80::1%25eth0]", false},
	}
	for _, tt := range tests {
		t.Run(tt.entry+" "+tt.host, func(t *testing.T) {
			n := internet{names: names}
			c := n.client(t, fetch.Options{AllowHosts: []string{tt.entry}})
			want := sandrone.FetchForbidden
			if tt.open {
				want = sandrone.FetchFailed // dialled, and nobody is there
			}
			_, err := c.Get(t.Context(), fetch.Request{URL: "http://" + tt.host + "/", Policy: fetch.Managed})
			wantCode(t, err, want)
			if got := len(n.dialed()) > 0; got != tt.open {
				t.Errorf("got dials %v", n.dialed())
			}
			before := len(n.dialed())
			_, err = c.Get(t.Context(), fetch.Request{URL: "http://" + tt.host + "/"})
			wantCode(t, err, sandrone.FetchForbidden)
			if len(n.dialed()) != before {
				t.Errorf("a public fetch dialled %v", n.dialed()[before:])
			}
		})
	}
}

// resolverFunc answers each lookup anew.
type resolverFunc func() []netip.Addr

func (f resolverFunc) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return f(), nil
}

func TestRebindingNameIsCheckedAtEachConnection(t *testing.T) {
	var n internet
	n.serve(t, "", publicAddr, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/jump" {
			http.Redirect(w, r, "/", http.StatusFound)
		}
		io.WriteString(w, "public")
	})
	var lookups atomic.Int32
	resolver := resolverFunc(func() []netip.Addr {
		if lookups.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr(publicAddr)}
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	})
	c := n.client(t, fetch.Options{Resolver: resolver})
	r, err := c.Get(t.Context(), fetch.Request{URL: "http://rebind.example/"})
	if err != nil || string(r.Body) != "public" {
		t.Fatalf("got %+v, %v", r, err)
	}
	if lookups.Load() != 1 {
		t.Errorf("got %d lookups for one connection", lookups.Load())
	}
	_, err = c.Get(t.Context(), fetch.Request{URL: "http://rebind.example/"})
	wantCode(t, err, sandrone.FetchForbidden)
	lookups.Store(0)
	_, err = c.Get(t.Context(), fetch.Request{URL: "http://rebind.example/jump"})
	wantCode(t, err, sandrone.FetchForbidden)
	if want := []string{publicAddr + ":80", publicAddr + ":80"}; !slices.Equal(n.dialed(), want) {
		t.Errorf("got dials %v, want %v", n.dialed(), want)
	}
}

// What an allowed name opened must not be there for a public fetch.
func TestConnectionIsNotUsedUnderAnotherPolicy(t *testing.T) {
	var n internet
	n.serve(t, "nas.lan", "192.168.1.10", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "private") })
	c := n.client(t, fetch.Options{AllowHosts: []string{"nas.lan"}})
	for range 3 {
		if _, err := c.Get(t.Context(), fetch.Request{URL: "http://nas.lan/", Policy: fetch.Managed}); err != nil {
			t.Fatal(err)
		}
		_, err := c.Get(t.Context(), fetch.Request{URL: "http://nas.lan/"})
		wantCode(t, err, sandrone.FetchForbidden)
	}
	if d := n.dialed(); len(d) != 3 {
		t.Errorf("got dials %v, want one for each managed fetch", d)
	}
}

func TestDeadAddressGivesWayToTheNext(t *testing.T) {
	var n internet
	n.serve(t, "", publicAddr, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "here") })
	n.names["dead.example"] = "2606:2800:220::1 " + publicAddr
	n.names["refusing.example"] = "2606:2800:220::2 " + publicAddr
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		if strings.HasPrefix(addr, "[2606:2800:220::1]") {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return n.dial(ctx, network, addr)
	}
	c := n.client(t, fetch.Options{Dial: dial})
	for _, name := range []string{"dead.example", "refusing.example"} {
		r, err := c.Get(t.Context(), fetch.Request{URL: "http://" + name + "/"})
		if err != nil || string(r.Body) != "here" {
			t.Errorf("%s: got %v, %v", name, r, err)
		}
	}
}

func TestNameWithManyAddressesIsTriedAFewTimes(t *testing.T) {
	var addrs []string
	for i := range 200 {
		addrs = append(addrs, fmt.Sprintf("8.8.%d.8", i))
	}
	n := internet{names: map[string]string{"many.example": strings.Join(addrs, " "), "last.example": strings.Join(addrs, " ") + " 10.0.0.1"}}
	c := n.client(t, fetch.Options{})
	_, err := c.Get(t.Context(), fetch.Request{URL: "http://many.example/"})
	wantCode(t, err, sandrone.FetchFailed)
	if d := n.dialed(); len(d) != 8 {
		t.Errorf("got %d dials, want 8", len(d))
	}
	_, err = c.Get(t.Context(), fetch.Request{URL: "http://last.example/"})
	wantCode(t, err, sandrone.FetchForbidden)
}

// FuzzAddressRule holds that no spelling of an address and no answer of a
// resolver brings a public fetch to an address that is not public.
func FuzzAddressRule(f *testing.F) {
	for _, s := range []string{
		"http://127.1/", "http://2130706433/", "http://0x7f.1:8080/", "http://[::ffff:127.0.0.1]/", "http://[fe80::1%25eth0]/",
		"http://localhost./", "https://user:pw@①②⑦.⓪.⓪.①:1/", "http://a.example/", "http://[::]:80/", "http://8.8.8.8#@127.0.0.1/",
		`http://8.8.8.8\@127.0.0.1/`, "http://127.0.0.1%2f@8.8.8.8/",
	} {
		f.Add(s, []byte{8, 8, 8, 8}, false)
		f.Add(s, []byte{127, 0, 0, 1}, true)
		f.Add(s, netip.MustParseAddr("::ffff:10.0.0.1").AsSlice(), true)
		f.Add(s, netip.MustParseAddr("64:ff9b::7f00:1").AsSlice(), false)
	}
	var private []netip.Prefix
	for _, ends := range refusedRanges {
		first, last, _ := strings.Cut(ends, " ")
		a, b := netip.MustParseAddr(first), netip.MustParseAddr(last)
		if bits := commonBits(a, b); bits >= 3 {
			private = append(private, netip.PrefixFrom(a, bits).Masked())
		}
	}
	f.Fuzz(func(t *testing.T, rawURL string, answer []byte, mixed bool) {
		resolver := resolverFunc(func() []netip.Addr {
			a, ok := netip.AddrFromSlice(answer)
			if !ok {
				return nil
			}
			if mixed {
				return []netip.Addr{netip.MustParseAddr("8.8.8.8"), a}
			}
			return []netip.Addr{a}
		})
		dial := func(_ context.Context, _, addr string) (net.Conn, error) {
			ap, err := netip.ParseAddrPort(addr)
			if err != nil {
				t.Errorf("dialled %q, which is no address", addr)
				return nil, err
			}
			a := ap.Addr()
			if a.Is4In6() || a.IsPrivate() || a.IsLoopback() || !a.IsGlobalUnicast() || a.Zone() != "" {
				t.Errorf("dialled %v", a)
			}
			for _, p := range private {
				if p.Contains(a) {
					t.Errorf("dialled %v in %v", a, p)
				}
			}
			return nil, io.EOF
		}
		var n internet
		c := n.client(t, fetch.Options{Resolver: resolver, Dial: dial})
		if _, err := c.Get(t.Context(), fetch.Request{URL: rawURL}); err == nil {
			t.Error("a fetch without a connection succeeded")
		}
		fetch.Display(rawURL)
		fetch.Redact(rawURL)
	})
}

func commonBits(a, b netip.Addr) int {
	for bits := a.BitLen(); bits > 0; bits-- {
		if netip.PrefixFrom(a, bits).Contains(b) {
			return bits
		}
	}
	return 0
}
