package sandrone_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sandrone-gateway/sandrone"
)

func TestNamesAreOnePathSegment(t *testing.T) {
	for _, name := range []string{"a", "A b", " a ", "日本", "a.json", "...", "1:a", "a:b", ":a", "é:a", strings.Repeat("x", 255)} {
		want := name == "a:b" // a letter and a colon
		if err := sandrone.CheckName("name", name); (err != nil) != want {
			t.Errorf("%q: got %v", name, err)
		}
	}
	for _, name := range []string{"", " ", "\u3000", ".", "..", "a/b", `a\b`, "a\x00", "a\n", "a\u0085", "\xff", "Z:", strings.Repeat("x", 256)} {
		err := sandrone.CheckName("target_name", name)
		if e := sandrone.AsError(err); e == nil || e.Code != sandrone.InvalidArgument || e.Field != "target_name" || !strings.HasPrefix(e.Message, "target_name ") {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

// normalised is a definition that brings itself into the stored form.
type normalised interface{ Normalise() error }

// definition is a case: JSON in, JSON out, or the field at fault.
type definition struct {
	name, in, want, field string
}

func run(t *testing.T, fresh func() normalised, cases []definition) {
	t.Helper()
	for _, c := range cases {
		v := fresh()
		if err := json.Unmarshal([]byte(c.in), v); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		err := v.Normalise()
		if c.field != "" {
			if e := sandrone.AsError(err); e == nil || e.Code != sandrone.InvalidArgument || e.Field != c.field {
				t.Errorf("%s: got %v, want a fault at %s", c.name, err, c.field)
			} else if strings.Contains(e.Message, "hunter2") {
				t.Errorf("%s: the message shows a credential: %s", c.name, e.Message)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if want := c.want; want == "" && !sameJSON(t, string(got), c.in) || want != "" && !sameJSON(t, string(got), want) {
			t.Errorf("%s: got %s", c.name, got)
		}
		if err := v.Normalise(); err != nil {
			t.Errorf("%s: again: %v", c.name, err)
		} else if again, _ := json.Marshal(v); string(again) != string(got) {
			t.Errorf("%s: got %s the second time", c.name, again)
		}
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

func TestSubscriptionsAreNormalisedOnSave(t *testing.T) {
	// An input of a collection in which all else is right.
	input := func(members string) string {
		return `{"name":"c","type":"collection","inputs":[{"name":"ok","type":"inline_nodes"},{` + members + `}]}`
	}
	run(t, func() normalised { return new(sandrone.Subscription) }, []definition{
		{name: "a remote one", in: `{"name":"a","type":"remote","format":" uri-list","remote":{"url":" https://u:hunter2@a.example/x?t=1#f ","user_agent":"ua","proxy":"socks5://p:1","timeout_ms":5,"cache_ttl_seconds":6}}`},
		{name: "foreign members of a remote one", in: `{"name":"a","type":" REMOTE ","display_name":" A ","remote":{"url":"http://a.example"},"content":"x","inputs":[{"name":"i","type":"?"}],"nodes":[{"name":"n"}],"meta":{"tags":"x"}}`,
			want: `{"name":"a","type":"remote","display_name":"A","remote":{"url":"http://a.example"},"meta":{"tags":"x"}}`},
		{name: "foreign members of a local one", in: `{"name":"a","type":"Local","format":"auto","content":" x\n","remote":{"url":""},"inputs":[{"name":"","type":""}],"nodes":[{"name":"n"}]}`,
			want: `{"name":"a","type":"local","format":"auto","content":" x\n"}`},
		{name: "an empty local one", in: `{"name":"a","type":"local"}`},
		{name: "foreign members of a collection", in: `{"name":"a","type":"collection","format":"uri","content":"x","remote":{"url":""},"nodes":[{"name":"n","type":"ss"}]}`,
			want: `{"name":"a","type":"collection","nodes":[{"name":"n","type":"ss"}]}`},
		{name: "an empty collection", in: `{"name":"a","type":"collection"}`},
		{name: "steps that no one knows", in: `{"name":"a","type":"local","processors":[{"type":"from the future","params":{"b":1,"a":[2]},"disabled":true}]}`},
		{name: "no cache", in: `{"name":"a","type":"local","render_cache_ttl_seconds":0}`},
		{name: "every type of input", in: `{"name":"a","type":"collection","inputs":[
				{"name":"1","type":"inline","format":"uri-list","content":"x","required":true,"meta":{"a":"b"}},
				{"name":"2","type":"inline","nodes":[{"name":"n"}]},
				{"name":"3","type":"remote","url":"https://a.example","timeout_ms":1},
				{"name":"4","type":"local","path":"files/x"},
				{"name":"5","type":"local","ref":{"kind":"file","name":"x"}},
				{"name":"6","type":"Ref","ref":{"kind":"subscription","name":"gone"}},
				{"name":"7","type":"subscription"},
				{"name":"8","type":"inline_nodes","content":"kept"}]}`,
			want: `{"name":"a","type":"collection","inputs":[
				{"name":"1","type":"inline","format":"uri-list","content":"x","required":true,"meta":{"a":"b"}},
				{"name":"2","type":"inline","nodes":[{"name":"n"}]},
				{"name":"3","type":"remote","url":"https://a.example","timeout_ms":1},
				{"name":"4","type":"local","path":"files/x"},
				{"name":"5","type":"local","ref":{"kind":"file","name":"x"}},
				{"name":"6","type":"ref","ref":{"kind":"subscription","name":"gone"}},
				{"name":"7","type":"subscription"},
				{"name":"8","type":"inline_nodes","content":"kept"}]}`},

		{name: "no name", in: `{"type":"local"}`, field: "name"},
		{name: "a name of two segments", in: `{"name":"a/b","type":"local"}`, field: "name"},
		{name: "no type", in: `{"name":"a"}`, field: "type"},
		{name: "an unknown type", in: `{"name":"a","type":"url"}`, field: "type"},
		{name: "a negative time", in: `{"name":"a","type":"local","render_cache_ttl_seconds":-1}`, field: "render_cache_ttl_seconds"},
		{name: "remote without remote", in: `{"name":"a","type":"remote"}`, field: "remote.url"},
		{name: "remote without url", in: `{"name":"a","type":"remote","remote":{"url":" "}}`, field: "remote.url"},
		{name: "another scheme", in: `{"name":"a","type":"remote","remote":{"url":"ftp://u:hunter2@a.example"}}`, field: "remote.url"},
		{name: "no scheme", in: `{"name":"a","type":"remote","remote":{"url":"hunter2@a.example/x"}}`, field: "remote.url"},
		{name: "no host", in: `{"name":"a","type":"remote","remote":{"url":"https:///x?hunter2"}}`, field: "remote.url"},
		{name: "not an address", in: `{"name":"a","type":"remote","remote":{"url":"https://a.example/%zz?hunter2"}}`, field: "remote.url"},
		{name: "another proxy", in: `{"name":"a","type":"remote","remote":{"url":"https://a.example","proxy":"socks4://u:hunter2@p:1"}}`, field: "remote.proxy"},
		{name: "a proxy without scheme", in: `{"name":"a","type":"remote","remote":{"url":"https://a.example","proxy":"hunter2:x@p"}}`, field: "remote.proxy"},
		{name: "a negative timeout", in: `{"name":"a","type":"remote","remote":{"url":"https://a.example","timeout_ms":-1}}`, field: "remote.timeout_ms"},
		{name: "a negative life", in: `{"name":"a","type":"remote","remote":{"url":"https://a.example","cache_ttl_seconds":-1}}`, field: "remote.cache_ttl_seconds"},
		{name: "an input without a name", in: input(`"type":"inline_nodes"`), field: "inputs[1].name"},
		{name: "an input without a type", in: input(`"name":"i"`), field: "inputs[1].type"},
		{name: "an input of an unknown type", in: input(`"name":"i","type":"http"`), field: "inputs[1].type"},
		{name: "inline without a format", in: input(`"name":"i","type":"inline","content":"x"`), field: "inputs[1].format"},
		{name: "inline to be detected", in: input(`"name":"i","type":"inline","format":"Auto"`), field: "inputs[1].format"},
		{name: "a remote input without url", in: input(`"name":"i","type":"remote"`), field: "inputs[1].url"},
		{name: "a remote input of another proxy", in: input(`"name":"i","type":"remote","url":"https://a.example","proxy":"ftp://p"`), field: "inputs[1].proxy"},
		{name: "a remote input of a negative timeout", in: input(`"name":"i","type":"remote","url":"https://a.example","timeout_ms":-1`), field: "inputs[1].timeout_ms"},
		{name: "a local input without a file", in: input(`"name":"i","type":"local"`), field: "inputs[1].path"},
		{name: "a ref to nothing", in: input(`"name":"i","type":"ref"`), field: "inputs[1].ref.kind"},
		{name: "a ref to a file", in: input(`"name":"i","type":"ref","ref":{"kind":"file","name":"x"}`), field: "inputs[1].ref.kind"},
		{name: "a ref without a name", in: input(`"name":"i","type":"ref","ref":{"kind":"subscription"}`), field: "inputs[1].ref.name"},
		{name: "a negative number where it does not count", in: input(`"name":"i","type":"subscription","cache_ttl_seconds":-1`), field: "inputs[1].cache_ttl_seconds"},
	})
}

func TestFilesAreNormalisedOnSave(t *testing.T) {
	run(t, func() normalised { return new(sandrone.FileSpec) }, []definition{
		{name: "a static file", in: `{"name":"f","kind":"static","source":{"type":"inline","content":""}}`},
		{name: "folded words", in: `{"name":"f","display_name":" F ","kind":"static","source":{"type":" Inline ","content":"x","remote":{"url":""}}}`,
			want: `{"name":"f","display_name":"F","kind":"static","source":{"type":"inline","content":"x"}}`},
		{name: "a remote source", in: `{"name":"f","kind":"static","source":{"type":"remote","content":"x","remote":{"url":"https://a.example"}}}`,
			want: `{"name":"f","kind":"static","source":{"type":"remote","remote":{"url":"https://a.example"}}}`},
		{name: "a client file", in: `{"name":"f","kind":"sing-box@1.11","source":{},"config":{"subscriptions":["a"," a"],"settings":{"b":1,"a":{}}}}`},
		{name: "an empty config", in: `{"name":"f","kind":"shadowrocket","source":{},"config":{}}`},

		{name: "no name", in: `{"kind":"static","source":{"type":"inline"}}`, field: "name"},
		{name: "no kind", in: `{"name":"f","source":{}}`, field: "kind"},
		{name: "a kind in other case", in: `{"name":"f","kind":"Mihomo","source":{}}`, field: "kind"},
		{name: "a kind with blanks", in: `{"name":"f","kind":" mihomo","source":{}}`, field: "kind"},
		{name: "a version of nothing", in: `{"name":"f","kind":"mihomo@","source":{}}`, field: "kind"},
		{name: "a version of a kind without", in: `{"name":"f","kind":"static@1","source":{"type":"inline"}}`, field: "kind"},
		{name: "no source", in: `{"name":"f","kind":"mihomo"}`, field: "source"},
		{name: "a static file without a type", in: `{"name":"f","kind":"static","source":{}}`, field: "source.type"},
		{name: "empty content without a type", in: `{"name":"f","kind":"mihomo","source":{"content":""}}`, field: "source.type"},
		{name: "an address without a type", in: `{"name":"f","kind":"mihomo","source":{"remote":{"url":"https://a.example"}}}`, field: "source.type"},
		{name: "an unknown type", in: `{"name":"f","kind":"mihomo","source":{"type":"file"}}`, field: "source.type"},
		{name: "a remote source without remote", in: `{"name":"f","kind":"mihomo","source":{"type":"remote"}}`, field: "source.remote.url"},
		{name: "a remote source without url", in: `{"name":"f","kind":"mihomo","source":{"type":"remote","remote":{}}}`, field: "source.remote.url"},
		{name: "a config of a static file", in: `{"name":"f","kind":"static","source":{"type":"inline"},"config":{}}`, field: "config"},
		{name: "settings in a text", in: `{"name":"f","kind":"mihomo","source":{},"config":{"settings":"{}"}}`, field: "config.settings"},
		{name: "settings in a list", in: `{"name":"f","kind":"mihomo","source":{},"config":{"settings":[]}}`, field: "config.settings"},
		{name: "a negative time", in: `{"name":"f","kind":"mihomo","source":{},"render_cache_ttl_seconds":-1}`, field: "render_cache_ttl_seconds"},
	})
	null := sandrone.FileSpec{Name: "f", Kind: "mihomo", Source: &sandrone.FileSource{}, Config: &sandrone.FileConfig{Settings: json.RawMessage(" null")}}
	if e := sandrone.AsError(null.Normalise()); e == nil || e.Field != "config.settings" {
		t.Errorf("null settings: got %v", e)
	}
	if kind := (&sandrone.FileSpec{Kind: "sing-box@1.11"}).BaseKind(); kind != "sing-box" {
		t.Errorf("got %q", kind)
	}
}

func TestSharesAreNormalisedOnSave(t *testing.T) {
	run(t, func() normalised { return new(sandrone.Share) }, []definition{
		{name: "a subscription", in: `{"target_kind":"Subscription","target_name":" air ","name":" n ","meta":{"a":"b"}}`,
			want: `{"id":"","target_kind":"subscription","target_name":"air","target_format":"base64","name":"n","meta":{"a":"b"}}`},
		{name: "a format", in: `{"id":" x ","target_kind":"subscription","target_name":"air","target_format":" Sing-Box-Outbounds@1.11 "}`,
			want: `{"id":"x","target_kind":"subscription","target_name":"air","target_format":"sing-box-outbounds@1.11"}`},
		{name: "a file", in: `{"id":"x","target_kind":"FILE","target_name":"f","target_format":"base64","content_type":"text/plain; charset=utf-8"}`,
			want: `{"id":"x","target_kind":"file","target_name":"f","content_type":"text/plain; charset=utf-8"}`},
		{name: "a span", in: `{"id":"x","target_kind":"file","target_name":"f","valid_from":"2026-08-01T08:00:00+08:00","valid_until":"2026-08-01T00:00:01Z"}`,
			want: `{"id":"x","target_kind":"file","target_name":"f","valid_from":"2026-08-01T00:00:00Z","valid_until":"2026-08-01T00:00:01Z"}`},

		{name: "no kind", in: `{"target_name":"f"}`, field: "target_kind"},
		{name: "another kind", in: `{"target_kind":"share","target_name":"f"}`, field: "target_kind"},
		{name: "no target", in: `{"target_kind":"file"}`, field: "target_name"},
		{name: "a target of two segments", in: `{"target_kind":"file","target_name":"a/b"}`, field: "target_name"},
		{name: "an id of two segments", in: `{"id":"a/b","target_kind":"file","target_name":"f"}`, field: "id"},
		{name: "a name of two segments", in: `{"name":"a/b","target_kind":"file","target_name":"f"}`, field: "name"},
		{name: "no span", in: `{"target_kind":"file","target_name":"f","valid_from":"2026-08-01T00:00:00Z","valid_until":"2026-08-01T00:00:00Z"}`, field: "valid_from"},
		{name: "a header in the type", in: `{"target_kind":"file","target_name":"f","content_type":"text/plain\r\nX-A: b"}`, field: "content_type"},
		{name: "no media type", in: `{"target_kind":"file","target_name":"f","content_type":"a b"}`, field: "content_type"},
	})
}

func TestAShareAnswersWithinItsSpan(t *testing.T) {
	at := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	s := sandrone.Share{ValidFrom: at, ValidUntil: at.Add(time.Hour)}
	for offset, want := range map[time.Duration]bool{-1: false, 0: true, time.Hour - 1: true, time.Hour: false} {
		if got := s.ValidAt(at.Add(offset)); got != want {
			t.Errorf("%v: got %v", offset, got)
		}
	}
	if !new(sandrone.Share).ValidAt(at) {
		t.Error("a share without a span does not answer")
	}
}

func TestATokenExpiresAtItsTime(t *testing.T) {
	at := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	token := sandrone.Token{ExpiresAt: at}
	if token.ExpiredAt(at.Add(-1)) || !token.ExpiredAt(at) || new(sandrone.Token).ExpiredAt(at) {
		t.Error("the span of a token is not up to its expiry")
	}
	for field, v := range map[string]sandrone.Token{
		"name":       {Name: " ", Scope: "read"},
		"scope":      {Name: "a", Scope: "Read"},
		"expires_at": {Name: "a", Scope: "read", ExpiresAt: at},
	} {
		if e := sandrone.AsError(v.Normalise(at)); e == nil || e.Field != field {
			t.Errorf("%+v: got %v", v, e)
		}
	}
	good := sandrone.Token{Name: " " + strings.Repeat("é", 64) + " ", Scope: "write", ExpiresAt: at.Add(1)}
	if err := good.Normalise(at); err != nil {
		t.Error(err)
	}
}
