package doc_test

import (
	"testing"

	"github.com/sandrone-gateway/sandrone/convert/doc"
)

var (
	bare   = doc.Line{Assign: "=", Comma: ","}
	quoted = doc.Line{Assign: " = ", Comma: ", ", Quotes: true}
)

func TestLineIsPrintedByPlaceAndKey(t *testing.T) {
	var d doc.Items
	root := d.Open("", doc.Map)
	d.AddStr(doc.Place(0), "Tokyo 1")
	d.AddStr(doc.Place(1), "ss")
	d.AddStr(doc.Place(2), "2001:db8::1")
	d.AddInt(doc.Place(3), 443)
	d.AddStr("password", "a,b")
	d.AddQuoted("method", "aes-128-gcm")
	d.AddBool("udp", true)
	d.AddStrings("alpn", []string{"h2", "http/1.1"})
	d.AddStr("note", "one\ntwo")
	d.Close(root)
	for _, c := range []struct {
		line doc.Line
		want string
	}{
		{bare, "Tokyo 1=ss,2001:db8::1,443,password=a,b,method=aes-128-gcm,udp=true,alpn=h2,http/1.1,note=one two"},
		{quoted, `Tokyo 1 = ss, 2001:db8::1, 443, password="a,b", method="aes-128-gcm", udp=true, alpn="h2,http/1.1", note="one two"`},
	} {
		if got := string(c.line.Append(nil, d, 0)); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestValuesThatNoReaderWouldGiveBackDoNotFit(t *testing.T) {
	for _, c := range []struct {
		value                                  string
		bare, barePlace, inQuotes, quotedPlace bool
	}{
		{"plain", true, true, true, true},
		{"", true, false, true, true},
		{"pw=", true, false, true, true},
		{"a b", true, true, true, true},
		{"a;b", true, true, true, true},
		{"https://x//y", true, true, true, true},
		{"a#b", true, true, true, true},
		{"a #b", false, false, true, true},
		{"a //b", false, false, true, true},
		{"(a)[b]{c}", true, true, true, true},
		{"a(b", false, false, true, true},
		{"a)b(", false, false, true, true},
		{"([)]", false, false, true, true},
		{"a,b", false, false, true, true},
		{"it's", false, false, true, true},
		{`say "hi"`, false, false, false, false},
		{" edge", false, false, true, true},
		{"two\nlines", false, false, false, false},
		{"two\u2028lines", false, false, false, false},
	} {
		if got := bare.Fits(c.value); got != c.bare {
			t.Errorf("Fits(%q) without quotes: got %v, want %v", c.value, got, c.bare)
		}
		if got := bare.FitsPlace(c.value); got != c.barePlace {
			t.Errorf("FitsPlace(%q) without quotes: got %v, want %v", c.value, got, c.barePlace)
		}
		if got := quoted.Fits(c.value); got != c.inQuotes {
			t.Errorf("Fits(%q) with quotes: got %v, want %v", c.value, got, c.inQuotes)
		}
		if got := quoted.FitsPlace(c.value); got != c.quotedPlace {
			t.Errorf("FitsPlace(%q) with quotes: got %v, want %v", c.value, got, c.quotedPlace)
		}
	}
}

func TestNamesAreCleanedForTheHeadOfALine(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"香港 01", "香港 01"},
		{"a,b=c", "a b c"},
		{"# note", "note"},
		{"[Rule]", "Rule]"},
		{"; # [// x", "x"},
		{"// comment", "comment"},
		{"a // b", "a // b"},
		{"a\u2028b", "a b"},
		{"=,=", ""},
		{"it's \"x\"", "it's \"x\""},
	} {
		if got := doc.CleanLineName(c.name); got != c.want {
			t.Errorf("%q: got %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzLineStaysOneLine(f *testing.F) {
	f.Add("name", "value")
	f.Add("[x\r\n#", "a\u2029\"b")
	f.Fuzz(func(t *testing.T, name, value string) {
		var d doc.Items
		root := d.Open("", doc.Map)
		d.AddStr(doc.Place(0), doc.CleanLineName(name))
		d.AddStr("key", value)
		d.Close(root)
		for _, l := range []doc.Line{bare, quoted} {
			for _, c := range string(l.Append(nil, d, 0)) {
				if c < ' ' || c == 0x85 || c == 0x2028 || c == 0x2029 {
					t.Fatalf("%q, %q: the line has the character %q", name, value, c)
				}
			}
		}
	})
}
