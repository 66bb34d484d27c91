package fetch_test

import (
	"slices"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/fetch"
)

// What speaks other protocols than HTTP is under the same rule.
func TestNetworkReachesOnlyWhatManagedFetchesReach(t *testing.T) {
	n := internet{names: map[string]string{"dns.example": "8.8.8.8", "inside.example": "10.0.0.1", "mixed.example": "8.8.8.8 127.0.0.1", "nas.lan": "192.168.1.10"}}
	network := n.client(t, fetch.Options{AllowHosts: []string{"nas.lan", "10.8.0.0/16"}}).Network()
	for _, c := range []struct{ addr, dialled string }{
		{"dns.example:853", "8.8.8.8:853"},
		{"DNS.example.:53", "8.8.8.8:53"},
		{"nas.lan:53", "192.168.1.10:53"},
		{"10.8.1.2:53", "10.8.1.2:53"},
		{"inside.example:53", ""},
		{"mixed.example:53", ""},
		{"127.0.0.1:53", ""},
		{"0x7f.1:53", ""},
		{"[::1]:53", ""},
		{"169.254.169.254:80", ""},
	} {
		before := len(n.dialed())
		_, err := network.DialContext(t.Context(), "udp", c.addr)
		dialled := n.dialed()[before:]
		if c.dialled == "" {
			wantCode(t, err, sandrone.FetchForbidden)
			if len(dialled) != 0 {
				t.Errorf("%s: dialled %v", c.addr, dialled)
			}
		} else if !slices.Equal(dialled, []string{c.dialled}) {
			t.Errorf("%s: dialled %v, want %s (%v)", c.addr, dialled, c.dialled, err)
		}
	}
	if found, err := network.LookupNetIP(t.Context(), "ip4", "inside.example"); err != nil || len(found) != 1 || found[0].String() != "10.0.0.1" {
		t.Errorf("got %v, %v; finding an address is not reaching it", found, err)
	}
}
