package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sandrone-gateway/sandrone"
	"github.com/sandrone-gateway/sandrone/engine"
)

// manyLinks are n links of several protocols.
func manyLinks(n int) string {
	var b strings.Builder
	for i := range n {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, "trojan://pw%d@t%d.example.com:443?sni=s%d.example.com&type=ws&path=%%2Fx&host=h.example.com#HK %d\n", i, i, i, i)
		case 1:
			fmt.Fprintf(&b, "vless://11111111-2222-3333-4444-%012d@v%d.example.com:443?security=reality&pbk=Z84J2IelR9ch3k8VtlVhhs5ycBUlXA7wHBWcBrjqnAw&sid=6ba85179e30d4fc2&sni=s.example.com&fp=chrome&flow=xtls-rprx-vision#JP %d\n", i, i, i)
		case 2:
			fmt.Fprintf(&b, "hysteria2://pw%d@h%d.example.com:8443?sni=s.example.com&obfs=salamander&obfs-password=o#US %d\n", i, i, i)
		default:
			fmt.Fprintf(&b, "ss://YWVzLTEyOC1nY206cHc=@10.%d.%d.1:8388#SG %d\n", i/256%256, i%256, i)
		}
	}
	return b.String()
}

func fiveSteps() []sandrone.ProcessorSpec {
	return steps(`[{"type":"filter","params":{"action":"drop","field":"name","match":"regex","pattern":"7$"}},
		{"type":"rename","params":{"mode":"prefix","value":"A "}},
		{"type":"flag"},
		{"type":"quick_settings","params":{"udp":"enabled"}},
		{"type":"sort","params":{"by":"+name"}}]`)
}

func BenchmarkPreview(b *testing.B) {
	for _, n := range []int{5_000, 10_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := newWorkbench(b, nil)
			draft := &sandrone.Subscription{Type: "local", Content: manyLinks(n), Processors: fiveSteps()}
			for b.Loop() {
				p, err := e.PreviewSubscription(b.Context(), engine.PreviewRequest{Draft: draft, Trace: true})
				if err != nil {
					b.Fatal(err)
				}
				if len(p.Nodes) != n {
					b.Fatal(len(p.Nodes))
				}
			}
		})
	}
}
