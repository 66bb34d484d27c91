package value_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/sandrone-gateway/sandrone/convert/value"
)

func TestSplitPluginKnowsTheNames(t *testing.T) {
	for in, want := range map[string][2]string{
		"obfs-local;obfs=http": {"obfs", "obfs=http"},
		"simple-obfs":          {"obfs", ""},
		"xray-plugin;tls":      {"v2ray-plugin", "tls"},
		"gost":                 {"gost-plugin", ""},
		"shadowtls;x":          {"shadow-tls", "x"},
		"mystery;a=1;b":        {"mystery", "a=1;b"},
	} {
		if p, text := value.SplitPlugin(in); p != want[0] || text != want[1] {
			t.Errorf("%q: got %q %q", in, p, text)
		}
	}
}

func TestPluginOptions(t *testing.T) {
	type m = map[string]any
	rows := []struct {
		name, plugin, text string
		want               m
		ok                 bool
		back               string // what is written again
	}{
		{"obfs by its own names", "obfs", "obfs=http;obfs-host=cdn.example.net", m{"mode": "http", "host": "cdn.example.net"}, true, "obfs=http;obfs-host=cdn.example.net"},
		{"obfs by our names", "obfs", "mode=tls;host=a;path=/x", m{"mode": "tls", "host": "a", "path": "/x"}, true, "obfs=tls;obfs-host=a;obfs-uri=/x"},
		{"its own name wins", "obfs", "mode=tls;obfs=http", m{"mode": "http"}, true, "obfs=http"},
		{"v2ray types", "v2ray-plugin", "mode=websocket;host=ws.example.net;path=/tun;tls;mux=0", m{"mode": "websocket", "host": "ws.example.net", "path": "/tun", "tls": true, "mux": 0}, true, "mode=websocket;host=ws.example.net;path=/tun;tls;mux=0"},
		{"mux as a switch", "v2ray-plugin", "mux=true", m{"mux": 1}, true, "mux=1"},
		{"mux alone", "v2ray-plugin", "mux", m{"mux": 1}, true, "mux=1"},
		{"a switch that is off", "v2ray-plugin", "tls=false;host=a", m{"host": "a"}, true, "host=a"},
		{"an unknown option", "v2ray-plugin", "loglevel=none;host=a", m{"host": "a", "loglevel": "none"}, true, "host=a;loglevel=none"},
		{"shadow-tls", "shadow-tls", "host=www.example.org;password=st-secret;version=3", m{"host": "www.example.org", "password": "st-secret", "version": 3}, true, "host=www.example.org;password=st-secret;version=3"},
		{"a version out of range", "shadow-tls", "host=a;version=4", m{"raw": "host=a;version=4"}, false, "host=a;version=4"},
		{"a list", "shadow-tls", "host=a;alpn=h2,http/1.1", m{"host": "a", "alpn": []string{"h2", "http/1.1"}}, true, "host=a;alpn=h2,http/1.1"},
		{"escapes", "restls", `password=a\;b\=c\\d`, m{"password": `a;b=c\d`}, true, `password=a\;b\=c\\d`},
		{"an equals sign in a value", "obfs", "obfs-uri=/?a=b", m{"path": "/?a=b"}, true, `obfs-uri=/?a\=b`},
		{"empty values", "obfs", "obfs=http;obfs-host=;;", m{"mode": "http"}, true, "obfs=http"},
		{"repeated", "obfs", "obfs=http;obfs=tls", m{"mode": "http"}, true, "obfs=http"},
		{"ends in the middle of an escape", "obfs", `obfs=http\`, m{"raw": `obfs=http\`}, false, `obfs=http\`},
		{"a value without a key", "obfs", "=x", m{"raw": "=x"}, false, "=x"},
		{"numbers", "kcptun", "mtu=1350;nocomp=true;crypt=aes", m{"mtu": 1350, "nocomp": true, "crypt": "aes"}, true, "crypt=aes;mtu=1350;nocomp"},
		{"no number", "kcptun", "mtu=big", m{"raw": "mtu=big"}, false, "mtu=big"},
		{"an unknown plugin", "mystery", "alpha=1;beta", m{"raw": "alpha=1;beta"}, true, "alpha=1;beta"},
		{"nothing", "obfs", "", nil, true, ""},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got, ok := value.PluginOptions(r.plugin, r.text)
			if ok != r.ok || !reflect.DeepEqual(got, r.want) {
				t.Fatalf("got %#v, %v, want %#v, %v", got, ok, r.want, r.ok)
			}
			if back, ok := value.PluginText(r.plugin, got); !ok || back != r.back {
				t.Errorf("written: got %q, %v, want %q", back, ok, r.back)
			}
		})
	}
}

func TestPluginTextHasNoFormForHeaders(t *testing.T) {
	opts := map[string]any{"host": "a", "headers": map[string]string{"Host": "a"}}
	if got, ok := value.PluginText("v2ray-plugin", opts); !ok || got != "host=a" {
		t.Errorf("a Host that the host says already: got %q, %v", got, ok)
	}
	opts["headers"] = map[string]string{"Host": "a", "X": "1"}
	if got, ok := value.PluginText("v2ray-plugin", opts); ok {
		t.Errorf("a header was lost in silence: %q", got)
	}
}

func TestCanonicalPluginGivesValuesTheirTypes(t *testing.T) {
	type m = map[string]any
	rows := []struct {
		name, plugin string
		in, want     m
		ok           bool
	}{
		{"raw text of a known plugin", "obfs", m{"raw": "obfs=http"}, m{"mode": "http"}, true},
		{"raw text of another", "mystery", m{"raw": "a=1"}, m{"raw": "a=1"}, true},
		{"raw text that is no SIP003", "obfs", m{"raw": "=x"}, m{"raw": "=x"}, false},
		{"numbers of JSON", "shadow-tls", m{"version": float64(3), "host": "a"}, m{"version": 3, "host": "a"}, true},
		{"numbers as text", "shadow-tls", m{"version": "3"}, m{"version": 3}, true},
		{"json.Number", "v2ray-plugin", m{"mux": json.Number("8")}, m{"mux": 8}, true},
		{"mux as a switch", "v2ray-plugin", m{"mux": false, "tls": true}, m{"mux": 0, "tls": true}, true},
		{"switch that is off", "v2ray-plugin", m{"tls": false}, m{}, true},
		{"lists of anything", "shadow-tls", m{"alpn": []any{"h2"}}, m{"alpn": []string{"h2"}}, true},
		{"headers of anything", "v2ray-plugin", m{"headers": m{"A": "b"}}, m{"headers": map[string]string{"A": "b"}}, true},
		{"not understood", "shadow-tls", m{"version": "new"}, m{"version": "new"}, false},
		{"text where a number was read", "obfs", m{"host": float64(12)}, m{"host": "12"}, true},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got, ok := value.CanonicalPlugin(r.plugin, r.in)
			if ok != r.ok || !reflect.DeepEqual(got, r.want) {
				t.Errorf("got %#v, %v, want %#v, %v", got, ok, r.want, r.ok)
			}
			again, _ := value.CanonicalPlugin(r.plugin, got)
			if !reflect.DeepEqual(again, got) {
				t.Errorf("not stable: %#v", again)
			}
		})
	}
	clean := m{"mode": "http", "host": "a"}
	if n := testing.AllocsPerRun(20, func() { value.CanonicalPlugin("obfs", clean) }); n > 0 {
		t.Errorf("clean options: got %v allocations, want none", n)
	}
}

func FuzzPluginOptions(f *testing.F) {
	for _, s := range []string{"obfs=http;obfs-host=a", `a\;b=c\\`, "tls;mux=1", "=", "version=3"} {
		f.Add("obfs", s)
		f.Add("shadow-tls", s)
		f.Add("v2ray-plugin", s)
	}
	f.Fuzz(func(t *testing.T, plugin, text string) {
		options, ok := value.PluginOptions(plugin, text)
		written, can := value.PluginText(plugin, options)
		if !ok || !can {
			return
		}
		again, ok := value.PluginOptions(plugin, written)
		if !ok || len(options)+len(again) > 0 && !reflect.DeepEqual(again, options) {
			t.Fatalf("%q gives %#v, written %q, which gives %#v", text, options, written, again)
		}
	})
}
